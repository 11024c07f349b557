"""The weight of a bonus: how an adapted metric's correlation with people moves as its weight does."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from django import forms

from measures.metrics import Metric
from measures.metrics.bonus import ENTITY, YES_NO
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.sweeps import SweptPoint, sweep
from projects.charts.drawing import Chart
from projects.charts.specs import swept
from projects.errors import Refused
from projects.jobs.running import OnProgress
from projects.models import Project
from results.metrics.answers import read_answers
from results.metrics.registry import find_metric, load_metrics
from results.models import MetricRun, Study
from results.studies.frame import PASSAGE, QUESTION_TYPE, Frame, Rows
from results.studies.joining import CANDIDATE, MetricColumn
from results.studies.kinds.kind import About, Figures, Kind, Section
from results.studies.settings import Settings
from results.studies.stored import Steps, stored
from results.studies.tables import Column, Estimate, Table, Value, read_ceiling, read_value

SWEPT = {"alpha": YES_NO, "beta": ENTITY}
"""The weights of bonuses, each with the questions whose answers may have it."""
LARGEST, STEP = "largest", "step"
MOST_STEPS = 100

Score = Callable[..., Floats]


def has_bonus(run: MetricRun) -> bool:
    """Whether the metric of a run was computed here and has weights to vary."""
    metric = load_metrics().get(run.metric) if run.origin == MetricRun.Origin.COMPUTED else None
    return metric is not None and set(SWEPT) <= set(metric.metric.weights)


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Each bonus on the answers to its type of question; texts are read and counted once."""
    weights = _weights(settings)
    metrics = {metric.subject: _make(metric) for metric in frame.metrics}
    chosen = _once_each(frame, metrics)
    rows = {name: (frame.table[QUESTION_TYPE] == of).to_numpy() for name, of in SWEPT.items()}
    if not any(each.any() for each in rows.values()):
        raise Refused("No answer here is to a yes-no question or to one about entities, so none may have a bonus.")
    found: dict[str, Any] = {
        name: {
            "type": SWEPT[name],
            "n": int(each.sum()),
            "ceiling": stored(frame.ceiling(seed=seed, rows=each)) if each.any() else None,
            "metrics": {},
        }
        for name, each in rows.items()
    }
    steps = Steps(on_progress, len(chosen))
    for subject in chosen:
        score = _count_once(frame, metrics[subject], np.logical_or.reduce(list(rows.values())))
        for name, each in rows.items():
            if each.any():
                found[name]["metrics"][subject] = [
                    _as_dict(point)
                    for point in sweep(
                        frame.gold[each],
                        partial(_at, score, name, each),
                        weights,
                        groups=frame.codes(PASSAGE)[each],
                        n_resamples=settings.n_resamples,
                        rng=np.random.default_rng(seed),
                    )
                ]
        steps.take()
    return {"weights": weights, "sweeps": found}


def _weights(settings: Settings) -> list[float]:
    largest, step = (float(settings.options.get(name, default)) for name, default in ((LARGEST, 5), (STEP, 0.5)))
    if not 0 < step <= largest <= 100 or largest / step > MOST_STEPS:
        raise Refused(f"Weights go from 0 to 100 at most, in {MOST_STEPS} steps at most.")
    return [round(at * step, 9) for at in range(int(largest / step + 1e-9) + 1)]


def _make(metric: MetricColumn) -> Metric:
    """The metric of a column. Raises Refused where it has no weight to vary."""
    is_computed = metric.origin == MetricRun.Origin.COMPUTED
    made = find_metric(metric.name) if is_computed and metric.name in load_metrics() else None
    if made is None or not set(SWEPT) <= set(made.metric.weights):
        raise Refused(f"{metric.label} has no bonus whose weight could vary; choose adapted metrics alone.")
    return made.make(**made.chosen(metric.settings))


def _once_each(frame: Frame, metrics: Mapping[str, Metric]) -> list[str]:
    """Of metrics that differ in their weights alone the first, for they are points of one sweep."""
    seen: dict[Any, str] = {}
    for column in frame.metrics:
        rest = metrics[column.subject].with_weights(**dict.fromkeys(SWEPT, 0.0))
        seen.setdefault((column.name, rest), column.subject)
    return list(seen.values())


def _count_once(frame: Frame, metric: Metric, wanted: Rows) -> Score:
    """The scores of the frame's answers by weights; one that is not wanted, or that the metric refuses, has zero."""
    candidates = frame.table[CANDIDATE].to_numpy()
    places = {int(candidates[row]): int(row) for row in np.flatnonzero(wanted)}
    parts: list[tuple[list[int], Score]] = []
    with metric.ready():
        for part in read_answers(frame.project, metric):
            reasons = metric.refuse(part.answers)
            own = [at for at, pk in enumerate(part.ids) if pk in places and not reasons[at]]
            if own:
                parts.append(([places[part.ids[at]] for at in own], metric.count_once(part.answers.only(own))))

    def score(**weights: float) -> Floats:
        values = np.zeros(len(candidates))
        for rows, of_part in parts:
            values[rows] = of_part(**weights)
        return values

    return score


def _at(score: Score, name: str, rows: Rows, weight: float) -> Floats:
    """Scores at a weight; alpha varies at beta 1, beta at the metric's own alpha, which no entity answer depends on."""
    return score(**{name: weight, **({"beta": 1.0} if name == "alpha" else {})})[rows]


def _as_dict(point: SweptPoint) -> dict[str, Any]:
    def said(value: float | Undefined) -> Any:
        return {"reason": value.reason} if isinstance(value, Undefined) else value

    return {
        "weight": point.weight,
        "pearson": {"value": said(point.value), "low": point.low, "high": point.high},
        "gain": {"value": said(point.gain), "low": point.gain_low, "high": point.gain_high},
        "undefined_share": point.undefined_share,
    }


def sections(about: About) -> list[Section]:
    found = about.figures["sweeps"]
    return [_section(about, name, found[name]) for name in SWEPT if found[name]["n"]]


def _section(about: About, name: str, found: Figures) -> Section:
    title = {
        "alpha": "Bonus for the right opinion: alpha on yes-no answers",
        "beta": "Bonus for entities: beta on answers about entities",
    }[name]
    columns = [Column("weight", name, "number", 2)]
    chosen = _in_order(about, found)
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
    rows.append(["Human ceiling", read_ceiling(found["ceiling"]), *blanks])
    caption = about.captioned(f"{title}, n = {found['n']:,}")
    return Section(
        name,
        title,
        Table(name, title, columns, rows, caption),
        charts=[_chart(about, name, found)],
        note="{n} answers. Weight 0 is the metric without its bonus; gains are over it.".format(n=f"{found['n']:,}"),
    )


def _chart(about: About, name: str, found: Figures) -> Chart:
    rows = []
    for subject in _in_order(about, found):
        for point in found["metrics"][subject]:
            value = read_value(point["pearson"])
            if isinstance(value, Estimate):
                ends = {"low": value.low, "high": value.high}
                rows.append(
                    {"weight": point["weight"], "metric": about.labels[subject], "pearson": value.value, **ends}
                )
    ceiling = read_ceiling(found["ceiling"])
    line = None
    if isinstance(ceiling, Estimate):
        line = (ceiling.value, "human ceiling {r}".format(r=f"{ceiling.value:.3f}"))
    spec = swept("weight", "pearson", "low", "high", "metric", title="Pearson's correlation", axis=name, line=line)
    title = {
        "alpha": "Correlation with people as alpha grows, on yes-no answers",
        "beta": "Correlation with people as beta grows, on answers about entities",
    }[name]
    return Chart(name, title, rows, spec, columns=("metric", "weight", "pearson", "low", "high"))


def _in_order(about: About, found: Figures) -> list[str]:
    """The metrics as they were chosen: what the database stores has lost its order."""
    return [subject for subject in about.labels if subject in found["metrics"]]


def limits(settings: Settings, figures: Figures) -> list[str]:
    none = {
        "alpha": "No answer here is to a yes-no question, so alpha has nothing to weigh.",
        "beta": "No answer here is to a question about entities, so beta has nothing to weigh.",
    }
    return [
        *(words for name, words in none.items() if not figures["sweeps"][name]["n"]),
        "The weight that does best here was found on these answers: on others it will do less well.",
        "The gain has an interval of its own: both weights are looked at under the same resamples.",
    ]


def fields(project: Project) -> dict[str, forms.Field]:
    return {
        LARGEST: forms.FloatField(label="Largest weight", required=False, initial=5, min_value=0.01, max_value=100),
        STEP: forms.FloatField(label="Step", required=False, initial=0.5, min_value=0.01, max_value=100),
    }


KIND = Kind(
    name=Study.Kind.SWEEP,
    title="Bonus-weight sweep",
    about="How does the correlation of an adapted metric with human judgments change with its bonus weight?",
    compute=compute,
    sections=sections,
    limits=limits,
    fields=fields,
    without_metrics="Compute adapted BLEU or adapted ROUGE-L over the candidates: only these have a bonus.",
    takes=has_bonus,
)
