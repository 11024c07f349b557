"""The versions of a submitted HIT: its first answers, and those after each revision.

The judgment of a control keeps the first value for ever, and its later ones are in the revisions only. Versions look
the same for controls as for candidates, so that annotators' own pages do not tell one from the other.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from annotate.models import Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.rating.sent import Ratings, SentAnswers
from projects.rubric.rubrics import frozen_criteria

T = TypeVar("T")


class ItemRemark(NamedTuple):
    """The flag, the comment and the reason why it can't be judged that an annotator gave an item."""

    is_flagged: bool = False
    comment: str = ""
    cannot_judge_reason: str = ""


@dataclass(frozen=True)
class Record:
    """All versions of one assignment: of each judgment and of the comment on each item, the oldest first."""

    layout: list[int]
    criteria: Mapping[int, str]
    judgments: list[Judgment]
    values: dict[int, list[tuple[datetime, float | None]]]
    remarks: dict[int, list[tuple[datetime, ItemRemark]]]

    @property
    def times(self) -> list[datetime]:
        """The times of its submission and of each revision."""
        judged = {at for versions in self.values.values() for at, _ in versions}
        return sorted(judged | {at for versions in self.remarks.values() for at, _ in versions})

    def read(self, at: datetime | None = None) -> SentAnswers:
        """Return the whole HIT as a form would send it, as of this time; the newest version without a time."""
        positions = {item_id: position for position, item_id in enumerate(self.layout)}
        values: dict[int, Ratings] = {}
        for judgment in self.judgments:
            value = _find_last(self.values[judgment.pk], at)
            if value is not None:
                ratings = values.setdefault(positions[judgment.item_id], {})
                ratings[self.criteria[judgment.criterion_id]] = value
        remarks = {positions[item_id]: _find_last(versions, at) for item_id, versions in self.remarks.items()}
        return SentAnswers(
            values=values,
            cannot={
                position: remark.cannot_judge_reason
                for position, remark in remarks.items()
                if remark.cannot_judge_reason
            },
            flags=frozenset(position for position, remark in remarks.items() if remark.is_flagged),
            comments={position: remark.comment for position, remark in remarks.items() if remark.comment},
        )

    def read_all(self) -> list[SentAnswers]:
        return [self.read(at) for at in self.times]


def normalise_numbers(sent: SentAnswers) -> SentAnswers:
    """Return the same answers with every number as a float, as it is stored, so that hashes can be compared."""
    values: dict[int, Ratings] = {
        position: {key: value if isinstance(value, str) else float(value) for key, value in entries.items()}
        for position, entries in sent.values.items()
    }
    return replace(sent, values=values)


def fetch_versions(
    assignment_id: int, *, layout: list[int], rubric_id: int, submitted_at: datetime, lock: bool = False
) -> Record:
    """Return all versions of an assignment that was submitted in the app; with `lock` its judgments are locked."""
    judgments = Judgment.objects.filter(assignment=assignment_id).order_by("pk")
    found = list(judgments.select_for_update(no_key=True) if lock else judgments)
    values = {judgment.pk: [(submitted_at, judgment.value)] for judgment in found}
    _replace(values, ((v.judgment_id, v.revised_at, v.value) for v in _list_revisions(found)))
    remarks = {
        remark.item_id: [(submitted_at, _read_remark(remark))]
        for remark in Remark.objects.filter(assignment=assignment_id)
    }
    revised = RemarkRevision.objects.filter(assignment=assignment_id).order_by("item", "n")
    _replace(remarks, ((each.item_id, each.revised_at, _read_remark(each)) for each in revised))
    criteria = {criterion.id: criterion.key for criterion in frozen_criteria(rubric_id)}
    return Record(layout, criteria, found, values, remarks)


def _read_remark(remark: Remark | RemarkRevision) -> ItemRemark:
    return ItemRemark(remark.is_flagged, remark.comment, remark.cannot_judge_reason)


def _list_revisions(judgments: list[Judgment]) -> Iterable[JudgmentRevision]:
    return JudgmentRevision.objects.filter(judgment__in=judgments).order_by("judgment", "n")


def _replace(versions: dict[int, list[tuple[datetime, T]]], revisions: Iterable[tuple[int, datetime, T]]) -> None:
    """Replace the stored value by the revisions if there are any: the submitted value is the first of them."""
    found: dict[int, list[tuple[datetime, T]]] = {}
    for key, at, value in revisions:
        found.setdefault(key, []).append((at, value))
    versions.update(found)


def _find_last(versions: list[tuple[datetime, T]], at: datetime | None) -> T:
    """Return the last version at that time, or the first if it is later: it was there from the submission on."""
    then = [value for when, value in versions if at is None or when <= at]
    return then[-1] if then else versions[0][1]
