"""The pages of an attempt, one passage each, or one answer each in practice, and the answers so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from annotate.models import Attempt, QualificationItem, QualificationTest
from annotate.rating.answers import explain_invalid
from annotate.rating.sent import SentAnswers
from measures.rubric import check_value
from projects.models import Dataset, Project
from projects.rubric.rubrics import CriterionOnPage


@dataclass(frozen=True)
class AttemptPage:
    """Items of one passage, on a page numbered from 1; `first` is the position of the first one in the attempt."""

    number: int
    first: int
    items: list[QualificationItem]


@dataclass(frozen=True)
class ItemAnswer:
    """The answer of an attempt to one item."""

    values: dict[str, float] = field(default_factory=dict)
    cannot: str = ""
    comment: str = ""
    is_flagged: bool = False

    def is_complete(self, criteria: Sequence[CriterionOnPage]) -> bool:
        return bool(self.cannot) or all(criterion.key in self.values for criterion in criteria)


def rates_questions(project: Project, items: Sequence[QualificationItem]) -> bool:
    """Return whether the items are generated questions: those made from candidates by the kind of their dataset.

    Items that were typed are, if all data of the project are of that kind.
    """
    ids: set[int] = {getattr(item, "candidate_id", None) or 0 for item in items} - {0}
    datasets = Dataset.objects.filter(project=project)
    kinds = (datasets.filter(candidates__in=ids) if ids else datasets).values_list("kind", flat=True)
    return set(kinds) == {Dataset.Kind.QUESTION_GENERATION}


def draw_items(test: QualificationTest, pool: Sequence[QualificationItem], annotator_id: int, n: int) -> list[int]:
    """Return the layout of an attempt: items drawn from the pool, grouped by passage, in random order.

    The seed is made from the test's seed, the annotator and the number of the attempt, so that any layout can be
    reproduced.
    """
    # Numpy's generator takes the three numbers as one seed, without mixing them by hand.
    rng = np.random.default_rng([test.seed, annotator_id, n])
    wanted = len(pool) if test.n_items is None else min(test.n_items, len(pool))
    # Sorted back into the pool's order: passages, and answers within questions, are shuffled below as groups.
    drawn = [pool[place] for place in sorted(rng.choice(len(pool), size=wanted, replace=False))]
    passages = _group(drawn, _passage_key)
    passages = [passages[place] for place in rng.permutation(len(passages))]
    layout: list[int] = []
    for passage in passages:
        for question in _group(passage, lambda item: item.question):
            layout += [question[place].pk for place in rng.permutation(len(question))]
    return layout


def list_pages(attempt: Attempt) -> list[AttemptPage]:
    """Return the pages of an attempt in order, retired items included: they stay in attempts that have them.

    Practice has one answer on a page, because each is followed by its correct rating.
    """
    if attempt.purpose != QualificationItem.Purpose.PRACTICE:
        return list_passages(attempt)
    items = [item for passage in list_passages(attempt) for item in passage.items]
    return [AttemptPage(place + 1, place, [item]) for place, item in enumerate(items)]


def list_passages(attempt: Attempt) -> list[AttemptPage]:
    """Return the items of an attempt by passage, as results show them."""
    by_id = QualificationItem.objects.in_bulk(attempt.layout)
    items = [by_id[pk] for pk in attempt.layout]
    pages, first = [], 0
    for number, (_, run) in enumerate(groupby(items, key=_passage_key), start=1):
        shown = list(run)
        pages.append(AttemptPage(number, first, shown))
        first += len(shown)
    return pages


def read_answers(draft: dict[str, Any], pages: Sequence[AttemptPage]) -> list[ItemAnswer]:
    """Return the draft's answer to each item, by position in the attempt."""
    found = []
    for page in pages:
        stored = draft.get(str(page.number), {})
        for place in map(str, range(len(page.items))):
            values = stored.get("answers", {}).get(place, {})
            found.append(
                ItemAnswer(
                    # A draft keeps a value with its stamp, and None for one that was cleared.
                    values={key: value for key, (value, _) in values.items() if value is not None},
                    cannot=_read_entry(stored, "cannot", place) or "",
                    comment=_read_entry(stored, "comments", place) or "",
                    is_flagged=bool(_read_entry(stored, "flags", place)),
                )
            )
    return found


def draft_from_form(
    sent: SentAnswers, n_items: int, criteria: Sequence[CriterionOnPage], stamp: float
) -> dict[str, Any]:
    """Return a page of the draft made from a whole form, in which nothing of an earlier draft remains.

    Values off their scale are left out; `find_wrong_values` reports them.
    """
    scales = {criterion.key: criterion.scale for criterion in criteria}
    values = {
        str(place): {
            key: [value, stamp]
            for key, value in sent.values.get(place, {}).items()
            if key in scales and check_value(scales[key], value) is None
        }
        for place in range(n_items)
    }
    page: dict[str, Any] = {"answers": values}
    parts = (("cannot", sent.cannot), ("comments", sent.comments), ("flags", dict.fromkeys(sent.flags, True)))
    for part, entries in parts:
        page[part] = {str(place): [value, stamp] for place, value in entries.items() if place < n_items}
    if sent.seconds and len(sent.seconds) == n_items:
        page["seconds"] = sent.seconds
    return page


def find_wrong_values(sent: SentAnswers, n_items: int, criteria: Sequence[CriterionOnPage]) -> dict[int, str]:
    """Return the errors of values off their scale, by position on the page."""
    wrong: dict[int, str] = {}
    for place in range(n_items):
        for criterion in criteria:
            value = sent.values.get(place, {}).get(criterion.key)
            fault = None if value is None or place in sent.cannot else explain_invalid(criterion.scale, value)
            if fault:
                wrong.setdefault(place, fault)
    return wrong


def _read_entry(page: dict[str, Any], part: str, place: str) -> Any:
    return (page.get(part, {}).get(place) or [None])[0]


def _passage_key(item: QualificationItem) -> tuple[str, str]:
    return item.passage_title, item.passage_text


def _group(items: Sequence[QualificationItem], key: Any) -> list[list[QualificationItem]]:
    """Group items with the same key, in the order in which the keys first occur."""
    groups: dict[Any, list[QualificationItem]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
