"""Judgment sets by the API: listed, frozen by a job, and downloaded whole or file by file."""

from http import HTTPStatus
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.frames.stages import Stage
from measures.bootstrap import PERCENTILE
from measures.gold_rules import GoldRule
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    INT32,
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
from results.sets import citing, downloads, freezing
from results.sets.depositing import CitedSet, read_reference
from results.sets.downloads import ANYTHING, KINDS
from results.sets.licences import LICENCES
from results.sets.settings import Settings

# Bounded, as each value becomes a parameter of a statement.
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
    is_live = serializers.BooleanField(help_text="Whether the job is unfinished. If so, poll again.")
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="Steps of the job; 0 before it starts.")
    error = serializers.CharField(help_text="Why freezing failed; otherwise empty.")
    settings = serializers.JSONField(help_text="The selection of judgments, and the gold rule.")
    facts = serializers.JSONField(help_text="Counts, agreement, versions, and the changes since the previous set.")
    files = FileSerializer(many=True)
    n_bytes = serializers.IntegerField(help_text="Size of the archive.")
    sha256 = serializers.CharField(help_text="SHA-256 of the archive; empty until it is frozen.")
    doi = serializers.CharField(help_text="Given after the set was deposited; empty without one.")
    frozen_at = serializers.DateTimeField(allow_null=True)
    retired_at = serializers.DateTimeField(allow_null=True)
    retired_why = serializers.CharField()
    successor = serializers.IntegerField(source="successor.number", default=None, allow_null=True)


class CitationSerializer(StrictSerializer):
    text = serializers.CharField(help_text="The reference as a sentence, with the authors and the DOI.")
    bibtex = serializers.CharField()
    cff = serializers.CharField(help_text="As CITATION.cff, with the DOI.")


class WholeSetSerializer(SetSerializer):
    citation = serializers.SerializerMethodField()
    signatures = serializers.SerializerMethodField()

    @extend_schema_field(CitationSerializer(allow_null=True, help_text="Null until the set is frozen."))
    def get_citation(self, judgment_set: JudgmentSet) -> dict[str, str] | None:
        reference = self._read_reference(judgment_set)
        if reference is None:
            return None
        return {
            "text": reference.sentence,
            "bibtex": reference.bibtex,
            "cff": reference.cff,
        }

    @extend_schema_field(
        serializers.ListField(
            child=serializers.CharField(), help_text="Signatures of the metrics whose scores the set holds."
        )
    )
    def get_signatures(self, judgment_set: JudgmentSet) -> list[str]:
        reference = self._read_reference(judgment_set)
        return list(reference.signatures) if reference else []

    def _read_reference(self, judgment_set: JudgmentSet) -> CitedSet | None:
        # Both fields come from the archive, which is opened once.
        if not hasattr(self, "_reference"):
            self._reference = read_reference(judgment_set) if judgment_set.is_frozen else None
        return self._reference


class NewSetSerializer(StrictSerializer):
    name = TextField(max_length=freezing.NAME_LENGTH)
    criteria = serializers.ListField(child=TextField(), **MANY)
    stage = serializers.ChoiceField(required=False, choices=[stage.value for stage in Stage])
    batches = serializers.ListField(child=serializers.IntegerField(min_value=1, max_value=INT32), **SOME)
    datasets = serializers.ListField(child=TextField(), **MANY)
    splits = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    sources = serializers.ListField(child=TextField(allow_blank=True), **MANY)
    is_blind_only = StrictBooleanField(required=False)
    with_texts = StrictBooleanField(required=False, help_text="Required for the MOCHA files.")
    with_comments = StrictBooleanField(required=False, help_text="Free text that may contain personal data.")
    with_surveys = StrictBooleanField(
        required=False, help_text="Answers to surveys that may be published, of annotators who allowed it."
    )
    gold = serializers.ChoiceField(required=False, choices=[gold.value for gold in GoldRule])
    controls_in_z = StrictBooleanField(required=False)
    studies = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=INT32),
        help_text="Numbers of metric evaluations. None by default.",
        **SOME,
    )
    authors = serializers.ListField(
        child=TextField(max_length=citing.AUTHOR_LENGTH),
        required=False,
        max_length=citing.MOST_AUTHORS,
        help_text="“Family, Given”, or an organisation in braces. By default those of the newest set.",
    )
    licence = serializers.ChoiceField(
        required=False, allow_blank=True, choices=list(LICENCES), help_text="By default that of the newest set."
    )
    languages = serializers.ListField(
        child=TextField(max_length=3), help_text="Codes of the languages of the texts, such as en.", **SOME
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=INT32)
    n_resamples = serializers.IntegerField(
        required=False,
        min_value=100,
        max_value=MOST_RESAMPLES,
        help_text="Computes intervals by a percentile bootstrap, from the seed. Otherwise by the jackknife.",
    )


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

        A job writes the files from one snapshot. Without filters all judgments are included. A frozen set never
        changes.
        """
        sent = self.sent(NewSetSerializer)
        name = sent.pop("name")
        # What the request leaves out is as on the form: the project's stage and gold rule.
        if "n_resamples" in sent:
            sent["intervals"] = PERCENTILE
        settings = Settings.from_dict({**freezing.default_settings(self.project).as_dict(), **sent})
        judgment_set = freezing.request_set(project=self.project, actor=self.membership, name=name, settings=settings)
        location = reverse("api:set-show", args=[slug, judgment_set.number])
        return Response(
            _serialize(self.project, judgment_set.number), HTTPStatus.ACCEPTED, headers={"Location": location}
        )


class SetShow(ProjectEndpoint):
    @extend_schema(responses=WholeSetSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a judgment set.

        Its progress and, once it is frozen, its figures, its files with their SHA-256, and how to cite it.
        """
        judgment_set = get_object_or_404(_sets(self.project), number=number)
        return Response(WholeSetSerializer(judgment_set).data)


class SetArchive(ProjectEndpoint):
    @extend_schema(responses={(HTTPStatus.OK, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, slug: str, number: int) -> HttpResponseBase:
        """Download a judgment set.

        All files as one ZIP, the same bytes each time. The archive of a retired set also contains the note RETIRED.md.
        """
        return downloads.stream_archive(self.project, number, is_head=request.method == "HEAD")


class SetFile(ProjectEndpoint):
    @extend_schema(
        responses={
            (status, kind): OpenApiTypes.BINARY
            for status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT)
            for kind in [*KINDS.values(), ANYTHING]
        }
    )
    def get(self, request: Request, slug: str, number: int, name: str) -> HttpResponseBase:
        """Download a file of a judgment set.

        By its name in the set's list of files. With the header `Range: bytes=N-`, the file from byte N on.
        """
        return downloads.stream_file(
            self.project, number, name, is_head=request.method == "HEAD", asked_range=request.headers.get("Range")
        )


def _sets(project: Project) -> Any:
    return project.judgment_sets.select_related("successor")


def _serialize(project: Project, number: int) -> dict[str, Any]:
    return dict(SetSerializer(get_object_or_404(_sets(project), number=number)).data)
