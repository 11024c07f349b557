"""One person against the others: how well one judgment correlates with the mean of an item's other judgments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from measures.columns import UNIT, VALUE, require_columns
from measures.correlation import LEAST_PAIRS, pearson
from measures.outcome import Undefined
from measures.rounding import ON_SCALE

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class OneAgainstOthers:
    """The correlation of one judgment per item with the mean of the item's other judgments.

    Attributes
    ----------
    r : float
        Mean of Pearson's correlation over the draws.
    low, high : float
        Its 2.5th and 97.5th percentiles over the draws. They show how much it depends on which judgment was drawn, and
        are no confidence interval over items.
    n_units : int
        Items with at least two judgments.
    n_draws : int
        Draws in which the correlation was defined.
    """

    r: float
    low: float
    high: float
    n_units: int
    n_draws: int


def one_against_others(
    frame: "pd.DataFrame", *, rng: np.random.Generator, n_draws: int = 100
) -> OneAgainstOthers | Undefined:
    """Correlate one judgment per item, drawn at random, with the mean of the item's other judgments.

    It shows how well one person's scores agree with other people's. It is no upper bound for a metric, which is
    compared with the mean of all judgments: the true scores themselves lie above it (see `measures.ceiling`).
    Annotators need not be known.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit` and `value`. Rows without a value are left out.
    rng : numpy.random.Generator
        The source of randomness.
    n_draws : int
        Draws; 100 by default.

    Returns
    -------
    OneAgainstOthers or Undefined
        Undefined with fewer than three items that have two judgments, and if in no draw both sides vary.

    Raises
    ------
    ValueError
        A column is missing, or `n_draws` is below 1.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"unit": [1, 1, 2, 2, 3, 3], "value": [1.0, 1, 3, 3, 5, 5]})
    >>> one_against_others(frame, rng=np.random.default_rng(1)).r
    1.0
    """
    import pandas as pd

    require_columns(frame, UNIT, VALUE)
    if n_draws < 1:
        raise ValueError("n_draws must be 1 or more.")
    frame = frame[frame[VALUE].notna()]
    units = pd.factorize(frame[UNIT])[0]
    order = np.argsort(units, kind="stable")
    values = frame[VALUE].to_numpy(np.float64)[order]
    counts = np.bincount(units)
    has_others = counts >= 2
    starts = (np.cumsum(counts) - counts)[has_others]
    totals = np.bincount(units[order], values)[has_others]
    counts = counts[has_others]
    if len(counts) < LEAST_PAIRS:
        return Undefined(reason="fewer than three candidates with two judgments")
    found = []
    for _ in range(n_draws):
        # One judgment per item, at random; the mean of its others follows from the total.
        drawn = values[starts + rng.integers(counts)]
        r = pearson(drawn, (totals - drawn) / (counts - 1), within=ON_SCALE)
        # A draw in which all drawn judgments are equal says nothing about the items, so it does not count.
        if not isinstance(r, Undefined):
            found.append(r)
    if not found:
        return Undefined(reason="the judgments do not vary")
    low, high = np.quantile(found, [0.025, 0.975])
    return OneAgainstOthers(
        r=float(np.mean(found)), low=float(low), high=float(high), n_units=len(counts), n_draws=len(found)
    )
