"""The leaderboard by the API."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.reviews import adjudication
from projects.api.serializers import TextField
from results.leaderboard.forms import LeaderboardForm
from results.reports.api import Figures, ScopeQuery, StandingSerializer

KIND = {"kind": "leaderboard"}


class LeaderboardQuery(ScopeQuery):
    criterion = TextField(required=False, help_text="The criterion's key. By default the first with an order.")
    dataset = TextField(required=False, help_text="Only candidates of this dataset.")
    split = TextField(required=False, help_text="Only candidates of this split.")


class Leaderboard(Figures):
    query = LeaderboardQuery

    @extend_schema(responses=StandingSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Read the leaderboard.

        All metrics that have scores: segment-level and system-level correlation with intervals, soft pairwise accuracy,
        minimal pairs, held-out datasets, seconds per 1,000 answers, and the first and the last rank of each. Metrics
        that do not differ significantly share a rank. The figures are those of the newest job; null before the first.
        """
        return Response(self.read_state(self.asked | KIND))

    @extend_schema(
        request=LeaderboardQuery,
        responses={HTTPStatus.ACCEPTED: StandingSerializer},
        examples=[OpenApiExample("One split", value={"split": "test"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Recompute the leaderboard.

        Queues a job that keeps the figures of metrics whose scores and candidates have not changed. Read them until
        they are current.
        """
        return self.request_figures(self.sent(LeaderboardQuery) | KIND)

    def read_settings(self, params: Mapping[str, Any]) -> dict[str, Any]:
        form = self.fill_form(LeaderboardForm, params)
        return form.settings(form.scope(), adjudication.read_gold_rule(self.project))
