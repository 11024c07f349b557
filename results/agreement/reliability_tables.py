"""Tables of the reliability of mean ratings: the ceiling of a metric, and a single annotator vs. rest."""

import math
from collections.abc import Mapping
from typing import Any

from measures.ceiling import Design
from projects.language.amounts import format_score, plural
from projects.tables.stored_values import read_number
from projects.tables.tables import Column, Estimate, Missing, Name, Table, Value
from results.scope.gold_settings import SEED

Figures = Mapping[str, Any]
EARLIER = Missing("not in these figures, which an earlier version of Concord computed")
SINGLE = {
    Design.ONE_WAY: "ICC(1): annotators differ between candidates",
    Design.CROSSED: "ICC(3,1): the same annotators rated every candidate",
}
_EXPLAIN_PREDICTIONS = (
    "Predicted from the reliability of a single judgment, which is estimated from the mean squares between and within "
    "candidates. The reliability of the mean rating is estimated from the variance within each candidate instead. As "
    "candidates have different numbers of judgments, the two estimates differ a little"
)


def tabulate_reliability(figures: Figures, *, criterion: str) -> list[Table]:
    """Return the ceiling with what it comes from, and the ceilings of other numbers of judgments if they are known."""
    found, one_person = figures.get("reliability"), figures["ceiling"]
    columns = [Column("figure", "Figure"), Column("value", "Value", "estimate", 4), Column("meaning", "Meaning")]
    rows: list[list[Value]] = [
        [
            Name("Ceiling (for Pearson only)", hint="study-reliability"),
            _read_ceiling(found),
            "the highest correlation that a metric can reach with the mean ratings",
        ]
    ]
    is_known = found is not None and "reason" not in found
    if found and is_known:
        each = f"{found['n_judgments']:.1f}".removesuffix(".0")
        judgments = plural(found["n_judgments"], "judgment", "judgments")
        # The mean over candidates that each caption gives by its counts is another where their numbers differ.
        how = " on average (harmonic mean)" if _is_uneven(found) else " each"
        mean = f"share of true differences in the variance of the means, {each} {judgments}{how}"
        rows.append(["Reliability of the mean rating", found["reliability"], mean])
        rows.append(["Reliability of a single judgment", found["single"], SINGLE[found["design"]]])
    rows.append(
        [
            Name("Single annotator vs. rest", hint="study-ceiling"),
            read_number(one_person if "reason" in one_person else one_person["r"]),
            "Pearson's r of one judgment, drawn at random, with the mean of the others; no upper bound for a metric",
        ]
    )
    basis = f"criterion: {criterion.rstrip('. ')}{_count(found) if found and is_known else ''}"
    interval = f"; {_describe_interval(found)}" if found and is_known else ""
    title = "Reliability and ceiling"
    caption = (
        f"Reliability of the mean ratings, and the highest correlation that a metric can reach ({basis}{interval})."
    )
    notes = [_describe_draws(one_person)] if "reason" not in one_person else []
    tables = [Table("reliability", title, columns, rows, caption, notes=notes)]
    if found and is_known and found["predictions"]:
        tables.append(_tabulate_predictions(found, basis))
    return tables


def _tabulate_predictions(found: Figures, basis: str) -> Table:
    columns = [
        Column("n_judgments", "Judgments per candidate", "count"),
        Column("reliability", "Reliability of the mean", "number", 4),
        Column("ceiling", "Ceiling", "number", 4),
    ]
    rows: list[list[Value]] = [
        [each["n_judgments"], each["reliability"], each["ceiling"]] for each in found["predictions"]
    ]
    caption = f"Ceiling with other numbers of judgments, predicted by Spearman and Brown's formula ({basis})."
    notes = [_EXPLAIN_PREDICTIONS] if _is_uneven(found) else []
    title, label = "Ceiling by number of judgments", "ceiling-by-judgments"
    return Table("ceiling", title, columns, rows, caption, notes=notes, label=label)


def _is_uneven(found: Figures) -> bool:
    """Return whether candidates have different numbers of judgments."""
    return not math.isclose(found["n_judgments"], found["n_ratings"] / found["n_units"])


def _read_ceiling(found: Figures | None) -> Value:
    if found is None:
        return EARLIER
    if "reason" in found:
        return Missing(found["reason"])
    ceiling, interval = found["ceiling"], found["interval"]
    if isinstance(ceiling, Mapping):
        return Missing(ceiling["reason"])
    if "reason" in interval:
        return Estimate(ceiling, note=f"no interval: {interval['reason']}")
    return Estimate(ceiling, interval["low"], interval["high"])


def _count(found: Figures) -> str:
    return f"; n = {found['n_units']:,} candidates with {found['n_ratings']:,} ratings"


def _describe_interval(found: Figures) -> str:
    passages = plural(found["n_groups"], "1 passage", f"{found['n_groups']:,} passages")
    return f"95 % interval by the delete-one jackknife with Student's t over {passages}"


def _describe_draws(one_person: Figures) -> str:
    low, high = (format_score(one_person[name], 4) for name in ("low", "high"))
    return (
        f"Single annotator vs. rest: {one_person['n_units']:,} candidates and {one_person['n_draws']:,} draws, "
        f"95 % of them between {low} and {high}, seed {SEED}"
    )
