"""Charts of the agreement pages, each with the rows that its table shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from measures.annotator_pairs import QUADRATIC
from projects.charts import specs
from projects.charts.drawing import Chart
from projects.language.amounts import format_score
from projects.language.names import spell_out
from results.agreement.precision import MODELLED, OBSERVED, PARTLY, describe_basis
from results.scope.gold_settings import PASSAGES

Figures = Mapping[str, Any]
TIME_COLUMNS = ("period", "alpha", "low", "high", "so_far", "n_units")
DASHES = {OBSERVED: (1, 0), PARTLY: (10, 4), MODELLED: (4, 7)}
LOWEST = -1.0
"""Where the axis of alpha over time ends at the latest, if no alpha lies below."""
MOST_IN_MAP = 25
"""The most annotators in the heat map of pairs: those of the pairs with most common items."""


def chart_agreement(figures: Figures) -> list[Chart]:
    """Return a forest plot of alpha, overall and for each part."""
    report = figures["report"]
    level = report["level"]
    title = f"Alpha ({level})"
    parts = [{"part": "all", **_read_interval(report["levels"][0])}]
    parts += [{"part": group["name"] or "none named", **_read_interval(group["line"])} for group in report["groups"]]
    spec = specs.intervals("part", "alpha", "low", "high", title=title, zero=0)
    over = "passages" if report.get("unit") == PASSAGES else "candidates"
    chart = Chart(
        "parts",
        f"Alpha by {spell_out(report['by'])}, with 95 % CI over {over}",
        [row for row in parts if row["alpha"] is not None],
        spec,
        columns=("part", "alpha", "low", "high", "n_units", "n_ratings"),
    )
    return [chart]


def chart_annotators(figures: Figures) -> list[Chart]:
    """Return a heat map of the pairs' kappa, and each annotator's bias and correlation with the others."""
    return [_draw_pairs(figures), _draw_annotators(figures)]


def chart_time(figures: Figures) -> list[Chart]:
    """Return alpha by period with its interval."""
    rows = []
    for period in figures["periods"] if isinstance(figures["periods"], list) else ():
        alpha, ends = period["outcome"].get("alpha"), period["interval"] or {}
        if alpha is not None:
            row = {"period": period["name"], "alpha": alpha, "low": ends.get("low"), "high": ends.get("high")}
            rows.append({**row, "so_far": period["so_far"], "n_units": period["outcome"]["n_units"]})
    title = "Alpha ({level})".format(level=figures["level"])
    # The interval of a few passages may end far below -1, and would leave no room for the others.
    is_cut = any(row["low"] is not None and row["low"] < LOWEST for row in rows)
    spec = specs.line(
        *("period", "alpha", "low", "high"),
        title=title,
        axis="last rating of the candidate",
        domain=(min(LOWEST, *(row["alpha"] for row in rows)), 1.0) if is_cut else _widen(rows),
    )
    return [
        Chart(
            "time",
            "Alpha by period, with 95 % CI" + (" (cut at −1)" if is_cut else ""),
            rows,
            spec,
            columns=TIME_COLUMNS,
        )
    ]


def _draw_pairs(figures: Figures) -> Chart:
    pairs = figures["pairs"].get("computed", [])
    people: list[str] = []
    # Pairs come with most common items first, so their annotators do too.
    for pair in pairs:
        people += [name for name in (pair["first"], pair["second"]) if name not in people]
    mapped = set(people[:MOST_IN_MAP])
    cells = [
        {**{name: pair[name] for name in ("first", "second", "kappa")}, "label": format_score(pair["kappa"], 2)}
        for pair in sorted(pairs, key=lambda each: (each["first"], each["second"]))
        if isinstance(pair["kappa"], float) and {pair["first"], pair["second"]} <= mapped
    ]
    lowest = min((cell["kappa"] for cell in cells), default=0.0)
    # Kappa may be negative; the colours then begin at the lowest, and at 0 otherwise, so that maps can be compared.
    domain = (min(0.0, lowest), 1.0)
    title = f"Cohen's kappa ({figures.get('kappa', QUADRATIC)})"
    spec = specs.heat_map("first", "second", "kappa", "label", title=title, domain=domain, order=sorted(mapped))
    return Chart("pairs", f"{title} of each annotator pair", cells, spec, columns=("first", "second", "kappa"))


def _draw_annotators(figures: Figures) -> Chart:
    rows = [
        {
            "annotator": person["pseudonym"],
            "bias": person["others"]["bias"],
            "r": person["others"]["r"],
            "n": person["n"],
        }
        for person in figures["people"][:MOST_IN_MAP]
        # Without a correlation an annotator has no place in the plot; the table lists everyone.
        if isinstance(person["others"].get("r"), float)
    ]
    spec = specs.points(
        *("bias", "r", "annotator"),
        x_title="bias (points of the scale)",
        y_title="correlation with rest (Pearson's r)",
        size="n",
        size_title="ratings",
        zero=0,
    )
    return Chart("annotators", "Annotator vs. rest", rows, spec, columns=("annotator", "n", "bias", "r"))


def _widen(rows: Sequence[Mapping[str, Any]]) -> specs.Domain | None:
    return specs.widen((row[name] for row in rows for name in ("alpha", "low", "high")), highest=1.0)


def _read_interval(line: Mapping[str, Any]) -> dict[str, Any]:
    # Reports of earlier versions name no unit, and their charts show the interval over candidates.
    ends = line["by_passage" if line.get("unit") == PASSAGES else "by_unit"] or {}
    counts = {name: line[name] for name in ("n_units", "n_ratings")}
    return {"alpha": line["alpha"], "low": ends.get("low"), "high": ends.get("high"), **counts}


def chart_plan(figures: Figures) -> list[Chart]:
    """Return the width of the interval by number of candidates, a line for each number of judgments."""
    widths = figures["plan"].get("widths", [])
    rows, dashes = [], {}
    for each in widths:
        basis = describe_basis(figures["plan"], each["n_judgments"])
        series = f"{each['n_judgments']}, {basis}"
        rows.append(
            {
                "candidates": each["n_units"],
                "judgments": f"{each['n_judgments']} judgments",
                "width": each["width"],
                "alpha": each["alpha"],
                "basis": basis,
                "series": series,
            }
        )
        # Modelled widths are less certain, and a dashed line shows the one that it covers.
        dashes[series] = DASHES[basis]
    sizes = sorted({each["n_units"] for each in widths}) or [1]
    spec = specs.curves(
        *("candidates", "width", "series"),
        title="width of the 95 % CI",
        axis="candidates",
        at=sizes,
        legend="judgments per candidate",
        dashes=dashes,
    )
    return [
        Chart(
            "widths",
            "Width of the 95 % CI of alpha",
            rows,
            spec,
            columns=("candidates", "judgments", "width", "alpha", "basis"),
        )
    ]
