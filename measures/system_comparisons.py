"""Comparison of systems: pairwise significance, and the replication of a study by a second run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from measures.columns import SOURCE, require_columns
from measures.correlation import kendall, pearson, spearman
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.rounding import ON_SCALE, is_constant, merge_ties
from measures.system_scores import Z


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A one-sided Mann-Whitney test of whether one system scores higher than another.

    Attributes
    ----------
    first, second : str
        The system that may be better, and the system it is compared with.
    n_first, n_second : int
        The number of scores of each.
    p : float or Undefined
        p-value, against the hypothesis that the first does not score higher; uncorrected.
    """

    first: str
    second: str
    n_first: int
    n_second: int
    p: float | Undefined


@dataclass(frozen=True, kw_only=True)
class Replication:
    """The correlation of system scores between two runs of a study.

    Attributes
    ----------
    n : int
        Systems that are in both runs.
    pearson, spearman, kendall : float or Undefined
        Correlations of their scores in the two runs.
    """

    n: int
    pearson: float | Undefined
    spearman: float | Undefined
    kendall: float | Undefined


def compare_systems(frame: pd.DataFrame, *, sources: Sequence[str]) -> list[Comparison]:
    """Compare every system with every other, in both directions.

    Parameters
    ----------
    frame : pandas.DataFrame
        `source` and `z`, one row per rating. Rows without a z are left out.
    sources : sequence of str
        The systems, in the order wanted.

    Returns
    -------
    list of Comparison
        Each ordered pair. The p-value is undefined if a system has no z score, and if all scores of a pair are equal.

    Raises
    ------
    ValueError
        A column is missing.

    Notes
    -----
    The test is ``scipy.stats.mannwhitneyu``: exact if a side has at most eight scores and no two are equal, else the
    normal approximation with corrections for ties and continuity. As in the published procedure, ratings of one item
    are treated as independent, which makes the test too optimistic if items have several ratings, and p-values are
    not corrected for the number of comparisons.

    References
    ----------
    Y. Graham et al. (2017), as in `measures.system_scores.system_scores`.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": list("aaaaabbbbb"), "z": [2.0, 3, 4, 5, 6, -1, -2, -3, -4, -5]})
    >>> [(one.first, round(one.p, 4)) for one in compare_systems(frame, sources=["a", "b"])]
    [('a', 0.004), ('b', 1.0)]
    """
    require_columns(frame, SOURCE, Z)
    frame = frame[frame[Z].notna()]
    names = frame[SOURCE].astype("category")
    # Equal scores of annotators whose ratings vary alike may differ in their last digits.
    values = merge_ties(frame[Z].to_numpy(np.float64), within=ON_SCALE)
    scores: dict[str, Floats] = {
        str(name): values[(names.cat.codes == code).to_numpy()] for code, name in enumerate(names.cat.categories)
    }
    nothing: Floats = np.zeros(0)
    return [
        _compare(first, second, scores.get(first, nothing), scores.get(second, nothing))
        for first in sources
        for second in sources
        if first != second
    ]


def replicate(first: Mapping[str, float], second: Mapping[str, float]) -> Replication:
    """Correlate the scores of the systems that are in both runs of a study.

    Parameters
    ----------
    first, second : mapping of str to float
        The score of each system in each run.

    Returns
    -------
    Replication
        Correlations are undefined with fewer than three common systems, and if all have the same score in a run.

    References
    ----------
    Ji et al. (2022), QAScore: r = 0.955 between two runs.

    Examples
    --------
    >>> again = replicate({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.5, "b": 2.5, "c": 3.5, "d": 0.0})
    >>> (again.n, round(again.pearson, 4), again.kendall)
    (3, 1.0, 1.0)
    """
    common = sorted(set(first) & set(second))
    one, other = (np.array([run[source] for source in common]) for run in (first, second))
    found = [compute(one, other, within=ON_SCALE) for compute in (pearson, spearman, kendall)]
    return Replication(n=len(common), pearson=found[0], spearman=found[1], kendall=found[2])


def _compare(first: str, second: str, one: Floats, other: Floats) -> Comparison:
    p: float | Undefined
    if not len(one) or not len(other):
        p = Undefined(reason="no rating has a z score")
    elif is_constant(np.concatenate([one, other])):
        p = Undefined(reason="all scores are equal")
    else:
        from scipy.stats import mannwhitneyu

        p = float(mannwhitneyu(one, other, alternative="greater").pvalue)
    return Comparison(first=first, second=second, n_first=len(one), n_second=len(other), p=p)
