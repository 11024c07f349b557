"""Tables of the agreement pages: alpha by level, by part and by period, and annotators compared."""

from collections.abc import Mapping
from typing import Any

from django.utils.text import capfirst

from measures.bootstrap import JACKKNIFE
from measures.rubric import Level
from projects.language.amounts import plural
from projects.language.names import spell_out
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Estimate, Interval, Missing, Name, Table, Value
from results.agreement.alpha import UNNAMED
from results.agreement.reliability_tables import tabulate_reliability
from results.disagreements.tables import describe_pairs, is_of_numbers, make_pair_cells, tabulate_pairs
from results.scope.gold_settings import CRITERION, PASSAGES

Figures = Mapping[str, Any]
DISTANCES = {
    "nominal": "0 if equal, otherwise 1",
    "ordinal": "squared number of ratings in between",
    "interval": "squared difference",
    "ratio": "squared ratio of difference to sum",
}

COUNTS = (
    Column("n", "Candidates", "count"),
    Column("annotators", "Annotators", "count"),
    Column("ratings", "Ratings", "count", hint="ratings-paired"),
    Column("single", "Single", "count", hint="single-ratings"),
)


def tabulate_agreement(
    figures: Figures,
    *,
    criterion: str,
    has_order: bool,
    criterion_level: str = "",
    level_urls: Mapping[str, str] | None = None,
) -> list[Table]:
    """Return alpha at each level of measurement, alpha of each part, and the reliability of the means.

    Categories have the nominal level alone, beside one that was chosen, and no means. On the page, `criterion_level`
    has a badge and the other levels link to `level_urls`.
    """
    report = figures["report"]
    levels = [line for n, line in enumerate(report["levels"]) if has_order or n == 0 or line["level"] == Level.NOMINAL]
    return [
        _tabulate_levels({**report, "levels": levels}, criterion, criterion_level, level_urls or {}),
        tabulate_parts(report, criterion=criterion),
        *(tabulate_reliability(figures, criterion=criterion) if has_order else []),
    ]


def _tabulate_levels(report: Figures, criterion: str, criterion_level: str, urls: Mapping[str, str]) -> Table:
    rows: list[list[Value]] = [
        [
            Name(
                line["level"],
                # The first is the one that is shown.
                url=urls.get(line["level"], "") if line is not report["levels"][0] else "",
                badge="level of the criterion" if line["level"] == criterion_level else "",
            ),
            *_make_alpha_cells(line, report),
            DISTANCES[line["level"]],
        ]
        for line in report["levels"]
    ]
    columns = [
        Column("level", "Level", hint="alpha-level"),
        *_make_alpha_columns("Alpha", report),
        Column("distance", "Distance function", hint="alpha-distance"),
    ]
    caption = f"Krippendorff's alpha at each level of measurement ({_describe_basis(report, criterion)})."
    title = "Alpha at each level of measurement"
    return Table("levels", title, columns, rows, caption, label="alpha-levels")


def tabulate_parts(report: Figures, *, criterion: str) -> Table:
    """Return alpha at the requested level for each part, and for the whole."""
    by = spell_out(report["by"])
    rows: list[list[Value]] = [
        [group["name"] or UNNAMED, *_make_alpha_cells(group["line"], report), *make_counts(group["line"])]
        for group in report["groups"]
    ]
    main = report["levels"][0]
    # Parts by criterion are of other judgments than the whole, which is of one criterion.
    whole: list[list[Value]] = [["all", *_make_alpha_cells(main, report), *make_counts(main)]]
    columns = [Column("part", capfirst(by)), *_make_alpha_columns(f"Alpha ({report['level']})", report), *COUNTS]
    caption = f"Krippendorff's alpha ({report['level']}) by {by} ({_describe_basis(report, criterion, of_parts=True)})."
    foot = whole if report["by"] != CRITERION else ()
    return Table("parts", f"Alpha by {by}", columns, rows, caption, foot=foot, label=f"alpha-by-{report['by']}")


def tabulate_annotators(figures: Figures, *, criterion: str) -> list[Table]:
    """Return each pair of annotators on their common candidates, and each annotator compared with all others."""
    pairs, tables = figures["pairs"].get("computed", []), []
    has_order = is_of_numbers(figures)
    if pairs:
        tables.append(tabulate_pairs(pairs, criterion=criterion, has_order=has_order))
    judged = f"criterion: {_end_less(criterion)}; n = "
    if figures["by_type"]:
        found, method = describe_pairs(has_order=has_order)
        columns = [Column("type", "Question type"), *found]
        rows = [
            [spell_out(name) or UNNAMED, *make_pair_cells(pair, has_order=has_order)]
            for name, pair in figures["by_type"]
        ]
        caption = "Agreement of each pair of annotators by question type"
        n = plural(len(rows), "1 pair and type", f"{len(rows):,} pairs and types")
        counted = f"{judged}{n}; {method}"
        title = "Annotator pairs by question type"
        tables.append(Table("pairs-by-type", title, columns, rows, f"{caption} ({counted}).", n_keys=3))
    if figures["people"]:
        tables.append((_tabulate_people if has_order else _tabulate_effects)(figures, judged))
    return tables


def _tabulate_effects(figures: Figures, judged: str) -> Table:
    """Return the effect of each annotator on alpha, which is all that can be said of those who choose categories."""
    columns = [Column("annotator", "Annotator"), Column("n", "Ratings", "count"), *_make_effect_columns(figures)]
    rows = [[each["pseudonym"], each["n"], *_make_effect_cells(each["effect"])] for each in figures["people"]]
    n = f"{len(rows):,} {plural(len(rows), 'annotator', 'annotators')}"
    method = "the points are categories without an order, so there are no means to compare"
    caption = f"Alpha without each annotator ({judged}{n}; {method})."
    return Table("annotators", "Annotator vs. rest", columns, rows, caption)


def _make_effect_columns(figures: Figures) -> list[Column]:
    return [
        Column("without", f"Alpha without annotator ({figures['level']})", "number", 4, hint="alpha-without"),
        Column("change", "Change in alpha", "number", 4, hint="alpha-change", is_signed=True),
    ]


def _make_effect_cells(effect: Figures) -> list[Value]:
    if "reason" in effect:
        return [Missing(effect["reason"]), Missing(effect["reason"])]
    return [effect["without_them"], effect["difference"]]


def _tabulate_people(figures: Figures, judged: str) -> Table:
    columns = [
        Column("annotator", "Annotator"),
        Column("n", "Ratings", "count"),
        Column("mean", "Mean", "number", 2),
        Column("sd", "Std. dev.", "number", 2, hint="sd-annotator"),
        Column("shared", "Shared candidates", "count"),
        Column("bias", "Bias", "estimate", 2, hint="bias", is_signed=True),
        Column("r", "Correlation with rest (Pearson's r)", "number", 4, hint="r-with-rest"),
        *_make_effect_columns(figures),
    ]
    rows: list[list[Value]] = []
    for person in figures["people"]:
        others = person["others"]
        sd = Missing("one rating") if person["sd"] is None else person["sd"]
        row: list[Value] = [person["pseudonym"], person["n"], person["mean"], sd]
        if "reason" in others:
            row += [0, Missing(others["reason"]), Missing(others["reason"])]
        else:
            why = others.get("why_no_interval", "")
            bias = Estimate(others["bias"], others["bias_low"], others["bias_high"], why and f"no interval: {why}")
            row += [others["n"], bias, read_number(others["r"])]
        rows.append([*row, *_make_effect_cells(person["effect"])])
    caption = "Each annotator compared with the mean of the others' ratings of the same candidates"
    method = "bias in points of the scale, 95 % intervals by the jackknife with Student's t over passages"
    counted = f"{judged}{len(rows):,} {plural(len(rows), 'annotator', 'annotators')}; {method}"
    return Table("annotators", "Annotator vs. rest", columns, rows, f"{caption} ({counted}).")


def tabulate_time(figures: Figures, *, criterion: str) -> list[Table]:
    """Return alpha by period and of all candidates so far; nothing where no rating has a date."""
    periods = figures["periods"]
    if not isinstance(periods, list):
        return []
    unit = "passages" if figures.get("unit") == PASSAGES else "candidates"
    columns = [
        Column("period", "Period of last rating"),
        Column("n", "Candidates", "count"),
        Column("alpha", f"Alpha ({figures['level']})", "estimate", 4, hint="alpha", interval=f"95 % CI ({unit})"),
        Column("n_so_far", "Candidates, cumulative", "count"),
        Column("so_far", "Alpha, cumulative", "number", 4, hint="alpha-cumulative"),
    ]
    rows: list[list[Value]] = [
        [
            period["name"],
            period["outcome"]["n_units"],
            _read_period(period),
            period["n_units_so_far"],
            Missing("undefined so far") if period["so_far"] is None else period["so_far"],
        ]
        for period in periods
    ]
    method = "delete-one jackknife" if figures.get("method") == JACKKNIFE else "percentile bootstrap"
    n = sum(period["outcome"]["n_units"] for period in periods)
    caption = (
        f"Krippendorff's alpha ({figures['level']}) by period of the last rating (criterion: {_end_less(criterion)}; "
        f"n = {n:,} candidates with two or more ratings; 95 % intervals by the {method} over {unit})."
    )
    return [Table("time", "Alpha by period", columns, rows, caption, label="alpha-over-time")]


def _read_period(period: Figures) -> Value:
    outcome, interval = period["outcome"], period["interval"]
    if "reason" in outcome:
        return Missing(outcome["reason"])
    if not interval:
        return Estimate(outcome["alpha"], note="no interval: not computed")
    if "reason" in interval:
        return Estimate(outcome["alpha"], note=f"no interval: {interval['reason']}")
    return Estimate(outcome["alpha"], interval["low"], interval["high"])


def _make_alpha_columns(title: str, report: Figures) -> list[Column]:
    """Return the columns of alpha; reports of earlier versions have an interval over passages beside it."""
    if "method" not in report:
        return [
            Column("alpha", title, "estimate", 4, hint="alpha", interval="95 % CI (candidates)"),
            Column("by_passage", "95 % CI (passages)", "interval", 4, hint="ci-passages"),
        ]
    unit = "passages" if report["unit"] == PASSAGES else "candidates"
    return [Column("alpha", title, "estimate", 4, hint="alpha", interval=f"95 % CI ({unit})")]


def _make_alpha_cells(line: Figures, report: Figures) -> list[Value]:
    if line["alpha"] is None:
        undefined = Missing(line["undefined"])
        return [undefined] if "method" in report else [undefined, undefined]
    if "method" in report:
        return [add_interval(line["alpha"], line["by_passage" if line["unit"] == PASSAGES else "by_unit"])]
    ends = line["by_passage"] or {"undefined": "not computed"}
    interval = Missing(ends["undefined"]) if ends.get("undefined") else Interval(ends["low"], ends["high"])
    return [add_interval(line["alpha"], line["by_unit"]), interval]


def add_interval(alpha: float, ends: Figures | None) -> Estimate:
    """Return alpha with its interval, or with the reason why it has none."""
    if not ends or ends.get("undefined"):
        return Estimate(alpha, note=f"no interval: {ends['undefined'] if ends else 'not computed'}")
    share = ends.get("undefined_share") or 0.0
    return Estimate(alpha, ends["low"], ends["high"], f"{share:.1%} of resamples undefined" if share else "")


def make_counts(line: Figures) -> list[Value]:
    """Return the cells of `COUNTS`."""
    annotators = Missing("unknown") if line["n_annotators"] is None else line["n_annotators"]
    return [line["n_units"], annotators, line["n_ratings"], line["n_single"]]


def _describe_basis(report: Figures, criterion: str, *, of_parts: bool = False) -> str:
    """Return criterion, n and method as a part of a caption; parts have passages of their own."""
    main = report["levels"][0]
    counted = f"criterion: {_end_less(criterion)}; n = {main['n_units']:,} candidates with two or more ratings"
    if "method" not in report:
        return (
            f"{counted}; 95 % intervals by the percentile bootstrap, {report['n_resamples']:,} resamples, "
            f"seed {report['seed']}"
        )
    passages = "the passages of each row" if of_parts else count_passages(report["n_passages"])
    unit = passages if report["unit"] == PASSAGES else "candidates"
    return f"{counted}; 95 % intervals by the delete-one jackknife with Student's t over {unit}"


def count_passages(n: int) -> str:
    """Return 1 as “1 passage”."""
    return plural(n, "1 passage", f"{n:,} passages")


def _end_less(criterion: str) -> str:
    return criterion.rstrip(". ")
