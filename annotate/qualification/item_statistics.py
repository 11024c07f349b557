"""Statistics of a test's items: share correct, distribution of ratings, and discrimination."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotate.models import Attempt, QualificationItem, QualificationTest
from measures.grading import discrimination
from measures.outcome import Undefined
from measures.rubric import ScaleKind, format_plain_number
from projects.rubric.rubrics import CriterionOnPage, read_criteria

N_BINS = 5
"""Bins of a slider's ratings: as many as most scales have points, so that all charts look alike."""
BAR_HEIGHT = 24
"""Height of the tallest bar in units of the SVG, about a line and a half of text."""


@dataclass(frozen=True)
class Bar:
    """How often one rating, or one bin of a slider, was given, with the position and height of its bar."""

    label: str
    n: int
    x: int
    y: float
    height: float
    is_right: bool


@dataclass(frozen=True)
class RatingDistribution:
    """The distribution of ratings of one item on one criterion."""

    criterion: CriterionOnPage
    bars: list[Bar]

    @property
    def description(self) -> str:
        return ", ".join(f"{bar.label}: {bar.n}" for bar in self.bars)

    @property
    def width(self) -> int:
        return len(self.bars) * 10


@dataclass(frozen=True)
class ItemFigures:
    """The statistics of one item over all graded attempts."""

    n: int
    n_right: int
    n_cannot: int
    spreads: list[RatingDistribution]
    discrimination: float | Undefined

    @property
    def right_share(self) -> float | None:
        return self.n_right / self.n if self.n else None

    @property
    def discrimination_text(self) -> str:
        found = self.discrimination
        return "" if isinstance(found, Undefined) else f"{found:.2f}".replace("-", "−")

    @property
    def discrimination_reason(self) -> str:
        return self.discrimination.reason if isinstance(self.discrimination, Undefined) else ""


def compute_item_figures(test: QualificationTest, items: Sequence[QualificationItem]) -> dict[int, ItemFigures]:
    """Return the statistics of each item by id, over all graded attempts under the test's current rubric."""
    graded = Attempt.objects.filter(
        test=test,
        purpose=QualificationItem.Purpose.TEST,
        rubric=test.rubric_id,
        state__in=(Attempt.State.PASSED, Attempt.State.FAILED),
    )
    entries: dict[int, list[tuple[dict[str, Any], float | None]]] = {}
    for layout, stored in graded.values_list("layout", "answers"):
        answers = (stored or {})["items"]
        n_right = sum(answer["right"] for answer in answers)
        for pk, answer in zip(layout, answers, strict=True):
            # Discrimination correlates an item with the rest of its attempt: including the item itself would raise it.
            rest = (n_right - answer["right"]) / (len(answers) - 1) if len(answers) > 1 else None
            entries.setdefault(pk, []).append((answer, rest))
    criteria = read_criteria(test.rubric)
    return {item.pk: _compute_figures(item, entries.get(item.pk, []), criteria) for item in items}


def _compute_figures(
    item: QualificationItem,
    entries: Sequence[tuple[dict[str, Any], float | None]],
    criteria: Sequence[CriterionOnPage],
) -> ItemFigures:
    answers = [entry for entry, _ in entries]
    with_rest = [(bool(entry["right"]), rest) for entry, rest in entries if rest is not None]
    return ItemFigures(
        n=len(answers),
        n_right=sum(entry["right"] for entry in answers),
        n_cannot=sum(bool(entry["cannot"]) for entry in answers),
        spreads=[_compute_distribution(criterion, item, answers) for criterion in criteria],
        discrimination=discrimination([right for right, _ in with_rest], [rest for _, rest in with_rest])
        if with_rest or not answers
        else Undefined(reason="an attempt has only one item"),
    )


def _compute_distribution(
    criterion: CriterionOnPage, item: QualificationItem, answers: Sequence[dict[str, Any]]
) -> RatingDistribution:
    values = [
        entry["values"][criterion.key] for entry in answers if not entry["cannot"] and criterion.key in entry["values"]
    ]
    low, high = criterion.scale.low, criterion.scale.high
    if criterion.scale.kind is ScaleKind.CONTINUOUS:
        width = (high - low) / N_BINS
        ends = [(low + n * width, low + (n + 1) * width) for n in range(N_BINS)]
        # The highest value belongs to the last bin, although bins otherwise end before their upper limit.
        counts = Counter(min(N_BINS - 1, int((value - low) / width)) for value in values)
        labels = [
            f"{format_plain_number(round(start, 2))} to {format_plain_number(round(end, 2))}" for start, end in ends
        ]
    else:
        ends = [(float(point), float(point)) for point in criterion.scale.points]
        places = {point: place for place, point in enumerate(criterion.scale.points)}
        counts = Counter(places[int(value)] for value in values)
        labels = [str(point) for point in criterion.scale.points]
    # A criterion that isn't graded gets an empty range, in which no bar is marked as correct.
    right_low, right_high = item.expected.get(criterion.key, (high + 1, low - 1))
    right_low, right_high = right_low - item.tolerance, right_high + item.tolerance
    most = max(counts.values(), default=0)
    bars = []
    for place, (label, (start, end)) in enumerate(zip(labels, ends, strict=True)):
        height = round(BAR_HEIGHT * counts[place] / most, 1) if most else 0.0
        is_right = start <= right_high and end >= right_low
        bars.append(Bar(label, counts[place], place * 10, BAR_HEIGHT - height, height, is_right))
    return RatingDistribution(criterion, bars)
