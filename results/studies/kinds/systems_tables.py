"""The tables and charts of correlations per system."""

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from projects.charts import specs
from projects.charts.drawing import Chart
from results.studies.charts import WIDTH, draw_metrics, scatter
from results.studies.kinds.kind import About, Figures, Section
from results.studies.tables import Column, Missing, Table, Value, read_ceiling, read_number

COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def sections(about: About) -> list[Section]:
    is_drawn = "reason" not in about.figures["draws"]
    return [
        _draws(about, is_drawn=is_drawn),
        *(_clouds(about) if is_drawn else []),
        _systems(about),
        *_points(about),
    ]


def _draws(about: About, *, is_drawn: bool) -> Section:
    figures, order = about.figures, _order(about)
    columns = [
        Column("metric", _("Metric")),
        Column("pearson", "Pearson", "estimate"),
        Column("over", _("Over many answers")),
    ]
    found: list[tuple[str, Value]] = [(about.labels[subject], _drawn(figures, subject)) for subject in order]
    rows: list[list[Value]] = [
        [label, value, _("corpus") if figures["is_corpus"][subject] else _("mean")]
        for (label, value), subject in zip(found, order, strict=True)
    ]
    rows.append([_("Human ceiling"), read_ceiling(figures["ceiling"]["draws"]), _("mean")])
    title = _("Pearson's correlation of metrics with people over systems on drawn questions")
    n = figures["draws"][order[0]]["n"] if is_drawn else 0
    note = _("%(n)s points: a system on a draw each.") % {"n": f"{n:,}"} if is_drawn else ""
    return Section(
        "draws",
        _("Drawn questions"),
        Table("draws", title, columns, rows, _captioned(about, title)),
        charts=[draw_metrics("draws", title, found, figures["ceiling"]["draws"], axis=_("Pearson's correlation"))],
        note=note,
    )


def _clouds(about: About) -> Iterator[Section]:
    """The points of the draws, metric by metric."""
    for place, subject in enumerate(_order(about), start=1):
        found, label = about.figures["draws"][subject], about.labels[subject]
        points = found["points"]
        rows = [
            {"system": system or _("none named"), "metric": metric, "human": human}
            for system, metric, human in zip(points["system"], points["metric"], points["human"], strict=True)
        ]
        title = _("%(metric)s and people on drawn questions") % {"metric": label}
        columns = [
            Column("system", _("System")),
            Column("human", _("Mean human score"), "number"),
            Column("human_sd", _("deviation over draws"), "number"),
            Column("metric", label, "number"),
            Column("metric_sd", _("deviation over draws"), "number"),
        ]
        names = ("human_mean", "human_sd", "metric_mean", "metric_sd")
        table = [
            [system or _("none named"), *(found[name][at] for name in names)]
            for at, system in enumerate(found["systems"])
        ]
        chart = scatter(f"draw-{place}", title, rows, x_title=label, y_title=about.criterion, series="system")
        note = _say_points(len(rows), found["n"])
        whole = Table(f"draw-{place}", title, columns, table, _captioned(about, title))
        yield Section(f"draw-{place}", _("Each draw"), whole, charts=[chart], note=note, choice=label)


def _say_points(n_drawn: int, n: int) -> str:
    if n_drawn == n:
        return _("Each point is a system on a draw.")
    return _("Each point is a system on a draw: %(drawn)s of %(n)s, drawn by the seed.") % {
        "drawn": f"{n_drawn:,}",
        "n": f"{n:,}",
    }


def _systems(about: About) -> Section:
    """One point for each system, over all of its answers."""
    figures, order = about.figures, _order(about)
    columns = [
        Column("metric", _("Metric")),
        *(Column(name, title, "estimate" if name == "pearson" else "number") for name, title in COEFFICIENTS.items()),
    ]
    rows: list[list[Value]] = [
        [about.labels[subject], *(read_number(figures["whole"][subject][name]) for name in COEFFICIENTS)]
        for subject in order
    ]
    rows.append([_("Human ceiling"), read_ceiling(figures["ceiling"]["whole"]), None, None])
    n = len(figures["whole"][order[0]]["systems"])
    title = _("Correlation of metrics with people over %(n)s systems, one point each") % {"n": n}
    drawn = [(about.labels[subject], read_number(figures["whole"][subject]["pearson"])) for subject in order]
    return Section(
        "systems",
        _("One point per system"),
        Table("systems", title, columns, rows, _captioned(about, title)),
        charts=[draw_metrics("systems", title, drawn, figures["ceiling"]["whole"], axis=_("Pearson's correlation"))],
    )


def _points(about: About) -> Iterator[Section]:
    for place, subject in enumerate(_order(about), start=1):
        found, label = about.figures["whole"][subject], about.labels[subject]
        rows: list[dict[str, Any]] = [
            {"system": system or _("none named"), "metric": metric, "human": human, "n": n}
            for system, metric, human, n in zip(
                found["systems"], found["metric"], found["human"], found["n_items"], strict=True
            )
        ]
        title = _("%(metric)s and people, system by system") % {"metric": label}
        columns = [
            Column("system", _("System")),
            Column("n", _("Answers"), "count"),
            Column("human", _("Mean human score"), "number"),
            Column("metric", label, "number"),
        ]
        spec = specs.points("metric", "human", "system", x_title=label, y_title=about.criterion) | {"width": WIDTH}
        chart = Chart(f"system-{place}", title, rows, spec, columns=("system", "metric", "human", "n"))
        table = [[row["system"], row["n"], row["human"], row["metric"]] for row in rows]
        whole = Table(f"system-{place}", title, columns, table, _captioned(about, title))
        yield Section(f"system-{place}", _("Each system"), whole, charts=[chart], choice=label)


def _drawn(figures: Figures, subject: str) -> Value:
    draws = figures["draws"]
    return Missing(draws["reason"]) if "reason" in draws else read_number(draws[subject]["pearson"])


def _order(about: About) -> list[str]:
    """The metrics by what they reach on drawn questions, the highest first; else as they were chosen."""

    def height(subject: str) -> float:
        value = _drawn(about.figures, subject)
        return value if isinstance(value, float) else -2.0

    return sorted(about.labels, key=lambda subject: -height(subject))


def _captioned(about: About, title: str) -> str:
    """Nothing is resampled here, so that no interval is named."""
    return f"{title}. {about.caption}"
