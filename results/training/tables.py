"""Tables and charts of a training: correlations beside metrics of words, by dataset and source, and its curve."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotate.frames.criteria_in_use import name_criteria
from measures.metrics import METRICS
from measures.neural.lerc.judging import WORD_METRICS
from measures.neural.lerc.variants import TablePlan
from projects.charts import specs
from projects.charts.drawing import Chart
from projects.tables.stored_values import read_value
from projects.tables.tables import Column, Estimate, Missing, Table, Value
from results.models import Training
from results.training.figures import HELD_OUT, METRIC

SPLITS = {"dev": "Dev", "test": "Test"}
_ON_DEV = "Rate, epoch and seed are chosen on dev, so its correlations are somewhat too high; those on test are not."
_NONE = Missing("no answer of this split")


def list_tables(training: Training) -> list[Table]:
    """Return every table of a finished training; none before."""
    result = training.result
    if not result:
        return []
    tables = [_tabulate_overall(training, result)]
    for split, words in SPLITS.items():
        if found := result["splits"].get(split):
            metrics = _list_metrics(training, result)
            if len(found["datasets"]) > 1:
                tables.append(_tabulate_datasets(training, found, metrics, split, words))
            if len(found["sources"]) > 1:
                tables.append(_tabulate_sources(training, found, metrics, split, words))
    return [*tables, _tabulate_runs(training, result)]


def list_charts(training: Training) -> list[Chart]:
    """Return the learning curve over epochs and, of shares of the passages, over these."""
    result = training.result
    if not result:
        return []
    charts = [_draw_epochs(result)]
    if training.table == TablePlan.LEARNING_CURVE:
        charts.insert(0, _draw_shares(result))
    return [chart for chart in charts if not chart.is_empty]


def _tabulate_overall(training: Training, result: Mapping[str, Any]) -> Table:
    is_plan = training.table in (TablePlan.ABLATIONS, TablePlan.LEARNING_CURVE)
    columns = [
        Column("metric", "Metric"),
        *([Column("n_train", "Answers of training", "count")] if is_plan else []),
        *(Column(name, f"Pearson, {words.lower()}", "estimate") for name, words in SPLITS.items()),
    ]
    sizes = {each["label"]: each["n_train"] for each in result["variants"]}
    names = _list_metrics(training, result)
    rows: list[list[Value]] = []
    for name in names:
        size: list[Value] = [sizes.get(name)] if is_plan else []
        cells = [_read(result["splits"].get(split, {}).get("whole"), name) for split in SPLITS]
        rows.append([_title(name), *size, *cells])
    counts: list[Value] = [_count(result["splits"].get(split, {}).get("whole")) for split in SPLITS]
    foot: list[list[Value]] = [["Answers", *([None] if is_plan else []), *counts]]
    return _make(training, "overall", "Correlation with human scores", columns, rows, foot=foot)


def _tabulate_datasets(
    training: Training, found: Mapping[str, Any], metrics: Sequence[str], split: str, words: str
) -> Table:
    parts = found["datasets"]
    columns = [
        Column("metric", "Metric"),
        *(Column(f"part-{place}", part["names"][0], "estimate") for place, part in enumerate(parts)),
        Column("mean", "Mean of the datasets", "estimate"),
    ]
    rows: list[list[Value]] = [
        [
            _title(name),
            *(_read(part, name) for part in parts),
            read_value(found["means"][name]) if name in found["means"] else None,
        ]
        for name in metrics
    ]
    foot: list[list[Value]] = [["Answers", *(f"{part['n']:,}" for part in parts), None]]
    title = f"Correlation by dataset, {words.lower()}"
    return _make(training, f"datasets-{split}", title, columns, rows, foot=foot, mean=True)


def _tabulate_sources(
    training: Training, found: Mapping[str, Any], metrics: Sequence[str], split: str, words: str
) -> Table:
    columns = [
        Column("dataset", "Dataset"),
        Column("source", "Source"),
        Column("n", "Answers", "count"),
        *(Column(f"metric-{place}", _title(name), "estimate") for place, name in enumerate(metrics)),
    ]
    rows: list[list[Value]] = [
        [*(name or "unspecified" for name in part["names"]), part["n"], *(_read(part, name) for name in metrics)]
        for part in found["sources"]
    ]
    return _make(
        training, f"sources-{split}", f"Correlation by dataset and source, {words.lower()}", columns, rows, n_keys=2
    )


def _tabulate_runs(training: Training, result: Mapping[str, Any]) -> Table:
    """Return every rate with every seed: the epoch that counts, and its correlation on dev."""
    columns = [
        Column("training", "Training"),
        Column("rate", "Learning rate"),
        Column("seed", "Seed"),
        Column("epoch", "Epoch", "count"),
        Column("loss", "Loss", "number"),
        Column("dev", "Pearson, dev", "number"),
        Column("test", "Pearson, test", "number"),
        Column("chosen", "Chosen"),
    ]
    rows: list[list[Value]] = []
    for variant in result["variants"]:
        for run in variant["runs"]:
            is_rate = run["rate"] == variant["rate"]
            own = variant["seeds"][str(run["seed"])] if is_rate else {}
            score = run["scores"][run["best"]]
            chosen = "model" if is_rate and run["seed"] == variant["seed"] else "rate" if is_rate else ""
            rows.append([
                variant["label"], f"{run['rate']:g}", str(run["seed"]), run["best"] + 1, run["losses"][run["best"]],
                Missing("all scores are equal") if score is None else score, own.get("test"), chosen,
            ])  # fmt: skip
    return _make(training, "runs", "Runs", columns, rows, n_keys=3)


def _draw_shares(result: Mapping[str, Any]) -> Chart:
    rows = []
    for variant in result["variants"]:
        value = read_value(variant["test"]["metrics"][METRIC])
        if isinstance(value, Estimate):
            rows.append({
                "share": f"{100 * variant['share']:g} %", "answers": variant["n_train"], "value": value.value,
                "low": value.low, "high": value.high,
            })  # fmt: skip
    domain = specs.widen((row[name] for row in rows for name in ("value", "low", "high")), highest=1.0)
    spec = specs.line(
        "share", "value", "low", "high", title="Pearson's r on test", axis="Share of the passages", domain=domain
    )
    return Chart("shares", "Correlation by share of the passages of training", rows, spec)


def _draw_epochs(result: Mapping[str, Any]) -> Chart:
    """Return the correlation on dev after each epoch, of the chosen rate of each training, averaged over its seeds."""
    rows = []
    for variant in result["variants"]:
        own = [run["scores"] for run in variant["runs"] if run["rate"] == variant["rate"]]
        for epoch, scores in enumerate(zip(*own, strict=True), start=1):
            known = [score for score in scores if score is not None]
            if known:
                rows.append({"epoch": epoch, "value": sum(known) / len(known), "training": variant["label"]})
    values = [float(row["value"]) for row in rows] or [0.0]
    domain = (min(0.0, *values), max(1.0, *values))
    last = max((row["epoch"] for row in rows), default=1)
    spec = specs.lines("epoch", "value", "training", title="Pearson's r on dev", axis="Epoch", domain=domain, last=last)
    return Chart("epochs", "Correlation on dev after each epoch, mean of the seeds", rows, spec)


def _make(
    training: Training,
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    *,
    foot: Sequence[Sequence[Value]] = (),
    n_keys: int = 1,
    mean: bool = False,
) -> Table:
    result, names = training.result or {}, name_criteria(training.project)
    method = "95 % intervals by the jackknife with Student's t over passages"
    of_means = "; of means by a percentile bootstrap of passages" if mean else ""
    beside = "" if name == "runs" else " and word-overlap metrics"
    caption = (
        f"{title}: {training.metric}{beside} (judgment set {result['set']['number']}, criterion "
        f"{names.get(training.criterion, training.criterion)}; {method}{of_means})."
    )
    notes = [_ON_DEV, f"Encoder: {result['encoder']['name']}. Word-overlap metrics use the same single reference."]
    return Table(
        name, title, columns, rows, caption, foot=foot, n_keys=n_keys, notes=notes,
        label=f"training-{training.number}-{name}",
    )  # fmt: skip


def _list_metrics(training: Training, result: Mapping[str, Any]) -> list[str]:
    """Return the names of the metrics: the trained ones in their order, then those of words."""
    # A stored object forgets the order of its keys.
    is_ood = training.table == TablePlan.OOD
    return [*([HELD_OUT] if is_ood else [each["label"] for each in result["variants"]]), *WORD_METRICS]


def _title(name: str) -> str:
    return METRICS[name].title if name in METRICS and name in WORD_METRICS else name


def _read(part: Mapping[str, Any] | None, name: str) -> Value:
    return read_value(part["metrics"][name]) if part and name in part["metrics"] else _NONE


def _count(part: Mapping[str, Any] | None) -> Value:
    return f"{part['n']:,}" if part else "0"
