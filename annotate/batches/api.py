"""The API of batches: the list with progress, a new batch, and changes of its state, its limits and its judgments."""

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.batches import judgments_wanted, lifecycle, trials
from annotate.batches.creating import create_batch
from annotate.batches.progress import Progress, fetch_progress
from annotate.batches.selection import Selection, find_annotators
from annotate.batches.terms import RANGES, Terms
from annotate.models import Batch
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import (
    INT32,
    PageQuery,
    Query,
    StrictBooleanField,
    StrictFloatField,
    StrictSerializer,
    TextField,
    make_page_serializer,
    render_page,
)
from projects.errors import Refused
from projects.models import Membership, Project, Question

COLLECTED = [(kind.value, kind.label) for kind in (Batch.Kind.FULL, Batch.Kind.TRIAL)]
SELECTION_FIELDS = ("datasets", "splits", "sources", "types", "sample", "questions", "seed", "with_pairs", "only_pairs")
"""The fields of a new batch that select its candidates; all others are terms."""

# Opening and reopening take a reason, the other changes of state none.
WITH_REASON = {"open": lifecycle.open_batch, "reopen": lifecycle.reopen}
ACTS = {
    "pause": lifecycle.pause,
    "close": lifecycle.close,
    "archive": lifecycle.archive,
    "use latest texts": lifecycle.adopt_newest_texts,
}
MOST_HITS_NAMED = 10_000


def bounds(name: str) -> dict[str, Any]:
    """Return the minimum and maximum of a term, as creating a batch checks them."""
    low, high = RANGES[name]
    return {"min_value": low, "max_value": high}


class ProgressSerializer(StrictSerializer):
    n_hits = serializers.IntegerField()
    n_complete = serializers.IntegerField(help_text="HITs with no unfilled assignment.")
    n_wanted = serializers.IntegerField(help_text="Assignments, one for each judgment required of a HIT's candidates.")
    n_open = serializers.IntegerField()
    n_held = serializers.IntegerField(help_text="Assignments in progress.")
    n_done = serializers.IntegerField()


class BatchSerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Batch.Kind.choices)
    state = serializers.ChoiceField(choices=Batch.State.choices)
    judgments = serializers.IntegerField(help_text="Required per candidate, each by a different annotator.")
    hit_size = serializers.IntegerField()
    time_limit_minutes = serializers.IntegerField()
    order = serializers.ChoiceField(choices=Batch.Order.choices)
    priority = serializers.IntegerField()
    seed = serializers.IntegerField()
    max_hits_per_annotator = serializers.IntegerField(allow_null=True)
    max_hits_per_day = serializers.IntegerField(allow_null=True)
    max_share = serializers.FloatField(allow_null=True, help_text="From 0 to 1, of the batch's HITs.")
    is_pay_prorated = serializers.BooleanField(help_text="Whether short HITs pay their share.")
    n_candidates = serializers.IntegerField(source="n_items")
    rubric_version = serializers.IntegerField(source="rubric.version")
    created_at = serializers.DateTimeField()
    opened_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    progress = ProgressSerializer()


class BatchQuery(PageQuery):
    state = serializers.ChoiceField(required=False, choices=Batch.State.choices)
    kind = serializers.ChoiceField(required=False, choices=Batch.Kind.choices)
    order = serializers.ChoiceField(choices=["number", "-number", "name", "-name"], default="-number")


class QuestionsOfTypeSerializer(StrictSerializer):
    type = serializers.ChoiceField(choices=Question.Type.choices, allow_blank=True)
    n = serializers.IntegerField(min_value=1, max_value=10_000_000)


class NewBatchSerializer(StrictSerializer):
    name = TextField(required=False, max_length=120, help_text="If omitted, the batch is named after its number.")
    kind = serializers.ChoiceField(required=False, choices=COLLECTED, help_text="If omitted, a full collection.")
    datasets = serializers.ListField(required=False, child=TextField())
    splits = serializers.ListField(required=False, child=TextField(allow_blank=True))
    sources = serializers.ListField(required=False, child=TextField(allow_blank=True))
    types = serializers.ListField(
        required=False,
        child=serializers.ChoiceField(choices=Question.Type.choices, allow_blank=True),
        help_text="Question types; empty for questions without one.",
    )
    sample = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text="Sample whole passages, up to about this many candidates.",
    )
    questions = QuestionsOfTypeSerializer(
        many=True,
        required=False,
        help_text="Questions to draw of each type; other types are left out. Numbers of the same type add up.",
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=INT32)
    with_pairs = StrictBooleanField(required=False, help_text="Include candidates of minimal pairs.")
    only_pairs = StrictBooleanField(required=False, help_text="Use only candidates of minimal pairs.")
    judgments = serializers.IntegerField(
        required=False, **bounds("judgments"), help_text="Per candidate; or name the annotators."
    )
    annotators = serializers.ListField(
        required=False, child=TextField(), help_text="Pseudonyms; each of them rates everything."
    )
    hit_size = serializers.IntegerField(required=False, **bounds("hit_size"))
    cents_per_hit = serializers.IntegerField(required=False, **bounds("cents_per_hit"))
    cents_per_item = serializers.IntegerField(required=False, **bounds("cents_per_item"))
    fee_share = StrictFloatField(required=False, **bounds("fee_share"), help_text="From 0 to 1.")
    is_pay_prorated = StrictBooleanField(
        required=False,
        help_text=(
            "Whether a HIT with fewer items than the HIT size pays its share of the pay per HIT. By default only in "
            "batches with personal HITs."
        ),
    )
    time_limit_minutes = serializers.IntegerField(required=False, **bounds("time_limit_minutes"))
    order = serializers.ChoiceField(required=False, choices=Batch.Order.choices)
    priority = serializers.IntegerField(required=False, **bounds("priority"))
    presentation = serializers.ChoiceField(required=False, choices=Batch.Presentation.choices)
    must_read_to_end = StrictBooleanField(
        required=False, help_text="Whether answers longer than the screen must be read to the end. True by default."
    )
    max_hits_per_annotator = serializers.IntegerField(required=False, **bounds("max_hits_per_annotator"))
    max_hits_per_day = serializers.IntegerField(required=False, **bounds("max_hits_per_day"))
    max_share = StrictFloatField(required=False, **bounds("max_share"), help_text="From 0 to 1, of the batch's HITs.")
    requires_qualification = StrictBooleanField(required=False)
    use_of_trial = serializers.ChoiceField(
        required=False, choices=Batch.UseOfTrial.choices, help_text="How judgments of the latest trial are used."
    )


class LimitsSerializer(StrictSerializer):
    max_hits_per_annotator = serializers.IntegerField(
        required=False, allow_null=True, **bounds("max_hits_per_annotator"), help_text="Null for no limit."
    )
    max_hits_per_day = serializers.IntegerField(
        required=False, allow_null=True, **bounds("max_hits_per_day"), help_text="Per annotator; null for no limit."
    )
    max_share = StrictFloatField(
        required=False, allow_null=True, **bounds("max_share"), help_text="From 0 to 1; null for no limit."
    )
    is_pay_prorated = StrictBooleanField(
        required=False, help_text="Whether short HITs pay their share. Only a draft can change it."
    )


class WantedQuery(Query):
    judgments = serializers.IntegerField(
        required=False, **bounds("judgments"), help_text="Per candidate; otherwise as many as now."
    )
    hits = TextField(required=False, max_length=5_000, help_text="Only these HITs, such as 1-5,9.")


class WantedSerializer(StrictSerializer):
    judgments = serializers.IntegerField(**bounds("judgments"), help_text="Per candidate.")
    hits = serializers.ListField(
        required=False,
        child=serializers.IntegerField(min_value=1, max_value=INT32),
        min_length=1,
        max_length=MOST_HITS_NAMED,
        help_text="Numbers of the HITs; the whole batch if omitted.",
    )
    why = TextField(
        required=False, max_length=500, help_text="Recorded in the audit log. Required to reopen the batch."
    )
    reopens = StrictBooleanField(required=False, help_text="Reopen a closed batch.")
    n_added = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=INT32,
        help_text="Assignments that you expect to be added. If it is another number, nothing is done.",
    )


class ChangeSerializer(StrictSerializer):
    n_added = serializers.IntegerField(help_text="Assignments added.")
    n_removed = serializers.IntegerField(help_text="Assignments removed. Those that annotators hold stay.")


class PlannedChangeSerializer(ChangeSerializer):
    n_hits = serializers.IntegerField()
    n_kept = serializers.IntegerField(help_text="Assignments beyond the number that stay, because someone holds them.")
    cents = serializers.IntegerField(source="cost.cents", help_text="Expected cost of those added, with fees.")
    cents_saved = serializers.IntegerField(source="saved.cents")


class MoveSerializer(StrictSerializer):
    act = serializers.ChoiceField(choices=[*WITH_REASON, *ACTS])
    why = TextField(
        required=False,
        max_length=500,
        help_text="Recorded in the audit log. Required to reopen, or to open before the trial is closed.",
    )


class BatchList(ProjectEndpoint):
    query = BatchQuery

    @extend_schema(responses=make_page_serializer(BatchSerializer))
    def get(self, request: Request, slug: str) -> Response:
        """List batches.

        The newest first, with their progress.
        """
        names = {name: self.asked[name] for name in ("state", "kind") if name in self.asked}
        rows = _list_batches(self.project).filter(**names).order_by(self.asked["order"], "-number")
        return render_page(request, rows, BatchSerializer, self.asked, prepare=_add_progress)

    @extend_schema(
        request=NewBatchSerializer,
        responses={HTTPStatus.CREATED: BatchSerializer},
        examples=[OpenApiExample("A first batch", value={"judgments": 3, "seed": 1}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a batch.

        The batch is a draft, divided into HITs; annotators get none before it is opened. Omitted fields take the
        project's settings.
        """
        sent = self.sent(NewBatchSerializer)
        selection = _read_selection(sent)
        terms = _read_terms(self.project, {name: value for name, value in sent.items() if name not in SELECTION_FIELDS})
        batch = create_batch(project=self.project, actor=self.membership, selection=selection, terms=terms)
        return Response(_serialize(self.project, batch.number), status=HTTPStatus.CREATED)


class BatchShow(ProjectEndpoint):
    @extend_schema(responses=BatchSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Read a batch.

        With its current progress.
        """
        return Response(_serialize(self.project, number))

    @extend_schema(
        request=LimitsSerializer,
        responses=BatchSerializer,
        examples=[OpenApiExample("A limit", value={"max_hits_per_annotator": 20}, request_only=True)],
    )
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Change the limits of a batch.

        What one annotator may rate of it, and in a draft how short HITs are paid. What is omitted stays as it is.
        """
        batch = get_object_or_404(_list_batches(self.project), number=number)
        sent = self.sent(LimitsSerializer)
        with transaction.atomic():
            if "is_pay_prorated" in sent:
                lifecycle.change_short_hit_pay(batch=batch, actor=self.membership, is_prorated=sent["is_pay_prorated"])
            if caps := {name: sent[name] for name in judgments_wanted.CAPS if name in sent}:
                judgments_wanted.change_caps(batch=batch, actor=self.membership, caps=caps)
        return Response(_serialize(self.project, number))

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Delete a draft.

        A batch that was opened stays; close or archive it.
        """
        batch = get_object_or_404(_list_batches(self.project), number=number)
        lifecycle.delete_draft(batch=batch, actor=self.membership)
        return Response(status=HTTPStatus.NO_CONTENT)


class BatchJudgments(ProjectEndpoint):
    chapter = "batches"
    query = WantedQuery

    @extend_schema(responses=PlannedChangeSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Preview another number of judgments.

        What it would add, remove and cost now.
        """
        batch = get_object_or_404(_list_batches(self.project), number=number)
        change = judgments_wanted.plan_wanted(
            batch=batch,
            judgments=self.asked.get("judgments", batch.judgments),
            hit_numbers=judgments_wanted.parse_numbers(self.asked["hits"]) if "hits" in self.asked else None,
        )
        return Response(PlannedChangeSerializer(change).data)

    @extend_schema(
        request=WantedSerializer,
        responses=ChangeSerializer,
        examples=[OpenApiExample("Five judgments", value={"judgments": 5}, request_only=True)],
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Change the number of judgments.

        Of the whole batch, or of some HITs. Assignments that somebody holds are never removed.
        """
        batch = get_object_or_404(_list_batches(self.project), number=number)
        sent = self.sent(WantedSerializer)
        why = sent.get("why", "")
        with transaction.atomic():
            added, removed = judgments_wanted.change_wanted(
                batch=batch,
                actor=self.membership,
                judgments=sent["judgments"],
                hit_numbers=sorted(set(sent["hits"])) if "hits" in sent else None,
                why=why,
            )
            if added != sent.get("n_added", added):
                raise Refused(
                    f"{added} assignments would be added, not {sent['n_added']}. Preview the change again.",
                    field="n_added",
                )
            if sent.get("reopens"):
                lifecycle.reopen(batch=batch, actor=self.membership, why=why)
        return Response(ChangeSerializer({"n_added": added, "n_removed": removed}).data)


class BatchState(ProjectEndpoint):
    @extend_schema(
        request=MoveSerializer,
        responses=BatchSerializer,
        examples=[OpenApiExample("Open it", value={"act": "open"}, request_only=True)],
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Open, pause, close, reopen or archive a batch.

        HITs in progress can still be finished after the batch is paused or closed. A draft can also be moved to the
        latest rubric, instructions and consent form.
        """
        batch = get_object_or_404(_list_batches(self.project), number=number)
        sent = self.sent(MoveSerializer)
        _move(batch, self.membership, sent["act"], sent.get("why", ""))
        return Response(_serialize(self.project, number))


def _list_batches(project: Project) -> QuerySet[Batch]:
    return Batch.objects.filter(project=project).select_related("project", "rubric", "instructions", "trial")


def _add_progress(batches: Sequence[Batch]) -> None:
    progress = fetch_progress(batches)
    for batch in batches:
        batch.progress = progress.get(batch.pk, Progress())  # type: ignore[attr-defined]


def _serialize(project: Project, number: int) -> dict[str, Any]:
    batch = get_object_or_404(_list_batches(project), number=number)
    _add_progress([batch])
    return dict(BatchSerializer(batch).data)


def _read_selection(sent: Mapping[str, Any]) -> Selection:
    named = {name: _as_tuple(sent[name]) for name in SELECTION_FIELDS if name in sent}
    if "questions" in named:
        numbers: Counter[str] = Counter()
        for each in named["questions"]:
            numbers[each["type"]] += each["n"]
        named["questions"] = dict(numbers)
    return Selection(**named)


def _read_terms(project: Project, sent: Mapping[str, Any]) -> Terms:
    named = dict(sent)
    if "annotators" in named:
        named["annotators"] = find_annotators(project, named["annotators"])
    if "use_of_trial" in named:
        named["trial"] = trials.list_trials(project).first()
    for name, kind in (("kind", Batch.Kind), ("order", Batch.Order), ("presentation", Batch.Presentation)):
        if name in named:
            named[name] = kind(named[name])
    return Terms(**named)


def _move(batch: Batch, actor: Membership, act: str, why: str) -> None:
    if act in WITH_REASON:
        WITH_REASON[act](batch=batch, actor=actor, why=why)
    else:
        ACTS[act](batch=batch, actor=actor)


def _as_tuple(value: Any) -> Any:
    # A selection is frozen and stored with the batch, so its lists become tuples.
    return tuple(value) if isinstance(value, list) else value
