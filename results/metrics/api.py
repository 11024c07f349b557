"""Metrics by the API: the runs of a project, a new one, and the scores of one as a file."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from projects.api.auth import FOR_READERS, ProjectEndpoint
from projects.api.serializers import PageQuery, StrictSerializer, TextField, make_page_serializer, render_page
from projects.models import Project
from results.metrics import computing
from results.metrics.downloading import FORMATS, stream_scores
from results.metrics.listing import list_warnings
from results.models import MetricRun


class MetricQuery(PageQuery):
    state = serializers.ChoiceField(required=False, choices=MetricRun.State.choices)
    origin = serializers.ChoiceField(required=False, choices=MetricRun.Origin.choices)


class MetricSerializer(StrictSerializer):
    id = serializers.IntegerField()
    metric = serializers.CharField(help_text="Its registered name, or the name given to an uploaded column.")
    title = serializers.CharField()
    origin = serializers.ChoiceField(choices=MetricRun.Origin.choices)
    settings = serializers.JSONField(help_text="Every setting, with defaults.")
    signature = serializers.CharField(
        help_text="Metric, settings and versions on one line, for a paper; the same for runs with the same settings."
    )
    state = serializers.ChoiceField(choices=MetricRun.State.choices)
    is_live = serializers.BooleanField(help_text="Whether the job is unfinished. If so, poll again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Steps of the job; 0 before it starts.")
    error = serializers.CharField(help_text="Why the run failed; otherwise empty.")
    n_scored = serializers.IntegerField()
    n_refused = serializers.IntegerField(help_text="Candidates without a score. They do not count as zero.")
    report = serializers.JSONField(
        help_text="Corpus score and mean, overall and by dataset and source; refusals by reason; versions."
    )
    warnings = serializers.SerializerMethodField(help_text="Why the scores may mislead, in sentences.")
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_warnings(self, run: MetricRun) -> list[str]:
        return list_warnings(run)


class NewMetricSerializer(StrictSerializer):
    metric = TextField(
        max_length=60, help_text="For example rouge_l. An unknown name is answered with the list of names."
    )
    settings = serializers.DictField(required=False, default=dict, help_text="Settings that differ from the defaults.")


class MetricList(ProjectEndpoint):
    # Scores change no judgment, so whoever may read may compute them, as on the page.
    policy = FOR_READERS
    query = MetricQuery

    @extend_schema(responses=make_page_serializer(MetricSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List metric runs.

        The newest first. Of runs with the same metric and settings, the newest that is done counts.
        """
        names = {name: self.asked[name] for name in ("state", "origin") if name in self.asked}
        return render_page(
            request, self.project.metric_runs.filter(**names).order_by("-id"), MetricSerializer, self.asked
        )

    @extend_schema(
        request=NewMetricSerializer,
        responses={HTTPStatus.ACCEPTED: MetricSerializer},
        examples=[
            OpenApiExample("ROUGE-L", value={"metric": "rouge_l", "settings": {"stem": True}}, request_only=True)
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Compute a metric.

        Queues a job that scores every candidate that is not withdrawn. If the same metric is running already, that run
        is returned.
        """
        sent = self.sent(NewMetricSerializer)
        run = computing.request_run(
            project=self.project, actor=self.membership, name=sent["metric"], settings=sent["settings"]
        )
        place = reverse("api:metric-show", args=[slug, run.pk])
        return Response(_serialize(self.project, run.pk), HTTPStatus.ACCEPTED, headers={"Location": place})


class MetricShow(ProjectEndpoint):
    @extend_schema(responses=MetricSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Read a metric run.

        Its progress and, once it is done, the summary of its scores.
        """
        return Response(_serialize(self.project, pk))


class MetricScores(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, kind): OpenApiTypes.BINARY for kind in FORMATS.values()})
    def get(self, request: Request, slug: str, pk: int, form: str) -> HttpResponseBase:
        """Download the scores of a run.

        As csv or jsonl, by dataset and id: each candidate with its score, or the reason why it has none.
        """
        return stream_scores(_fetch(self.project, pk), form, is_head=request.method == "HEAD")


def _fetch(project: Project, pk: int) -> MetricRun:
    return get_object_or_404(project.metric_runs.select_related("project"), pk=pk)


def _serialize(project: Project, pk: int) -> dict[str, Any]:
    return dict(MetricSerializer(_fetch(project, pk)).data)
