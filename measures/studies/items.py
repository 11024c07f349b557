"""Items with human scores and metrics: correlations over all items and in resamples."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from measures.correlation import LEAST_PAIRS, kendall, name_human_side, pearson, spearman
from measures.jackknife import LEAST_UNITS
from measures.outcome import Undefined
from measures.patterns import Floats, Ints
from measures.rounding import ON_SCALE
from measures.studies.resampling import (
    Moments,
    Pairs,
    Ranks,
    SortedColumn,
    draw_resamples,
    leave_out_each,
    merge_at_random,
)

COEFFICIENTS = ("pearson", "spearman", "kendall")
"""In the order of the first axis of resampled coefficients."""
_WHOLE = (pearson, spearman, kendall)
MOST_RANKED = 2_000
"""Up to this many items or groups, ranks are computed without each; of more, without random blocks of them."""
N_BLOCKS = 1_000
_LEAST_DRAWN = 2
"""Of a single item or group every resample is the same."""


class Items:
    """Human scores and metrics of the same items, with the groups of the items if they are resampled by group.

    Parameters
    ----------
    human : ndarray of float64, shape (n,)
        The human scores; all finite.
    metrics : mapping of str to ndarray of float64, shape (n,)
        The metrics by name; all finite.
    groups : sequence, shape (n,), or None
        The group of each item.
    by_group : bool
        Whether whole groups are resampled.
    within : float
        The largest difference of equal human scores, for a first column that holds other scores.

    Raises
    ------
    ValueError
        A score is missing, lengths differ, or `by_group` is set without groups.
    """

    def __init__(
        self,
        human: Floats,
        metrics: Mapping[str, Floats],
        groups: Sequence[object] | npt.NDArray[np.generic] | None,
        *,
        by_group: bool,
        within: float = ON_SCALE,
    ) -> None:
        self.human, self.n = SortedColumn.of(human, within=within), len(human)
        self.metrics = {name: SortedColumn.of(metric) for name, metric in metrics.items()}
        lengths = {len(column.values) for column in self.metrics.values()} | (
            {len(groups)} if groups is not None else set()
        )
        if lengths - {self.n}:
            raise ValueError("Each item needs one human score, one score of each metric and one group.")
        if by_group and groups is None:
            raise ValueError("by_group needs the group of each item.")
        self.groups = None if groups is None else number_groups(groups)
        self.n_groups = 0 if self.groups is None or not self.n else int(self.groups.max()) + 1
        self.drawn = self.groups if by_group else None
        self.n_drawn = self.n_groups if by_group else self.n

    def whole(self) -> dict[str, tuple[float | Undefined, ...]]:
        """Return the three coefficients of each metric over all items."""
        return {
            name: tuple(name_human_side(compute(metric.values, self.human.values)) for compute in _WHOLE)
            for name, metric in self.metrics.items()
        }

    def resample(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """Return each metric's coefficients, shape (3, resamples); all NaN with fewer than two items or groups."""
        if n_resamples < 1:
            raise ValueError("n_resamples must be 1 or more.")
        found = np.full((3, n_resamples, len(self.metrics)), np.nan)
        if self.n_drawn >= _LEAST_DRAWN and self.metrics:
            columns = list(self.metrics.values())
            moments, ranks = Moments(self.human, columns), Ranks(self.human, columns)
            pairs = [Pairs(self.human, column) for column in columns]
            at = 0
            for weights in draw_resamples(self.n, n_resamples=n_resamples, rng=rng, groups=self.drawn):
                rows = slice(at, at := at + len(weights))
                found[0, rows] = moments.pearsons(weights)
                found[1, rows] = ranks.spearmans(weights)
                found[2, rows] = np.stack([each.kendalls(weights) for each in pairs], axis=1)
        return {name: found[:, :, at] for at, name in enumerate(self.metrics)}

    @property
    def sizes(self) -> Ints:
        """The number of items of each item or group that is left out."""
        return np.ones(self.n, np.int64) if self.drawn is None else np.bincount(self.drawn)

    @property
    def has_blocks(self) -> bool:
        """Whether ranks leave out random blocks, not single items or groups."""
        return self.n_drawn > MOST_RANKED

    def leave_out(self, rng: np.random.Generator) -> dict[str, tuple[Floats, ...]]:
        """Return each metric's three coefficients without each item or group, NaN where undefined.

        Those of ranks are without each of 1,000 random blocks where there are more than 2,000 items or groups.
        """
        if self.n_drawn < _LEAST_DRAWN or not self.metrics:
            return {name: (np.full(self.n_drawn, np.nan),) * len(COEFFICIENTS) for name in self.metrics}
        columns = list(self.metrics.values())
        parts = np.arange(self.n) if self.drawn is None else self.drawn
        linear = Moments(self.human, columns).pearsons_without(parts)
        if self.has_blocks:
            parts = merge_at_random(parts, N_BLOCKS, rng)
        ranks = Ranks(self.human, columns)
        spearmans = np.concatenate([ranks.spearmans(weights) for weights in leave_out_each(parts)])
        kendalls = [Pairs(self.human, column).kendalls_without(parts) for column in columns]
        is_undefined = self._leaves_few
        linear[is_undefined] = np.nan
        if not self.has_blocks:
            for each in (spearmans, *kendalls):
                each[is_undefined] = np.nan
        return {name: (linear[:, at], spearmans[:, at], kendalls[at]) for at, name in enumerate(self.metrics)}

    def leave_out_pearsons(self) -> Floats:
        """Return each metric's Pearson without each item or group, shape (G, metrics), NaN where undefined."""
        if self.n_drawn < LEAST_UNITS or not self.metrics:
            return np.full((self.n_drawn, len(self.metrics)), np.nan)
        parts = np.arange(self.n) if self.drawn is None else self.drawn
        found = Moments(self.human, list(self.metrics.values())).pearsons_without(parts)
        found[self._leaves_few] = np.nan
        return found

    @property
    def _leaves_few(self) -> npt.NDArray[np.bool_]:
        """Whether fewer than three items are left without each item or group: of two every correlation is 1 or -1."""
        return self.n - self.sizes < LEAST_PAIRS

    def resample_pearsons(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return each metric's Pearson, shape (resamples, metrics); all NaN with fewer than two items or groups."""
        if n_resamples < 1:
            raise ValueError("n_resamples must be 1 or more.")
        if self.n_drawn < _LEAST_DRAWN or not self.metrics:
            return np.full((n_resamples, len(self.metrics)), np.nan)
        moments = Moments(self.human, list(self.metrics.values()))
        blocks = draw_resamples(self.n, n_resamples=n_resamples, rng=rng, groups=self.drawn)
        return np.concatenate([moments.pearsons(weights) for weights in blocks])


def number_groups(groups: Sequence[object] | npt.NDArray[np.generic]) -> Ints:
    """Number groups from 0 in the order of their first item.

    Parameters
    ----------
    groups : sequence, shape (n,)
        The group of each item.

    Returns
    -------
    ndarray of int64, shape (n,)
        The number of its group.

    Examples
    --------
    >>> number_groups(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    numbers: dict[object, int] = {}
    each = groups.tolist() if isinstance(groups, np.ndarray) else groups
    return np.array([numbers.setdefault(group, len(numbers)) for group in each], np.int64)
