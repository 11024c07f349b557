"""Charts of gold scores: their distribution, over all candidates and by part."""

from collections.abc import Mapping
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart

Figures = Mapping[str, Any]
MOST_FRAMES = 12
"""The most parts that are drawn side by side, those with most candidates; the table has more."""


def choose_rule(figures: Figures, rule: str) -> Figures:
    """Return the figures of one gold rule."""
    found: Figures = next(each for each in figures["rules"] if each["rule"] == rule)
    return found


def chart_golds(figures: Figures, *, rule: str, by: str) -> list[Chart]:
    """Return the distribution of gold scores, of all candidates and of each part; nothing where undefined."""
    chosen = choose_rule(figures, rule)
    if chosen["undefined"]:
        return []
    # Labels of more than two characters would overlap below the bars.
    is_long = max(map(len, chosen["bins"])) > 2
    axis, share = "gold score", "share of candidates"
    whole = Chart(
        "distribution",
        "Distribution of human scores",
        _make_bars(chosen["bins"], chosen["whole"]),
        specs.bars("score", "n", title="candidates", axis=axis, is_long=is_long),
        columns=("score", "n", "share"),
    )
    # The largest parts are chosen, and drawn in the order of the table.
    parts = sorted(chosen["parts"][by], key=lambda part: -part["n"])[:MOST_FRAMES]
    drawn = [part for part in chosen["parts"][by] if part in parts]
    rows = [row for part in drawn for row in _make_bars(chosen["bins"], part)]
    spec = specs.small_multiples("score", "share", "part", title=share, axis=axis, n=len(drawn), is_long=is_long)
    columns = ("part", "score", "n", "share")
    return [whole, Chart("parts", "Human scores by part", rows, spec, columns=columns)]


def _make_bars(bins: list[str], part: Figures) -> list[dict[str, Any]]:
    return [
        {"part": part["name"] or "none named", "score": label, "n": n, "share": n / part["n"]}
        for label, n in zip(bins, part["counts"], strict=True)
    ]
