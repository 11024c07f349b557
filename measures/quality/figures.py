"""All figures of one annotator together, and how they are stored."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from measures.outcome import Undefined
from measures.quality.degraded import Degraded, DegradedTest, Verdict
from measures.quality.habits import Pace, ScaleUse
from measures.quality.others import AlphaEffect, Others
from measures.quality.repeats import Repeats
from measures.quality.shares import Share
from measures.quality.texts import Follows

NOTHING = Undefined(reason="not computed yet")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Everything known of the quality of one annotator's work; each figure, or why there is none.

    Attributes
    ----------
    n_judged : int
        Ordinary items with a score.
    known_answers : Share or Undefined
        Known answers that were right.
    repeats : Repeats or Undefined
        Repeated items against the first time.
    degraded : Degraded or Undefined
        Degraded texts against their sources.
    others : Others or Undefined
        Against everybody else.
    alpha : AlphaEffect or Undefined
        Alpha without this annotator, and with.
    scale : ScaleUse or Undefined
        Values used.
    pace : Pace or Undefined
        Speed.
    overlap : Follows or Undefined
        How scores follow the words shared with a reference.
    length : Follows or Undefined
        How scores follow the length of the candidate against its references.
    returned : Share or Undefined
        HITs given back, of those taken.
    poor : Share or Undefined
        Items that reviewers marked poor.
    reviewers : Others or Undefined
        Against the reviewers' blind scores.
    """

    n_judged: int = 0
    known_answers: Share | Undefined = NOTHING
    repeats: Repeats | Undefined = NOTHING
    degraded: Degraded | Undefined = NOTHING
    others: Others | Undefined = NOTHING
    alpha: AlphaEffect | Undefined = NOTHING
    scale: ScaleUse | Undefined = NOTHING
    pace: Pace | Undefined = NOTHING
    overlap: Follows | Undefined = NOTHING
    length: Follows | Undefined = NOTHING
    returned: Share | Undefined = NOTHING
    poor: Share | Undefined = NOTHING
    reviewers: Others | Undefined = NOTHING


_KINDS: dict[str, type] = {
    "known_answers": Share,
    "repeats": Repeats,
    "degraded": Degraded,
    "others": Others,
    "alpha": AlphaEffect,
    "scale": ScaleUse,
    "pace": Pace,
    "overlap": Follows,
    "length": Follows,
    "returned": Share,
    "poor": Share,
    "reviewers": Others,
}


def pack(figures: Figures) -> dict[str, Any]:
    """Turn figures into what JSON can hold: an undefined one is its reason, and nothing is ever NaN.

    Parameters
    ----------
    figures : Figures
        One annotator's.

    Returns
    -------
    dict
        By name; an undefined figure is ``{"undefined": reason}``.

    Examples
    --------
    >>> from measures.quality.shares import share_of
    >>> packed = pack(Figures(n_judged=3, known_answers=share_of(1, 2, nothing="")))
    >>> packed["known_answers"]["share"], packed["pace"]
    (0.5, {'undefined': 'not computed yet'})
    >>> unpack(packed).known_answers.n
    2
    """
    return {field.name: _pack(getattr(figures, field.name)) for field in fields(figures)}


def unpack(packed: Mapping[str, Any]) -> Figures:
    """Turn what was stored back into figures; one that is missing is not computed yet.

    Parameters
    ----------
    packed : mapping
        As `pack` gives it.

    Returns
    -------
    Figures

    Examples
    --------
    >>> unpack({}).scale.reason
    'not computed yet'
    """
    found: dict[str, Any] = {"n_judged": int(packed.get("n_judged", 0))}
    for name, kind in _KINDS.items():
        if isinstance(packed.get(name), Mapping):
            found[name] = _unpack(packed[name], kind)
    return Figures(**found)


def _pack(value: Any) -> Any:
    if isinstance(value, Undefined):
        return {"undefined": value.reason}
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: _pack(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (DegradedTest, Verdict)):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _unpack(stored: Mapping[str, Any], kind: type) -> Any:
    if "undefined" in stored:
        return Undefined(reason=str(stored["undefined"]))
    values = dict(stored)
    for name, value in values.items():
        if isinstance(value, Mapping):
            values[name] = Undefined(reason=str(value.get("undefined", "")))
        elif isinstance(value, list):
            values[name] = tuple(value)
        elif value is None and name != "p":
            values[name] = float("nan")
    if kind is Degraded:
        values["test"], values["verdict"] = DegradedTest(values["test"]), Verdict(values["verdict"])
    return kind(**values)
