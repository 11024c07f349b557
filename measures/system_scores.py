"""System scores: means of ratings, raw and as z scores, with jackknife intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from measures.bootstrap import Interval
from measures.columns import ANNOTATOR, GROUP, SOURCE, UNIT, VALUE, require_columns
from measures.jackknife import Scale, bound_interval, jackknife_interval
from measures.outcome import Undefined
from measures.patterns import Floats

Z = "z"
_SUMS = ("n", "total", "n_z", "total_z")
"""The columns of `sum_units` in the order of the last axis of the arrays below."""


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean of ratings with its jackknife intervals.

    Attributes
    ----------
    mean : float or Undefined
        Over all ratings; for several criteria, the mean of their means.
    by_unit, by_group : Interval or Undefined
        Intervals that leave out units, and groups (passages).
    """

    mean: float | Undefined
    by_unit: Interval | Undefined
    by_group: Interval | Undefined


@dataclass(frozen=True, kw_only=True)
class SystemScore:
    """The score of a system on one criterion, or on all of them.

    Attributes
    ----------
    source : str
        The system.
    n_units, n_ratings : int
        Its rated units, and their ratings.
    n_z : int
        How many of the ratings have a z score: those of annotators whose ratings are all equal have none.
    raw, z : Mean
        On the criterion's scale, and as z scores (in standard deviations of the annotators).
    """

    source: str
    n_units: int
    n_ratings: int
    n_z: int
    raw: Mean
    z: Mean


def sum_units(frame: pd.DataFrame) -> pd.DataFrame:
    """Sum the ratings of each unit; system scores need nothing else.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit`, `group`, `source`, `value`, and `z` (see
        `measures.standardising.standardise`), NaN where a rating has none. Rows without a value are left out.

    Returns
    -------
    pandas.DataFrame
        Indexed by `unit`: `source`, `group`, `n` and `total` of the values, `n_z` and `total_z` of the z scores.

    Raises
    ------
    ValueError
        A column is missing.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": [1, 1], "group": 7, "source": "a", "value": [4.0, 5.0], "z": [0.5, None]})
    >>> sum_units(frame).loc[1].to_dict()
    {'source': 'a', 'group': 7, 'n': 2, 'total': 9.0, 'n_z': 1, 'total_z': 0.5}
    """
    require_columns(frame, UNIT, GROUP, SOURCE, VALUE, Z)
    frame = frame[frame[VALUE].notna()]
    by_unit = frame.groupby(UNIT, sort=True, observed=True)
    sums = by_unit.agg(
        source=(SOURCE, "first"), group=(GROUP, "first"), n=(VALUE, "count"), total=(VALUE, "sum"),
        n_z=(Z, "count"), total_z=(Z, "sum"),
    )  # fmt: skip
    return sums.astype({SOURCE: "str"})


def system_scores(
    criteria: Mapping[str, pd.DataFrame],
    *,
    confidence: float = 0.95,
    is_one_scale: bool = True,
    scales: Mapping[str, tuple[float, float]] | None = None,
) -> dict[str, list[SystemScore]]:
    """Compute the score of each system, on each criterion and on all of them.

    Parameters
    ----------
    criteria : mapping of str to pandas.DataFrame
        The result of `sum_units`, by criterion: ratings of passing annotators, without control items.
    confidence : float
        Nominal coverage of the intervals, between 0 and 1. Each system's own units (or groups) are left out in turn,
        each with all its ratings on every criterion; one that has no rating (or z score) on a criterion is no part of
        that criterion's interval.
    is_one_scale : bool
        Whether all criteria share one scale; if not, the raw score over all criteria is undefined.
    scales : mapping of str to tuple of float, optional
        The ends of each criterion's scale. With them the intervals of raw means are Wilson's
        (`measures.jackknife.bound_interval`): they stay on the scale, and cover means near its ends as often as others.

    Returns
    -------
    dict of str to list of SystemScore
        By criterion, and under the empty key over all criteria with ratings: the mean of the criteria's means. Sorted
        by mean z, the best system first and those without one last, or by the raw mean if no system has a z. A mean is
        undefined without ratings (or z scores) on a criterion; its interval also with fewer than three units (or
        groups), and if one of them has all ratings on a criterion.

    Raises
    ------
    ValueError
        `confidence` is not between 0 and 1.

    References
    ----------
    Y. Graham et al. (2017), Can machine translation systems be evaluated by the crowd alone, Natural Language
    Engineering 23(1); Ji et al. (2022), QAScore; for the intervals, as in `measures.jackknife.jackknife_interval`.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": [1, 2, 3, 4], "group": [1, 1, 2, 2], "source": list("abab"),
    ...                       "value": [4.0, 2.0, 5.0, 1.0], "z": [1.0, -1.0, 1.0, -1.0]})
    >>> scores = system_scores({"overall": sum_units(frame)})
    >>> [(score.source, score.raw.mean, score.z.mean) for score in scores["overall"]]
    [('a', 4.5, 1.0), ('b', 1.5, -1.0)]
    """
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1.")
    keys = list(criteria)
    # Nobody has rated on the others, such as on those of a rubric that a batch does not ask: they say nothing.
    rated = [at for at, key in enumerate(keys) if len(criteria[key])]
    found: dict[str, list[SystemScore]] = {key: [] for key in ["", *keys]}
    shared = scales[keys[rated[0]]] if scales and rated and is_one_scale else None
    sources = sorted(set().union(*(set(sums[SOURCE]) for sums in criteria.values())))
    for source in sources:
        groups, sums, is_rated = _select_system(criteria, source)
        whole = sums.sum(axis=0)
        parts = {"units": sums, "groups": _sum_groups(groups, sums)}
        for at, key in enumerate(keys):
            if whole[at, 0]:
                ends = scales[key] if scales else None
                n_units = int(is_rated[:, at].sum())
                found[key].append(_score(source, n_units, whole[[at]], parts, [at], confidence, ends=ends))
        # The empty key is over all criteria: no criterion has it as its key.
        found[""].append(
            _score(source, len(sums), whole[rated], parts, rated, confidence, ends=shared, has_raw=is_one_scale)
        )
    return {key: _sort(scores) for key, scores in found.items()}


def mean_over_criteria(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Average the z scores that one annotator gave to one unit over the criteria.

    Parameters
    ----------
    frames : sequence of pandas.DataFrame
        A long frame of each criterion with `unit`, `annotator`, `source` and `z`; rows without a z are left out.

    Returns
    -------
    pandas.DataFrame
        `source` and `z`, one row per unit and annotator.

    Raises
    ------
    ValueError
        A column is missing.

    Examples
    --------
    >>> one = pd.DataFrame({"unit": [1], "annotator": ["x"], "source": ["a"], "z": [1.0]})
    >>> mean_over_criteria([one, one.assign(z=0.0)])["z"].tolist()
    [0.5]
    """
    for frame in frames:
        require_columns(frame, UNIT, ANNOTATOR, SOURCE, Z)
    parts = [frame.loc[frame[Z].notna(), [UNIT, ANNOTATOR, SOURCE, Z]] for frame in frames]
    if len(parts) == 1:
        return parts[0][[SOURCE, Z]].reset_index(drop=True)
    together = pd.concat([part.astype({ANNOTATOR: "category", SOURCE: "category"}) for part in parts])
    # Categories of different frames have different codes, so they are joined as texts first.
    names = together[ANNOTATOR].astype("str").astype("category")
    by = together[Z].groupby([together[UNIT], names.cat.codes], sort=False)
    sources = together[SOURCE].astype("str").groupby([together[UNIT], names.cat.codes], sort=False).first()
    return pd.DataFrame({SOURCE: sources, Z: by.mean()}).reset_index(drop=True)


def _select_system(
    criteria: Mapping[str, pd.DataFrame], source: str
) -> tuple[npt.NDArray[np.int64], Floats, npt.NDArray[np.bool_]]:
    """Return the groups of a system's units, their sums (units, criteria, 4), and which are rated on what."""
    own = {key: sums[sums[SOURCE] == source] for key, sums in criteria.items()}
    groups = pd.concat([part["group"] for part in own.values()])
    groups = groups[~groups.index.duplicated()].sort_index()
    sums = np.zeros((len(groups), len(own), len(_SUMS)))
    for at, part in enumerate(own.values()):
        rows = groups.index.get_indexer(part.index)
        sums[rows, at] = part[list(_SUMS)].to_numpy(np.float64)
    return pd.factorize(groups)[0].astype(np.int64), sums, sums[:, :, 0] > 0


def _sum_groups(groups: npt.NDArray[np.int64], sums: Floats) -> Floats:
    together = np.zeros((groups.max() + 1, *sums.shape[1:]))
    np.add.at(together, groups, sums)
    return together


def _score(
    source: str,
    n_units: int,
    whole: Floats,
    parts: Mapping[str, Floats],
    at: Sequence[int],
    confidence: float,
    *,
    ends: tuple[float, float] | None,
    has_raw: bool = True,
) -> SystemScore:
    def mean(n: int, total: int, nothing: str, ends: tuple[float, float] | None = None) -> Mean:
        if not whole[:, n].all():
            undefined = Undefined(reason=nothing if whole[:, 0].all() else "no ratings on one of the criteria")
            return Mean(mean=undefined, by_unit=undefined, by_group=undefined)
        value = float((whole[:, total] / whole[:, n]).mean())
        by_unit, by_group = (
            _interval(value, whole, parts[name][:, list(at)], n, total, confidence, ends, by_group=name == "groups")
            for name in ("units", "groups")
        )
        return Mean(mean=value, by_unit=by_unit, by_group=by_group)

    no_raw = Undefined(reason="the criteria have different scales")
    return SystemScore(
        source=source,
        n_units=n_units,
        n_ratings=int(whole[:, 0].sum()),
        n_z=int(whole[:, 2].sum()),
        raw=mean(0, 1, "no ratings on one of the criteria", ends)
        if has_raw
        else Mean(mean=no_raw, by_unit=no_raw, by_group=no_raw),
        z=mean(2, 3, "no rating has a z score"),
    )


def _interval(
    mean: float,
    whole: Floats,
    parts: Floats,
    n: int,
    total: int,
    confidence: float,
    ends: tuple[float, float] | None,
    *,
    by_group: bool,
) -> Interval | Undefined:
    """Return the interval of a mean from the sums of all, and of each unit or group."""
    # Leaving out a part without a rating changes nothing: counted, it would make the interval look surer than it is.
    rated = parts[parts[:, :, n].any(axis=1)]
    left_out = whole - rated
    counts, unit = left_out[:, :, n], "passage" if by_group else "candidate"
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, left_out[:, :, total] / counts, np.nan).mean(axis=1)
    # The share of the ratings that each has, on average over the criteria.
    sizes = (rated[:, :, n] / whole[:, n]).mean(axis=1)
    found = jackknife_interval(mean, means, scale=Scale.PLAIN, sizes=sizes, confidence=confidence, unit=unit)
    if ends:
        found = bound_interval(mean, found, low=ends[0], high=ends[1])
    return Interval.from_jackknife(found, by_group=by_group)


def _sort(scores: Sequence[SystemScore]) -> list[SystemScore]:
    """Sort systems by z, the best first, or by the raw mean where none has a z: the two cannot be compared."""
    has_z = any(not isinstance(score.z.mean, Undefined) for score in scores)

    def rank(score: SystemScore) -> tuple[bool, float, str]:
        mean = score.z.mean if has_z else score.raw.mean
        return (True, 0.0, score.source) if isinstance(mean, Undefined) else (False, -mean, score.source)

    return sorted(scores, key=rank)
