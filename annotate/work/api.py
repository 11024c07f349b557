"""The API of judgments: one per row as in the long export, with the annotator's pseudonym."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import Assignment, Batch, Judgment
from annotate.models.assignment import TAKEN_OUT
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    KeysetQuery,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    make_keyset_serializer,
    render_keyset,
)
from projects.models import Criterion, Membership

FILTERS = {
    "batch": "assignment__hit__batch__number",
    "criterion": "criterion__key",
    "annotator": "annotator__pseudonym",
    "dataset": "candidate__dataset__name",
    "split": "candidate__question__passage__split",
    "source": "candidate__source",
    "candidate_id": "candidate__external_id",
    "is_counted": "is_counted",
}
PASSAGE = "candidate__question__passage"


class JudgmentQuery(KeysetQuery):
    batch = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1, help_text="The batch's number.")
    criterion = TextField(required=False, help_text="The criterion's key.")
    annotator = TextField(required=False, help_text="The annotator's pseudonym.")
    dataset = TextField(required=False)
    split = TextField(required=False, allow_blank=True)
    source = TextField(required=False, allow_blank=True, help_text="The system or person that wrote the candidate.")  # type: ignore[assignment]
    candidate_id = TextField(required=False)
    is_counted = StrictBooleanField(required=False)


class JudgmentSerializer(StrictSerializer):
    id = serializers.IntegerField(source="pk", help_text="Send the last one as `after` to get the rows that follow it.")
    dataset = serializers.CharField(source="candidate.dataset.name")
    split = serializers.CharField(source="candidate.question.passage.split")
    passage_id = serializers.CharField(source="candidate.question.passage.external_id")
    question_id = serializers.CharField(source="candidate.question.external_id")
    candidate_id = serializers.CharField(source="candidate.external_id")
    source = serializers.CharField(source="candidate.source")  # type: ignore[assignment]
    criterion = serializers.CharField(source="criterion.key")
    is_reversed = serializers.BooleanField(source="criterion.is_reversed")
    value = serializers.FloatField(
        allow_null=True, help_text="As the annotator gave it; null if the candidate can’t be judged."
    )
    is_counted = serializers.BooleanField()
    not_counted_reason = serializers.CharField(help_text="Empty if it counts.")
    batch = serializers.IntegerField(source="assignment.hit.batch.number")
    batch_kind = serializers.ChoiceField(source="assignment.hit.batch.kind", choices=Batch.Kind.choices)
    hit = serializers.IntegerField(source="assignment.hit.number")
    rubric_version = serializers.IntegerField(source="criterion.rubric.version")
    annotator = serializers.SerializerMethodField(
        help_text="The pseudonym; null for imported scores without an annotator."
    )
    annotator_kind = serializers.ChoiceField(source="annotator.kind", choices=Membership.Kind.choices)
    assignment = serializers.UUIDField(source="assignment.uuid")
    assignment_state = serializers.ChoiceField(source="assignment.state", choices=Assignment.State.choices)
    is_blind = serializers.SerializerMethodField(
        help_text="Whether the annotator could not see sources; null for imported judgments."
    )
    judged_at = serializers.SerializerMethodField(
        help_text="When it was judged, for imported judgments as their file says; null where that is not known."
    )
    submitted_at = serializers.SerializerMethodField(
        help_text="When the HIT was submitted; null for imported judgments."
    )

    def get_annotator(self, judgment: Judgment) -> str | None:
        return None if judgment.annotator.kind == Membership.Kind.UNKNOWN else judgment.annotator.pseudonym

    def get_is_blind(self, judgment: Judgment) -> bool | None:
        return None if _is_imported(judgment) else not judgment.assignment.not_blind

    def get_judged_at(self, judgment: Judgment) -> datetime | None:
        return judgment.judged_at or self.get_submitted_at(judgment)

    def get_submitted_at(self, judgment: Judgment) -> datetime | None:
        return None if _is_imported(judgment) else judgment.assignment.submitted_at


def _is_imported(judgment: Judgment) -> bool:
    return judgment.assignment.hit.batch.kind == Batch.Kind.IMPORTED


class JudgmentList(ProjectEndpoint):
    query = JudgmentQuery

    @extend_schema(responses=make_keyset_serializer(JudgmentSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List judgments.

        Judgments of candidates, never of controls, in the order in which they were stored. Those that don't count are
        included, with the reason, but none that its annotator has removed. New judgments may be added while you read
        page by page; for data that doesn't change, use a judgment set.
        """
        asked: dict[str, Any] = {field: self.asked[name] for name, field in FILTERS.items() if name in self.asked}
        # A list of criterion ids rather than a join to the project, so that the index of judgments is used.
        criteria = Criterion.objects.filter(rubric__project=self.project).values_list("pk", flat=True)
        rows = Judgment.objects.filter(criterion__in=list(criteria), candidate__isnull=False, **asked)
        rows = rows.exclude(not_counted_reason=TAKEN_OUT)
        rows = rows.select_related(
            "annotator", "criterion__rubric", "assignment__hit__batch", "candidate__dataset", PASSAGE
        ).defer(
            f"{PASSAGE}__text", f"{PASSAGE}__documents", "candidate__text", "candidate__metadata", "assignment__layout"
        )
        return render_keyset(request, rows, JudgmentSerializer, self.asked)
