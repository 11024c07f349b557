"""How an evaluation is shown: settings and exclusions in words, its tables and charts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django import forms

from annotate.frames.criteria_in_use import criteria_in_use, name_criteria
from measures.gold_rules import GoldRule
from projects.charts.drawing import Chart
from projects.language.amounts import format_number, plural
from projects.web.glossary import GLOSSARY
from results.metrics.listing import format_setting
from results.models import Study
from results.scope.scopes import warn_of_no_order
from results.studies import intervals
from results.studies.intervals import describe_bootstrap, describe_method
from results.studies.kinds import KINDS, About, Kind, Section
from results.studies.kinds.kind import format_least
from results.studies.settings import Settings
from results.studies.stored import WORDING
from results.studies.tables import Column, Table

SHARED = "{n} candidates have the ratings of an identical answer to their question, which is rated once."
SHARED_BY_ONE = "{n} candidate has the ratings of an identical answer to its question, which is rated once."


@dataclass(frozen=True)
class MissingScores:
    """The candidates with a gold score that a metric has no score for."""

    label: str
    n: int
    reasons: list[tuple[str, int]]
    first: list[str]
    has_more: bool


def read_about(study: Study, *, with_texts: bool = False, labels: Mapping[str, str] | None = None) -> About:
    """Return what the kind of an evaluation needs to show its result; `labels` name metrics otherwise than it does."""
    result, settings = study.result, Settings.from_dict(study.settings)
    assert result is not None
    criterion = result["criterion"]["name"]
    own = {metric["subject"]: metric["label"] for metric in result["metrics"]}
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
        labels={subject: (labels or own)[subject] for subject in own},
        basis=f"criterion: {criterion.rstrip('. ')}; gold score: {settings.gold_in_words.replace(';', ',')}",
        counted=f"n = {result['n']:,} {name_counted_unit(study)}, {format_least(least, wording=wording)}",
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
    settings = ", ".join(f"{name}={format_setting(value)}" for name, value in sorted(metric["settings"].items()))
    return f"{metric['title']} ({settings or 'no settings'})"


def list_sections(study: Study, *, with_texts: bool = False, labels: Mapping[str, str] | None = None) -> list[Section]:
    """Return every table and chart of a finished evaluation; `labels` name metrics otherwise than it does."""
    if not study.result or study.kind not in KINDS:
        return []
    about = read_about(study, with_texts=with_texts, labels=labels)
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
        ("Criterion", name_criteria(study.project).get(settings.criterion, settings.criterion)),
        *settings.list_choices(),
        *options,
        *([("Resamples", f"{settings.n_resamples:,}")] if _has_resamples(kind, study) else []),
        *([("Seed", str(study.seed))] if kind is None or kind.has_seed or _has_resamples(kind, study) else []),
    ]


def _name_choice(field: forms.Field, value: Any) -> str:
    """Return a setting as the form words it."""
    offered: dict[Any, Any] = dict(list(field.choices)) if isinstance(field, forms.ChoiceField) else {}  # type: ignore[arg-type]
    return str(offered.get(value, "")) or format_setting(value)


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
    # Evaluations of earlier versions do not know how many.
    n_shared = study.result.get("n_shared", 0)
    shared = [plural(n_shared, SHARED_BY_ONE, SHARED).format(n=format_number(n_shared))] if n_shared else []
    return [*about_intervals, *kind.limits(settings, figures), *shared]


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
        *_warn_of_categories(study),
    ]
    # An evaluation that is read from a set has them all stored.
    return list(dict.fromkeys(found))


def _warn_of_ratings(study: Study) -> list[str]:
    """Return that one person was compared in ratings with gold scores in z scores, as by earlier versions."""
    result = study.result or {}
    is_shown = "n_draws" in result.get("ceiling", {}) and KINDS[study.kind].compares_one_person
    if not is_shown or study.settings["gold"] != GoldRule.Z or compares_z_scores(study):
        return []
    sentence = (
        "“Single annotator vs. rest” is of ratings as they were given, while gold scores are means of z scores. Run "
        "the evaluation again to compare z scores with z scores."
    )
    return [sentence]


def _warn_of_categories(study: Study) -> list[str]:
    """Return that means of categories are meaningless; evaluations of earlier versions have no such warning stored."""
    # Read from the files of a set, where warnings were frozen with the figures.
    if study._state.adding:
        return []
    criterion = next((each for each in criteria_in_use(study.project) if each.key == study.settings["criterion"]), None)
    warning = warn_of_no_order(criterion) if criterion else ""
    return [warning] if warning else []


def compares_z_scores(study: Study) -> bool:
    """Return whether one person's z scores are compared with the others'; earlier versions compared ratings."""
    wording: int = (study.result or {}).get(WORDING, 1)
    return study.settings.get("gold") == GoldRule.Z and wording > 3


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
