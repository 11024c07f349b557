"""Systems against each other: which of two is better, and whether a second run of a study says the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import mannwhitneyu

from measures.columns import SOURCE, require_columns
from measures.correlation import kendall, pearson, spearman
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.system_scores import Z


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One system against another: whether its scores are greater, by a one-sided Mann-Whitney test.

    Attributes
    ----------
    first, second : str
        The system that may be better, and the other.
    n_first, n_second : int
        Scores of each.
    p : float or Undefined
        The p-value of "the first's scores are not greater".
    """

    first: str
    second: str
    n_first: int
    n_second: int
    p: float | Undefined


@dataclass(frozen=True, kw_only=True)
class Replication:
    """How the scores of systems in one run follow those in another.

    Attributes
    ----------
    n : int
        Systems that both runs have scored.
    pearson, spearman, kendall : float or Undefined
        Correlation of the two columns of system scores.
    """

    n: int
    pearson: float | Undefined
    spearman: float | Undefined
    kendall: float | Undefined


def compare_systems(frame: pd.DataFrame, *, sources: Sequence[str]) -> list[Comparison]:
    """Compare every system with every other, both ways.

    Parameters
    ----------
    frame : pandas.DataFrame
        `source` and `z`, one row per rating. Rows without a z are left out.
    sources : sequence of str
        The systems, in the order wanted.

    Returns
    -------
    list of Comparison
        Each ordered pair. Undefined where a system has no z score, and where all scores of a pair are equal.

    Notes
    -----
    Mann-Whitney's test of ``scipy``: exact where a side has eight scores at most and none are equal, else normal with
    the correction for ties and continuity. Ratings of one item are taken as independent, and nothing is corrected for
    the number of comparisons, as in the published procedure.

    References
    ----------
    Y. Graham et al. (2016), as in `measures.system_scores.system_scores`.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": list("aaaaabbbbb"), "z": [2.0, 3, 4, 5, 6, -1, -2, -3, -4, -5]})
    >>> [(one.first, round(one.p, 4)) for one in compare_systems(frame, sources=["a", "b"])]
    [('a', 0.004), ('b', 1.0)]
    """
    require_columns(frame, SOURCE, Z)
    frame = frame[frame[Z].notna()]
    names, values = frame[SOURCE].astype("category"), frame[Z].to_numpy(np.float64)
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
    """Correlate the scores of the systems that two runs of a study have in common.

    Parameters
    ----------
    first, second : mapping of str to float
        The score of each system in each run.

    Returns
    -------
    Replication
        Undefined with fewer than three systems in common, and where a run does not tell them apart.

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
    return Replication(
        n=len(common), pearson=pearson(one, other), spearman=spearman(one, other), kendall=kendall(one, other)
    )


def _compare(first: str, second: str, one: Floats, other: Floats) -> Comparison:
    p: float | Undefined
    if not len(one) or not len(other):
        p = Undefined(reason="no rating has a z score")
    elif max(one.max(), other.max()) - min(one.min(), other.min()) < 1e-9:
        p = Undefined(reason="all scores are equal")
    else:
        p = float(mannwhitneyu(one, other, alternative="greater").pvalue)
    return Comparison(first=first, second=second, n_first=len(one), n_second=len(other), p=p)
