"""Versions: what an annotator said of a submitted HIT at first and after each change of it.

For a control the first answer is what its judgment says for ever; the later ones stand in the revisions alone. Who
reads versions sees the same of both, so that an annotator's own pages do not tell one from the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from annotate.models import Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.rating.sent import SentAnswers
from projects.rubric.rubrics import frozen_criteria

T = TypeVar("T")


class ItemRemark(NamedTuple):
    """What was written about an item."""

    is_flagged: bool = False
    comment: str = ""
    cannot_judge_reason: str = ""


@dataclass(frozen=True)
class Record:
    """All versions of one assignment: those of each judgment and of what was written of each item, the first first."""

    layout: list[int]
    criteria: Mapping[int, str]
    judgments: list[Judgment]
    values: dict[int, list[tuple[datetime, float | None]]]
    told: dict[int, list[tuple[datetime, ItemRemark]]]

    @property
    def times(self) -> list[datetime]:
        """When it was submitted, and when it was changed."""
        judged = {at for kept in self.values.values() for at, _ in kept}
        return sorted(judged | {at for kept in self.told.values() for at, _ in kept})

    def said(self, at: datetime | None = None) -> SentAnswers:
        """The whole HIT as a form would say it, as it stood then; the newest version where no time is given."""
        place_of = {item_id: place for place, item_id in enumerate(self.layout)}
        values: dict[int, dict[str, float | str]] = {}
        for judgment in self.judgments:
            value = _last(self.values[judgment.pk], at)
            if value is not None:
                values.setdefault(place_of[judgment.item_id], {})[self.criteria[judgment.criterion_id]] = value
        written = {place_of[item_id]: _last(kept, at) for item_id, kept in self.told.items()}
        return SentAnswers(
            values=values,
            cannot={place: told.cannot_judge_reason for place, told in written.items() if told.cannot_judge_reason},
            flags=frozenset(place for place, told in written.items() if told.is_flagged),
            comments={place: told.comment for place, told in written.items() if told.comment},
        )

    def all_said(self) -> list[SentAnswers]:
        return [self.said(at) for at in self.times]


def normalise_numbers(sent: SentAnswers) -> SentAnswers:
    """The same with every number as it is stored, so that contents can be compared."""
    values: dict[int, dict[str, float | str]] = {
        place: {key: value if isinstance(value, str) else float(value) for key, value in entries.items()}
        for place, entries in sent.values.items()
    }
    return replace(sent, values=values)


def fetch_versions(
    assignment_id: int, *, layout: list[int], rubric_id: int, submitted_at: datetime, lock: bool = False
) -> Record:
    """What is stored of an assignment that was submitted in the app; with `lock` its judgments are held."""
    judgments = Judgment.objects.filter(assignment=assignment_id).order_by("pk")
    found = list(judgments.select_for_update(no_key=True) if lock else judgments)
    values = {judgment.pk: [(submitted_at, judgment.value)] for judgment in found}
    _put(values, ((v.judgment_id, v.revised_at, v.value) for v in _revisions(found)))
    told = {
        remark.item_id: [(submitted_at, _told(remark))] for remark in Remark.objects.filter(assignment=assignment_id)
    }
    written = RemarkRevision.objects.filter(assignment=assignment_id).order_by("item", "n")
    _put(told, ((each.item_id, each.revised_at, _told(each)) for each in written))
    criteria = {criterion.id: criterion.key for criterion in frozen_criteria(rubric_id)}
    return Record(layout, criteria, found, values, told)


def _told(said: Remark | RemarkRevision) -> ItemRemark:
    return ItemRemark(said.is_flagged, said.comment, said.cannot_judge_reason)


def _revisions(judgments: list[Judgment]) -> Iterable[JudgmentRevision]:
    return JudgmentRevision.objects.filter(judgment__in=judgments).order_by("judgment", "n")


def _put(kept: dict[int, list[tuple[datetime, T]]], revisions: Iterable[tuple[int, datetime, T]]) -> None:
    """Where there are revisions they are all the versions: the first is among them."""
    found: dict[int, list[tuple[datetime, T]]] = {}
    for key, at, what in revisions:
        found.setdefault(key, []).append((at, what))
    kept.update(found)


def _last(kept: list[tuple[datetime, T]], at: datetime | None) -> T:
    """The last version at that time; the first where that is later, as it was there from the submit on."""
    then = [what for when, what in kept if at is None or when <= at]
    return then[-1] if then else kept[0][1]
