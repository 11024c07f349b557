"""Two evaluations of one kind side by side: their settings, and the tables that both have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from results.models import MetricRun, Study
from results.studies.kinds import Section
from results.studies.metrics_chosen import make_labels
from results.studies.presentation import format_metric, list_sections, list_settings
from results.studies.tables import Column, ColumnKind, Estimate, Missing, Table, Value, Wording, word_for_page


@dataclass(frozen=True)
class Comparison:
    """The tables that both evaluations have, and in sentences those that one has alone."""

    sections: list[Section]
    left_out: list[str]


def compare(first: Study, second: Study) -> Comparison:
    """Return what both evaluations have side by side, with the difference where both have a number."""
    labels = _name_metrics(first, second)
    listed = [
        {_match(each): each for each in list_sections(study, labels=labels) if each.table.n_keys}
        for study in (first, second)
    ]
    sections = [
        _compare_sections(section, listed[1][name], first, second)
        for name, section in listed[0].items()
        if name in listed[1]
    ]
    alone = [
        [word_for_page(each.table.title) for name, each in one.items() if name not in other]
        for one, other in (listed, listed[::-1])
    ]
    return Comparison(sections, _list_left_out(first, second, "table", alone))


def _name_metrics(first: Study, second: Study) -> dict[str, str]:
    """Return the names of the metrics of both: one metric has one name, and metrics that differ have different ones."""
    stored = {each["subject"]: each for study in (first, second) for each in (study.result or {}).get("metrics", [])}
    return make_labels([_remake_run(each) for each in stored.values()])


def _remake_run(metric: Mapping[str, Any]) -> MetricRun:
    names = ("subject", "title", "settings", "origin")
    return MetricRun(**{name: metric[name] for name in names if name in metric})


def compare_settings(first: Study, second: Study) -> list[tuple[str, str, str]]:
    """Return the settings in which two evaluations differ, and then the differences of their data."""
    listed = [{**dict(list_settings(study)), **_list_data(study)} for study in (first, second)]
    # A dictionary keeps the order in which pages list the settings; a set would not.
    names = dict.fromkeys([*listed[0], *listed[1]])
    return [
        (name, listed[0].get(name, "–"), listed[1].get(name, "–"))
        for name in names
        if listed[0].get(name) != listed[1].get(name)
    ]


def _list_data(study: Study) -> dict[str, str]:
    result = study.result or {"metrics": [], "n": 0, "read_at": ""}
    return {
        "Metrics": "; ".join(sorted(map(format_metric, result["metrics"]))),
        "Metric runs": ", ".join(str(each) for each in sorted(metric["run"] for metric in result["metrics"])),
        "Candidates": f"{result['n']:,}",
        "Judgments used": f"{result.get('n_judgments', 0):,}",
    }


def _match(section: Section) -> tuple[str, ...]:
    """Return by what a section is the same in two evaluations: what was chosen, as its name may be a mere number."""
    return (section.title, section.choice) if section.choice else (section.name,)


def _list_left_out(first: Study, second: Study, noun: str, alone: Sequence[Sequence[str]]) -> list[str]:
    return [
        f"Only evaluation {study.number} has the {noun}{'s' * (len(names) > 1)}: {'; '.join(names)}."
        for study, names in zip((first, second), alone, strict=True)
        if names
    ]


def _compare_sections(section: Section, other: Section, first: Study, second: Study) -> Section:
    tables = (section.table, other.table)
    keys = [{_identify(column) for column in table.columns} for table in tables]
    alone = [
        [column.heading for column in table.columns if column.on_page and _identify(column) not in others]
        for table, others in zip(tables, keys[::-1], strict=True)
    ]
    left_out = _list_left_out(first, second, "column", alone)
    return Section(
        section.name, section.title, _compare_tables(*tables, first, second, left_out), note=" ".join(left_out)
    )


def _compare_tables(one: Table, other: Table, first: Study, second: Study, left_out: list[str]) -> Table:
    keys = list(one.columns[: one.n_keys])
    places = {_identify(column): place for place, column in enumerate(other.columns)}
    common = [
        (_show_where_either(column, other.columns[places[_identify(column)]]), place, places[_identify(column)])
        for place, column in enumerate(one.columns)
        if place >= one.n_keys and _identify(column) in places
    ]
    pairs = [_make_pair(column, first, second) for column, _place, _other_place in common]
    absent = [Missing(f"not in evaluation {study.number}") for study in (first, second)]

    def join(rows: Sequence[Sequence[Value]], other_rows: Sequence[Sequence[Value]]) -> list[list[Value]]:
        # By the words of pages, under which the rows of evaluations from earlier versions are the same rows.
        indexed, other_indexed = (
            {tuple(_word_key(each) for each in row[: one.n_keys]): row for row in found} for found in (rows, other_rows)
        )
        joined: list[list[Value]] = []
        for key in dict.fromkeys([*indexed, *other_indexed]):
            cells: list[Value] = list(key)
            for column, place, other_place in common:
                values = [
                    indexed[key][place] if key in indexed else absent[0],
                    other_indexed[key][other_place] if key in other_indexed else absent[1],
                ]
                cells += [*values, _subtract(*values)] if column.is_number else values
            joined.append(cells)
        return joined

    caption = f"{one.title}, metric evaluations {first.number} and {second.number}."
    return Table(
        one.name,
        one.title,
        [*keys, *chain.from_iterable(pairs)],
        join(one.rows, other.rows),
        caption,
        n_keys=one.n_keys,
        foot=join(one.foot, other.foot),
        notes=[*left_out, *(f"({study.number}) {table.caption}" for study, table in ((first, one), (second, other)))],
        label=f"studies-{first.number}-{second.number}-{one.name}",
    )


def _make_pair(column: Column, first: Study, second: Study) -> list[Column]:
    """Return the columns of both figures, and of the change if they are numbers."""
    columns = [
        Column(f"{column.key}-1", f"{column.heading} ({first.number})", column.kind, column.digits),
        Column(f"{column.key}-2", f"{column.heading} ({second.number})", column.kind, column.digits),
    ]
    if column.is_number:
        kind: ColumnKind = "count" if column.kind == "count" else "number"
        title = Wording(f"{column.heading}, change", page="change")
        columns.append(Column(f"{column.key}-d", title, kind, column.digits, is_signed=True))
    return [replace(each, on_page=column.on_page) for each in columns]


def _show_where_either(column: Column, other: Column) -> Column:
    """Return the column, which pages of the comparison show if the page of either evaluation shows it."""
    return replace(column, on_page=column.on_page or other.on_page)


def _word_key(value: Value) -> Value:
    return word_for_page(value) if isinstance(value, str) else value


def _identify(column: Column) -> str:
    """Return what two evaluations have in common where they have the same column; parts of data are told by name."""
    return f"part {column.title}" if column.key.startswith("part-") else column.key


def _subtract(first: Value, second: Value) -> float | None:
    numbers = [each.value if isinstance(each, Estimate) else each for each in (first, second)]
    if not all(isinstance(each, int | float) for each in numbers):
        return None
    one, other = (float(each) for each in numbers if isinstance(each, int | float))
    return other - one
