"""Tables of the pages of systems and of replication."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from measures.rounding import ON_SCALE
from projects.language.amounts import plural
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Interval, Missing, Name, Table, Value
from results.scope.gold_settings import PASSAGES, RESAMPLES, SEED
from results.systems.warnings import explain_shared, list_notes

Figures = Mapping[str, Any]
MEASURES = {"z": "mean z", "raw": "mean"}


def tabulate_replication(figures: Figures, *, key: str) -> list[Table]:
    """Return how the systems' scores of two batches correlate, and then the scores, as z scores and as means."""
    found = figures["by"].get(key, {})
    scope = f"criterion: {key}" if key else "all criteria"
    columns = [
        Column("score", "Score"),
        Column("n", "Systems", "count"),
        Column("pearson", "Pearson's r", "number", 4, hint="pearson"),
        Column("spearman", "Spearman's rho", "number", 4, hint="spearman"),
        Column("kendall", "Kendall's tau-b", "number", 4, hint="kendall"),
    ]
    rows: list[list[Value]] = [
        [
            MEASURES[measure],
            each["replication"]["n"],
            *(read_number(each["replication"][name]) for name in ("pearson", "spearman", "kendall")),
        ]
        for measure, each in sorted(found.items(), key=lambda pair: list(MEASURES).index(pair[0]))
    ]
    n = max((len(each["systems"]) for each in found.values()), default=0)
    caption = f"Correlation of the systems' scores in two batches ({scope}; n = {n:,} systems in both; no intervals)."
    title, notes = "Correlation of system scores", list_notes(figures, key)
    tables = [Table("correlation", title, columns, rows, caption, notes=notes, label="replication")]
    for measure, name in MEASURES.items():
        systems = found.get(measure, {}).get("systems", [])
        if systems:
            title = f"{name.capitalize()} in both batches"
            columns = [
                Column("system", "System"),
                Column("first", f"{name.capitalize()}, first batch", "number"),
                Column("second", f"{name.capitalize()}, second batch", "number"),
            ]
            rows = [[each["source"] or "unspecified", each["first"], each["second"]] for each in systems]
            caption = f"{title} ({scope}; n = {len(rows):,} systems; means over their ratings)."
            label = f"replication-{measure}"
            tables.append(Table(f"systems-{measure}", title, columns, rows, caption, notes=notes, label=label))
    return tables


def tabulate_systems(figures: Figures, *, key: str, criterion_urls: Mapping[str, str] | None = None) -> list[Table]:
    """Return the systems' scores with their intervals, and over all criteria those on each criterion too.

    On the page, the names of criteria link to `criterion_urls`.
    """
    scores = figures["scores"].get(key, [])
    if not scores:
        return []
    name = next((each["name"].rstrip(". ") for each in figures["criteria"] if each["key"] == key), "")
    scope = f"criterion: {name}" if name else "all criteria"
    # Reports of earlier versions have no method, and show both intervals.
    is_earlier = "method" not in figures
    by_unit, by_group = (is_earlier or (figures["unit"] == PASSAGES) is each for each in (False, True))
    # Reports of earlier versions do not know how many ratings have a z score.
    shows_n_z = any(score.get("n_z", score["n_ratings"]) < score["n_ratings"] for score in scores)
    columns = [
        Column("rank", "Rank", "count"),
        Column("system", "System"),
        Column("n", "Candidates", "count"),
        Column("ratings", "Ratings", "count"),
        *([Column("ratings_with_z", "Ratings with z", "count", hint="ratings-with-z")] if shows_n_z else []),
        Column("z", "Mean z", "number", hint="mean-z"),
        Column("z_by_unit", "z, 95 % CI (candidates)", "interval", hint="ci-candidates", on_page=by_unit),
        Column("z_by_group", "z, 95 % CI (passages)", "interval", hint="ci-passages", on_page=by_group),
        Column("mean", "Mean", "number"),
        Column("mean_by_unit", "Mean, 95 % CI (candidates)", "interval", hint="ci-candidates", on_page=by_unit),
        Column("mean_by_group", "Mean, 95 % CI (passages)", "interval", hint="ci-passages", on_page=by_group),
    ]
    # Reports of earlier versions have systems without a z among the others.
    scores = sorted(scores, key=lambda score: isinstance(read_number(score["z"]["mean"]), Missing))
    has_z = [not isinstance(read_number(score["z"]["mean"]), Missing) for score in scores]
    # Sorted by z if any has one: a system without one comes below the others, and is no worse than they are.
    rows = [
        [rank if own or not any(has_z) else None, *_make_score_cells(score, shows_n_z=shows_n_z)]
        for rank, own, score in zip(_rank([_find_height(score) for score in scores]), has_z, scores, strict=True)
    ]
    people = [
        [None, *_make_score_cells(score, shows_n_z=shows_n_z, badge="human source")]
        for score in figures.get("people", {}).get(key, [])
    ]
    caption = _caption_scores(scope, scores, figures)
    notes = [f"Human sources, without a rank: {', '.join(str(row[1]) for row in people)}"] if people else []
    if unranked := [str(row[1]) for row in rows if row[0] is None]:
        notes.append(f"Without a z score, and so without a rank: {', '.join(unranked)}")
    notes += [note for note in (explain_shared(figures),) if note]
    notes += list_notes(figures, key)
    title, label = "System scores", "system-scores"
    tables = [Table("scores", title, columns, rows, caption, n_keys=2, foot=people, notes=notes, label=label)]
    if not key and len(figures["criteria"]) > 1:
        tables.append(_tabulate_criteria(figures, criterion_urls or {}))
    return tables


def _caption_scores(scope: str, scores: Sequence[Figures], figures: Figures) -> str:
    n = sum(score["n_units"] for score in scores)
    of_systems = plural(len(scores), "1 system", f"{len(scores):,} systems")
    method = (
        "95 % intervals by the jackknife with Student's t"
        if "method" in figures
        else f"95 % intervals by the percentile bootstrap, {RESAMPLES:,} resamples, seed {SEED}"
    )
    if figures.get("bounds_means") and any(isinstance(read_number(score["raw"]["mean"]), float) for score in scores):
        method += ", of means by Wilson's method with its standard error"
    return f"Mean human score of each system ({scope}; n = {n:,} candidates of {of_systems}; {method})."


def _find_height(score: Figures) -> float:
    """Return what systems are sorted by: the mean z, or the mean where there is none."""
    found = (read_number(score[name]["mean"]) for name in ("z", "raw"))
    return next((value for value in found if isinstance(value, float)), math.nan)


def _rank(heights: Sequence[float]) -> list[int]:
    """Return the rank of each of these sorted means; equal ones share the first."""
    ranks: list[int] = []
    for place, height in enumerate(heights):
        is_tied = place > 0 and math.isclose(height, heights[place - 1], abs_tol=ON_SCALE)
        ranks.append(ranks[-1] if is_tied else place + 1)
    return ranks


def _make_score_cells(score: Figures, *, shows_n_z: bool, badge: str = "") -> list[Value]:
    return [
        Name(score["source"] or "unspecified", badge=badge),
        score["n_units"],
        score["n_ratings"],
        *([score["n_z"]] if shows_n_z else []),
        *_make_mean_cells(score["z"]),
        *_make_mean_cells(score["raw"]),
    ]


def _make_mean_cells(mean: Figures) -> list[Value]:
    return [read_number(mean["mean"]), *(_read_interval(mean["mean"], mean[ends]) for ends in ("by_unit", "by_group"))]


def _read_interval(mean: Any, ends: Figures) -> Value:
    # Of an undefined mean the reason is said once.
    if isinstance(mean, Mapping):
        return None
    if "reason" in ends:
        return Missing(ends["reason"])
    share = ends.get("undefined_share") or 0.0
    return Interval(ends["low"], ends["high"], f"{share:.1%} of resamples undefined" if share else "")


def _tabulate_criteria(figures: Figures, urls: Mapping[str, str]) -> Table:
    columns = [
        Column("criterion", "Criterion"),
        Column("system", "System"),
        Column("ratings", "Ratings", "count"),
        Column("z", "Mean z", "number", hint="mean-z"),
        Column("mean", "Mean", "number"),
        Column("scale", "Scale"),
    ]
    rows: list[list[Value]] = [
        [
            Name(each["name"], url=urls.get(each["key"], "")),
            score["source"] or "unspecified",
            score["n_ratings"],
            read_number(score["z"]["mean"]),
            read_number(score["raw"]["mean"]),
            f"{each['low']}–{each['high']}",
        ]
        for each in figures["criteria"]
        for score in figures["scores"][each["key"]]
    ]
    n = len(figures["criteria"])
    caption = (
        f"Mean human score of each system on each criterion (n = {n:,} criteria; means over ratings, no intervals)."
    )
    title = "Scores by criterion"
    return Table("criteria", title, columns, rows, caption, n_keys=2, label="system-scores-by-criterion")


def tabulate_matrix(figures: Figures, *, key: str) -> Table:
    """Return the p-value of each ordered pair of systems, by the published test: a row is better than a column."""
    pairs = figures["pairs"].get(key, [])
    by_pair = {(pair["first"], pair["second"]): read_number(pair["p"]) for pair in pairs}
    named = {name for pair in by_pair for name in pair}
    compared = [score["source"] for score in figures["scores"].get(key, []) if score["source"] in named]
    columns = [
        Column("better", "Row better than column", hint="better-p"),
        *(Column(f"than-{at}", source or "unspecified", "p", 4) for at, source in enumerate(compared)),
    ]
    rows: list[list[Value]] = [
        [first or "unspecified", *(by_pair.get((first, second)) for second in compared)] for first in compared
    ]
    scope = f"criterion: {key}" if key else "all criteria"
    caption = (
        f"Whether the system of the row is better than that of the column ({scope}; "
        f"n = {len(compared):,} systems; p of one-sided Mann-Whitney tests, not corrected for multiple comparisons)."
    )
    title, notes = "p-value of each pair of systems", list_notes(figures, key)
    return Table("matrix", title, columns, rows, caption, notes=notes, label="system-p-values")
