"""The API of batches: the list with progress, a new batch, and changes of its state, its limits and its judgments."""

from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.batches import judgments_wanted, lifecycle, trials
from annotate.batches.creating import create_batch
from annotate.batches.progress import Progress, fetch_progress
from annotate.batches.selection import Selection, find_annotators
from annotate.batches.serializers import (
    ACTS,
    WITH_REASON,
    BatchQuery,
    BatchSerializer,
    ChangeSerializer,
    LimitsSerializer,
    MoveSerializer,
    NewBatchSerializer,
    PlannedChangeSerializer,
    WantedQuery,
    WantedSerializer,
)
from annotate.batches.terms import Terms
from annotate.models import Batch
from projects.api.auth import ProjectEndpoint
from projects.api.serializers import make_page_serializer, render_page
from projects.errors import Refused
from projects.models import Membership, Project

SELECTION_FIELDS = ("datasets", "splits", "sources", "types", "sample", "questions", "seed", "with_pairs", "only_pairs")
"""The fields of a new batch that select its candidates; all others are terms."""


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
