"""Trained metrics by the API: the list, a new one with its cost, started, continued, cancelled, deleted, its tables."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from measures.neural.lerc.inputs import SEGMENTS
from measures.neural.lerc.settings import MOST_TOKENS
from projects.api.auth import FOR_READERS, ProjectEndpoint
from projects.api.serializers import (
    INT32,
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.errors import Refused
from projects.jobs import queue
from projects.models import Project
from projects.tables.responses import answer_table
from projects.tables.writing import FORMS
from results.models import Training
from results.scope.gold_settings import LARGEST_SEED
from results.training import requesting
from results.training.forms import MOST_NUMBERS, fill_in
from results.training.tables import list_tables
from results.training.training_plan import SPLITS


class TrainingQuery(PageQuery):
    state = serializers.ChoiceField(required=False, choices=Training.State.choices)
    order = serializers.ChoiceField(choices=["number", "-number"], default="-number")


class TrainingSerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    metric = serializers.CharField(help_text="The metric that its model becomes.")
    set = serializers.IntegerField(source="judgment_set.number", help_text="Number of the judgment set.")
    criterion = serializers.CharField()
    table = serializers.ChoiceField(choices=Training.Table.choices)
    step = serializers.ChoiceField(choices=Training.Step.choices)
    state = serializers.ChoiceField(choices=Training.State.choices)
    is_live = serializers.BooleanField(help_text="Whether the job is unfinished. If so, poll again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Rows to go through; 0 before it starts.")
    error = serializers.CharField(help_text="Why it failed; otherwise empty.")
    settings = serializers.JSONField(help_text="Every setting, with defaults.")
    estimate = serializers.JSONField(
        allow_null=True, help_text="Answers of each part, rows learned from in a second, and seconds for all; measured."
    )
    sha256 = serializers.CharField(help_text="Digest of the model; empty until there is one.")
    n_bytes = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class WholeTrainingSerializer(TrainingSerializer):
    result = serializers.JSONField(
        allow_null=True,
        help_text="Each training with its runs and its correlations, and all metrics by split, dataset and source; "
        "what is undefined is an object with its reason. Null until it is done.",
    )
    tables = serializers.SerializerMethodField(help_text="Names of its tables, to be downloaded.")

    def get_tables(self, training: Training) -> list[str]:
        return [table.name for table in list_tables(training)]


class NewTrainingSerializer(StrictSerializer):
    name = TextField(max_length=requesting.NAME_LENGTH)
    set = serializers.IntegerField(min_value=1, max_value=INT32, help_text="Number of a frozen judgment set.")
    encoder = TextField(max_length=80, help_text="Name of a model of the site.")
    criterion = TextField(required=False, help_text="Key of the criterion; required if the set has several.")
    table = serializers.ChoiceField(required=False, choices=Training.Table.choices)
    held_out = TextField(required=False, help_text="A dataset that leaves training and dev, and is the test.")
    splits = serializers.ChoiceField(required=False, choices=list(SPLITS))
    inputs = serializers.ListField(child=serializers.ChoiceField(choices=SEGMENTS), required=False, max_length=4)
    max_length = serializers.IntegerField(required=False, min_value=8, max_value=MOST_TOKENS)
    epochs = serializers.IntegerField(required=False, min_value=1, max_value=100)
    batch_size = serializers.IntegerField(required=False, min_value=1, max_value=256)
    rates = serializers.ListField(child=serializers.FloatField(), required=False, max_length=MOST_NUMBERS)
    seeds = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=LARGEST_SEED), required=False, max_length=MOST_NUMBERS
    )
    augments = StrictBooleanField(required=False)
    seed = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST_SEED)


class TrainingList(ProjectEndpoint):
    # A training changes no judgment, so whoever may read may request it, as on the page.
    policy = FOR_READERS
    query = TrainingQuery

    @extend_schema(responses=make_page_serializer(TrainingSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List trained metrics.

        The newest first, without their results.
        """
        chosen = {name: self.asked[name] for name in ("state",) if name in self.asked}
        rows = self.project.trainings.select_related("judgment_set").defer("result").filter(**chosen)
        return render_page(request, rows.order_by(self.asked["order"]), TrainingSerializer, self.asked)

    @extend_schema(
        request=NewTrainingSerializer,
        responses={HTTPStatus.ACCEPTED: WholeTrainingSerializer},
        examples=[
            OpenApiExample("LERC", value={"name": "ours", "set": 1, "encoder": "all-MiniLM-L6-v2"}, request_only=True)
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Request the training of a metric.

        Its cost is measured first; nothing is trained until it is started.
        """
        sent = self.sent(NewTrainingSerializer)
        judgment_set = get_object_or_404(self.project.judgment_sets, number=sent["set"])
        requesting.find_encoder(sent["encoder"])
        form = fill_in(self.project, sent)
        if not form.is_valid():
            raise Refused(
                "The training cannot be requested like this.",
                details=[f"{name}: {sentence}" for name, errors in form.errors.items() for sentence in errors],
            )
        training = requesting.request_training(
            project=self.project,
            actor=self.membership,
            judgment_set=judgment_set,
            criterion=form.cleaned_data["criterion"],
            name=form.cleaned_data["name"],
            plan=form.plan(),
            table=form.cleaned_data["table"],
        )
        return _accept(training)


class TrainingShow(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(responses=WholeTrainingSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a trained metric.

        Its cost, its progress and, once it is done, its figures.
        """
        return Response(_serialize(self.project, number))

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Delete a trained metric.

        With its model; scores that the model gave stay.
        """
        requesting.delete_training(training=_fetch(self.project, number), actor=self.membership)
        return Response(status=HTTPStatus.NO_CONTENT)


class TrainingStart(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: WholeTrainingSerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Start a training.

        Once its cost is known. One that failed or was cancelled goes on from its last checkpoint.
        """
        self.sent(StrictSerializer)
        training = _fetch(self.project, number)
        if training.is_estimated:
            requesting.start(training=training)
        else:
            requesting.go_on(training=training)
        return _accept(training)


class TrainingCancel(ProjectEndpoint):
    policy = FOR_READERS

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: WholeTrainingSerializer})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Cancel a training.

        Its checkpoints are kept. It may take a moment until it is no longer live.
        """
        self.sent(StrictSerializer)
        queue.cancel(_fetch(self.project, number))
        return Response(_serialize(self.project, number), HTTPStatus.ACCEPTED)


class TrainingTable(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, kind): OpenApiTypes.STR for kind in FORMS.values()})
    def get(self, request: Request, slug: str, number: int, name: str, form: str) -> HttpResponse:
        """Download a table of a training.

        As csv, tex or md.
        """
        return answer_table(
            self.project, list_tables(_fetch(self.project, number)), name, form, stem=f"training-{number}"
        )


def _accept(training: Training) -> Response:
    place = reverse("api:training-show", args=[training.project.slug, training.number])
    return Response(_serialize(training.project, training.number), HTTPStatus.ACCEPTED, headers={"Location": place})


def _fetch(project: Project, number: int) -> Training:
    return get_object_or_404(project.trainings.select_related("judgment_set", "project"), number=number)


def _serialize(project: Project, number: int) -> dict[str, Any]:
    return dict(WholeTrainingSerializer(_fetch(project, number)).data)
