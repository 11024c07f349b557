"""Tables and charts of segment-level correlation."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.text import capfirst

from projects.charts.drawing import Chart
from results.scope.passage_counts import warn_of_few_in_parts
from results.studies.charts import draw_heat_map, draw_metrics, draw_scatter
from results.studies.intervals import PASSAGES, name_units
from results.studies.kinds.ceiling_notes import explain_ceiling
from results.studies.kinds.kind import About, Figures, Section
from results.studies.tables import (
    CEILING,
    Column,
    Estimate,
    Table,
    Value,
    Wording,
    add_ceiling,
    name_falling,
    read_ceiling,
    read_one_person,
    read_value,
    word_for_page,
)

COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
_BY = {
    "dataset": "by dataset",
    "split": "by split",
    "dataset_source": "by dataset and source",
    "question_type": "by question type",
    "human_sources": "of human sources, which are in no other figure",
}


# Titles of columns and texts of cells are part of frozen sets; pages word them by `Wording`.
ANSWERS = Wording("Answers", page="Candidates")
UNNAMED = Wording("none named", page="unspecified")
_SAME_TWICE = "“Pearson by passage” is “Pearson” again, with the same interval"
_OTHER_INTERVAL = "“Pearson by passage” is “Pearson” with its interval over passages"


def make_sections(about: About) -> list[Section]:
    return [_make_whole(about), *_make_breakdowns(about), *_make_scatters(about)]


def _make_whole(about: About) -> Section:
    figures, units = about.figures, name_units(about.figures)
    # Where all intervals are over passages, the page need not repeat Pearson's; files keep the column.
    is_repeated = bool(units) and not figures["intervals"]["is_narrowed"]
    order = sort_metrics(about)
    drawn = [(about.labels[subject], read_value(figures["whole"][subject]["pearson"])) for subject in order]
    title = "Pearson's r of each metric with human judgments"
    return Section(
        "overall",
        "Overall",
        _tabulate_whole(about, order, is_repeated=is_repeated),
        charts=[draw_metrics("overall", title, drawn, about.one_against_others, about.reliability, axis="Pearson's r")],
        note=" ".join(
            [
                *name_falling((about.labels[subject], figures["whole"][subject]["pearson"]) for subject in order),
                _explain_intervals(units, is_repeated=is_repeated),
                *explain_ceiling(about),
            ]
        ),
    )


def _tabulate_whole(about: About, order: Sequence[str], *, is_repeated: bool) -> Table:
    figures = about.figures
    columns = [
        Column("metric", "Metric"),
        *(Column(name, title, "estimate") for name, title in COEFFICIENTS.items()),
        Column(
            "by_passage",
            Wording("Pearson by passage", page="Pearson (CI over passages)"),
            "estimate",
            on_page=not is_repeated,
        ),
    ]
    rows: list[list[Value]] = [
        [
            about.labels[subject],
            *(read_value(figures["whole"][subject][name]) for name in COEFFICIENTS),
            read_value(figures["whole_by_passage"][subject]["pearson"]),
        ]
        for subject in order
    ]
    blank: list[Value] = [None] * len(COEFFICIENTS)
    table = Table(
        "overall",
        "Correlation with human scores",
        columns,
        rows,
        about.captioned("Correlation of metrics with human scores", about.resampling, *about.drawn),
        foot=[[about.one_person, read_one_person(about.one_against_others), *blank]],
        notes=[_SAME_TWICE if is_repeated else _OTHER_INTERVAL],
    )
    return add_ceiling(table, about.reliability)


def _explain_intervals(units: str, *, is_repeated: bool) -> str:
    if not units:
        return "95 % CI in brackets: over candidates; in the column “CI over passages” over passages."
    if is_repeated:
        return f"95 % CI in brackets: over {units}. Files repeat Pearson in the column “Pearson by passage”."
    return f"95 % CI in brackets: over {units}; in the column “CI over passages” over passages."


def _make_breakdowns(about: About) -> Iterator[Section]:
    for name, parts in about.figures["parts"].items():
        for coefficient, words in COEFFICIENTS.items():
            make = _table_by_source if name == "dataset_source" else _table_by_part
            key, title = f"{name.replace('_', '-')}-{coefficient}", capfirst(str(_BY[name]))
            table, chart = make(about, parts, coefficient, key)
            note = " ".join(filter(None, [_warn_of_few_by_part(parts), _explain_mean(about, name)]))
            yield Section(key, title, table, charts=[chart], choice=words, note=note)


def _table_by_part(about: About, parts: list[Figures], coefficient: str, key: str) -> tuple[Table, Chart]:
    """Return metrics in rows and parts in columns, with the mean of the parts where these are datasets."""
    # MOCHA reports the unweighted mean over datasets, so that a large dataset does not decide.
    mean = about.figures["mean"] if key.startswith("dataset") else None
    names = [_name_part(part) for part in parts]
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", name, "estimate") for place, name in enumerate(names)),
        *([Column("mean", "Mean of the datasets", "estimate")] if mean else []),
    ]
    order = sort_metrics(about)
    rows: list[list[Value]] = [
        [
            about.labels[subject],
            *(read_value(part["metrics"][subject][coefficient]) for part in parts),
            *([read_value(mean["metrics"][subject][coefficient])] if mean else []),
        ]
        for subject in order
    ]
    foot: list[list[Value]] = []
    if coefficient == "pearson":
        blank: list[Value] = [None] if mean else []
        foot.append([about.one_person, *(read_one_person(part["ceiling"]) for part in parts), *blank])
        if about.reliability is not None:
            foot.append([CEILING, *(read_ceiling(part["reliability"]) for part in parts), *blank])
    foot.append([ANSWERS, *(f"{part['n']:,}" for part in parts), *([None] if mean else [])])
    title = f"{COEFFICIENTS[coefficient]} {_BY[key.rpartition('-')[0].replace('-', '_')]}"
    cells = _make_cells(about, parts, names, order, coefficient)
    return (
        Table(
            key,
            title,
            columns,
            rows,
            _caption_parts(about, title, has_mean=mean is not None, is_drawn=coefficient == "pearson"),
            foot=foot,
            notes=_list_notes(parts),
        ),
        draw_heat_map(f"{key}-map", title, cells, row="metric", column="part"),
    )


def _table_by_source(about: About, parts: list[Figures], coefficient: str, key: str) -> tuple[Table, Chart]:
    """Return sources in rows, as there may be many, and metrics in columns."""
    order = sort_metrics(about)
    has_ceiling = coefficient == "pearson" and about.reliability is not None
    columns = [
        Column("dataset", "Dataset"),
        Column("source", "Source"),
        Column("n", ANSWERS, "count"),
        *([Column("ceiling", about.one_person, "estimate")] if coefficient == "pearson" else []),
        *([Column("reliability", CEILING, "estimate")] if has_ceiling else []),
        *(Column(subject, about.labels[subject], "estimate") for subject in order),
    ]
    rows: list[list[Value]] = [
        [
            *(name or UNNAMED for name in part["names"]),
            part["n"],
            *([read_one_person(part["ceiling"])] if coefficient == "pearson" else []),
            *([read_ceiling(part["reliability"])] if has_ceiling else []),
            *(read_value(part["metrics"][subject][coefficient]) for subject in order),
        ]
        for part in parts
    ]
    title = f"{COEFFICIENTS[coefficient]} {_BY['dataset_source']}"
    cells = _make_cells(about, parts, [_name_part(part) for part in parts], order, coefficient)
    caption = _caption_parts(about, title, is_drawn=coefficient == "pearson")
    return (
        Table(key, title, columns, rows, caption, n_keys=2, notes=_list_notes(parts)),
        draw_heat_map(f"{key}-map", title, cells, row="part", column="metric"),
    )


def _make_cells(
    about: About, parts: list[Figures], names: list[Wording], order: list[str], coefficient: str
) -> list[dict[str, Any]]:
    """Return a cell for each metric and part in which it is defined."""
    found = (
        (about.labels[subject], name, read_value(part["metrics"][subject][coefficient]))
        for subject in order
        for name, part in zip(names, parts, strict=True)
    )
    return [
        {"metric": metric, "part": name.page, "value": each.value}
        for metric, name, each in found
        if isinstance(each, Estimate)
    ]


def _caption_parts(about: About, title: str, *, has_mean: bool = False, is_drawn: bool = False) -> str:
    methods = [f"of means {about.bootstrap}"] if has_mean else []
    return about.captioned(title, about.resampling_of_parts, *methods, *(about.drawn if is_drawn else ()))


def _list_notes(parts: list[Figures]) -> list[str]:
    return [few] if (few := _warn_of_few_by_part(parts)) else []


def _warn_of_few_by_part(parts: Sequence[Figures]) -> str:
    """Return the warning about parts with few passages; evaluations of earlier versions don't tell how many."""
    # Where a part has no interval, each cell says why.
    over = [(_name_part(part).page, part["intervals"]) for part in parts if "intervals" in part and _has_interval(part)]
    found = ((name, each["n"], each.get("n_effective")) for name, each in over if each["unit"] == PASSAGES)
    return warn_of_few_in_parts(found, noun="Parts")


def _has_interval(part: Figures) -> bool:
    return any(each["low"] is not None for found in part["metrics"].values() for each in found.values())


def _explain_mean(about: About, name: str) -> str:
    mean = about.figures["mean"]
    if name != "dataset" or not mean["left_out"]:
        return ""
    reasons = "; ".join(f"{part}: {why}" for part, why in mean["left_out"].items())
    return f"Datasets in which a metric is undefined are excluded from the mean. {reasons}."


def _make_scatters(about: About) -> Iterator[Section]:
    points = about.figures["points"]
    for place, subject in enumerate(sort_metrics(about), start=1):
        label = about.labels[subject]
        rows = [
            {"candidate": candidate, "metric": score, "human": gold}
            for candidate, score, gold in zip(
                points["candidates"], points["scores"][subject], points["gold"], strict=True
            )
        ]
        title = f"{label} vs. human scores"
        columns = [
            Column("low", f"{label} from", "number"),
            Column("high", "to", "number"),
            Column("n", ANSWERS, "count"),
            Column("mean", "Mean human score", "number"),
        ]
        bands: list[list[Value]] = [
            [band[name] for name in ("low", "high", "n", "mean")] for band in about.figures["bands"][subject]
        ]
        yield Section(
            f"scatter-{place}",
            "Candidates",
            Table(f"scatter-{place}", title, columns, bands, about.captioned(title), n_keys=0),
            charts=[draw_scatter(f"scatter-{place}", title, rows, x_title=label, y_title=about.axis_of_people)],
            note=_explain_points(len(rows), points["n"]),
            choice=label,
        )


def _explain_points(n_drawn: int, n: int) -> str:
    if n_drawn == n:
        return "Each point is a candidate. The table groups the candidates into bands by metric score."
    return "Each point is a candidate: a random {drawn} of {n}. The table has all, in bands by metric score.".format(
        drawn=f"{n_drawn:,}", n=f"{n:,}"
    )


def sort_metrics(about: About) -> list[str]:
    """Return the metrics by Pearson over all candidates, the highest first; undefined ones last."""

    def height(subject: str) -> float:
        value = read_value(about.figures["whole"][subject]["pearson"])
        # Below every correlation.
        return value.value if isinstance(value, Estimate) else -2.0

    return sorted(about.labels, key=lambda subject: -height(subject))


def _name_part(part: Figures) -> Wording:
    names = [name or UNNAMED for name in part["names"]]
    return Wording(" · ".join(names), page=" · ".join(map(word_for_page, names)))
