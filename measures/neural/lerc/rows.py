"""The rows that LERC learns from: judged answers, and the rows that the released code of MOCHA adds to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

HIGHEST = 5.0
"""The best score. Judgments on another scale are mapped to 1 to 5 before."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A judged answer with its texts.

    Attributes
    ----------
    key : str
        Names the answer within its dataset.
    dataset, group, split, source : str
        Its dataset, its passage, the part of the data, and the system that gave it.
    passage, question, reference, candidate : str
        The texts; those that the project does not have are empty.
    score : float
        Its gold score, from 1 to 5.
    """

    key: str
    dataset: str
    group: str
    split: str = ""
    source: str = ""
    passage: str = ""
    question: str = ""
    reference: str
    candidate: str
    score: float


def augment(rows: Iterable[Row]) -> list[Row]:
    """Add the rows that the released code of MOCHA adds.

    Parameters
    ----------
    rows : iterable of Row
        The judged answers, in the order of their file.

    Returns
    -------
    list of Row
        Each row, followed by: if its question is new in its dataset, the reference as its own candidate, scored 5; if
        its score is exactly 5, the row with candidate and reference swapped.

    References
    ----------
    A. Chen et al. (2020), MOCHA, EMNLP; the reader of its released code.

    Examples
    --------
    >>> row = Row(key="1", dataset="d", group="p", question="who?", reference="a cat", candidate="the cat", score=5)
    >>> [(each.reference, each.candidate) for each in augment([row])]
    [('a cat', 'the cat'), ('a cat', 'a cat'), ('the cat', 'a cat')]
    """
    found: list[Row] = []
    questions: set[tuple[str, str]] = set()
    for row in rows:
        found.append(row)
        if (row.dataset, row.question) not in questions:
            questions.add((row.dataset, row.question))
            found.append(replace(row, candidate=row.reference, score=HIGHEST))
        if row.score == HIGHEST:
            found.append(replace(row, candidate=row.reference, reference=row.candidate))
    return found


@dataclass(frozen=True)
class Parts:
    """Judged answers for training, for the choice of rate and epoch, and for the test; none is in two parts."""

    train: Sequence[Row]
    dev: Sequence[Row]
    test: Sequence[Row]


def part_rows(rows: Sequence[Row], *, held_out: str = "") -> Parts:
    """Part rows by their split.

    Parameters
    ----------
    rows : sequence of Row
        Rows of other splits than train, dev and test are in no part.
    held_out : str
        A dataset that leaves train and dev; the test is then over its own rows of dev and test.

    Returns
    -------
    Parts
        In the order of the rows.
    """
    own = [row for row in rows if row.dataset != held_out]
    if held_out:
        tested = [row for row in rows if row.dataset == held_out and row.split in ("dev", "test")]
    else:
        tested = [row for row in rows if row.split == "test"]
    return Parts([row for row in own if row.split == "train"], [row for row in own if row.split == "dev"], tested)


def split_passages(rows: Sequence[Row], *, seed: int, dev: float = 0.1, test: float = 0.2) -> list[Row]:
    """Give every row a split, drawn for whole passages of each dataset.

    Parameters
    ----------
    rows : sequence of Row
        Their own splits are ignored.
    seed : int
        Of the draw.
    dev, test : float
        The shares of the passages. Where a dataset has ten or more, each part has at least three, without which there
        is no interval; where it has three or more, each has at least one.

    Returns
    -------
    list of Row
        The same rows, in their order.

    Examples
    --------
    >>> rows = [Row(key=str(n), dataset="d", group=str(n), reference="a", candidate="b", score=1) for n in range(10)]
    >>> sorted(row.split for row in split_passages(rows, seed=1))
    ['dev', 'dev', 'dev', 'test', 'test', 'test', 'train', 'train', 'train', 'train']
    """
    splits: dict[tuple[str, str], str] = {}
    for dataset in sorted({row.dataset for row in rows}):
        groups = sorted({row.group for row in rows if row.dataset == dataset})
        least = 3 if len(groups) >= 10 else 1 if len(groups) >= 3 else 0
        n_dev, n_test = (max(least, round(share * len(groups))) for share in (dev, test))
        drawn = np.random.default_rng(seed).permutation(len(groups))
        for place, at in enumerate(drawn.tolist()):
            name = "dev" if place < n_dev else "test" if place < n_dev + n_test else "train"
            splits[dataset, groups[at]] = name
    return [replace(row, split=splits[row.dataset, row.group]) for row in rows]


def keep_share(rows: Sequence[Row], share: float, *, seed: int) -> list[Row]:
    """Return the rows of a share of the passages, for a learning curve; a greater share contains the smaller ones.

    Parameters
    ----------
    rows : sequence of Row
        Those of training.
    share : float
        Above 0, at most 1; at least one passage is kept.
    seed : int
        Of the order of the passages.

    Returns
    -------
    list of Row
        In their order.
    """
    groups = sorted({(row.dataset, row.group) for row in rows})
    order = np.random.default_rng(seed).permutation(len(groups)).tolist()
    kept = {groups[at] for at in order[: max(1, round(share * len(groups)))]}
    return [row for row in rows if (row.dataset, row.group) in kept]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A row of the three-way task on which LERC is pre-trained: two answers, of which one is right, or both.

    Attributes
    ----------
    passage, question, answer_1, answer_2 : str
        The texts.
    label : int
        0 if the first answer is right, 1 if the second is, 2 if both are.
    """

    passage: str
    question: str
    answer_1: str
    answer_2: str
    label: int


def toss(rows: Sequence[Choice], *, seed: int) -> list[Choice]:
    """Return the rows with the two answers in an order that a coin decides, as the right one often comes first.

    Parameters
    ----------
    rows : sequence of Choice
        As they are in the file.
    seed : int
        Of the coin.

    Returns
    -------
    list of Choice
        The labels follow the answers.
    """
    heads = np.random.default_rng(seed).integers(0, 2, len(rows)).tolist()
    return [
        replace(row, answer_1=row.answer_2, answer_2=row.answer_1, label=(1, 0, 2)[row.label]) if head else row
        for row, head in zip(rows, heads, strict=True)
    ]
