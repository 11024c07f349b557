"""How an evaluation is shown: settings and exclusions in words, its tables and charts, and two side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from django import forms

from measures.gold_rules import GoldRule
from projects.charts.drawing import Chart
from projects.web.glossary import GLOSSARY
from results.models import Study
from results.studies import intervals
from results.studies.intervals import describe_bootstrap, describe_method
from results.studies.kinds import KINDS, About, Kind, Section
from results.studies.settings import Settings
from results.studies.stored import WORDING
from results.studies.tables import Column, ColumnKind, Estimate, Missing, Table, Value, Wording, word_for_page


@dataclass(frozen=True)
class MissingScores:
    """The candidates with a gold score that a metric has no score for."""

    label: str
    n: int
    reasons: list[tuple[str, int]]
    first: list[str]
    has_more: bool


def read_about(study: Study, *, with_texts: bool = False) -> About:
    """Return what the kind of an evaluation needs to show its result."""
    result, settings = study.result, Settings.from_dict(study.settings)
    assert result is not None
    criterion = result["criterion"]["name"]
    labels = {metric["subject"]: metric["label"] for metric in result["metrics"]}
    least = settings.least_judgments
    wording = result.get(WORDING, 1)
    notes = ["Missing scores count as zero."] if settings.as_zero else []
    notes.append("Metrics: {metrics}.".format(metrics="; ".join(map(format_metric, result["metrics"]))))
    return About(
        number=study.number,
        criterion=criterion,
        gold=settings.gold_in_words,
        is_in_z_scores=settings.gold == GoldRule.Z,
        n=result["n"],
        one_against_others=result["ceiling"],
        reliability=result.get("reliability"),
        labels=labels,
        basis=f"criterion: {criterion.rstrip('. ')}; gold score: {settings.gold_in_words.replace(';', ',')}",
        counted=f"n = {result['n']:,} {name_counted_unit(study)}, judgments of each at least {least}",
        least_judgments=least,
        notes=notes,
        resampling=describe_method(result["figures"], settings, study.seed, wording=wording),
        resampling_of_parts=describe_method(result["figures"], settings, study.seed, of_parts=True, wording=wording),
        bootstrap=describe_bootstrap(result["figures"], settings, study.seed),
        wording=wording,
        figures={**result["figures"], **_fetch_additions(study, with_texts=with_texts)},
    )


def _fetch_additions(study: Study, *, with_texts: bool) -> Mapping[str, Any]:
    # Read from the files of a set, where additions were frozen with the figures.
    if study._state.adding:
        return {}
    kind = KINDS[study.kind]
    return {**kind.beside(study), **(kind.texts(study) if with_texts else {})}


def name_counted_unit(study: Study) -> str:
    """Return what an evaluation counts, in the plural, as captions have it."""
    kind = KINDS.get(study.kind)
    return "minimal pairs" if kind is not None and kind.is_of_pairs else "answers"


def format_metric(metric: Mapping[str, Any]) -> str:
    """Return a metric with its signature, or, of an evaluation without signatures, with every setting."""
    if signature := metric.get("signature"):
        return f"{metric['title']} ({signature})"
    settings = ", ".join(f"{name}={_format_value(value)}" for name, value in sorted(metric["settings"].items()))
    return f"{metric['title']} ({settings or 'no settings'})"


def list_sections(study: Study, *, with_texts: bool = False) -> list[Section]:
    """Return every table and chart of a finished evaluation."""
    if not study.result or study.kind not in KINDS:
        return []
    about = read_about(study, with_texts=with_texts)
    return [_complete_section(section, about) for section in KINDS[study.kind].sections(about)]


def _complete_section(section: Section, about: About) -> Section:
    """Return a section whose table has what all tables of an evaluation share: notes, a label, and hints."""
    table = section.table
    columns = [replace(column, hint=hint) if (hint := _find_hint(column)) else column for column in table.columns]
    notes = [*table.notes, *about.notes]
    label = f"study-{about.number}-{table.name}"
    return replace(section, table=replace(table, columns=columns, notes=notes, label=label))


def _find_hint(column: Column) -> str:
    """Return the entry of the glossary about a column; columns that are named by data have none."""
    key = f"study-{column.key}"
    return key if key in GLOSSARY else ""


def group_sections(sections: list[Section], chosen: str) -> list[tuple[Section, list[Section]]]:
    """Return the sections of a page, each with those that can take its place; `chosen` names the wanted ones."""
    groups: dict[str, tuple[Section, list[Section]]] = {}
    wanted = chosen.split(",")
    for section in sections:
        # Sections of one title are choices of one place on the page.
        key = str(section.title) if section.choice else section.name
        if key not in groups:
            groups[key] = (section, [])
        others = groups[key][1]
        others.append(section)
        if section.name in wanted:
            groups[key] = (section, others)
    return list(groups.values())


def find_table(study: Study, name: str) -> Table | None:
    return next((each.table for each in list_sections(study) if each.table.name == name), None)


def list_charts(study: Study) -> list[Chart]:
    return [chart for section in list_sections(study) for chart in section.charts]


def list_settings(study: Study) -> list[tuple[str, str]]:
    """Return the settings of an evaluation, with those of its kind."""
    settings = Settings.from_dict(study.settings)
    kind = KINDS.get(study.kind)
    fields = kind.fields(study.project) if kind else {}
    options = [
        (str(fields[name].label), _name_choice(fields[name], value))
        for name, value in settings.options.items()
        if name in fields
    ]
    return [
        ("Criterion", settings.criterion),
        *settings.list_choices(),
        *options,
        *([("Resamples", f"{settings.n_resamples:,}")] if _has_resamples(kind, study) else []),
        *([("Seed", str(study.seed))] if kind is None or kind.has_seed or _has_resamples(kind, study) else []),
    ]


def _name_choice(field: forms.Field, value: Any) -> str:
    """Return a setting as the form words it."""
    offered: dict[Any, Any] = dict(list(field.choices)) if isinstance(field, forms.ChoiceField) else {}  # type: ignore[arg-type]
    return str(offered.get(value, "")) or _format_value(value)


def _has_resamples(kind: Kind | None, study: Study) -> bool:
    if kind is None or kind.has_resamples is None or not study.result:
        return kind is None or kind.is_resampled
    return kind.has_resamples(study.result["figures"])


def list_caveats(study: Study) -> list[str]:
    """Return what to keep in mind of the figures, in sentences; those about intervals come first."""
    kind = KINDS.get(study.kind)
    if kind is None or not study.result:
        return []
    figures, settings = study.result["figures"], Settings.from_dict(study.settings)
    about_intervals = intervals.list_caveats(figures, settings, study.seed) if kind.has_intervals else []
    return [*about_intervals, *kind.limits(settings, figures)]


def list_warnings(study: Study) -> list[str]:
    """Return why figures may mislead, in sentences for the top of the page, for scripts and for sets."""
    kind = KINDS.get(study.kind)
    if kind is None or not study.result:
        return []
    figures = study.result["figures"]
    found = [
        *study.result.get("warnings", []),
        *kind.warnings(figures),
        *intervals.list_warnings(figures),
        *_warn_of_ratings(study),
    ]
    # An evaluation that is read from a set has them all stored.
    return list(dict.fromkeys(found))


def _warn_of_ratings(study: Study) -> list[str]:
    """Return that one person was compared in ratings with gold scores in z scores, as by earlier versions."""
    result = study.result or {}
    is_shown = "n_draws" in result.get("ceiling", {}) and KINDS[study.kind].compares_one_person
    if not is_shown or result.get(WORDING, 1) > 3 or study.settings["gold"] != GoldRule.Z:
        return []
    sentence = (
        "“Single annotator vs. rest” is of ratings as they were given, while gold scores are means of z scores. Run "
        "the evaluation again to compare z scores with z scores."
    )
    return [sentence]


def list_left_out(study: Study) -> list[tuple[str, int]]:
    """Return the excluded candidates by reason; reasons without any are not listed."""
    counts = (study.result or {}).get("left_out", {})
    words = {
        "minimal_pairs": "in minimal pairs, which have their own evaluation",
        "other_places": "filtered out by dataset, split, source or question type",
        "human_sources": "of human sources",
        "no_gold": "no gold score by this rule",
        "few_judgments": "too few judgments",
        "no_score": "no score from at least one metric",
    }
    return [(reason, counts[name]) for name, reason in words.items() if counts.get(name)]


def list_missing(study: Study) -> list[MissingScores]:
    return [
        MissingScores(
            label=metric["label"],
            n=metric["n_missing"],
            reasons=list(metric["reasons"].items()),
            first=metric["missing"],
            has_more=metric["n_missing"] > len(metric["missing"]),
        )
        for metric in (study.result or {}).get("metrics", [])
        if metric["n_missing"]
    ]


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


def compare_tables(first: Study, second: Study) -> list[Table]:
    """Return the tables that both evaluations have, side by side, with the difference where both have a number."""
    # A table that only one evaluation has cannot be compared.
    others = {_match(section): section.table for section in list_sections(second)}
    return [
        _compare(section.table, others[_match(section)], first, second)
        for section in list_sections(first)
        if _match(section) in others and section.table.n_keys
    ]


def _match(section: Section) -> tuple[str, ...]:
    """Return by what a section is the same in two evaluations: what was chosen, as its name may be a mere number."""
    return (section.title, section.choice) if section.choice else (section.name,)


def _list_data(study: Study) -> dict[str, str]:
    result = study.result or {"metrics": [], "n": 0, "read_at": ""}
    return {
        "Metrics": "; ".join(sorted(map(format_metric, result["metrics"]))),
        "Metric runs": ", ".join(str(each) for each in sorted(metric["run"] for metric in result["metrics"])),
        "Candidates": f"{result['n']:,}",
        "Judgments used": f"{result.get('n_judgments', 0):,}",
    }


def _compare(one: Table, other: Table, first: Study, second: Study) -> Table:
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
        notes=[f"({study.number}) {table.caption}" for study, table in ((first, one), (second, other))],
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


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
