"""Labels in place of numbers, such as Excellent or no: which a file has, and the points that are suggested for them."""

from collections.abc import Mapping, Sequence

from measures.rubric import Scale, format_plain_number
from projects.errors import Refused
from projects.importing import CriterionColumn, Options, Preview

MISSING = {"n/a", "na", "nan", "none", "null", "-", "?", "missing", "k. a."}
WORDS_OR_MISSING = {"none", "missing"}
"""Those that may be a category too, such as a kind of error."""
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


def suggest_labels(preview: Preview, scales: Mapping[str, Scale | None]) -> str:
    """Return the labels in the columns of ratings, one per line, with points where their meaning is plain.

    `scales` has the scale of each column that holds ratings. A line without points is to be completed by a person: also
    a label that would have other points in other columns, and one such as “none” beside words that are no usual
    ratings, since it may be one of them.
    """
    found: dict[str, set[str]] = {}
    for scale in dict.fromkeys(scales.values()):
        columns = [column for column, its in scales.items() if its == scale]
        # Pooled, as each annotator's column may have other words.
        words = list(dict.fromkeys(word for column in columns for word in preview.words.get(column, ())))
        points = _find_points([word for word in words if word not in MISSING], scale) if scale is not None else {}
        is_usual = scale is None or all(word in points or word in MISSING for word in words)
        for word in words:
            is_missing = word in MISSING and (is_usual or word not in WORDS_OR_MISSING)
            found.setdefault(word, set()).add("missing" if is_missing else points.get(word, ""))
    return "\n".join(f"{word}={points.pop() if len(points) == 1 else ''}" for word, points in found.items())


def read_labels(options: Options) -> str:
    """Return the labels of an import as its form has them."""
    return "\n".join(
        f"{label}={'missing' if points is None else format_plain_number(points)}"
        for label, points in options.labels.items()
    )


def find_scale(options: Options, known: Mapping[str, CriterionColumn], key: str) -> Scale | None:
    """Return the scale of a criterion, or else of the scores; None where it is not known yet."""
    if key in known:
        return known[key].scale
    try:
        return options.find_scored(known).scale
    except Refused:
        return None


def _find_points(words: Sequence[str], scale: Scale) -> dict[str, str]:
    """Return the points of the words that belong to a usual set of labels of as many points as the scale."""
    for labels in FROM_BEST:
        if len(set(words) & set(labels)) > 2 and scale.high - scale.low == len(labels) - 1:
            return {label: format_plain_number(scale.high - place) for place, label in enumerate(labels)}
    for best, worst in OPPOSITES:
        if {best, worst} <= set(words):
            return {best: format_plain_number(scale.high), worst: format_plain_number(scale.low)}
    return {}
