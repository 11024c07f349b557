"""Rubrics: scales and criteria, what is a valid answer, and the presets.

An answer is an `int` or a `float`; it is checked here and nowhere else.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Real


class ScaleKind(StrEnum):
    """How answers lie on a scale: on whole points in order, or anywhere between the ends."""

    ORDINAL = "ordinal"
    CONTINUOUS = "continuous"


class Level(StrEnum):
    """The level of measurement: which difference between two answers agreement is to weigh."""

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
        The ends do not make a scale.

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
                raise ValueError(f"An ordinal scale ends on whole numbers, not on {format_number(end)}.")
        if self.low >= self.high:
            low, high = format_number(self.low), format_number(self.high)
            raise ValueError(f"The low end of a scale ({low}) must lie below its high end ({high}).")

    @property
    def points(self) -> range:
        """Every answer that an ordinal scale allows; empty on a continuous one."""
        if self.kind is ScaleKind.CONTINUOUS:
            return range(0)
        return range(int(self.low), int(self.high) + 1)


@dataclass(frozen=True, kw_only=True)
class CriterionSpec:
    """One question that is asked about every candidate.

    Parameters
    ----------
    key : str
        The stable name by which results are grouped, such as ``correctness``.
    name : str
        What people read.
    statement : str
        The question that the annotator answers.
    scale : Scale
        The answers allowed.
    anchors : Mapping[int, str]
        What points of the scale mean: a short name, and after a colon the explanation.
    reversed : bool
        Whether a low answer is the good one; `invert_score` puts that right before anything is computed.
    level : Level
        The level of measurement that agreement is computed at unless another is asked for.
    """

    key: str
    name: str
    statement: str
    scale: Scale
    anchors: Mapping[int, str] = field(default_factory=dict)
    reversed: bool = False
    level: Level


@dataclass(frozen=True, kw_only=True)
class RubricPreset:
    """A rubric that a project can start from."""

    key: str
    name: str
    summary: str
    criteria: tuple[CriterionSpec, ...]


def check_value(scale: Scale, value: object, *, gettext: Callable[[str], str] = str) -> str | None:
    """Say what is wrong with an answer, or nothing if it is valid.

    Parameters
    ----------
    scale : Scale
        The scale that the answer is to lie on.
    value : object
        The answer as a number. Text, booleans and missing values are no answers; ``4.0`` is the point 4.
    gettext : Callable[[str], str]
        Says a sentence in another language, with its {places} left as they are.

    Returns
    -------
    str or None
        A sentence for people, or None where the answer is valid.

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
    said = {"value": format_number(number), "low": format_number(scale.low), "high": format_number(scale.high)}
    if scale.kind is ScaleKind.ORDINAL and number != int(number):
        return gettext("{value} is not a whole number. Use a whole number from {low} to {high}.").format(**said)
    if not scale.low <= number <= scale.high:
        return gettext("{value} is outside the scale. Use a number from {low} to {high}.").format(**said)
    return None


def invert_score(scale: Scale, value: float) -> float:
    """Turn an answer to a reversed criterion, so that more is better.

    Parameters
    ----------
    scale : Scale
        The criterion's scale.
    value : float
        A valid answer, or NaN for "cannot be judged", which stays NaN. An array works too.

    Returns
    -------
    float
        ``low + high - value``.

    Examples
    --------
    >>> invert_score(FIVE_POINTS, 2)
    4
    """
    return scale.low + scale.high - value


def is_right(value: float | None, expected_low: float, expected_high: float, tolerance: float) -> bool:
    """Tell whether an answer lies within the expected range, give or take the tolerance.

    Parameters
    ----------
    value : float or None
        The answer; None and NaN ("cannot be judged") are never right.
    expected_low, expected_high : float
        The range of right answers, both ends included.
    tolerance : float
        How far outside still counts; 0 asks for an exact match.

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


def format_number(value: float) -> str:
    """Write a number without a needless ``.0``.

    Examples
    --------
    >>> format_number(5.0), format_number(2.5)
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

CORRECTNESS = RubricPreset(
    key="mocha",
    name="Correctness (MOCHA)",
    summary="How close the answer is in meaning to the reference, given the passage and the question.",
    criteria=(
        CriterionSpec(
            key="correctness",
            name="Correctness",
            statement="How close is the answer in meaning to the reference?",
            scale=FIVE_POINTS,
            anchors={
                5: "Same meaning: says what the reference says; extra words are fine",
                4: "Nearly the same: a small detail differs or is missing",
                3: "Partly right: something important differs or is missing",
                2: "Mostly wrong: only a little of the right answer is there",
                1: "Wrong: contradicts the reference, or has nothing to do with the question",
            },
            level=Level.ORDINAL,
        ),
    ),
)

ANSWER_QUALITY = RubricPreset(
    key="yang",
    name="Answer quality (Yang)",
    summary="How well the answer meets the need, covers the key points and stays concise.",
    criteria=(
        CriterionSpec(
            key="quality",
            name="Answer quality",
            statement="How well does this answer the question?",
            scale=FIVE_POINTS,
            anchors={
                5: "Perfect: answers the question fully and concisely",
                4: "Sufficient: something minor is missing or repeated",
                3: "Not quite enough: for example, an opinion without any support",
                2: "Poor: something essential is missing or wrong",
                1: "Irrelevant: doesn't answer this question",
            },
            level=Level.ORDINAL,
        ),
    ),
)

_AGREEMENT = {0: "Strongly disagree", 100: "Strongly agree"}

QASCORE = RubricPreset(
    key="qascore",
    name="Generated questions (QAScore)",
    summary="How good a generated question is: four statements, each on a slider from disagree to agree.",
    criteria=tuple(
        CriterionSpec(
            key=key,
            name=key.capitalize(),
            statement=statement,
            scale=SLIDER,
            anchors=_AGREEMENT,
            level=Level.INTERVAL,
        )
        for key, statement in (
            ("understandability", "I understand right away what the question asks."),
            ("relevancy", "The question is about what the passage says."),
            ("answerability", "The passage alone contains everything needed to answer the question."),
            ("appropriateness", "The question word fits what is asked."),
        )
    ),
)

PRESETS: dict[str, RubricPreset] = {preset.key: preset for preset in (CORRECTNESS, ANSWER_QUALITY, QASCORE)}
DEFAULT_PRESET = CORRECTNESS.key
