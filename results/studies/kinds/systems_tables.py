"""Tables and charts of system-level correlation."""

from collections.abc import Iterable, Iterator
from typing import Any

from projects.charts import specs
from projects.charts.drawing import Chart
from results.studies.charts import WIDTH, draw_metrics, draw_scatter
from results.studies.kinds.kind import About, Figures, Section
from results.studies.tables import ONE_PERSON, Column, Missing, Table, Value, Wording, read_number, read_one_person

# Texts of tables are part of frozen sets; pages word them by `Wording`.
UNNAMED = Wording("none named", page="unspecified")
DEVIATION = Wording("deviation over draws", page="SD over draws")
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def make_sections(about: About) -> list[Section]:
    # Too few common questions leave the draws undefined, while one point per system still is.
    is_drawn = "reason" not in about.figures["draws"]
    return [
        _make_draws(about, is_drawn=is_drawn),
        *(_make_clouds(about) if is_drawn else []),
        _make_systems(about),
        *_make_points(about),
    ]


def _make_draws(about: About, *, is_drawn: bool) -> Section:
    figures, order = about.figures, _sort_metrics(about)
    columns = [
        Column("metric", "Metric"),
        Column("pearson", "Pearson", "estimate"),
        Column("over", Wording("Over many answers", page="Score of a system")),
    ]
    found: list[tuple[str, Value]] = [(about.labels[subject], _read_drawn(figures, subject)) for subject in order]
    rows: list[list[Value]] = [
        [label, value, "corpus" if figures["is_corpus"][subject] else "mean"]
        for (label, value), subject in zip(found, order, strict=True)
    ]
    foot: list[list[Value]] = [[about.one_person, read_one_person(figures["ceiling"]["draws"]), "mean"]]
    caption = "Pearson's correlation of metrics with human scores over systems, on drawn questions"
    title = "Pearson's r of metrics with human scores over systems, drawn questions"
    # The points are the same for every metric.
    n = figures["draws"][order[0]]["n"] if is_drawn else 0
    note = f"{n:,} points, one for each system and draw." if is_drawn else ""
    note = f"{note} {_explain_brackets(about, 'draws')}".strip()
    return Section(
        "draws",
        "Drawn questions",
        Table("draws", title, columns, rows, _caption_draws(about, caption, n, with_one_person=True), foot=foot),
        charts=[draw_metrics("draws", title, found, figures["ceiling"]["draws"], axis="Pearson's r")],
        note=note,
    )


def _make_clouds(about: About) -> Iterator[Section]:
    """Yield the points of the draws, metric by metric."""
    for place, subject in enumerate(_sort_metrics(about), start=1):
        found, label = about.figures["draws"][subject], about.labels[subject]
        points = found["points"]
        rows = [
            {"system": system or UNNAMED.page, "metric": metric, "human": human}
            for system, metric, human in zip(points["system"], points["metric"], points["human"], strict=True)
        ]
        title = f"{label} vs. human scores, drawn questions"
        columns = [
            Column("system", "System"),
            Column("human", "Mean human score", "number"),
            Column("human_sd", DEVIATION, "number"),
            Column("metric", label, "number"),
            Column("metric_sd", DEVIATION, "number"),
        ]
        names = ("human_mean", "human_sd", "metric_mean", "metric_sd")
        table = [
            [system or UNNAMED, *(found[name][at] for name in names)] for at, system in enumerate(found["systems"])
        ]
        chart = draw_scatter(f"draw-{place}", title, rows, x_title=label, y_title=about.axis_of_people, series="system")
        note = _explain_points(len(rows), found["n"])
        whole = Table(f"draw-{place}", title, columns, table, _caption_draws(about, title, found["n"]))
        yield Section(f"draw-{place}", "Each draw", whole, charts=[chart], note=note, choice=label)


def _explain_points(n_drawn: int, n: int) -> str:
    if n_drawn == n:
        return "Each point is a system in a draw."
    return f"Each point is a system in a draw: a random {n_drawn:,} of {n:,}."


def _make_systems(about: About) -> Section:
    """Return one point for each system, over all of its candidates."""
    figures, order = about.figures, _sort_metrics(about)
    columns = [
        Column("metric", "Metric"),
        *(Column(name, title, "estimate" if name == "pearson" else "number") for name, title in COEFFICIENTS.items()),
    ]
    rows: list[list[Value]] = [
        [about.labels[subject], *(read_number(figures["whole"][subject][name]) for name in COEFFICIENTS)]
        for subject in order
    ]
    foot: list[list[Value]] = [[about.one_person, read_one_person(figures["ceiling"]["whole"]), None, None]]
    n = len(figures["whole"][order[0]]["systems"])
    caption = f"Correlation of metrics with human scores over {n} systems, one point each"
    title = f"Correlation with human scores over {n} systems"
    drawn = [(about.labels[subject], read_number(figures["whole"][subject]["pearson"])) for subject in order]
    return Section(
        "systems",
        "One point per system",
        Table("systems", title, columns, rows, _caption_whole(about, caption), foot=foot),
        charts=[draw_metrics("systems", title, drawn, figures["ceiling"]["whole"], axis="Pearson's r")],
        note=f"{_explain_brackets(about, 'whole')} {_explain_corpus(about, order)}".strip(),
    )


def _explain_corpus(about: About, order: Iterable[str]) -> str:
    names = [about.labels[subject] for subject in order if about.figures["is_corpus"][subject]]
    return f"These metrics have corpus scores here and means on the leaderboard: {', '.join(names)}." if names else ""


def _make_points(about: About) -> Iterator[Section]:
    for place, subject in enumerate(_sort_metrics(about), start=1):
        found, label = about.figures["whole"][subject], about.labels[subject]
        rows: list[dict[str, Any]] = [
            {"system": system or UNNAMED, "metric": metric, "human": human, "n": n}
            for system, metric, human, n in zip(
                found["systems"], found["metric"], found["human"], found["n_items"], strict=True
            )
        ]
        title = f"{label} vs. human scores by system"
        columns = [
            Column("system", "System"),
            Column("n", Wording("Answers", page="Candidates"), "count"),
            Column("human", "Mean human score", "number"),
            Column("metric", label, "number"),
        ]
        spec = specs.points("metric", "human", "system", x_title=label, y_title=about.axis_of_people) | {"width": WIDTH}
        chart = Chart(f"system-{place}", title, rows, spec, columns=("system", "metric", "human", "n"))
        table = [[row["system"], row["n"], row["human"], row["metric"]] for row in rows]
        whole = Table(f"system-{place}", title, columns, table, about.captioned(title))
        yield Section(f"system-{place}", "Each system", whole, charts=[chart], choice=label)


def _read_drawn(figures: Figures, subject: str) -> Value:
    draws = figures["draws"]
    return Missing(draws["reason"]) if "reason" in draws else read_number(draws[subject]["pearson"])


def _sort_metrics(about: About) -> list[str]:
    """Return the metrics by their correlation on drawn questions, the highest first; otherwise as they were chosen."""

    def height(subject: str) -> float:
        value = _read_drawn(about.figures, subject)
        return value if isinstance(value, float) else -2.0

    return sorted(about.labels, key=lambda subject: -height(subject))


def _caption_draws(about: About, title: str, n: int, *, with_one_person: bool = False) -> str:
    """Return the caption of figures over draws, of which there are `n` points; without intervals."""
    drawing = about.figures.get("drawing")
    if about.wording < 3 or drawing is None or not n:
        return about.captioned(title)
    drawn = f"{drawing['n_draws']:,} draws of {drawing['n_questions']:,} questions, seed {drawing['seed']}"
    brackets = _describe_brackets(about, "draws") if with_one_person else ()
    return about.captioned(title, drawn, *brackets, counted=f"n = {n:,} points, one for each system and draw")


def _caption_whole(about: About, title: str) -> str:
    return about.captioned(title, *(_describe_brackets(about, "whole") if about.wording > 2 else ()))


def _explain_brackets(about: About, name: str) -> str:
    return "".join(f"{words[0].upper()}{words[1:]}." for words in _describe_brackets(about, name))


def _describe_brackets(about: About, name: str) -> tuple[str, ...]:
    """Return what the brackets of one person against the others hold; nothing where there are none."""
    # As many are drawn here as over single candidates.
    n = about.one_against_others.get("n_draws")
    if n is None or "reason" in about.figures["ceiling"][name]:
        return ()
    return (f"brackets of “{ONE_PERSON}” hold 95 % of {n:,} draws of one judgment of each answer",)
