"""Within-group correlation: how a metric orders the answers to one question, or of one system, on average."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from django import forms

from measures.correlation import LEAST_PAIRS
from measures.studies.within_groups import UndefinedAs, WithinGroups, correlate_within
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import Study
from results.studies.charts import draw_estimates
from results.studies.frame import PASSAGE, QUESTION, SOURCE, Frame
from results.studies.intervals import PASSAGES, Intervals, name_wilson
from results.studies.kinds.kind import About, Figures, Kind, Section, check_candidates
from results.studies.settings import Settings
from results.studies.stored import Steps, store_number
from results.studies.tables import Column, Estimate, Table, Value, name_falling, read_value

GROUP_BY, UNDEFINED_AS = "group_by", "undefined_as"
BY_QUESTION, BY_SYSTEM, NONE = "question", "system", "none"
GROUPS = {
    BY_QUESTION: "question: the answers to one question",
    BY_SYSTEM: "system: the answers of one system",
    NONE: "none: all answers together",
}
_NOUNS = {BY_QUESTION: "questions", BY_SYSTEM: "systems", NONE: "group of all answers"}
UNDEFINED = {
    UndefinedAs.LEFT_OUT.value: "left out, for all metrics",
    UndefinedAs.ZERO.value: "a correlation of 0",
}
COEFFICIENTS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        GROUP_BY: forms.ChoiceField(label="Groups", choices=list(GROUPS.items()), initial=BY_QUESTION),
        UNDEFINED_AS: forms.ChoiceField(
            label="A group without a correlation is",
            choices=list(UNDEFINED.items()),
            initial=UndefinedAs.LEFT_OUT.value,
            help_text="A group of fewer than three answers, or with equal scores on one side.",
        ),
    }


def check_groups(frame: Frame, settings: Settings) -> None:
    """Refuse candidates of which no group has three."""
    check_candidates(frame, settings)
    chosen = settings.options.get(GROUP_BY, BY_QUESTION)
    if np.bincount(_list_groups(frame, chosen)).max() < LEAST_PAIRS:
        other = "by system" if chosen == BY_QUESTION else "by question"
        raise Refused(
            f"No {chosen} has {LEAST_PAIRS} answers with scores, and a correlation within groups needs that many. "
            f"Group {other}, or import answers of more systems."
        )


def _list_groups(frame: Frame, group_by: str) -> Any:
    if group_by == NONE:
        return np.zeros(len(frame.table), np.int64)
    return frame.codes(QUESTION if group_by == BY_QUESTION else SOURCE)


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the mean correlation of each metric over the groups, with the groups that have none."""
    steps = Steps(on_progress, 1)
    group_by = settings.options.get(GROUP_BY, BY_QUESTION)
    found = correlate_within(
        frame.gold,
        {metric.subject: frame.scores(metric) for metric in frame.metrics},
        _list_groups(frame, group_by),
        units=frame.codes(PASSAGE),
        rng=np.random.default_rng(seed),
        undefined_as=settings.options.get(UNDEFINED_AS, UndefinedAs.LEFT_OUT),
    )
    steps.take()
    intervals = Intervals.choose(frame, settings).store() | {
        "unit": PASSAGES, "n": found.n_units, "n_effective": found.n_effective,
    }  # fmt: skip
    return {GROUP_BY: group_by, "intervals": intervals, **_as_dict(found)}


def _as_dict(found: WithinGroups) -> dict[str, Any]:
    return {
        "metrics": {
            subject: {
                name: {
                    "value": store_number(one.value),
                    "low": one.low,
                    "high": one.high,
                    "undefined_interval": one.why_no_interval,
                }
                for name, one in each.items()
            }
            for subject, each in found.metrics.items()
        },
        "n_groups": found.n_groups,
        "n_averaged": found.n_averaged,
        "n_small": found.n_small,
        "n_equal": found.n_equal,
        "n_constant": found.n_constant,
    }


def make_sections(about: About) -> list[Section]:
    figures = about.figures
    order = sort_by(about, lambda subject: figures["metrics"][subject]["pearson"])
    columns = [
        Column("metric", "Metric"),
        *(Column(name, title, "estimate") for name, title in COEFFICIENTS.items()),
        Column("constant", "Groups with equal scores", "count"),
    ]
    rows: list[list[Value]] = [
        [
            about.labels[subject],
            *(read_value(figures["metrics"][subject][name]) for name in COEFFICIENTS),
            figures["n_constant"][subject],
        ]
        for subject in order
    ]
    title = f"Correlation with human scores, mean of {figures['n_averaged']:,} {_NOUNS[figures[GROUP_BY]]}"
    if figures[GROUP_BY] == NONE:
        title = "Correlation with human scores over all answers"
    # Evaluations of earlier wordings have symmetric intervals; that of a single group is on Fisher's z.
    has_wilson = about.wording > 6 and figures["n_averaged"] > 1
    method = name_wilson(about.resampling) if has_wilson else about.resampling
    drawn = [(about.labels[subject], read_value(figures["metrics"][subject]["pearson"])) for subject in order]
    return [
        Section(
            "groups",
            "Correlation within groups",
            Table("groups", title, columns, rows, about.captioned(title, method)),
            charts=[draw_estimates("groups", title, drawn, axis="mean Pearson's r")],
            note=" ".join(
                [
                    *name_falling((about.labels[each], figures["metrics"][each]["pearson"]) for each in order),
                    _explain_groups(figures),
                ]
            ),
        )
    ]


def sort_by(about: About, read: Any) -> list[str]:
    """Return the metrics by a figure, the highest first; undefined ones last."""

    def height(subject: str) -> float:
        value = read_value(read(subject))
        return value.value if isinstance(value, Estimate) else -2.0

    return sorted(about.labels, key=lambda subject: -height(subject))


def _explain_groups(figures: Figures) -> str:
    noun = _NOUNS[figures[GROUP_BY]]
    if figures[GROUP_BY] == NONE:
        return "95 % CI in brackets, over passages."
    most_constant = max(figures["n_constant"].values(), default=0)
    reasons = [
        (figures["n_small"], "{:,} have fewer than three answers with scores"),
        (figures["n_equal"], "{:,} have equal human scores"),
        (most_constant, "up to {:,}, depending on the metric, have equal metric scores"),
    ]
    listed = "; ".join(words.format(n) for n, words in reasons if n)
    counted = f"Of {figures['n_groups']:,} {noun}, {figures['n_averaged']:,} are averaged, each with the same weight."
    return f"{counted} 95 % CI in brackets." + (f" Without a correlation: {listed}." if listed else "")


def list_limits(settings: Settings, figures: Mapping[str, Any]) -> list[str]:
    if settings.options.get(UNDEFINED_AS) == UndefinedAs.ZERO:
        return ["Groups without a correlation count as 0, as requested, which draws every mean towards 0."]
    if figures[GROUP_BY] == NONE:
        return []
    return [
        "A group in which any metric has no correlation is left out for all metrics: all means are over the same ones.",
        "Correlations of few answers vary strongly; the mean over many groups does not.",
    ]


KIND = Kind(
    name=Study.Kind.GROUPS,
    title="Within-group correlation",
    about="How well does each metric order the answers to the same question, or those of the same system?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    check=check_groups,
    has_ceiling=False,
    is_resampled=False,
    has_intervals=True,
)
