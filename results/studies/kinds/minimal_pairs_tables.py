"""Tables and charts of accuracy on minimal pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from projects.language.names import spell_out
from results.studies.kinds.kind import About, Figures, Section
from results.studies.pair_frame import NOT_HIGHER, REASONS, count_reasons, format_reason
from results.studies.tables import Column, Estimate, Missing, Table, Value, Wording, word_for_page

# A tie counts half, so a metric that knows nothing reaches half of the pairs.
CHANCE = 50.0
ALL = "overall"


def make_sections(about: About) -> list[Section]:
    figures = about.figures
    found = [_table_by_dataset(about), _table_by_phenomenon(about), _make_whole(about)]
    return [*found, *([_list_excluded(about)] if figures["listed"] else [])]


def _table_by_dataset(about: About) -> Section:
    """Return MOCHA's table 8: metrics in rows, datasets in columns, and their unweighted mean."""
    names = about.figures["datasets"]
    # The mean of one dataset is the dataset.
    has_mean = len(names) > 1
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", name, "estimate", 1) for place, name in enumerate(names)),
        *([Column("mean", "Mean of the datasets", "estimate", 1)] if has_mean else []),
    ]

    def row(label: str, each: Figures) -> list[Value]:
        mean = [_read_percent(each["mean"])] if has_mean else []
        return [label, *(_read_percent(each["by_dataset"].get(name)) for name in names), *mean]

    title = "Accuracy on minimal pairs by dataset, in %"
    key = "mean" if has_mean else ALL
    drawn = [(label, each[key]) for label, each in _sort_metrics(about)]
    axis = "mean of the datasets, in %" if has_mean else "accuracy, in %"
    rows = [
        *(row(label, each) for label, each in _sort_metrics(about)),
        *(row(*each) for each in _list_human_scores(about)),
    ]
    foot: list[list[Value]] = [
        ["Pairs", *(f"{_count_pairs(about, 'by_dataset', name):,}" for name in names), *([None] if has_mean else [])]
    ]
    return Section(
        "datasets",
        "By dataset",
        Table("datasets", title, columns, rows, _make_caption(about, title), foot=foot),
        charts=[_draw_intervals("datasets", title, drawn, axis), *_draw_map(about, "by_dataset", names, title)],
        note=_explain_pairs(about),
    )


def _table_by_phenomenon(about: About) -> Section:
    names = about.figures["phenomena"]
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", _name_phenomenon(name), "estimate", 1) for place, name in enumerate(names)),
    ]
    rows: list[list[Value]] = [
        [label, *(_read_percent(each["by_phenomenon"].get(name)) for name in names)]
        for label, each in [*_sort_metrics(about), *_list_human_scores(about)]
    ]
    foot: list[list[Value]] = [["Pairs", *(f"{_count_pairs(about, 'by_phenomenon', name):,}" for name in names)]]
    title = "Accuracy on minimal pairs by phenomenon, in %"
    return Section(
        "phenomena",
        "By phenomenon",
        Table("phenomena", title, columns, rows, _make_caption(about, title), foot=foot),
        charts=_draw_map(about, "by_phenomenon", names, title),
        note=_explain_pairs(about),
    )


def _make_whole(about: About) -> Section:
    """Return the accuracy over all pairs, with the number of ties."""
    columns = [
        Column("metric", "Metric"),
        Column("accuracy", "Accuracy, in %", "estimate", 1),
        Column("n", "Pairs", "count"),
        Column("higher", "First higher", "count"),
        Column("ties", "Ties", "count"),
        Column("lower", "First lower", "count"),
    ]
    rows: list[list[Value]] = []
    for label, each in [*_sort_metrics(about), *_list_human_scores(about)]:
        whole = each[ALL]
        n, n_ties = whole["n"], whole["n_ties"]
        # The stored accuracy counts a tie half, and the table wants whole pairs again.
        n_higher = round(whole["value"] * n - n_ties / 2)
        rows.append([label, _read_percent(whole), n, n_higher, n_ties, n - n_higher - n_ties])
    title = "Accuracy on all minimal pairs together"
    table = Table("pairs", title, columns, rows, _make_caption(about, title))
    return Section("pairs", "All pairs together", table, note="95 % CI over pairs in brackets.")


def _list_excluded(about: About) -> Section:
    figures = about.figures
    columns = [
        Column("dataset", "Dataset"),
        Column("pair", "Pair"),
        Column("reason", Wording("Why", page="Reason")),
        Column("phenomenon", "Phenomenon"),
        Column("score_1", Wording("First, by people", page="Human score, first"), "number", 2),
        Column("score_2", Wording("Second, by people", page="Human score, second"), "number", 2),
    ]
    rows: list[list[Value]] = [
        [
            each["dataset"],
            each["id"].removesuffix("-1"),
            Wording(format_reason(each["reason"]), page=REASONS.get(each["reason"], each["reason"])),
            _name_phenomenon(each["phenomenon"]),
            each["human_1"],
            each["human_2"],
        ]
        for each in figures["listed"]
    ]
    n = sum(figures["reasons"].values())
    counted = "; ".join(f"{REASONS.get(name, name)}: {count:,}" for name, count in figures["reasons"].items())
    caption = f"Excluded minimal pairs (n = {n:,} minimal pairs; {counted})."
    notes = _note_excluded(figures, n, len(rows))
    table = Table("left-out", "Excluded minimal pairs", columns, rows, caption, n_keys=2, notes=notes)
    return Section("left-out", "Excluded pairs", table, note=_explain_excluded(figures, len(rows)))


def _explain_excluded(figures: Figures, n_listed: int) -> str:
    """Return how many pairs are excluded and why, as the page explains it."""
    n = sum(figures["reasons"].values())
    words = f"Pairs that are excluded: {count_reasons(figures['reasons'])}."
    return " ".join([words, *_note_excluded(figures, n, n_listed)])


def _note_excluded(figures: Figures, n: int, n_listed: int) -> list[str]:
    sentences = [f"The first {n_listed:,} are listed."] if n > n_listed else []
    if NOT_HIGHER in figures["reasons"]:
        sentences.append("Check pairs whose first candidate has no higher human score: the two may be swapped.")
    return sentences


def _make_caption(about: About, title: str) -> str:
    by = "%(title)s; the better candidate of a pair is determined by %(human)s"
    return about.captioned(by % {"title": title, "human": about.figures["human"]}, about.resampling)


def _sort_metrics(about: About) -> list[tuple[str, Figures]]:
    """Return the metrics with their figures, the best first."""
    figures = about.figures
    # Metrics are ranked by what the first table shows in its last column.
    key = "mean" if len(figures["datasets"]) > 1 else ALL
    order = sorted(about.labels, key=lambda subject: -figures["metrics"][subject][key]["value"])
    return [(about.labels[subject], figures["metrics"][subject]) for subject in order]


def _list_human_scores(about: About) -> list[tuple[str, Figures]]:
    words = {
        "given": Wording("People, given scores", page="Human scores (imported)"),
        "gold": Wording("People, gold scores", page="Human scores (gold)"),
    }
    people: Mapping[str, Figures] = about.figures["people"]
    return [(words[name], people[name]) for name in words if name in people]


def _read_percent(part: Figures | None) -> Value:
    """Return a share of pairs in per cent."""
    if part is None:
        return Missing("no pairs with scores")
    if "reason" in part:
        return Missing(part["reason"])
    low, high = (None if part[end] is None else 100 * part[end] for end in ("low", "high"))
    return Estimate(100 * part["value"], low, high)


def _count_pairs(about: About, by: str, name: str) -> int:
    """Return the number of pairs of a part, which is the same for all metrics."""
    first = next(iter(about.figures["metrics"].values()))
    n: int = first[by][name]["n"]
    return n


def _name_phenomenon(phenomenon: str) -> str:
    return spell_out(phenomenon) if phenomenon else Wording("not said", page="unspecified")


def _explain_pairs(about: About) -> str:
    counts = "; ".join(f"{word_for_page(label)}: {each[ALL]['n']:,}" for label, each in _list_human_scores(about))
    return (
        "95 % CI over pairs in brackets. Metrics are evaluated on the pairs whose first candidate has the higher human "
        f"score; the accuracy of human scores is over all pairs that have them ({counts})."
    )


def _draw_intervals(name: str, title: str, found: Sequence[tuple[str, Figures]], axis: str) -> Chart:
    rows = []
    for label, part in found:
        value = _read_percent(part)
        if isinstance(value, Estimate):
            rows.append({"metric": label, "value": value.value, "low": value.low, "high": value.high})
    columns = ("metric", "value", "low", "high")
    spec = specs.intervals(*columns, title=axis, domain=(0.0, 100.0), line=(CHANCE, "chance"))
    return Chart(name, title, rows, spec, columns=columns)


def _draw_map(about: About, by: str, names: Sequence[str], title: str) -> list[Chart]:
    """Return metrics against parts, darker where accuracy is lower; nothing where there is only one part."""
    if len(names) < 2:
        return []
    found = [(label, name, _read_percent(each[by].get(name))) for label, each in _sort_metrics(about) for name in names]
    cells: list[dict[str, Any]] = [
        {
            "metric": label,
            "part": word_for_page(_name_phenomenon(name)),
            "value": value.value,
            "label": f"{value.value:.0f}",
        }
        for label, name, value in found
        if isinstance(value, Estimate)
    ]
    spec = specs.heat_map("metric", "part", "value", "label", title="accuracy, in %", domain=(0.0, 100.0))
    title = f"{title}, as a map"
    return [Chart(f"{by.replace('_', '-')}-map", title, cells, spec, columns=("metric", "part", "value"))]
