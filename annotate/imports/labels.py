"""Labels in place of numbers, such as Excellent or no: which a file has, and the points that are suggested for them."""

from collections.abc import Iterable, Mapping, Sequence

from measures.rubric import Scale, format_number
from projects.errors import Refused
from projects.importing import CriterionColumn, Options, Preview

MISSING = {"n/a", "na", "nan", "none", "null", "-", "?", "missing", "k. a."}
FROM_BEST = (
    ("excellent", "good", "fair", "poor", "bad"),
    ("very good", "good", "acceptable", "poor", "very poor"),
    ("very good", "good", "neutral", "bad", "very bad"),
    ("strongly agree", "agree", "neutral", "disagree", "strongly disagree"),
    ("strongly agree", "agree", "neither agree nor disagree", "disagree", "strongly disagree"),
)
OPPOSITES = (
    ("yes", "no"),
    ("true", "false"),
    ("correct", "incorrect"),
    ("correct", "wrong"),
    ("right", "wrong"),
    ("pass", "fail"),
    ("good", "bad"),
    ("ja", "nein"),
    ("oui", "non"),
    ("sí", "no"),
)


def suggest_labels(preview: Preview, fields: Mapping[str, str], scale: Scale | None) -> str:
    """Return the labels in the columns of ratings, one per line, with points where their meaning is plain.

    `fields` are the columns that hold ratings, or any others; a line without points is to be completed by a person.
    """
    words = list(dict.fromkeys(word for column in fields for word in preview.words.get(column, ())))
    points = {word: "missing" for word in words if word in MISSING}
    if scale is not None:
        points |= _find_points([word for word in words if word not in MISSING], scale)
    return "\n".join(f"{word}={points.get(word, '')}" for word in words)


def read_labels(options: Options) -> str:
    """Return the labels of an import as its form has them."""
    return "\n".join(
        f"{label}={'missing' if points is None else format_number(points)}" for label, points in options.labels.items()
    )


def find_scale(options: Options, known: Mapping[str, CriterionColumn], keys: Iterable[str]) -> Scale | None:
    """Return the scale of the ratings: that of the first of `keys`, or else of the scores."""
    first = next((known[key] for key in keys if key in known), None)
    if first is not None:
        return first.scale
    try:
        return options.find_scored(known).scale
    except Refused:
        return None


def _find_points(words: Sequence[str], scale: Scale) -> dict[str, str]:
    """Return the points of the words that belong to a usual set of labels of as many points as the scale."""
    for labels in FROM_BEST:
        if len(set(words) & set(labels)) > 2 and scale.high - scale.low == len(labels) - 1:
            return {label: format_number(scale.high - place) for place, label in enumerate(labels)}
    for best, worst in OPPOSITES:
        if {best, worst} <= set(words):
            return {best: format_number(scale.high), worst: format_number(scale.low)}
    return {}
