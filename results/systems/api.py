"""Scores of systems and gold scores by the API."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.reviews import adjudication
from results.reports.api import Figures, ScopeQuery, StandingSerializer
from results.scope.human_sources import CHOICES, find_human_sources
from results.scope.scopes import read_scope, warn_of_no_order
from results.scores.forms import GoldForm
from results.systems.forms import SystemsForm
from results.systems.system_pairs import TESTS, Measure
from results.systems.warnings import list_warnings


class ScoresQuery(ScopeQuery):
    kind = serializers.ChoiceField(
        choices=["golds", "systems"],
        default="golds",
        help_text="Gold scores of a criterion by every rule, or systems with every criterion.",
    )
    test = serializers.ChoiceField(
        required=False,
        choices=list(TESTS),
        help_text="For systems: the test of each pair, by default with signs flipped by passage.",
    )
    values = serializers.ChoiceField(
        required=False,
        choices=[measure.value for measure in Measure],
        help_text="For systems: whether pairs are compared by z scores (the default) or by ratings.",
    )
    humans = serializers.ChoiceField(
        required=False,
        choices=list(CHOICES),
        help_text="For systems: leave sources written by people out, show them apart, or count them as systems (in). "
        "By default as the project has chosen, or in if it has not. A choice made here is not kept.",
    )


class Scores(Figures):
    query = ScoresQuery

    @extend_schema(responses=StandingSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read scores.

        Gold scores by every rule with their spread, or systems with intervals, and each pair once with difference,
        interval, effect sizes and two-sided p, corrected by Holm's method. With the test `graham2016`, pairs are
        ordered and p one-sided. The
        `warnings` say why figures may mislead. As with agreement, figures over many judgments are those of
        the newest job.
        """
        return Response(self.read_state(self.asked))

    @extend_schema(
        request=ScoresQuery,
        responses={HTTPStatus.ACCEPTED: StandingSerializer},
        examples=[OpenApiExample("Systems", value={"kind": "systems"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Recompute scores.

        Queues a job. Read the figures until they are current.
        """
        return self.request_figures(self.sent(ScoresQuery))

    def read_state(self, params: Mapping[str, Any]) -> dict[str, Any]:
        state = super().read_state(params)
        if not state["figures"]:
            return state
        if params["kind"] == "systems":
            found = list_warnings(state["figures"], find_human_sources(self.project))
        else:
            found = list(filter(None, [warn_of_no_order(read_scope(self.project, state["settings"]).criterion)]))
        state["figures"] = {**state["figures"], "warnings": found}
        return state

    def read_settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        gold = adjudication.read_gold_rule(self.project)
        if params["kind"] == "systems":
            return self.fill_form(SystemsForm, params).settings(gold)
        form = self.fill_form(GoldForm, params)
        return form.settings(form.scope(), gold)
