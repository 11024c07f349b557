"""Top-N accuracy: how early a system gives an answer that is good enough, by metrics and by people."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from django import forms

from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.ranked_answers import DEPTH, Places, RankedAccuracy, Share, measure_ranked
from projects.charts import specs
from projects.charts.drawing import Chart
from projects.jobs.running import OnProgress
from projects.language.amounts import plural
from projects.models import Project
from results.models import Study
from results.studies.charts import WIDTH
from results.studies.frame import PASSAGE, SOURCE, Frame
from results.studies.intervals import Intervals, name_wilson
from results.studies.kinds.kind import About, Figures, Kind, Section, format_least
from results.studies.ranked_frame import KEY, RankedFrame, read_ranked
from results.studies.settings import Settings
from results.studies.stored import Steps
from results.studies.tables import Column, Estimate, Missing, Table, Value, read_value

THRESHOLD, HUMAN_THRESHOLD = "threshold", "human_threshold"
FIRST = (1, 3, 5)
PEOPLE = "people"
MOST_DEPTH = 50


def make_fields(project: Project) -> dict[str, forms.Field]:
    return {
        THRESHOLD: forms.FloatField(
            label="Threshold, metrics", initial=0.5, required=False, help_text="The lowest score of a good answer."
        ),
        HUMAN_THRESHOLD: forms.FloatField(
            label="Threshold, human scores", initial=4, required=False, help_text="The same for gold scores."
        ),
        "depth": forms.IntegerField(
            label="First answers",
            initial=DEPTH,
            min_value=1,
            max_value=MOST_DEPTH,
            required=False,
            help_text="How many count. Lists in which one of these has no score are left out.",
        ),
    }


def _read_options(settings: Settings) -> tuple[float, float, int]:
    options = settings.options

    def choose(name: str, default: float) -> float:
        value = options.get(name)
        return default if value is None else float(value)

    return choose(THRESHOLD, 0.5), choose(HUMAN_THRESHOLD, 4.0), int(options.get("depth") or DEPTH)


def compute(frame: Frame, settings: Settings, seed: int, on_progress: OnProgress) -> dict[str, Any]:
    """Return the accuracy for every N by each metric and by people, over all lists and by system."""
    assert isinstance(frame, RankedFrame)
    steps = Steps(on_progress, len(frame.metrics) + 1)
    threshold, human_threshold, depth = _read_options(settings)
    systems = frame.table[SOURCE].to_numpy(str)
    places = Places.by(frame.table[KEY].to_numpy(np.float64), frame.lists())
    scores: dict[str, Floats] = {metric.subject: frame.scores(metric) for metric in frame.metrics}
    # Metrics are compared on the same lists, so an answer that one lacks counts as unscored for all.
    lacks = np.logical_or.reduce([np.isnan(each) for each in scores.values()])
    scores = {subject: np.where(lacks, np.nan, each) for subject, each in scores.items()}
    found: dict[str, Any] = {}
    for subject, values in {**scores, PEOPLE: frame.people()}.items():
        limit = human_threshold if subject == PEOPLE else threshold
        found[subject] = {
            "whole": _measure(frame, values, np.ones(len(systems), bool), threshold=limit, depth=depth),
            "systems": {
                str(name): _measure(frame, values, systems == name, threshold=limit, depth=depth)
                for name in np.unique(systems)
            },
        }
        steps.take()
    measured = [each["whole"] for each in found.values() if "reason" not in each["whole"]]
    nothing: dict[str, Any] = {"n_units": frame.table[PASSAGE].nunique(), "n_effective": None}
    fewest = min(measured, key=lambda each: each["n_effective"], default=nothing)
    return {
        # Metrics and people may be measured on different lists; the fewest passages tell whether an interval is rough.
        "intervals": Intervals.choose(frame, settings).store_passages(fewest["n_units"], fewest["n_effective"]),
        "metrics": {subject: found[subject] for subject in scores},
        PEOPLE: found[PEOPLE],
        "systems": sorted(set(systems)),
        THRESHOLD: threshold,
        HUMAN_THRESHOLD: human_threshold,
        "depth": depth,
        "longest": int(min(depth, places.places.max(initial=0))),
        "n_lists": len(np.unique(frame.lists())),
        "n_tied": places.n_tied,
        "unranked": dict(frame.unranked),
    }


def _measure(frame: RankedFrame, values: Floats, rows: Any, *, threshold: float, depth: int) -> dict[str, Any]:
    found = measure_ranked(
        values[rows],
        Places.by(frame.table[KEY].to_numpy(np.float64)[rows], frame.lists()[rows]),
        threshold=threshold,
        units=frame.codes(PASSAGE)[rows],
        depth=depth,
    )
    return _as_dict(found)


def _as_dict(found: RankedAccuracy | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"reason": found.reason}
    return {
        "top": [_store_share(each) for each in found.top],
        "reciprocal_rank": _store_share(found.reciprocal_rank),
        "n_lists": found.n_lists,
        "n_left_out": found.n_left_out,
        "n_answers": found.n_answers,
        "n_units": found.n_units,
        "n_effective": found.n_effective,
    }


def _store_share(found: Share) -> dict[str, Any]:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "undefined_interval": found.why_no_interval,
    }


def make_sections(about: About) -> list[Section]:
    has_systems = len(about.figures["systems"]) > 1
    return [_make_whole(about), *([_make_systems(about)] if has_systems else [])]


def _list_rows(about: About) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the metrics by reciprocal rank, the highest first, and then people."""
    figures = about.figures

    def height(subject: str) -> float:
        whole = figures["metrics"][subject]["whole"]
        return -1.0 if "reason" in whole else float(whole["reciprocal_rank"]["value"])

    order = sorted(about.labels, key=lambda subject: -height(subject))
    found = [(about.labels[subject], figures["metrics"][subject]) for subject in order]
    return [*found, (f"People, gold score of at least {figures[HUMAN_THRESHOLD]:g}", figures[PEOPLE])]


def _list_first(figures: Figures) -> list[int]:
    # Beyond the longest list, every N has the same accuracy. Evaluations of earlier versions don't tell its length.
    if "longest" not in figures:
        return [n for n in FIRST if n <= figures["depth"]]
    longest = figures["longest"]
    return sorted({min(n, longest) for n in FIRST})


def _make_cells(figures: Figures, found: Mapping[str, Any]) -> list[Value]:
    first = _list_first(figures)
    if "reason" in found:
        return [Missing(found["reason"])] * (len(first) + 1) + [0, None]
    shares = [read_value(found["top"][n - 1]) for n in first]
    return [*shares, read_value(found["reciprocal_rank"]), found["n_lists"], found["n_left_out"]]


def _make_columns(figures: Figures) -> list[Column]:
    return [
        *(Column(f"top_{n}", f"Top-{n}", "estimate") for n in _list_first(figures)),
        Column("reciprocal_rank", "Mean reciprocal rank", "estimate"),
        Column("lists", "Lists", "count"),
        Column("unscored", "Lists without all scores", "count"),
    ]


def _make_whole(about: About) -> Section:
    figures = about.figures
    title = f"Lists with a good answer among the first N, metrics at a threshold of {figures[THRESHOLD]:g}"
    rows: list[list[Value]] = [[label, *_make_cells(figures, found["whole"])] for label, found in _list_rows(about)]
    columns = [Column("metric", "Metric"), *_make_columns(figures)]
    return Section(
        "top-n",
        "All systems" if len(figures["systems"]) > 1 else "Top-N accuracy",
        Table("top-n", title, columns, rows, _caption(about, title, _describe_intervals(about))),
        charts=[_draw_curve(about)],
        note=_explain(figures),
    )


def _draw_curve(about: About) -> Chart:
    rows = []
    for label, found in _list_rows(about):
        top = found["whole"].get("top", ())
        for n, share in enumerate(top[: about.figures.get("longest", len(top))], start=1):
            value = read_value(share)
            if isinstance(value, Estimate):
                # Without an interval the band has no height.
                low = value.value if value.low is None else value.low
                high = value.value if value.high is None else value.high
                rows.append({"n": n, "metric": label, "share": value.value, "low": low, "high": high})
    title = "Top-N accuracy by N"
    spec = specs.swept("n", "share", "low", "high", "metric", title="share of lists", axis="N", is_counted=True)
    return Chart("top-n", title, rows, {**spec, "width": WIDTH}, columns=("metric", "n", "share", "low", "high"))


def _make_systems(about: About) -> Section:
    figures = about.figures
    columns = [Column("system", "System"), Column("metric", "Metric"), *_make_columns(figures)]
    rows: list[list[Value]] = [
        [system or "unspecified", label, *_make_cells(figures, found["systems"][system])]
        for system in figures["systems"]
        for label, found in _list_rows(about)
    ]
    title = "Lists with a good answer among the first N, by system"
    table = Table("top-n-systems", title, columns, rows, _caption(about, title), n_keys=2)
    return Section("top-n-systems", "By system", table, note="95 % CI in brackets, over the passages of each system.")


def _caption(about: About, title: str, *methods: str) -> str:
    """Return the caption of a table with the answers that count, where the figures tell how many."""
    of_metrics, of_people = _read_counts(about.figures, "n_answers")
    judged = format_least(about.least_judgments, wording=about.wording)
    if of_metrics == of_people:
        counted = "" if of_people is None else f"n = {of_people:,} answers, {judged}"
    else:
        parts = [] if of_metrics is None else [f"{of_metrics:,} answers for metrics"]
        parts += [] if of_people is None else [f"{of_people:,} {'' if parts else 'answers '}for people, {judged}"]
        counted = f"n = {'; '.join(parts)}"
    return about.captioned(title, *methods, counted=counted)


def _describe_intervals(about: About) -> str:
    of_metrics, of_people = _read_counts(about.figures, "n_units")
    if of_metrics is None or of_people is None or of_metrics == of_people:
        words = about.resampling
    else:
        over = f"{of_metrics:,} passages for metrics and {of_people:,} for people"
        words = f"95 % intervals by the jackknife with Student's t over {over}"
    # Evaluations of the first wording have symmetric intervals.
    return name_wilson(words) if about.wording > 1 else words


def _read_counts(figures: Figures, name: str) -> tuple[int | None, int | None]:
    """Return what counts for metrics and for people, over all systems; None where it is undefined or of an earlier
    version.
    """
    # All metrics are measured on the same lists.
    of_metrics = next((each["whole"].get(name) for each in figures["metrics"].values()), None)
    return of_metrics, figures[PEOPLE]["whole"].get(name)


def _explain(figures: Figures) -> str:
    words = (
        f"{figures['n_lists']:,} lists: the answers of a system to a question, of which the first {figures['depth']} "
        "count. A list with fewer than N answers counts as it is. 95 % CI over passages in brackets."
    )
    sentences = [words]
    if figures.get("longest", figures["depth"]) < figures["depth"]:
        answers = plural(figures["longest"], "answer", "answers")
        sentences.append(f"The longest list has {figures['longest']} {answers}.")
    if n := figures["n_tied"]:
        sentences.append(f"{n:,} lists have answers of equal rank or confidence, which keep the order of the file.")
    if unranked := figures["unranked"]:
        named = ", ".join(f"{name or 'unspecified'}: {count:,}" for name, count in sorted(unranked.items()))
        sentences.append(f"Left out are lists without ranks or confidences ({named}).")
    return " ".join(sentences)


def list_limits(settings: Settings, figures: Figures) -> list[str]:
    return [
        "One threshold holds for all metrics, which use their ranges differently: compare each with human scores.",
        "A list counts if each of its first answers has a score, so an answer without one never counts as a poor one.",
        "The reciprocal rank of a list without a good answer among the first is 0.",
    ]


KIND = Kind(
    name=Study.Kind.TOP_N,
    title="Top-N accuracy",
    about="How often is a good answer among the first N of a system, by each metric and by human judgments?",
    compute=compute,
    sections=make_sections,
    limits=list_limits,
    fields=make_fields,
    read=read_ranked,
    has_ceiling=False,
    is_resampled=False,
    has_seed=False,
    has_intervals=True,
)
