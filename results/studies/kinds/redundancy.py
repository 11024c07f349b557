"""Redundancy: whether ROUGE over pooled references rewards answers that repeat themselves."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np
from django import forms

from annotate.frames.criteria_in_use import criteria_in_use
from measures.outcome import Undefined
from measures.studies.correlating import correlate_linearly
from measures.studies.partial import correlate_partially
from measures.studies.williams import Williams, williams
from projects.jobs.running import OnProgress
from projects.models import Project
from results.models import MetricRun, Study
from results.studies.charts import draw_estimates
from results.studies.frame import PASSAGE, SOURCE, Frame
from results.studies.intervals import Intervals
from results.studies.joining import EXTERNAL_ID, MetricColumn
from results.studies.kinds.kind import About, Figures, Kind, Section, check_candidates
from results.studies.kinds.within_groups import sort_by
from results.studies.repetition_frame import CRITERION, N_WORDS, UNREPEATED, RepetitionFrame, read_repetition
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_correlation
from results.studies.tables import Column, Missing, Table, Value, read_value

POLICY = "policy"
MAX, POOLED = "max", "pooled"
MOST_LISTED = 20
QUALITY, LENGTH = "quality", "given_length"


def has_policy(run: MetricRun) -> bool:
    """Return whether a metric combines several references by a policy, as ROUGE does."""
    return POLICY in run.settings


def make_fields(project: Project) -> dict[str, forms.Field]:
    criteria = criteria_in_use(project)
    field = forms.ChoiceField(
        label="Criterion of redundancy",
        choices=[(each.key, each.name) for each in criteria],
        initial=criteria[-1].key if criteria else "",
        help_text="A high value means that the answer does not repeat itself.",
    )
    return {CRITERION: field}


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Correlate each metric with both criteria, compare the policies, and list what pooling favours most."""
    assert isinstance(frame, RepetitionFrame)
    steps = Steps(on_progress, 1 + len(frame.metrics))
    scores = {metric.subject: frame.scores(metric) for metric in frame.metrics}
    chosen: dict[str, Any] = {"groups": frame.codes(PASSAGE), "by_group": True}
    by_criterion = {
        UNREPEATED: correlate_linearly(frame.unrepeated, scores, **chosen),
        QUALITY: correlate_linearly(frame.gold, scores, **chosen),
    }
    steps.take()
    given, length = {}, np.log1p(frame.n_words)
    for subject, each in scores.items():
        given[subject] = store_correlation(
            correlate_partially(frame.unrepeated, each, length, units=frame.codes(PASSAGE))
        )
        steps.take()
    return {
        "intervals": Intervals.choose(frame, settings).store(),
        "metrics": {
            subject: {
                **{name: store_correlation(found[subject]) for name, found in by_criterion.items()},
                LENGTH: given[subject],
            }
            for subject in scores
        },
        "length": store_correlation(correlate_linearly(frame.unrepeated, {"": length}, **chosen)[""]),
        "pairs": [_compare(frame, *pair) for pair in _pair_policies(frame.metrics)],
        "other_criterion": frame.other_criterion,
        "n_few_references": frame.n_few_references,
        "n_unjudged": frame.n_unjudged,
    }


def _pair_policies(metrics: tuple[MetricColumn, ...]) -> list[tuple[MetricColumn, MetricColumn]]:
    """Return the metrics by max beside those by pooled that are the same otherwise."""

    def key(metric: MetricColumn) -> tuple[str, list[tuple[str, str]]]:
        rest = sorted((name, str(value)) for name, value in metric.settings.items() if name != POLICY)
        return metric.name, rest

    found = []
    for _key, alike in groupby(sorted(metrics, key=key), key=key):
        by_policy = {metric.settings.get(POLICY): metric for metric in alike}
        if MAX in by_policy and POOLED in by_policy:
            found.append((by_policy[MAX], by_policy[POOLED]))
    return found


def _compare(frame: RepetitionFrame, best: MetricColumn, pooled: MetricColumn) -> dict[str, Any]:
    one, other = frame.scores(best), frame.scores(pooled)
    gains = other - one
    # Equal gains come in the order of the table, so that the same data give the same list.
    rows = np.argsort(-gains, kind="stable")[:MOST_LISTED]
    return {
        "max": best.subject,
        "pooled": pooled.subject,
        UNREPEATED: _store_test(williams(frame.unrepeated, one, other)),
        QUALITY: _store_test(williams(frame.gold, one, other)),
        "listed": [
            {
                "id": frame.table[EXTERNAL_ID].iloc[row],
                "source": frame.table[SOURCE].iloc[row],
                "max": float(one[row]),
                "pooled": float(other[row]),
                UNREPEATED: float(frame.unrepeated[row]),
                QUALITY: float(frame.gold[row]),
                N_WORDS: int(frame.n_words[row]),
            }
            for row in rows
        ],
    }


def _store_test(found: Williams | Undefined) -> dict[str, Any]:
    """Return Williams' test as a two-sided one: neither policy is expected to be better."""
    if isinstance(found, Undefined):
        return store(found)
    return {"t": found.t, "p": min(1.0, 2 * min(found.p, 1 - found.p))}


def make_sections(about: About) -> list[Section]:
    pairs = about.figures["pairs"]
    return [
        _make_correlations(about),
        *([_make_tests(about)] if pairs else []),
        *(_make_list(about, place, pair) for place, pair in enumerate(pairs, start=1)),
    ]


def _make_correlations(about: About) -> Section:
    figures, other = about.figures, about.figures["other_criterion"]
    order = sort_by(about, lambda subject: figures["metrics"][subject][UNREPEATED])
    columns = [
        Column("metric", "Metric"),
        Column("unrepeated", f"Pearson with {other}", "estimate"),
        Column("given_length", f"Pearson with {other}, given length", "estimate"),
        Column("quality", f"Pearson with {about.criterion}", "estimate"),
    ]
    rows: list[list[Value]] = [
        [
            about.labels[subject],
            *(read_value(figures["metrics"][subject][name]) for name in (UNREPEATED, LENGTH, QUALITY)),
        ]
        for subject in order
    ]
    foot: list[list[Value]] = [["Log length", read_value(figures["length"]), None, None]]
    title = f"Correlation with {other} and with {about.criterion}"
    drawn = [(about.labels[subject], read_value(figures["metrics"][subject][UNREPEATED])) for subject in order]
    return Section(
        "redundancy",
        "Correlation with non-redundancy",
        Table("redundancy", title, columns, rows, about.captioned(title, about.resampling), foot=foot),
        charts=[draw_estimates("redundancy", f"Correlation with {other}", drawn, axis="Pearson's r")],
        note=_explain(figures),
    )


def _explain(figures: Figures) -> str:
    left = [
        (figures["n_few_references"], "have fewer than two references, with which all policies are the same"),
        (figures["n_unjudged"], f"have no gold score by {figures['other_criterion']}"),
    ]
    listed = "; ".join(f"{n:,} {words}" for n, words in left if n)
    return "95 % CI in brackets." + (f" Left out: {listed}." if listed else "")


def _make_tests(about: About) -> Section:
    columns = [
        Column("max", "Policy max"),
        Column("pooled", "Policy pooled"),
        *(
            column
            for name, of in ((UNREPEATED, about.figures["other_criterion"]), (QUALITY, about.criterion))
            for column in (
                Column(f"{name}_t", f"Williams' t, {of}", "number", 2),
                Column(f"{name}_p", f"p, {of}", "p", 4),
            )
        ),
    ]
    rows: list[list[Value]] = [
        [
            about.labels[pair["max"]],
            about.labels[pair["pooled"]],
            *(_read_test(pair[name], key) for name in (UNREPEATED, QUALITY) for key in ("t", "p")),
        ]
        for pair in about.figures["pairs"]
    ]
    title = "Max against pooled references, Williams' test, two-sided"
    table = Table("policies", title, columns, rows, about.captioned(title), n_keys=2)
    return Section("policies", "Max against pooled", table, note="t is above 0 if the policy max correlates better.")


def _read_test(found: Mapping[str, Any], key: str) -> Value:
    value: Value = Missing(found["reason"]) if "reason" in found else found[key]
    return value


def _make_list(about: About, place: int, pair: Figures) -> Section:
    columns = [
        Column("candidate", "Candidate"),
        Column("source", "Source"),
        Column("gain", "Gain by pooling", "number", is_signed=True),
        Column("pooled_score", "Pooled", "number"),
        Column("max_score", "Max", "number"),
        Column("unrepeated_score", about.figures["other_criterion"], "number", 2),
        Column("quality_score", about.criterion, "number", 2),
        Column("words", "Words", "count"),
    ]
    rows: list[list[Value]] = [
        [
            each["id"],
            each["source"] or "unspecified",
            each["pooled"] - each["max"],
            each["pooled"],
            each["max"],
            each[UNREPEATED],
            each[QUALITY],
            each[N_WORDS],
        ]
        for each in pair["listed"]
    ]
    label = about.labels[pair["pooled"]]
    title = f"Largest gains by pooled references: {label}"
    table = Table(f"gains-{place}", title, columns, rows, about.captioned(title))
    return Section(f"gains-{place}", "Largest gains by pooling", table, choice=label)


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    limits = [
        "With pooled references, an answer that says twice what two references say once each gains (Daumé 2008).",
        "Answers as long as all references together gain most, so look at the correlation given length too.",
        "“Given length” is the partial correlation at equal log(1 + words).",
        "Williams' test assumes independent candidates. Candidates of one passage are not.",
    ]
    if not figures["pairs"]:
        limits.insert(
            0,
            "No metric has scores by both policies with the same settings otherwise. Compute ROUGE with policy=max and "
            "policy=pooled to compare them.",
        )
    return limits


KIND = Kind(
    name=Study.Kind.REDUNDANCY,
    title="Redundancy",
    about="Does ROUGE over pooled references reward answers that repeat themselves?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    read=read_repetition,
    check=check_candidates,
    without_metrics="Compute ROUGE-1, ROUGE-2 or ROUGE-SU4 by several policies first: only these combine references.",
    takes=has_policy,
    has_ceiling=False,
    is_resampled=False,
    has_seed=False,
    has_intervals=True,
)
