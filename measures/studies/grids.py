"""Scores as grids of systems by questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from measures.patterns import Floats, Ints
from measures.studies.items import number_groups


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Human scores and metrics of systems (rows) on questions (columns).

    Attributes
    ----------
    systems : tuple of str
        The names of the rows, sorted.
    human : ndarray of float64, shape (S, Q)
        The human scores, NaN where a system has no answer. Of several answers to a question it is their mean.
    metrics : dict of str to ndarray of float64, shape (S, Q)
        The metrics by name, NaN in the same cells.
    units : ndarray of int64, shape (Q,)
        The passage of each question, numbered from 0 without gaps.
    n_merged : int
        Cells in which several answers were averaged.
    """

    systems: tuple[str, ...]
    human: Floats
    metrics: dict[str, Floats]
    units: Ints
    n_merged: int

    @classmethod
    def of(
        cls,
        human: Floats,
        metrics: Mapping[str, Floats],
        *,
        systems: Sequence[str] | npt.NDArray[np.generic],
        questions: Sequence[object] | npt.NDArray[np.generic],
        units: Sequence[object] | npt.NDArray[np.generic],
        merges: bool = True,
    ) -> "Grid":
        """Arrange scores of answers, all columns of one length, in grids.

        Several answers of a system to a question are averaged, or, with `merges` False, spread over further columns
        of the same unit, so that no answer is lost to those who correlate single answers.

        Raises
        ------
        ValueError
            Lengths differ.

        Examples
        --------
        >>> grid = Grid.of(np.array([5.0, 3, 1]), {"m": np.array([0.5, 0.2, 0.4])}, systems=["a", "b", "b"],
        ...                questions=["q", "q", "r"], units=["p", "p", "p"])
        >>> grid.systems, grid.human.tolist(), grid.complete.tolist()
        (('a', 'b'), [[5.0, nan], [3.0, 1.0]], [True, False])
        >>> twice = {"systems": ["a", "a"], "questions": ["q", "q"], "units": ["p", "p"]}
        >>> [Grid.of(np.array([5.0, 3]), {}, **twice, merges=merges).human.tolist() for merges in (True, False)]
        [[[4.0]], [[5.0, 3.0]]]
        """
        lengths = {len(human), len(systems), len(questions), len(units), *(len(each) for each in metrics.values())}
        if len(lengths) > 1:
            raise ValueError("Each answer needs a system, a question, a unit and a score on each side.")
        names, rows = np.unique(np.asarray([str(each) for each in systems], dtype=str), return_inverse=True)
        columns = number_groups(questions)
        if not merges:
            columns = number_groups(columns + len(columns) * _count_earlier(rows, columns))
        n_columns = int(columns.max(initial=-1)) + 1
        cells = rows * n_columns + columns
        counts = np.bincount(cells, minlength=len(names) * n_columns)

        def arrange(values: Floats) -> Floats:
            sums = np.bincount(cells, np.asarray(values, np.float64), len(counts))
            with np.errstate(invalid="ignore"):
                return np.asarray((sums / counts).reshape(len(names), n_columns), np.float64)

        its_units = np.zeros(n_columns, np.int64)
        its_units[columns] = number_groups(units)
        return cls(
            systems=tuple(map(str, names)),
            human=arrange(human),
            metrics={name: arrange(each) for name, each in metrics.items()},
            units=its_units,
            n_merged=int((counts > 1).sum()),
        )

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Whether all systems have each question."""
        return np.asarray(~np.isnan(self.human).any(axis=0), np.bool_)

    @property
    def n_units(self) -> int:
        return int(self.units.max(initial=-1)) + 1


def _count_earlier(rows: Ints, columns: Ints) -> Ints:
    """Return how many earlier answers have the same row and column."""
    cells = rows * (int(columns.max(initial=-1)) + 1) + columns
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    earlier = np.zeros(len(cells), np.int64)
    earlier[order] = np.arange(len(cells)) - np.searchsorted(ordered, ordered)
    return earlier
