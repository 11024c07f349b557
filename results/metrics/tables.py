"""Tables of automatic metrics: the scores of all metrics, and of one by dataset and by source."""

from collections.abc import Iterable, Mapping
from typing import Any

from projects.models import Project
from projects.tables.tables import Column, Missing, Table, Value
from results.metrics.listing import Listed
from results.models import MetricRun

Figures = Mapping[str, Any]
PARTS = (("dataset", "By dataset"), ("source", "By source"))


def tabulate_metrics(project: Project, listed: Iterable[Listed]) -> list[Table]:
    """Return the newest scores of each metric, for files; the page lists its jobs too."""
    columns = [
        Column("metric", "Metric"),
        Column("score", "Score", "number", 4),
        Column("scored", "Candidates scored", "count"),
        Column("refused", "Without score", "count"),
        Column("signature", "Signature"),
    ]
    rows: list[list[Value]] = []
    runs = [each.current for each in listed if each.current]
    for run in runs:
        summary = run.report.get("summary") or {}
        score = summary["score"] if summary.get("n") else Missing("no candidate has a score")
        rows.append([run.title, score, run.n_scored, run.n_refused, run.signature])
    most = max((run.n_scored for run in runs), default=0)
    caption = (
        f"Corpus scores of automatic metrics in {project.name.rstrip('. ')} (n = up to {most:,} candidates; for most "
        "metrics the mean of their scores)."
    )
    return [Table("metrics", "Metrics", columns, rows, caption)] if rows else []


def tabulate_run(run: MetricRun) -> list[Table]:
    """Return the scores of a run by dataset, by source and by bin; nothing where there are none."""
    summary = run.report.get("summary") or {}
    if not summary.get("n"):
        return []
    tables = [_tabulate_part(run, summary, kind, title) for kind, title in PARTS]
    return [*tables, *([_tabulate_bins(run, summary["histogram"])] if summary.get("histogram") else [])]


def _tabulate_part(run: MetricRun, summary: Figures, kind: str, title: str) -> Table:
    corpus = [Column("score", "Corpus", "number", 4, hint="metric-corpus")] if summary["is_corpus"] else []
    columns = [
        Column("name", "Name"),
        Column("n", "Candidates", "count"),
        *corpus,
        Column("mean", "Mean", "number", 4),
        Column("sd", "Std. dev.", "number", 4),
    ]
    rows = [_make_row(part, part["name"] or "unspecified", bool(corpus)) for part in summary["parts"][kind]]
    caption = f"{_name(run)} {title.lower()} (n = {summary['n']:,} candidates; standard deviations with n − 1)."
    foot = [_make_row(summary, "All", bool(corpus))]
    return Table(kind, title, columns, rows, caption, foot=foot, notes=[run.signature], label=f"metric-{run.pk}-{kind}")


def _make_row(part: Figures, name: str, is_corpus: bool) -> list[Value]:
    sd = Missing("one candidate") if part["sd"] is None else part["sd"]
    return [name, part["n"], *([part["score"]] if is_corpus else []), part["mean"], sd]


def _tabulate_bins(run: MetricRun, histogram: Figures) -> Table:
    edges, counts = histogram["edges"], histogram["counts"]
    n = sum(counts)
    columns = [
        Column("from", "From", "number"),
        Column("to", "To", "number"),
        Column("n", "Candidates", "count"),
        Column("share", "Share, in %", "number", 1),
    ]
    rows: list[list[Value]] = [
        [low, high, count, 100 * count / n] for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    caption = f"Candidates by score of {_name(run)} (n = {n:,} candidates; equal bins)."
    notes, label = [run.signature], f"metric-{run.pk}-bins"
    return Table("bins", "Candidates by score", columns, rows, caption, n_keys=2, notes=notes, label=label)


def _name(run: MetricRun) -> str:
    return run.title.rstrip(". ")
