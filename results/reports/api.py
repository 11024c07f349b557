"""The API of figures: computed at once where that is quick, otherwise by a job that can be requested."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.response import Response

from annotate.frames.stages import Stage
from projects.access import Policy, Right
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import INT32, Query, StrictBooleanField, TextField
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.queue import Job
from results.reports.reports import find_report, request_report
from results.scope.forms import ScopeForm

SomeForm = TypeVar("SomeForm", bound=ScopeForm)


class ScopeQuery(Query):
    criterion = TextField(required=False, help_text="The criterion's key. By default the first.")
    batch = serializers.IntegerField(required=False, min_value=1, max_value=INT32, help_text="Restrict to one batch.")
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    blind = StrictBooleanField(required=False, help_text="Only blind judgments.")


class StandingSerializer(Query):
    settings = serializers.JSONField(help_text="The settings, with every default filled in.")
    figures = serializers.JSONField(
        allow_null=True,
        help_text="Each with the number of judgments behind it, its method, and the reason where it is undefined. Null "
        "until computed. An object with `refusal` says why there are none.",
    )
    is_current = serializers.BooleanField(help_text="Whether the figures include all judgments so far.")
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null if computed for this request.")
    state = serializers.ChoiceField(
        choices=Job.State.choices,
        allow_null=True,
        help_text="State of the job that computes newer figures; null if there is none.",
    )
    is_live = serializers.BooleanField(help_text="Whether that job is unfinished. If so, poll again.")


class Figures(ProjectEndpoint):
    """An endpoint of figures: GET reads or computes them, POST queues a job that stores them."""

    # A job of figures changes nothing that anybody made, so whoever may read may request it.
    policy = Policy("api", Right.READ, writes=Right.READ, answers_json=True, is_api=True, only_recomputes=True)

    def read_state(self, params: Mapping[str, Any]) -> dict[str, Any]:
        settings = self.read_settings(params)
        with snapshot():
            found = find_report(self.project, params["kind"], settings)
        state = {
            "settings": settings,
            "figures": found.figures,
            "is_current": found.is_current,
            "computed_at": found.report.finished_at if found.report else None,
            "state": found.under_way.state if found.under_way else None,
            "is_live": found.under_way is not None and found.under_way.is_live,
        }
        return dict(StandingSerializer(state).data)

    def request_figures(self, params: Mapping[str, Any]) -> Response:
        settings = self.read_settings(params)
        request_report(project=self.project, actor=self.membership, kind=params["kind"], settings=settings)
        return Response(self.read_state(params), status=HTTPStatus.ACCEPTED)

    def fill_form(self, form_class: type[SomeForm], params: Mapping[str, Any]) -> SomeForm:
        """Return the page's own form, filled in. Raises Refused for what the project does not have."""
        data = QueryDict(mutable=True)
        data.update({name: str(value) for name, value in params.items()})
        form = form_class(self.project, data)
        if not form.criteria:
            raise Refused("There is no batch yet, so there are no judgments.")
        for name, value in params.items():
            if name != "kind" and name not in form.fields:
                _refuse_without_effect(form, name, str(value))
        if not form.is_valid():
            # A problem response names one parameter; the next wrong one is found by the next request.
            name, sentences = next(iter(form.errors.items()))
            raise Refused(" ".join(map(str, sentences)), field=name)
        return form

    def read_settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


def _refuse_without_effect(form: ScopeForm, name: str, value: str) -> None:
    """Raise Refused for a parameter that the form lacks, unless it is what the figures are of anyway."""
    if name not in form.dropped:
        raise Refused(f"“{name}” has no effect on these figures. Leave it out.", field=name)
    if value not in form.dropped[name]:
        known = ", ".join(form.dropped[name]) or "none"
        raise Refused(f"The project has no {name} “{value}”. It has: {known}.", field=name)
