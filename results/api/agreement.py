"""Agreement: the figures of the pages, computed at once where that is quick, otherwise by a job that is asked for."""

from http import HTTPStatus
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.frames import BREAKDOWNS
from annotate.stages import Stage
from measures.rubric import Level
from projects.access import Policy, Right
from projects.api.door import ProjectEndpoint
from projects.api.shapes import Query, TextField, TruthField
from projects.errors import Refused
from projects.jobs import Job
from projects.snapshots import snapshot
from results.forms import AgreementForm
from results.reporting import KINDS, look_up, request_report

INT32 = 2**31 - 1


class AgreementQuery(Query):
    kind = serializers.ChoiceField(choices=list(KINDS), default="agreement", help_text="Which page's figures.")
    criterion = TextField(required=False, help_text="The criterion's key; otherwise the first.")
    batch = serializers.IntegerField(required=False, min_value=1, max_value=INT32, help_text="One batch only.")
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    level = serializers.ChoiceField(
        required=False, choices=[level.value for level in Level], help_text="Otherwise the criterion's own."
    )
    by = serializers.ChoiceField(required=False, choices=BREAKDOWNS, help_text="Alpha per part; otherwise per dataset.")
    blind = TruthField(required=False, help_text="Blind judgments only.")


class StandingSerializer(Query):
    settings = serializers.JSONField(help_text="What was asked, everything filled in.")
    figures = serializers.JSONField(
        allow_null=True,
        help_text="With each number: level, units, annotators, ratings, what is left out and why, the intervals with "
        "resamples and seed; `undefined` says why there is none. Null until they are computed.",
    )
    is_current = serializers.BooleanField(help_text="Whether they are of the judgments as they are now.")
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null where it was just now.")
    state = serializers.ChoiceField(
        choices=Job.State.choices, allow_null=True, help_text="Of the job that computes newer ones; null without one."
    )


class Agreement(ProjectEndpoint):
    policy = Policy("api", Right.READ, writes=Right.READ, answers_json=True, is_api=True)
    query = AgreementQuery

    @extend_schema(responses=StandingSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read agreement.

        Krippendorff's alpha with its intervals, pairs of annotators, or alpha over time. Over many judgments the
        figures are those of the newest job: where they are not current, ask for newer ones.
        """
        return Response(self._standing(self.asked))

    @extend_schema(
        request=AgreementQuery,
        responses={HTTPStatus.ACCEPTED: StandingSerializer},
        examples=[OpenApiExample("By source", value={"by": "source"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have agreement computed anew.

        For figures that are not current; then read them until they are. A token that may only read can ask for it too.
        """
        asked = self.sent(AgreementQuery)
        settings = self._settings(asked)
        request_report(project=self.project, actor=self.membership, kind=asked["kind"], settings=settings)
        return Response(self._standing(asked), status=HTTPStatus.ACCEPTED)

    def _standing(self, asked: dict[str, Any]) -> dict[str, Any]:
        settings = self._settings(asked)
        with snapshot():
            found = look_up(self.project, asked["kind"], settings)
        stands = {
            "settings": settings,
            "figures": found.figures,
            "is_current": found.is_current,
            "computed_at": found.report.finished_at if found.report else None,
            "state": found.under_way.state if found.under_way else None,
        }
        return dict(StandingSerializer(stands).data)

    def _settings(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What the page's own form makes of it. Raises Refused for what the project does not have."""
        data = QueryDict(mutable=True)
        data.update({name: str(value) for name, value in asked.items()})
        form = AgreementForm(self.project, data)
        if not form.criteria:
            raise Refused(_("There is no batch yet, so there are no judgments."))
        if not form.is_valid():
            name, sentences = next(iter(form.errors.items()))
            raise Refused(" ".join(map(str, sentences)), field=name)
        return form.settings(asked["kind"], form.scope())
