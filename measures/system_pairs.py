"""Pairs of systems: differences on the questions that both answered, with effect sizes and tests by passage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import pandas as pd

from measures.columns import GROUP, SOURCE, VALUE, require_columns
from measures.corrections import holm
from measures.jackknife import JackknifeInterval, Scale, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import ON_SCALE
from measures.sign_flips import sign_flip_p

QUESTION = "question"
LEAST_GROUPS = 2
_NO_DIFFERENCE = "no difference on any shared question"
_FEW_GROUPS = "fewer than two shared passages"
_UNPAIRED, NO_VALUES = "no shared question", "a system has no values"


class PairTest(StrEnum):
    """Tests of two systems on the same questions.

    ``sign_flip``: the signs of whole passages are flipped. ``signed_rank``: Wilcoxon's test over the sums of the
    passages, with zeros by Pratt's method.
    """

    SIGN_FLIP = "sign_flip"
    SIGNED_RANK = "signed_rank"


@dataclass(frozen=True, kw_only=True)
class SystemPair:
    """Two systems compared.

    Attributes
    ----------
    first, second : str
        The systems; differences are first minus second.
    n_first, n_second : int
        The answers of each that have a value.
    is_paired : bool
        Whether they share questions. If not, the means of their passages are compared as independent samples.
    n_questions, n_groups : int
        Shared questions and passages; of an unpaired pair, 0 and the passages of either, one of both counted once.
    difference : float or Undefined
        The mean difference over shared questions; unpaired, the difference of the means of the passage means.
    interval : JackknifeInterval or Undefined
        Its interval, by the jackknife over passages.
    superiority : float or Undefined
        The share of shared questions with a better answer by the first; equal answers count half. Unpaired, the
        same over all pairs of a passage of each.
    d_z : float or Undefined
        The mean difference divided by the standard deviation of the differences.
    p, p_holm : float or Undefined, float or None
        Two-sided p, and after Holm's correction over all pairs; None where undefined.
    """

    first: str
    second: str
    n_first: int
    n_second: int
    is_paired: bool
    n_questions: int
    n_groups: int
    difference: float | Undefined
    interval: JackknifeInterval | Undefined
    superiority: float | Undefined
    d_z: float | Undefined
    p: float | Undefined
    p_holm: float | None = None


def compare_pairs(
    items: pd.DataFrame,
    *,
    sources: Sequence[str],
    rng: np.random.Generator,
    test: PairTest | str = PairTest.SIGN_FLIP,
    confidence: float = 0.95,
) -> list[SystemPair]:
    """Compare each pair of systems once, on the questions that both answered.

    Parameters
    ----------
    items : pandas.DataFrame
        One row per answer, with `source`, `question`, `group` (passage) and `value`, the mean of the answer's ratings.
        Rows without a value are left out. Several answers of a system to a question count by their mean.
    sources : sequence of str
        The systems, in the order wanted.
    rng : numpy.random.Generator
        The source of randomness of the sign-flip test.
    test : PairTest or str
        The test of pairs with shared questions.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1.

    Returns
    -------
    list of SystemPair
        Each pair in the order of `sources`. p is undefined with fewer than two shared passages, and if the systems
        differ on no shared question. A pair without a shared question is tested by Mann-Whitney's test over passage
        means, exact where a side has at most eight.

    Raises
    ------
    ValueError
        A column is missing.

    Notes
    -----
    Ratings of one answer, and answers about one passage, are not independent. Tests that take them as independent are
    significant far too often: with three ratings an item, Mann-Whitney's test over ratings rejects a true hypothesis
    in 14 to 29 % of cases at the level .05, the sign-flip test by passage in 5 % (``python -m
    benchmarks.significance``).

    Examples
    --------
    >>> items = pd.DataFrame({"source": list("abababab"), "question": [1, 1, 2, 2, 3, 3, 4, 4],
    ...                       "group": [1, 1, 2, 2, 3, 3, 3, 3], "value": [4.0, 3, 5, 3, 4, 1, 2, 2]})
    >>> [pair] = compare_pairs(items, sources=["a", "b"], rng=np.random.default_rng(1))
    >>> pair.difference, pair.superiority, pair.n_questions, pair.n_groups, pair.p
    (1.5, 0.875, 4, 3, 0.25)
    """
    require_columns(items, SOURCE, QUESTION, GROUP, VALUE)
    answers = _Answers.read(items, sources)
    pairs = list(combinations(range(len(sources)), 2))
    found = [_compare(answers, first, second, confidence) for first, second in pairs]
    if PairTest(test) is PairTest.SIGN_FLIP:
        found = _flip_signs(answers, pairs, found, rng)
    else:
        found = [_rank(answers, pair, one) for pair, one in zip(pairs, found, strict=True)]
    corrected = holm([None if isinstance(one.p, Undefined) else one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Answers:
    """The value of each system on each question, NaN where it has none, and the group of each question."""

    sources: Sequence[str]
    values: Floats
    counts: Ints
    groups: Ints
    n_groups: int

    @classmethod
    def read(cls, items: pd.DataFrame, sources: Sequence[str]) -> "_Answers":
        places = {source: place for place, source in enumerate(sources)}
        items = items[items[VALUE].notna()]
        systems = items[SOURCE].astype("object").map(places).to_numpy(np.float64)
        items, systems = items[~np.isnan(systems)], systems[~np.isnan(systems)].astype(np.int64)
        questions, numbers = pd.factorize(items[QUESTION])
        n, k = len(numbers), len(sources)
        cells = questions * k + systems
        counts = np.bincount(cells, minlength=n * k).reshape(n, k)
        totals = np.bincount(cells, items[VALUE].to_numpy(np.float64), minlength=n * k).reshape(n, k)
        groups = np.zeros(n, np.int64)
        codes, found = pd.factorize(items[GROUP])
        groups[questions] = codes
        with np.errstate(invalid="ignore"):
            values = totals / counts
        return cls(sources=sources, values=values, counts=counts.astype(np.int64), groups=groups, n_groups=len(found))

    def differences(self, first: int, second: int) -> tuple[Floats, Ints]:
        """Return the differences on shared questions, and their groups."""
        difference = self.values[:, first] - self.values[:, second]
        is_shared = ~np.isnan(difference)
        difference = difference[is_shared]
        return np.where(np.abs(difference) < ON_SCALE, 0.0, difference), self.groups[is_shared]

    def group_means(self, system: int) -> Floats:
        """Return the mean of a system's questions in each group where it has any."""
        is_there = ~np.isnan(self.values[:, system])
        groups, values = self.groups[is_there], self.values[is_there, system]
        counts = np.bincount(groups, minlength=self.n_groups)
        totals = np.bincount(groups, values, minlength=self.n_groups)
        means: Floats = totals[counts > 0] / counts[counts > 0]
        return means


def _compare(answers: _Answers, first: int, second: int, confidence: float) -> SystemPair:
    """Return a pair with its effect sizes; p is still to come where it has shared questions."""
    difference, groups = answers.differences(first, second)
    if not len(difference):
        return _compare_unpaired(answers, first, second)
    counts = np.bincount(groups, minlength=answers.n_groups)
    sums = np.bincount(groups, difference, minlength=answers.n_groups)
    is_there = counts > 0
    n, mean = len(difference), float(difference.mean())
    sd = float(difference.std(ddof=1)) if n > 1 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = (difference.sum() - sums[is_there]) / (n - counts[is_there])
    no_test = None
    if is_there.sum() < LEAST_GROUPS:
        no_test = Undefined(reason=_FEW_GROUPS)
    elif not difference.any():
        no_test = Undefined(reason=_NO_DIFFERENCE)
    return _make_pair(
        answers,
        first,
        second,
        is_paired=True,
        n_questions=n,
        n_groups=int(is_there.sum()),
        difference=mean,
        interval=jackknife_interval(
            mean, left_out, scale=Scale.PLAIN, sizes=counts[is_there], confidence=confidence, unit="shared passage"
        ),
        superiority=float(((difference > 0) + (difference == 0) / 2).mean()),
        d_z=mean / sd if sd > ON_SCALE else Undefined(reason="all differences are equal"),
        # 1 is replaced by the test.
        p=no_test or 1.0,
    )


def _compare_unpaired(answers: _Answers, first: int, second: int) -> SystemPair:
    one, other = answers.group_means(first), answers.group_means(second)
    has_value = ~np.isnan(answers.values[:, [first, second]]).all(axis=1)
    p: float | Undefined
    difference: float | Undefined
    superiority: float | Undefined
    if has_none := not len(one) or not len(other):
        p = difference = superiority = Undefined(reason=NO_VALUES)
    else:
        difference = float(one.mean() - other.mean())
        away = one[:, None] - other
        superiority = float(((away >= ON_SCALE) + (np.abs(away) < ON_SCALE) / 2).mean())
        if min(len(one), len(other)) < LEAST_GROUPS:
            p = Undefined(reason="fewer than two passages of a system")
        elif np.abs(away).max() < ON_SCALE and np.ptp(one) < ON_SCALE:
            p = Undefined(reason="all passage means are equal")
        else:
            from scipy.stats import mannwhitneyu

            # Rounded, so that means that are equal are ties.
            p = float(mannwhitneyu(one.round(9), other.round(9), alternative="two-sided").pvalue)
    return _make_pair(
        answers,
        first,
        second,
        is_paired=False,
        n_questions=0,
        n_groups=len(np.unique(answers.groups[has_value])),
        difference=difference,
        interval=Undefined(reason=NO_VALUES if has_none else _UNPAIRED),
        superiority=superiority,
        d_z=Undefined(reason=NO_VALUES if has_none else _UNPAIRED),
        p=p,
    )


def _make_pair(
    answers: _Answers,
    first: int,
    second: int,
    *,
    is_paired: bool,
    n_questions: int,
    n_groups: int,
    difference: float | Undefined,
    interval: JackknifeInterval | Undefined,
    superiority: float | Undefined,
    d_z: float | Undefined,
    p: float | Undefined,
) -> SystemPair:
    return SystemPair(
        first=answers.sources[first],
        second=answers.sources[second],
        n_first=int(answers.counts[:, first].sum()),
        n_second=int(answers.counts[:, second].sum()),
        is_paired=is_paired,
        n_questions=n_questions,
        n_groups=n_groups,
        difference=difference,
        interval=interval,
        superiority=superiority,
        d_z=d_z,
        p=p,
    )


def _flip_signs(
    answers: _Answers, pairs: Sequence[tuple[int, int]], found: Sequence[SystemPair], rng: np.random.Generator
) -> list[SystemPair]:
    """Return the pairs with their p by sign flips, all under the same patterns."""
    tested = [at for at, one in enumerate(found) if one.is_paired and not isinstance(one.p, Undefined)]
    if not tested:
        return list(found)
    sums = np.zeros((answers.n_groups, len(tested)))
    for column, at in enumerate(tested):
        difference, groups = answers.differences(*pairs[at])
        sums[:, column] = np.bincount(groups, difference, minlength=answers.n_groups)
    p_values = dict(zip(tested, sign_flip_p(sums, rng=rng), strict=True))
    return [replace(one, p=float(p_values[at])) if at in p_values else one for at, one in enumerate(found)]


def _rank(answers: _Answers, pair: tuple[int, int], one: SystemPair) -> SystemPair:
    if not one.is_paired or isinstance(one.p, Undefined):
        return one
    difference, groups = answers.differences(*pair)
    is_there = np.bincount(groups, minlength=answers.n_groups) > 0
    sums = np.bincount(groups, difference, minlength=answers.n_groups)[is_there].round(9)
    if not sums.any():
        return replace(one, p=Undefined(reason="all passages sum to no difference"))
    from scipy.stats import wilcoxon

    return replace(one, p=float(wilcoxon(sums, zero_method="pratt").pvalue))
