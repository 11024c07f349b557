"""All figures of one annotator together, and their form in JSON."""

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
from measures.quality.texts import FeatureCorrelation

NOTHING = Undefined(reason="not computed yet")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of the quality of one annotator's work, each defined or with the reason why not.

    Attributes
    ----------
    n_judged : int
        Ordinary items with a score.
    known_answers : Share or Undefined
        Known answers that were rated correctly.
    repeats : Repeats or Undefined
        Second scores of repeated items compared with the first.
    degraded : Degraded or Undefined
        Scores of degraded texts compared with their originals.
    others : Others or Undefined
        Scores compared with those of everybody else.
    alpha : AlphaEffect or Undefined
        Alpha of the project with and without this annotator.
    scale : ScaleUse or Undefined
        The values used.
    pace : Pace or Undefined
        Time per item and per word.
    overlap : FeatureCorrelation or Undefined
        Correlation of scores with the words shared with a reference.
    length : FeatureCorrelation or Undefined
        Correlation of scores with the length of the candidate relative to its references.
    returned : Share or Undefined
        HITs returned, of those taken.
    poor : Share or Undefined
        Items rejected in spot checks.
    reviewers : Others or Undefined
        Scores compared with the reviewers' blind scores.
    """

    n_judged: int = 0
    known_answers: Share | Undefined = NOTHING
    repeats: Repeats | Undefined = NOTHING
    degraded: Degraded | Undefined = NOTHING
    others: Others | Undefined = NOTHING
    alpha: AlphaEffect | Undefined = NOTHING
    scale: ScaleUse | Undefined = NOTHING
    pace: Pace | Undefined = NOTHING
    overlap: FeatureCorrelation | Undefined = NOTHING
    length: FeatureCorrelation | Undefined = NOTHING
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
    "overlap": FeatureCorrelation,
    "length": FeatureCorrelation,
    "returned": Share,
    "poor": Share,
    "reviewers": Others,
}


def pack(figures: Figures) -> dict[str, Any]:
    """Convert figures to JSON values; an undefined one becomes its reason, and NaN becomes None.

    Parameters
    ----------
    figures : Figures
        Those of one annotator.

    Returns
    -------
    dict
        By name of the figure; an undefined figure is ``{"undefined": reason}``.

    Examples
    --------
    >>> from measures.quality.shares import compute_share
    >>> packed = pack(Figures(n_judged=3, known_answers=compute_share(1, 2, nothing="")))
    >>> packed["known_answers"]["share"], packed["pace"]
    (0.5, {'undefined': 'not computed yet'})
    >>> unpack(packed).known_answers.n
    2
    """
    return {field.name: _pack(getattr(figures, field.name)) for field in fields(figures)}


def unpack(packed: Mapping[str, Any]) -> Figures:
    """Convert stored JSON values back to figures.

    Parameters
    ----------
    packed : mapping
        As `pack` returns it.

    Returns
    -------
    Figures
        A figure that is absent, as in rows stored before it existed, is undefined: "not computed yet".

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
        elif value is None and name != "p":  # p alone may be None; any other None was stored for NaN
            values[name] = float("nan")
    if kind is Degraded:
        values["test"], values["verdict"] = DegradedTest(values["test"]), Verdict(values["verdict"])
    return kind(**values)
