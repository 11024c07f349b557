"""Agreement and scores: the figures of the pages, computed at once where that is quick, otherwise by a job."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.response import Response

from annotate.frames.stages import Stage
from projects.access import Policy, Right
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import Query, TextField, TruthField
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.queue import Job
from results.reports.reports import find_report, request_report
from results.scope.forms import ScopeForm

INT32 = 2**31 - 1
SomeForm = TypeVar("SomeForm", bound=ScopeForm)


class ScopeQuery(Query):
    criterion = TextField(required=False, help_text="The criterion's key; otherwise the first.")
    batch = serializers.IntegerField(required=False, min_value=1, max_value=INT32, help_text="Restrict to one batch.")
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    blind = TruthField(required=False, help_text="Only blind judgments.")


class StandingSerializer(Query):
    settings = serializers.JSONField(help_text="What was asked, everything filled in.")
    figures = serializers.JSONField(
        allow_null=True,
        help_text="Each with the data behind it, how it was made, and why it is undefined where it is. Null until they "
        "are computed.",
    )
    is_current = serializers.BooleanField(help_text="Whether they are of the judgments as they are now.")
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null where it was just now.")
    state = serializers.ChoiceField(
        choices=Job.State.choices, allow_null=True, help_text="Of the job that computes newer ones; null without one."
    )


class Figures(ProjectEndpoint):
    """Reading computes what is quick; asking for a job stores its figures, and changes nothing that anybody made."""

    policy = Policy("api", Right.READ, writes=Right.READ, answers_json=True, is_api=True)

    def standing(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        settings = self.settings_of(asked)
        with snapshot():
            found = find_report(self.project, asked["kind"], settings)
        stands = {
            "settings": settings,
            "figures": found.figures,
            "is_current": found.is_current,
            "computed_at": found.report.finished_at if found.report else None,
            "state": found.under_way.state if found.under_way else None,
        }
        return dict(StandingSerializer(stands).data)

    def ask_anew(self, asked: Mapping[str, Any]) -> Response:
        settings = self.settings_of(asked)
        request_report(project=self.project, actor=self.membership, kind=asked["kind"], settings=settings)
        return Response(self.standing(asked), status=HTTPStatus.ACCEPTED)

    def filled_in(self, form_class: type[SomeForm], asked: Mapping[str, Any]) -> SomeForm:
        """The page's own form. Raises Refused for what the project does not have."""
        data = QueryDict(mutable=True)
        data.update({name: str(value) for name, value in asked.items()})
        form = form_class(self.project, data)
        if not form.criteria:
            raise Refused("There is no batch yet, so there are no judgments.")
        if not form.is_valid():
            name, sentences = next(iter(form.errors.items()))
            raise Refused(" ".join(map(str, sentences)), field=name)
        return form

    def settings_of(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError
