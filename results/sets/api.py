"""Judgment sets: listed, frozen by a job, asked after, and downloaded whole or file by file."""

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

from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    PageQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.models import Project
from results.models import JudgmentSet
from results.scope.gold_settings import MOST_RESAMPLES
from results.sets import downloads, freezing
from results.sets.downloads import ANYTHING, KINDS
from results.sets.settings import Settings

INT32 = 2**31 - 1
MANY: dict[str, Any] = {"required": False, "max_length": 1_000}
SOME: dict[str, Any] = {"required": False, "max_length": 100}


class SetQuery(PageQuery):
    state = serializers.ChoiceField(required=False, choices=JudgmentSet.State.choices)
    order = serializers.ChoiceField(choices=["number", "-number"], default="-number")


class FileSerializer(StrictSerializer):
    name = serializers.CharField()
    n_bytes = serializers.IntegerField()
    sha256 = serializers.CharField()


class SetSerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=JudgmentSet.State.choices)
    is_live = serializers.BooleanField(help_text="Whether something still happens by itself: ask again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="How far the job is; 0 before it has begun.")
    error = serializers.CharField(help_text="Why it was not frozen; empty otherwise.")
    settings = serializers.JSONField(help_text="What was chosen.")
    facts = serializers.JSONField(help_text="Counts, agreement, versions, and what changed since the set before.")
    files = FileSerializer(many=True)
    n_bytes = serializers.IntegerField(help_text="Of the archive.")
    sha256 = serializers.CharField(help_text="Of the archive; empty until it is frozen.")
    frozen_at = serializers.DateTimeField(allow_null=True)
    retired_at = serializers.DateTimeField(allow_null=True)
    retired_why = serializers.CharField()
    successor = serializers.IntegerField(source="successor.number", default=None, allow_null=True)


class NewSetSerializer(StrictSerializer):
    name = TextField(max_length=freezing.NAME_LENGTH)
    criteria = serializers.ListField(child=TextField(), **MANY)
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    batches = serializers.ListField(child=serializers.IntegerField(min_value=1, max_value=INT32), **SOME)
    datasets = serializers.ListField(child=TextField(), **MANY)
    splits = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    sources = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    is_blind_only = StrictBooleanField(required=False)
    with_texts = StrictBooleanField(required=False, help_text="Without them there are no MOCHA files.")
    with_comments = StrictBooleanField(required=False, help_text="Free text: people may have written personal data.")
    gold = serializers.ChoiceField(required=False, choices=[gold.value for gold in GoldRule])
    controls_in_z = StrictBooleanField(required=False)
    studies = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=INT32), help_text="Their numbers; none by itself.", **SOME
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=INT32)
    n_resamples = serializers.IntegerField(required=False, min_value=100, max_value=MOST_RESAMPLES)


class SetList(ProjectEndpoint):
    query = SetQuery

    @extend_schema(responses=make_page_serializer(SetSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List judgment sets.

        The newest first.
        """
        names = {"state": self.asked["state"]} if "state" in self.asked else {}
        rows = _sets(self.project).filter(**names).order_by(self.asked["order"])
        return render_page(request, rows, SetSerializer, self.asked)

    @extend_schema(
        request=NewSetSerializer,
        responses={HTTPStatus.ACCEPTED: SetSerializer},
        examples=[OpenApiExample("Everything", value={"name": "For the paper"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze a judgment set.

        A job makes the files from one moment; nothing named takes everything. Once frozen it never changes.
        """
        sent = self.sent(NewSetSerializer)
        name = sent.pop("name")
        settings = Settings.from_dict({**freezing.default_settings(self.project).as_dict(), **sent})
        made = freezing.request_set(project=self.project, actor=self.membership, name=name, settings=settings)
        place = reverse("api:set-show", args=[slug, made.number])
        return Response(_described(self.project, made.number), HTTPStatus.ACCEPTED, headers={"Location": place})


class SetShow(ProjectEndpoint):
    @extend_schema(responses=SetSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Ask after a judgment set.

        How far the job is; once it is frozen, its figures and files with their SHA-256.
        """
        return Response(_described(self.project, number))


class SetArchive(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, number: int) -> HttpResponseBase:
        """Download a judgment set.

        All files as one ZIP, the same bytes each time; a retired one says so in a note beside them.
        """
        return downloads.stream_archive(self.project, number, is_head=request.method == "HEAD")


class SetFile(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, kind): OpenApiTypes.BINARY for kind in [*KINDS.values(), ANYTHING]})
    def get(self, request: Request, slug: str, number: int, name: str) -> HttpResponseBase:
        """Download a file of a judgment set.

        By the name that the set lists.
        """
        return downloads.stream_file(self.project, number, name, is_head=request.method == "HEAD")


def _sets(project: Project) -> Any:
    return project.judgment_sets.select_related("successor")


def _described(project: Project, number: int) -> dict[str, Any]:
    return dict(SetSerializer(get_object_or_404(_sets(project), number=number)).data)
