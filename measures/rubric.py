"""Rubrics: scales, criteria and valid answers.

An answer is an `int` or a `float`. `check_value` is the only place that decides whether one is valid.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Real

MOST_KEY_CHARACTERS = 40
"""As many as the column of keys holds (`projects.models.Criterion.key`)."""
KEY_RULE = (
    f"Use at most {MOST_KEY_CHARACTERS} lowercase letters and digits, separated by single underscores or hyphens."
)
_KEY = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")


def is_key(text: str) -> bool:
    """Return whether a criterion may have this key; the same rule holds on pages and in files.

    Examples
    --------
    >>> is_key("correctness"), is_key("2 wishes"), is_key("k" * 40), is_key("k" * 41)
    (True, False, True, False)
    """
    return len(text) <= MOST_KEY_CHARACTERS and _KEY.fullmatch(text) is not None


class ScaleKind(StrEnum):
    """The kind of a scale: ordered whole points, or any number between the ends."""

    ORDINAL = "ordinal"
    CONTINUOUS = "continuous"


class Level(StrEnum):
    """The level of measurement, which sets the distance function of agreement."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A scale of answers from `low` to `high`, both included.

    Parameters
    ----------
    kind : ScaleKind
        Whole points (`ordinal`), or any number between the ends (`continuous`).
    low, high : float
        The ends; finite, `low` < `high`, whole numbers on an ordinal scale.

    Raises
    ------
    ValueError
        An end is not finite or not whole on an ordinal scale, or `low` is not below `high`.

    Examples
    --------
    >>> list(Scale(kind=ScaleKind.ORDINAL, low=1, high=5).points)
    [1, 2, 3, 4, 5]
    >>> Scale(kind=ScaleKind.ORDINAL, low=1, high=1)
    Traceback (most recent call last):
    ValueError: The low end of a scale (1) must lie below its high end (1).
    """

    kind: ScaleKind
    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", ScaleKind(self.kind))
        for end in (self.low, self.high):
            if not _is_number(end) or not math.isfinite(end):
                raise ValueError(f"The end of a scale must be a finite number, not {end!r}.")
            if self.kind is ScaleKind.ORDINAL and end != int(end):
                raise ValueError(f"An ordinal scale ends on whole numbers, not on {format_plain_number(end)}.")
        if self.low >= self.high:
            low, high = format_plain_number(self.low), format_plain_number(self.high)
            raise ValueError(f"The low end of a scale ({low}) must lie below its high end ({high}).")

    @property
    def points(self) -> range:
        """All answers of an ordinal scale; empty for a continuous one."""
        if self.kind is ScaleKind.CONTINUOUS:
            return range(0)
        return range(int(self.low), int(self.high) + 1)

    @property
    def usual_level(self) -> Level:
        """The level of measurement that fits the scale if nobody chooses one.

        Interval on a slider, ordinal on points, but nominal on two points, such as no and yes: with nothing between
        them there is no order to speak of, and alpha is the same at every level.

        Examples
        --------
        >>> [Scale(kind=ScaleKind.ORDINAL, low=low, high=5).usual_level.value for low in (1, 4)]
        ['ordinal', 'nominal']
        """
        if self.kind is ScaleKind.CONTINUOUS:
            return Level.INTERVAL
        return Level.ORDINAL if len(self.points) > 2 else Level.NOMINAL


@dataclass(frozen=True, kw_only=True)
class CriterionSpec:
    """A criterion: one question that is asked about every candidate.

    Parameters
    ----------
    key : str
        The stable name by which results are grouped, such as ``correctness``.
    name : str
        The name that people read.
    statement : str
        The question that the annotator answers.
    scale : Scale
        The scale of the answers.
    anchors : Mapping[int, str]
        Labels of points of the scale: a short name, and after a colon an explanation.
    reversed : bool
        Whether low answers are good; such scores are inverted before anything is computed: ``low + high - value``.
    level : Level
        The default level of measurement for agreement.
    """

    key: str
    name: str
    statement: str
    scale: Scale
    anchors: Mapping[int, str] = field(default_factory=dict)
    reversed: bool = False
    level: Level


NO_ORDER = "the points are categories without an order"
"""Why a figure that takes points as numbers is undefined."""


def has_order(level: str, low: float, high: float) -> bool:
    """Return whether the points of a scale are more than categories, so that they have a mean.

    Parameters
    ----------
    level : str
        The level of measurement of the criterion.
    low, high : float
        The ends of its scale. Two points always have a mean: the share of the higher one.

    Returns
    -------
    bool
        False for a nominal criterion with three or more points.

    Examples
    --------
    >>> has_order("nominal", 0, 1), has_order("nominal", 0, 3), has_order("ordinal", 1, 5)
    (True, False, True)
    """
    return level != Level.NOMINAL or high - low < 2


def check_value(scale: Scale, value: object, *, gettext: Callable[[str], str] = str) -> str | None:
    """Return what is wrong with an answer, or None if it is valid.

    Parameters
    ----------
    scale : Scale
        The scale of the answer.
    value : object
        The answer. Text, booleans and missing values are invalid; ``4.0`` is the point 4.
    gettext : Callable[[str], str]
        Translates a sentence, and keeps its {placeholders}.

    Returns
    -------
    str or None
        A sentence for people, or None.

    Examples
    --------
    >>> check_value(FIVE_POINTS, 4) is None
    True
    >>> check_value(FIVE_POINTS, 7)
    '7 is outside the scale. Use a number from 1 to 5.'
    >>> check_value(FIVE_POINTS, 2.5)
    '2.5 is not a whole number. Use a whole number from 1 to 5.'
    """
    if not _is_number(value):
        return gettext("{value} is not a number.").format(value=repr(value))
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        return gettext("{value} is not a finite number.").format(value=repr(value))
    numbers = {
        "value": format_plain_number(number),
        "low": format_plain_number(scale.low),
        "high": format_plain_number(scale.high),
    }
    if scale.kind is ScaleKind.ORDINAL and number != int(number):
        return gettext("{value} is not a whole number. Use a whole number from {low} to {high}.").format(**numbers)
    if not scale.low <= number <= scale.high:
        return gettext("{value} is outside the scale. Use a number from {low} to {high}.").format(**numbers)
    return None


def is_right(value: float | None, expected_low: float, expected_high: float, tolerance: float) -> bool:
    """Return whether an answer is within the expected range, extended by the tolerance.

    Parameters
    ----------
    value : float or None
        The answer; None and NaN ("cannot be judged") are never correct.
    expected_low, expected_high : float
        The range of correct answers, both ends included.
    tolerance : float
        How far outside the range still counts as correct, in points; 0 asks for an exact match.

    Returns
    -------
    bool
        Whether the answer is correct.

    Raises
    ------
    ValueError
        The range is empty or the tolerance negative.

    Examples
    --------
    >>> is_right(4, 5, 5, 0), is_right(4, 5, 5, 1), is_right(None, 1, 5, 0)
    (False, True, False)
    """
    if expected_low > expected_high:
        raise ValueError(f"The expected range {expected_low} to {expected_high} is empty.")
    if tolerance < 0:
        raise ValueError(f"The tolerance {tolerance} is negative.")
    if value is None:
        return False
    return expected_low - tolerance <= value <= expected_high + tolerance


def format_plain_number(value: float) -> str:
    """Format a number, a whole one without ``.0``.

    Parameters
    ----------
    value : float
        A finite number.

    Returns
    -------
    str
        Digits that read back as the same number.

    Examples
    --------
    >>> format_plain_number(5.0), format_plain_number(2.5)
    ('5', '2.5')
    """
    number = float(value)
    if number == int(number) and abs(number) < 2**53:
        return str(int(number))
    return repr(number)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


FIVE_POINTS = Scale(kind=ScaleKind.ORDINAL, low=1, high=5)
SLIDER = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100)
