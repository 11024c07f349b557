"""Celery tasks of results: reports, judgment sets, metrics, metric evaluations and trained metrics."""

from celery import shared_task

from projects.jobs import running
from results.learned import checkpoints
from results.metrics import chunks, computing
from results.models import JudgmentSet, MetricChunk, MetricRun, Report, ScoreFile, Study, Training
from results.reports import reports
from results.score_import import importing
from results.sets import freezing, retiring
from results.studies import running as studying
from results.training import computing as training_metrics
from results.training import files as training_files


# The broker carries ids alone: what is to be done, and how it ended, is in the row.
@shared_task(name=Report.task, ignore_result=True)
def make_report(pk: int) -> None:
    running.run(Report, pk, reports.make, only_reads=True)


@shared_task(name="results.forget_old_reports", ignore_result=True)
def forget_old_reports() -> None:
    reports.forget_old()


@shared_task(name=JudgmentSet.task, ignore_result=True)
def freeze(pk: int) -> None:
    freezing.run(pk)


@shared_task(name="results.retire_sets", ignore_result=True)
def retire_sets() -> None:
    retiring.retire_taken_out()


@shared_task(name="results.tidy_sets", ignore_result=True)
def tidy_sets() -> None:
    freezing.delete_files()


@shared_task(name=MetricRun.task, ignore_result=True)
def run_metric(pk: int) -> None:
    computing.run(pk)


@shared_task(name=MetricChunk.task, ignore_result=True)
def score_chunk(pk: int) -> None:
    chunks.take_chunks(pk)


@shared_task(name=ScoreFile.task, ignore_result=True)
def read_scores(pk: int) -> None:
    importing.run(pk)


@shared_task(name="results.tidy_score_files", ignore_result=True)
def tidy_score_files() -> None:
    importing.FILES.delete_orphans()
    checkpoints.delete_orphans()
    chunks.delete_orphans()


@shared_task(name=Study.task, ignore_result=True)
def run_study(pk: int) -> None:
    running.run(Study, pk, studying.run, only_reads=True)


@shared_task(name=Training.task, ignore_result=True)
def train_metric(pk: int) -> None:
    training_metrics.run(pk)


@shared_task(name="results.tidy_trainings", ignore_result=True)
def tidy_trainings() -> None:
    training_files.delete_orphans()
