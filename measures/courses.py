"""Agreement over time: alpha of the items finished in each period, and of all items finished so far."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from measures.agreement import Agreement, UndefinedAgreement, krippendorff_alpha
from measures.alpha_intervals import jackknife_alphas
from measures.bootstrap import Interval
from measures.columns import DAY, GROUP, UNIT, VALUE, require_columns
from measures.outcome import Undefined
from measures.patterns import Patterns
from measures.rubric import Level

if TYPE_CHECKING:
    import pandas as pd

_DAYS, _WEEKS = 31, 31
"""Up to 31 days are shown by day, up to 31 weeks by week."""
_MOST_PATTERNS = 10_000
"""A period with more distinct patterns, as sliders give, has no interval: the time it takes grows with them."""


@dataclass(frozen=True, kw_only=True)
class Period:
    """Alpha of the items whose last rating is in one period.

    Attributes
    ----------
    name : str
        A day (``2026-11-21``), an ISO week (``2026-W47``) or a month (``2026-11``), in UTC.
    outcome : Agreement or UndefinedAgreement
        Alpha of these items.
    interval : Interval or Undefined or None
        Its jackknife interval; None if alpha is undefined, and for more than 10,000 distinct patterns, because that
        would take long.
    so_far : float or None
        Alpha of all items finished by the end of the period; None if undefined.
    n_units_so_far : int
        The number of these items that have at least two ratings.
    """

    name: str
    outcome: Agreement | UndefinedAgreement
    interval: Interval | Undefined | None
    so_far: float | None
    n_units_so_far: int


def alpha_course(frame: "pd.DataFrame", *, level: Level | str, by_group: bool = False) -> list[Period] | Undefined:
    """Compute alpha period by period: by day over up to a month, by ISO week over up to 31 weeks, else by month.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion: `unit`, `value` and `day` (text, ISO 8601, UTC; missing where unknown), and
        `group` if `by_group`. Rows without a value or a day are left out.
    level : Level or str
        The level of measurement.
    by_group : bool
        Whether intervals leave out groups (passages) instead of items.

    Returns
    -------
    list of Period or Undefined
        In order of time, without periods that have no items. Undefined if no rating has a day.

    Raises
    ------
    ValueError
        A column is missing, or `value` does not hold numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [(1, 1, "2026-01-05"), (1, 1, "2026-01-06"), (2, 4, "2026-01-06"), (2, 5, "2026-01-06")]
    >>> frame = pd.DataFrame(rows, columns=["unit", "value", "day"]).astype({"value": "float64"})
    >>> [(period.name, period.outcome.n_units) for period in alpha_course(frame, level="ordinal")]
    [('2026-01-06', 2)]
    """
    require_columns(frame, UNIT, VALUE, DAY, *([GROUP] if by_group else []))
    frame = frame[frame[VALUE].notna() & frame[DAY].notna()]
    if frame.empty:
        return Undefined(reason="no rating has a date")
    # An item is finished, and its alpha final, on the day of its last rating.
    last = frame[DAY].astype("str").groupby(frame[UNIT], observed=True).transform("max")
    name_of = _naming(date.fromisoformat(last.min()), date.fromisoformat(last.max()))
    period = last.map({day: name_of(date.fromisoformat(day)) for day in last.unique()})
    return [
        _measure(name, frame[period == name], frame[period <= name], Level(level), by_group=by_group)
        for name in sorted(period.unique())
    ]


def _measure(name: str, own: "pd.DataFrame", until: "pd.DataFrame", level: Level, *, by_group: bool) -> Period:
    columns = [UNIT, VALUE, *([GROUP] if by_group else [])]
    patterns, so_far = (Patterns.from_frame(part[columns]) for part in (own, until))
    outcome, whole = (krippendorff_alpha(each, level=level) for each in (patterns, so_far))
    interval = None
    if isinstance(outcome, Agreement) and len(patterns.sizes) <= _MOST_PATTERNS:
        jackknifed = jackknife_alphas(patterns, levels=[level], by_group=by_group)[level]
        interval = Interval.from_jackknife(jackknifed, by_group=by_group)
    return Period(
        name=name,
        outcome=outcome,
        interval=interval,
        so_far=whole.alpha if isinstance(whole, Agreement) else None,
        n_units_so_far=whole.n_units,
    )


def _naming(first: date, last: date) -> Callable[[date], str]:
    span = (last - first).days
    if span <= _DAYS:
        return date.isoformat
    if span <= 7 * _WEEKS:
        return lambda day: f"{day.isocalendar().year}-W{day.isocalendar().week:02d}"
    return lambda day: f"{day:%Y-%m}"
