"""The API of the data: datasets, passages, questions and candidates, with the column names of the exports."""

from typing import Any, ClassVar

from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.data.table import data_table
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import PageQuery, StrictSerializer, TextField, make_page_serializer, render_page
from projects.database.snapshots import snapshot
from projects.models import Candidate, Dataset, Passage, Question, Reference

MOST_PASSAGES = 100
"""Passages on a page of the API: fewer than other rows, because each comes with its whole text."""


class LineSerializer(StrictSerializer):
    dataset = serializers.CharField()
    kind = serializers.ChoiceField(choices=Dataset.Kind.choices)
    split = serializers.CharField(help_text="Empty for passages without a split.")
    sources = serializers.ListField(child=serializers.CharField())
    passages = serializers.IntegerField()
    questions = serializers.IntegerField()
    references = serializers.IntegerField()
    candidates = serializers.IntegerField()
    judgments = serializers.IntegerField(help_text="Counted judgments of the stage shown in results.")


class DatasetsSerializer(StrictSerializer):
    count = serializers.IntegerField(help_text="Total number of rows.")
    results = LineSerializer(many=True)


class FacetQuery(PageQuery):
    dataset = TextField(required=False)
    split = TextField(required=False, allow_blank=True)


class PassageQuery(FacetQuery):
    page_size = serializers.IntegerField(
        default=MOST_PASSAGES, min_value=1, max_value=MOST_PASSAGES, help_text="Rows per page."
    )
    passage_id = TextField(required=False)
    order = serializers.ChoiceField(choices=["added", "-added", "passage_id", "-passage_id"], default="added")


class QuestionQuery(FacetQuery):
    passage_id = TextField(required=False)
    question_id = TextField(required=False)
    type = serializers.ChoiceField(required=False, choices=[each for each in Question.Type.choices if each[0]])
    order = serializers.ChoiceField(choices=["added", "-added", "question_id", "-question_id"], default="added")


class CandidateQuery(FacetQuery):
    question_id = TextField(required=False)
    candidate_id = TextField(required=False)
    source = TextField(required=False, allow_blank=True)  # type: ignore[assignment]
    order = serializers.ChoiceField(choices=["added", "-added", "candidate_id", "-candidate_id"], default="added")


class PassageSerializer(StrictSerializer):
    dataset = serializers.CharField(source="dataset.name")
    split = serializers.CharField()
    passage_id = serializers.CharField(source="external_id")
    title = serializers.CharField()
    passage = serializers.CharField(source="text")
    documents = serializers.JSONField(allow_null=True, help_text="Titled documents, if the passage is a list of them.")
    is_withdrawn = serializers.SerializerMethodField()

    def get_is_withdrawn(self, passage: Passage) -> bool:
        return passage.withdrawn_at is not None


class ReferenceSerializer(StrictSerializer):
    text = serializers.CharField()
    opinion = serializers.CharField()


class QuestionSerializer(StrictSerializer):
    dataset = serializers.CharField(source="dataset.name")
    split = serializers.CharField(source="passage.split")
    passage_id = serializers.CharField(source="passage.external_id")
    question_id = serializers.CharField(source="external_id")
    question = serializers.CharField(source="text")
    question_type = serializers.ChoiceField(source="type", choices=Question.Type.choices)
    entities = serializers.ListField(child=serializers.CharField())
    span = serializers.CharField()
    references = ReferenceSerializer(many=True)


class CandidateSerializer(StrictSerializer):
    dataset = serializers.CharField(source="dataset.name")
    split = serializers.CharField(source="question.passage.split")
    passage_id = serializers.CharField(source="question.passage.external_id")
    question_id = serializers.CharField(source="question.external_id")
    candidate_id = serializers.CharField(source="external_id")
    source = serializers.CharField(help_text="The system or person that wrote it.")  # type: ignore[assignment]
    candidate = serializers.CharField(source="text")
    opinion = serializers.CharField()
    rank = serializers.IntegerField(allow_null=True)
    confidence = serializers.FloatField(allow_null=True)
    metadata = serializers.JSONField()
    identical_to = serializers.CharField(
        source="identical_to.external_id",
        allow_null=True,
        help_text="The candidate whose ratings this one has, where identical answers are rated once.",
    )
    is_withdrawn = serializers.SerializerMethodField(help_text="Withdrawn itself, or with its passage.")

    def get_is_withdrawn(self, candidate: Candidate) -> bool:
        return candidate.withdrawn_at is not None or candidate.question.passage.withdrawn_at is not None


class DatasetList(ProjectEndpoint):
    chapter = "data"

    @extend_schema(responses=DatasetsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Count the data.

        Numbers of rows for each split of each dataset.
        """
        with snapshot():
            lines = data_table(self.project).lines
        return Response(DatasetsSerializer({"count": len(lines), "results": lines}).data)


class CorpusList(ProjectEndpoint):
    """A list of one kind of row, with its filters by parameter and the name of its own id."""

    chapter = "data"
    own_id: ClassVar[str]
    filters: ClassVar[dict[str, str]]

    def filter(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        asked = {field: self.asked[name] for name, field in self.filters.items() if name in self.asked}
        order = self.asked["order"].replace("added", "pk").replace(self.own_id, "external_id")
        return rows.filter(**asked).order_by(order, "pk")


class PassageList(CorpusList):
    query = PassageQuery
    own_id = "passage_id"
    filters = {"dataset": "dataset__name", "split": "split", "passage_id": "external_id"}

    @extend_schema(responses=make_page_serializer(PassageSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List passages.

        With their whole text.
        """
        rows = Passage.objects.in_project(self.project).select_related("dataset")
        return render_page(request, self.filter(rows), PassageSerializer, self.asked)


class QuestionList(CorpusList):
    query = QuestionQuery
    own_id = "question_id"
    filters = {
        "dataset": "dataset__name",
        "split": "passage__split",
        "passage_id": "passage__external_id",
        "question_id": "external_id",
        "type": "type",
    }

    @extend_schema(responses=make_page_serializer(QuestionSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List questions.

        With their references, the correct answers.
        """
        rows = Question.objects.in_project(self.project).select_related("dataset", "passage")
        # Only the passage's id and split are given here: its text would be read again for each of its questions.
        rows = rows.defer("passage__text", "passage__documents")
        rows = rows.prefetch_related(Prefetch("references", Reference.objects.order_by("position")))
        return render_page(request, self.filter(rows), QuestionSerializer, self.asked)


class CandidateList(CorpusList):
    query = CandidateQuery
    own_id = "candidate_id"
    filters = {
        "dataset": "dataset__name",
        "split": "question__passage__split",
        "question_id": "question__external_id",
        "candidate_id": "external_id",
        "source": "source",
    }

    @extend_schema(responses=make_page_serializer(CandidateSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List candidates.

        The answers that are judged, with their source.
        """
        rows = Candidate.objects.in_project(self.project).select_related("dataset", "question__passage", "identical_to")
        rows = rows.defer("question__passage__text", "question__passage__documents")
        return render_page(request, self.filter(rows), CandidateSerializer, self.asked)
