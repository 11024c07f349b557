"""Errands of results: reports."""

from celery import shared_task

from projects import running
from results import reporting
from results.models import Report


@shared_task(name=Report.task, ignore_result=True)
def make_report(pk: int) -> None:
    running.run(Report, pk, reporting.make, only_reads=True)


@shared_task(name="results.forget_old_reports", ignore_result=True)
def forget_old_reports() -> None:
    reporting.forget_old()
