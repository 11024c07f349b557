"""Bonus-weight sweep: how an adapted metric's correlation with human scores changes with its bonus weight."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from django import forms

from measures.metrics import Metric
from measures.metrics.bonus import ENTITY, YES_NO
from measures.patterns import Floats
from measures.studies.sweeps import SweptPoint, sweep
from projects.charts.drawing import Chart
from projects.charts.specs import swept
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.metrics.candidate_slices import stream_candidates
from results.metrics.registry import find_metric, load_metrics
from results.models import MetricRun, Study
from results.studies.frame import PASSAGE, QUESTION_TYPE, Frame, Rows
from results.studies.intervals import Intervals, describe_jackknife, make_field
from results.studies.joining import CANDIDATE, MetricColumn
from results.studies.kinds.kind import About, Figures, Kind, Section, format_least
from results.studies.settings import Settings
from results.studies.stored import Steps, store, store_number
from results.studies.tables import CEILING, Column, Estimate, Table, Value, read_ceiling, read_one_person, read_value

SWEPT = {"alpha": YES_NO, "beta": ENTITY}
"""The bonus weights, each with the type of the questions whose candidates may have the bonus."""
# Each step computes every score again under every resample.
LARGEST, STEP = "largest", "step"
_DEFAULTS = ((LARGEST, 5.0), (STEP, 0.5))
MOST_STEPS = 100

Score = Callable[..., Floats]


def has_bonus(run: MetricRun) -> bool:
    """Return whether the metric of a run was computed here and has weights to vary."""
    metric = load_metrics().get(run.metric) if run.origin == MetricRun.Origin.COMPUTED else None
    return metric is not None and set(SWEPT) <= set(metric.metric.weights)


def check_types(frame: Frame, settings: Settings) -> None:
    """Refuse candidates of which none can have a bonus, and weights in too many steps."""
    _list_weights(settings)
    if not frame.table[QUESTION_TYPE].isin(list(SWEPT.values())).any():
        raise Refused(
            "No candidate answers a yes-no or an entity question, so none can have a bonus. Give questions their type "
            "under Data, or import it as a column."
        )


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the correlations at each weight, by type of question; texts are read and counted once."""
    weights = _list_weights(settings)
    metrics = {metric.subject: _make(metric) for metric in frame.metrics}
    chosen = _drop_repeats(frame, metrics)
    rows = {name: (frame.table[QUESTION_TYPE] == of).to_numpy() for name, of in SWEPT.items()}
    check_types(frame, settings)
    found: dict[str, Any] = {
        name: {
            "type": SWEPT[name],
            "n": int(each.sum()),
            "ceiling": store(frame.one_against_others(seed=seed, rows=each)) if each.any() else None,
            "reliability": store(frame.ceiling(settings, rows=each)) if each.any() else None,
            "metrics": {},
        }
        for name, each in rows.items()
    }
    steps = Steps(on_progress, len(chosen))
    # Each sweep has the candidates of one type of question, and so passages of its own.
    intervals = {name: Intervals.choose(frame, settings, each) for name, each in rows.items() if each.any()}
    for name, chosen_intervals in intervals.items():
        found[name]["intervals"] = chosen_intervals.store()
    for subject in chosen:
        score = _count_once(frame, metrics[subject], np.logical_or.reduce(list(rows.values())))
        for name, each in rows.items():
            if each.any():
                found[name]["metrics"][subject] = [
                    _as_dict(point)
                    for point in sweep(
                        frame.gold[each],
                        partial(_score_at, score, name, each),
                        weights,
                        groups=frame.codes(PASSAGE)[each],
                        by_group=intervals[name].by_group,
                        n_resamples=settings.n_resamples,
                        rng=np.random.default_rng(seed),
                    )
                ]
        steps.take()
    return {"weights": weights, "sweeps": found, "intervals": min(intervals.values(), key=lambda each: each.n).store()}


def _list_weights(settings: Settings) -> list[float]:
    # An emptied field is stored as None.
    options = settings.options
    largest, step = (default if options.get(name) is None else float(options[name]) for name, default in _DEFAULTS)
    if not 0 < step <= largest <= 100 or largest / step > MOST_STEPS:
        raise Refused(f"Choose weights up to 100, in at most {MOST_STEPS} steps.")
    # Rounded, as 3 * 0.1 is not 0.3; the small term keeps the last step from being lost to the same error.
    return [round(at * step, 9) for at in range(int(largest / step + 1e-9) + 1)]


def _make(metric: MetricColumn) -> Metric:
    """Return the metric of a column. Raises Refused where it has no weight to vary."""
    is_computed = metric.origin == MetricRun.Origin.COMPUTED
    registered = find_metric(metric.name) if is_computed and metric.name in load_metrics() else None
    if registered is None or not set(SWEPT) <= set(registered.metric.weights):
        raise Refused(f"{metric.label} has no bonus weight. Choose adapted metrics only.")
    return registered.make(**registered.chosen(metric.settings))


def _drop_repeats(frame: Frame, metrics: Mapping[str, Metric]) -> list[str]:
    """Return the first of metrics that differ only in their weights, as they are points of one sweep."""
    seen: dict[Any, str] = {}
    for column in frame.metrics:
        rest = metrics[column.subject].with_weights(**dict.fromkeys(SWEPT, 0.0))
        seen.setdefault((column.name, rest), column.subject)
    return list(seen.values())


def _count_once(frame: Frame, metric: Metric, wanted: Rows) -> Score:
    """Return a function from weights to the candidates' scores; unwanted and refused candidates have zero."""
    candidates = frame.table[CANDIDATE].to_numpy()
    rows_by_candidate = {int(candidates[row]): int(row) for row in np.flatnonzero(wanted)}
    # Counting n-grams takes long and does not depend on the weights, so each slice is counted once and scored at
    # every weight.
    parts: list[tuple[list[int], Score]] = []
    with metric.ready():
        for part in stream_candidates(frame.project, metric):
            answers = metric.choose_references(part.answers)
            reasons = metric.refuse(answers)
            own = [at for at, pk in enumerate(part.ids) if pk in rows_by_candidate and not reasons[at]]
            if own:
                parts.append(([rows_by_candidate[part.ids[at]] for at in own], metric.count_once(answers.only(own))))

    def score(**weights: float) -> Floats:
        values = np.zeros(len(candidates))
        for rows, score_part in parts:
            values[rows] = score_part(**weights)
        return values

    return score


def _score_at(score: Score, name: str, rows: Rows, weight: float) -> Floats:
    """Return the scores at a weight."""
    # As in Yang et al. (2018), alpha varies at beta 1. Beta varies at the metric's own alpha, on which no entity
    # answer depends.
    return score(**{name: weight, **({"beta": 1.0} if name == "alpha" else {})})[rows]


def _as_dict(point: SweptPoint) -> dict[str, Any]:
    return {
        "weight": point.weight,
        "pearson": {"value": store_number(point.value), "low": point.low, "high": point.high},
        "gain": {"value": store_number(point.gain), "low": point.gain_low, "high": point.gain_high},
        "undefined_share": point.undefined_share,
    }


def make_sections(about: About) -> list[Section]:
    found = about.figures["sweeps"]
    return [_make_section(about, name, found[name]) for name in SWEPT if found[name]["n"]]


def _make_section(about: About, name: str, found: Figures) -> Section:
    title = {
        "alpha": "Bonus for the right opinion: alpha on yes-no answers",
        "beta": "Bonus for entities: beta on answers about entities",
    }[name]
    columns = [Column("weight", name, "number", 2)]
    chosen = _list_swept(about, found)
    for subject in chosen:
        label = about.labels[subject]
        columns += [
            Column(subject, label, "estimate"),
            Column(f"{subject}-gain", f"{label}, gain", "estimate"),
        ]
    rows: list[list[Value]] = []
    for at, weight in enumerate(about.figures["weights"]):
        points = [found["metrics"][subject][at] for subject in chosen]
        rows.append([weight, *(read_value(point[key]) for point in points for key in ("pearson", "gain"))])
    blanks: list[Value] = [None] * (2 * len(chosen) - 1)
    foot: list[list[Value]] = [[about.one_person, read_one_person(found["ceiling"]), *blanks]]
    if "reliability" in found:
        foot.append([CEILING, read_ceiling(found["reliability"]), *blanks])
    method = describe_jackknife(found["intervals"], wording=about.wording) if "intervals" in found else about.resampling
    counted, gains, caption_title = "", about.bootstrap, f"{title}, n = {found['n']:,}"
    if about.wording > 2:
        caption_title = title
        counted = f"n = {found['n']:,} answers, {format_least(about.least_judgments, wording=about.wording)}"
        gains = about.bootstrap.replace("95 % intervals", "those of gains", 1)
    caption = about.captioned(caption_title, method, gains, *about.drawn, counted=counted)
    return Section(
        name,
        title,
        Table(name, title, columns, rows, caption, foot=foot),
        charts=[_draw_chart(about, name, found)],
        note=f"{found['n']:,} candidates. Weight 0 is the metric without its bonus; gains are relative to it.",
    )


def _draw_chart(about: About, name: str, found: Figures) -> Chart:
    rows = []
    for subject in _list_swept(about, found):
        for point in found["metrics"][subject]:
            value = read_value(point["pearson"])
            if isinstance(value, Estimate):
                ends = {"low": value.low, "high": value.high}
                rows.append(
                    {"weight": point["weight"], "metric": about.labels[subject], "pearson": value.value, **ends}
                )
    # An evaluation that was stored without a ceiling has one person against the others to compare with.
    words, level = "single annotator vs. rest", read_one_person(found["ceiling"])
    if "reliability" in found:
        words, level = "ceiling", read_ceiling(found["reliability"])
    line = (level.value, f"{words} {level.value:.3f}") if isinstance(level, Estimate) else None
    spec = swept("weight", "pearson", "low", "high", "metric", title="Pearson's r", axis=name, line=line)
    title = {
        "alpha": "Correlation with human scores by alpha, yes-no questions",
        "beta": "Correlation with human scores by beta, entity questions",
    }[name]
    return Chart(name, title, rows, spec, columns=("metric", "weight", "pearson", "low", "high"))


def _list_swept(about: About, found: Figures) -> list[str]:
    """Return the metrics in the order in which they were chosen; JSON in the database does not keep it."""
    return [subject for subject in about.labels if subject in found["metrics"]]


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    none = {
        "alpha": "No candidate answers a yes-no question, so alpha has no effect.",
        "beta": "No candidate answers an entity question, so beta has no effect.",
    }
    return [
        *(words for name, words in none.items() if not figures["sweeps"][name]["n"]),
        "The best weight was found on these candidates. On others it will perform worse.",
        "The gain has its own interval, a percentile bootstrap: both weights are evaluated on the same resamples.",
    ]


def list_warnings(figures: Figures) -> list[str]:
    lacking = {
        "alpha": "no answer to a yes-no question has the opinion of a reference, so none has a bonus. Import opinions "
        "of answers and references",
        "beta": "no answer to an entity question names an entity of its question, so none has a bonus. Import entities "
        "of questions",
    }
    return [
        f"{name.capitalize()} changes nothing: {why} to study it."
        for name, why in lacking.items()
        if _is_without_effect(figures["sweeps"][name])
    ]


def _is_without_effect(found: Figures) -> bool:
    """Return whether no weight changes any correlation, where one is defined."""
    points = [point["gain"] for each in found["metrics"].values() for point in each]
    gains = {gain["value"] for gain in points if isinstance(gain["value"], float)}
    ends = {gain[end] for gain in points for end in ("low", "high") if gain[end] is not None}
    return bool(gains) and gains | ends == {0.0}


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        **make_field(),
        LARGEST: forms.FloatField(label="Largest weight", required=False, initial=5, min_value=0.01, max_value=100),
        STEP: forms.FloatField(label="Step", required=False, initial=0.5, min_value=0.01, max_value=100),
    }


KIND = Kind(
    name=Study.Kind.SWEEP,
    title="Bonus-weight sweep",
    about="How does the correlation of an adapted metric with human judgments change with its bonus weight?",
    compute=compute,
    compares_one_person=True,
    sections=make_sections,
    limits=list_limits,
    warnings=list_warnings,
    fields=make_fields,
    check=check_types,
    has_intervals=True,
    resampled_for="For the gain.",
    without_metrics="Compute adapted BLEU or adapted ROUGE-L first: only these have a bonus.",
    takes=has_bonus,
)
