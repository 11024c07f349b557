"""The tables and charts of accuracy on minimal pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from projects.language.names import spell_out
from results.studies.kinds.kind import About, Figures, Section
from results.studies.pair_frame import NOT_HIGHER, format_reason
from results.studies.tables import Column, Estimate, Missing, Table, Value

CHANCE = 50.0
ALL = "overall"


def sections(about: About) -> list[Section]:
    figures = about.figures
    found = [_by_dataset(about), _by_phenomenon(about), _whole(about)]
    return [*found, *([_left_out(about)] if figures["listed"] else [])]


def _by_dataset(about: About) -> Section:
    """MOCHA's table 8: metrics in rows, datasets in columns, and the unweighted mean of these."""
    names = about.figures["datasets"]
    has_mean = len(names) > 1
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", name, "estimate", 1) for place, name in enumerate(names)),
        *([Column("mean", "Mean of the datasets", "estimate", 1)] if has_mean else []),
    ]

    def row(label: str, each: Figures) -> list[Value]:
        mean = [_percent(each["mean"])] if has_mean else []
        return [label, *(_percent(each["by_dataset"].get(name)) for name in names), *mean]

    title = "Accuracy on minimal pairs by dataset, in %"
    key = "mean" if has_mean else ALL
    drawn = [(label, each[key]) for label, each in _metrics(about)]
    axis = "mean of the datasets, in %" if has_mean else "accuracy, in %"
    rows = [*(row(label, each) for label, each in _metrics(about)), *(row(*each) for each in _people(about))]
    rows.append(["Pairs", *(f"{_n(about, 'by_dataset', name):,}" for name in names), *([None] if has_mean else [])])
    return Section(
        "datasets",
        "By dataset",
        Table("datasets", title, columns, rows, _captioned(about, title)),
        charts=[_intervals("datasets", title, drawn, axis), *_map(about, "by_dataset", names, title)],
        note=_say_people(about),
    )


def _by_phenomenon(about: About) -> Section:
    names = about.figures["phenomena"]
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", _named(name), "estimate", 1) for place, name in enumerate(names)),
    ]
    rows: list[list[Value]] = [
        [label, *(_percent(each["by_phenomenon"].get(name)) for name in names)]
        for label, each in [*_metrics(about), *_people(about)]
    ]
    rows.append(["Pairs", *(f"{_n(about, 'by_phenomenon', name):,}" for name in names)])
    title = "Accuracy on minimal pairs by phenomenon, in %"
    return Section(
        "phenomena",
        "By phenomenon",
        Table("phenomena", title, columns, rows, _captioned(about, title)),
        charts=_map(about, "by_phenomenon", names, title),
        note=_say_people(about),
    )


def _whole(about: About) -> Section:
    """All pairs together, with how many of them are ties."""
    columns = [
        Column("metric", "Metric"),
        Column("accuracy", "Accuracy, in %", "estimate", 1),
        Column("n", "Pairs", "count"),
        Column("higher", "First higher", "count"),
        Column("ties", "Ties", "count"),
        Column("lower", "First lower", "count"),
    ]
    rows: list[list[Value]] = []
    for label, each in [*_metrics(about), *_people(about)]:
        whole = each[ALL]
        n, n_ties = whole["n"], whole["n_ties"]
        n_higher = round(whole["value"] * n - n_ties / 2)
        rows.append([label, _percent(whole), n, n_higher, n_ties, n - n_higher - n_ties])
    title = "Accuracy on all minimal pairs together"
    table = Table("pairs", title, columns, rows, _captioned(about, title))
    return Section("pairs", "All pairs together", table, note="In brackets the 95 % interval over pairs.")


def _left_out(about: About) -> Section:
    figures = about.figures
    columns = [
        Column("dataset", "Dataset"),
        Column("pair", "Pair"),
        Column("reason", "Why"),
        Column("phenomenon", "Phenomenon"),
        Column("score_1", "First, by people", "number", 2),
        Column("score_2", "Second, by people", "number", 2),
    ]
    rows: list[list[Value]] = [
        [
            each["dataset"],
            each["id"].removesuffix("-1"),
            format_reason(each["reason"]),
            _named(each["phenomenon"]),
            each["human_1"],
            each["human_2"],
        ]
        for each in figures["listed"]
    ]
    n = sum(figures["reasons"].values())
    counted = "; ".join(f"{format_reason(name)}: {count:,}" for name, count in figures["reasons"].items())
    note = "{n} pairs are left out. {counted}.".format(n=f"{n:,}", counted=counted)
    if n > len(rows):
        note += " " + "The first {shown} are listed.".format(shown=f"{len(rows):,}")
    if NOT_HIGHER in figures["reasons"]:
        note += (
            " " + "Look at those whose first candidate people do not score higher: the two may be the wrong way round."
        )
    title = "Minimal pairs that are left out"
    return Section(
        "left-out", "Pairs left out", Table("left-out", title, columns, rows, f"{title}. {note}", 2), note=note
    )


def _captioned(about: About, title: str) -> str:
    by = "%(title)s; which candidate of a pair is better goes by %(human)s"
    return about.captioned(by % {"title": title, "human": about.figures["human"]})


def _metrics(about: About) -> list[tuple[str, Figures]]:
    """The metrics with their figures, the best first."""
    figures = about.figures
    key = "mean" if len(figures["datasets"]) > 1 else ALL
    order = sorted(about.labels, key=lambda subject: -figures["metrics"][subject][key]["value"])
    return [(about.labels[subject], figures["metrics"][subject]) for subject in order]


def _people(about: About) -> list[tuple[str, Figures]]:
    words = {"given": "People, given scores", "gold": "People, gold scores"}
    people: Mapping[str, Figures] = about.figures["people"]
    return [(words[name], people[name]) for name in words if name in people]


def _percent(part: Figures | None) -> Value:
    """A share of pairs in per cent."""
    if part is None:
        return Missing("no pairs with scores")
    if "reason" in part:
        return Missing(part["reason"])
    ends = [None if part[end] is None else 100 * part[end] for end in ("low", "high")]
    return Estimate(100 * part["value"], *ends)


def _n(about: About, by: str, name: str) -> int:
    """The pairs of a part: the same for all metrics."""
    first = next(iter(about.figures["metrics"].values()))
    n: int = first[by][name]["n"]
    return n


def _named(phenomenon: str) -> str:
    return spell_out(phenomenon) if phenomenon else "not said"


def _say_people(about: About) -> str:
    counts = [f"{label}: {each[ALL]['n']:,}" for label, each in _people(about)]
    return (
        "In brackets the 95 % interval over pairs. Metrics are measured by the pairs whose first candidate people "
        "score higher; people's own accuracy is that of all pairs with such scores ({counts})."
    ).format(counts="; ".join(counts))


def _intervals(name: str, title: str, found: Sequence[tuple[str, Figures]], axis: str) -> Chart:
    rows = []
    for label, part in found:
        value = _percent(part)
        if isinstance(value, Estimate):
            rows.append({"metric": label, "value": value.value, "low": value.low, "high": value.high})
    columns = ("metric", "value", "low", "high")
    spec = specs.intervals(*columns, title=axis, domain=(0.0, 100.0), line=(CHANCE, "chance"))
    return Chart(name, title, rows, spec, columns=columns)


def _map(about: About, by: str, names: Sequence[str], title: str) -> list[Chart]:
    """Metrics against parts, darker where they are worse; none where there is but one part."""
    if len(names) < 2:
        return []
    found = [(label, name, _percent(each[by].get(name))) for label, each in _metrics(about) for name in names]
    cells: list[dict[str, Any]] = [
        {"metric": label, "part": _named(name), "value": value.value, "said": f"{value.value:.0f}"}
        for label, name, value in found
        if isinstance(value, Estimate)
    ]
    spec = specs.heat_map("metric", "part", "value", "said", title="accuracy, in %", domain=(0.0, 100.0))
    title = f"{title}, as a map"
    return [Chart(f"{by.replace('_', '-')}-map", title, cells, spec, columns=("metric", "part", "value"))]
