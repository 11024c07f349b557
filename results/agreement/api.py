"""Agreement by the API."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from measures.ceiling import Design
from measures.rubric import Level
from results.agreement.alpha import list_warnings
from results.agreement.forms import AgreementForm
from results.reports.api import Figures, ScopeQuery, StandingSerializer
from results.scope.gold_settings import ITEMS, PARTS
from results.scope.scopes import read_scope, warn_of_no_order


class AgreementQuery(ScopeQuery):
    kind = serializers.ChoiceField(choices=["agreement", "annotators", "time"], default="agreement")
    level = serializers.ChoiceField(
        required=False, choices=[level.value for level in Level], help_text="By default the criterion's own."
    )
    design = serializers.ChoiceField(
        required=False,
        choices=[design.value for design in (Design.CROSSED, Design.AUTO)],
        help_text="For the ceiling: the same raters for every candidate, or whichever holds. By default they differ.",
    )
    by = serializers.ChoiceField(
        required=False, choices=PARTS, help_text="What alpha is broken down by. By default dataset."
    )
    unit = serializers.ChoiceField(
        required=False,
        choices=[ITEMS],
        help_text="What intervals leave out one at a time. By default passages wherever candidates share them.",
    )


class Agreement(Figures):
    query = AgreementQuery

    @extend_schema(responses=StandingSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read agreement.

        Krippendorff's alpha with its intervals, the reliability of mean ratings with the ceiling for metrics (under
        `reliability`) and a single annotator vs. rest (under `ceiling`), pairs of annotators, or alpha over time.
        `warnings` of alpha say why its intervals may mislead, and where points are categories, of which means say
        nothing.

        Over many judgments the figures are those of the newest job: if they are not current, recompute them.
        """
        return Response(self.read_state(self.asked))

    @extend_schema(
        request=AgreementQuery,
        responses={HTTPStatus.ACCEPTED: StandingSerializer},
        examples=[OpenApiExample("By source", value={"by": "source"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Recompute agreement.

        Queues a job. Read the figures until they are current. A read-only token may request it too.
        """
        return self.request_figures(self.sent(AgreementQuery))

    def read_state(self, params: Mapping[str, Any]) -> dict[str, Any]:
        state = super().read_state(params)
        if params["kind"] == "agreement" and state["figures"] and "report" in state["figures"]:
            found = list_warnings(state["figures"]["report"])
            # Only the reliability and the ceiling are of means; alpha has levels for categories.
            found += filter(None, [warn_of_no_order(read_scope(self.project, state["settings"]).criterion)])
            state["figures"] = {**state["figures"], "warnings": found}
        return state

    def read_settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        form = self.fill_form(AgreementForm, params)
        return form.settings(params["kind"], form.scope())
