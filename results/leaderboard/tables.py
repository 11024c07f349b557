"""Tables and charts of the leaderboard."""

from collections.abc import Mapping
from typing import Any

from projects.charts.drawing import Chart
from projects.language.amounts import plural
from results.leaderboard.figures import LEAST_SHARE
from results.scope.gold_settings import SIGNIFICANCE_LEVEL
from results.scope.passage_counts import are_few, warn_of_few_passages
from results.studies.charts import draw_estimates
from results.studies.tables import Column, Estimate, Missing, Table, Value, name_falling, read_value

Figures = Mapping[str, Any]
PERCENT = 100
TRAINED = "lerc"
"""How the signature of a metric begins that was trained on human judgments."""


def tabulate_leaderboard(figures: Figures) -> list[Table]:
    """Return the metrics with their ranks, and each pair of them that was tested."""
    return [_tabulate_metrics(figures), *([_tabulate_pairs(figures)] if _list_tested(figures) else [])]


def _tabulate_metrics(figures: Figures) -> Table:
    metrics = figures["metrics"]
    has_trained = any("dataset" in each["held_out"] for each in metrics)
    has_pairs = not figures["why_no_pairs"]
    columns = [
        Column("metric", "Metric"),
        Column("rank", "Rank", "count", hint="leaderboard-rank"),
        Column("rank_last", "to", "count"),
        Column("segment", "Segment level, Pearson", "estimate", hint="leaderboard-segment"),
        Column("n", "Candidates", "count"),
        Column("system", "System level, Pearson", "estimate", hint="leaderboard-system"),
        Column("soft", "Soft pairwise accuracy", "estimate", hint="study-soft"),
        *([Column("pairs", "Minimal pairs, in %", "estimate", 1, hint="study-accuracy")] if has_pairs else []),
        *(
            [
                Column("held_out", "Held-out dataset, Pearson", "estimate", hint="leaderboard-held-out"),
                Column("held_out_dataset", "Held-out dataset"),
            ]
            if has_trained
            else []
        ),
        Column("cost", "Seconds per 1,000 answers", "number", 2, hint="leaderboard-cost"),
    ]
    rows: list[list[Value]] = []
    for each in metrics:
        held_out = each["held_out"]
        cost = each["cost"]
        rows.append(
            [
                each["label"],
                *_read_rank(each),
                read_value(each["segment"] if "segment" in each else each["own"]),
                each["n"],
                *(read_value(each.get(name, {"reason": "not ranked"})) for name in ("system", "soft")),
                *([_read_percent(each["pairs_accuracy"])] if has_pairs else []),
                *([read_value(held_out), held_out.get("dataset", "–")] if has_trained else []),
                Missing(cost["reason"]) if "reason" in cost else cost["seconds"],
            ]
        )
    # Figures of earlier versions have symmetric intervals of soft pairwise accuracy.
    names = [
        *(["soft pairwise accuracy"] if "interval_of_soft" in figures else []),
        *(["minimal pairs"] if has_pairs else []),
    ]
    of_others = f", of {' and '.join(names)} by Wilson's method" if names else ""
    caption = (
        f"Metrics of the project ({describe_basis(figures)}; 95 % intervals over passages by the jackknife with "
        f"Student's t{of_others})."
    )
    return Table("metrics", "Leaderboard", columns, rows, caption, notes=list_notes(figures), label="leaderboard")


def _read_rank(each: Figures) -> list[Value]:
    if "rank" in each:
        return [each["rank"], each["rank_last"]]
    if "reason" in each:
        return [Missing(each["reason"]), None]
    # A constant metric has no correlation, so nothing can be said of its place.
    return [Missing(each["segment"]["value"]["reason"]), None]


def _read_percent(found: Figures) -> Value:
    value = read_value(found)
    if not isinstance(value, Estimate):
        return value
    low, high = (None if end is None else PERCENT * end for end in (value.low, value.high))
    return Estimate(PERCENT * value.value, low, high)


def _tabulate_pairs(figures: Figures) -> Table:
    """Return each pair once, the metric with the higher correlation first."""
    labels = {each["subject"]: each["label"] for each in figures["metrics"]}
    places = {each["subject"]: place for place, each in enumerate(figures["metrics"])}
    columns = [
        Column("first", "Metric"),
        Column("second", "vs."),
        Column("difference", "Difference of Pearson's r", "number", is_signed=True, hint="study-difference"),
        Column("p", "p (permutation)", "p", 4, hint="study-permutation"),
        Column("holm", "p (Holm)", "p", 4, hint="study-permutation_holm"),
    ]
    rows: list[list[Value]] = []
    for pair in _list_tested(figures):
        is_turned = places[pair["first"]] > places[pair["second"]]
        first, second = (pair["second"], pair["first"]) if is_turned else (pair["first"], pair["second"])
        difference = -pair["difference"] if is_turned else pair["difference"]
        ends = ("p_second", "holm_second") if is_turned else ("p_first", "holm_first")
        rows.append([labels[first], labels[second], difference, *(pair[name] for name in ends)])
    order = {label: place for place, label in enumerate(labels.values())}
    rows.sort(key=lambda row: (order[str(row[0])], order[str(row[1])]))
    caption = f"Each pair of ranked metrics, the higher correlation first ({describe_basis(figures)})."
    title = "Pairs of metrics"
    return Table("pairs", title, columns, rows, caption, n_keys=2, notes=list_notes(figures), label="leaderboard-pairs")


def describe_basis(figures: Figures) -> str:
    """Return what the ranks rest on, as a part of a sentence."""
    n_systems = figures["n_systems"]
    return (
        f"criterion: {figures['criterion'].rstrip('. ')}; gold score: {figures['gold']}; n = {figures['n']:,} "
        f"candidates of {plural(n_systems, '1 system', f'{n_systems:,} systems')} over "
        f"{_count_passages(figures['n_passages'])}"
    )


def list_notes(figures: Figures) -> list[str]:
    """Return how the ranks were found, in sentences for the page and below tables in files."""
    if figures["metrics"] and figures["n_judged"] and not figures["n"]:
        return [
            "Each metric shows the correlation on the candidates that it has scored.",
            *name_falling((each["label"], each["own"]) for each in figures["metrics"]),
        ]
    tested = _list_tested(figures)
    ranks = (
        "A metric's first rank is one more than the number of metrics that are significantly better, its last the "
        "number that are not significantly worse: metrics that do not differ significantly "
        f"(at {SIGNIFICANCE_LEVEL:.2f}) share a rank."
    )
    tests = (
        "Differences of segment-level Pearson's r are tested by permutation over passages, two-sided, with Holm's "
        f"correction over {_count_pairs(tested)} ({_describe_patterns(tested)})."
    )
    candidates = (
        f"Metrics with scores for at least {100 * LEAST_SHARE:.0f} % of the judged candidates are ranked, all on the "
        f"same {figures['n']:,} of {figures['n_judged']:,}. The others show the correlation on the candidates that "
        "they have scored."
    )
    notes = [ranks, tests, candidates, *_note_soft_accuracy(figures)]
    if tested and (least := 2 * len(tested) * tested[0]["least_p"]) >= SIGNIFICANCE_LEVEL:
        notes.append(
            f"With {_count_passages(figures['n_passages'])} and {_count_pairs(tested)} the smallest corrected p is "
            f"{min(1.0, least):.3f}, so no metric can be significantly better than another."
        )
    trained = [each for each in figures["metrics"] if each["signature"].startswith(TRAINED)]
    if trained and not any("dataset" in each["held_out"] for each in figures["metrics"]):
        notes.append("No metric was trained with a dataset held out.")
    if figures["why_no_pairs"]:
        notes.append(f"There are {figures['why_no_pairs']}.")
    return [*notes, *name_falling((each["label"], each.get("segment", each.get("own"))) for each in figures["metrics"])]


def _list_tested(figures: Figures) -> list[Figures]:
    """Return the pairs of which both metrics have a correlation; the others are named in the table of metrics."""
    return [pair for pair in figures["pairs"] if "reason" not in pair]


def _describe_patterns(tested: list[Figures]) -> str:
    if not tested:
        return "none could be tested"
    n = f"{tested[0]['n_patterns']:,}"
    return f"all {n} patterns" if tested[0]["is_exact"] else f"{n} random patterns"


def _count_pairs(tested: list[Figures]) -> str:
    return plural(len(tested), "1 pair", f"{len(tested):,} pairs")


def _count_passages(n: int) -> str:
    return plural(n, "1 passage", f"{n:,} passages")


def _note_soft_accuracy(figures: Figures) -> list[str]:
    """Return what the soft accuracies rest on, which is less than the other figures where a system lacks answers."""
    found = [each["soft"] for each in figures["metrics"] if "n_questions" in each.get("soft", {})]
    if not found:
        return []
    n, n_passages, n_effective = (found[0].get(name) for name in ("n_questions", "n_passages", "n_effective"))
    # Where all figures rest on few, the page says so above.
    is_fewer = not are_few(figures["n_passages"], figures.get("n_effective"))
    few = warn_of_few_passages(n_passages, n_effective, covering="These questions cover") if is_fewer else ""
    rests_on = f"{plural(n, '1 question', f'{n:,} questions')} about {_count_passages(n_passages)}"
    return [f"Soft pairwise accuracy uses only the questions that every system has answered: {rests_on}. {few}".strip()]


def chart_leaderboard(figures: Figures) -> list[Chart]:
    """Return the ranked metrics at the level of segments and of systems."""
    return [
        draw_estimates(
            name,
            title,
            [(each["label"], read_value(each[name])) for each in figures["metrics"] if name in each],
            axis="Pearson's r",
        )
        for name, title in (
            ("segment", "Pearson's r with human scores, segment level"),
            ("system", "Pearson's r with human scores, system level"),
        )
    ]
