"""The part of a page that shows a job: its context, the fragment with the progress, and cancelling."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.queue import Job

J = TypeVar("J", bound=Job)
REFRESH_SECONDS = 3
"""Seconds after which a page without JavaScript reloads while its job is live."""


def job_context(
    job: Job, *, title: str, urls: str, args: Sequence[object], counts: str = "", can_cancel: bool = True
) -> dict[str, Any]:
    """Return the context of `projects/jobs/_job.html`, with the reason why a waiting job waits.

    `urls` is the part that the names of its two routes share: `results:study` for `results:study-job` and
    `results:study-cancel`. `counts` names what the job counts ("judgments"); without it the job's message is shown.
    """
    if job.is_live:
        job.message = queue.explain_wait(job) or _describe_progress(job, counts)
    return {
        "job": job,
        "job_title": title,
        "job_url": reverse(f"{urls}-job", args=args),
        "job_cancel_url": reverse(f"{urls}-cancel", args=args) if can_cancel and not job.is_cancelling else "",
        "refresh_seconds": REFRESH_SECONDS if job.is_live else None,
    }


def job_fragment(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Render the progress alone, for a page that polls; once the job has finished, htmx reloads the whole page."""
    response = render(request, "projects/jobs/_job.html", context)
    if not context["job"].is_live:
        # The page around the fragment shows the result, so it is loaded again as a whole.
        response["HX-Refresh"] = "true"
    return response


def cancel_job(
    request: HttpRequest, job: J, *, stop: Callable[[J], bool] = queue.cancel, done: str = "Cancelled."
) -> bool:
    """Stop a job and tell the reader; return False if it had already finished, else True, even if it stops later."""
    try:
        has_stopped = stop(job)
    except Refused as refusal:
        messages.error(request, refusal.message)
        return False
    messages.success(request, done if has_stopped else "Cancelling. Nothing will be stored.")
    return True


def _describe_progress(job: Job, counts: str) -> str:
    text = (counts or job.message) if job.total else ""
    if job.is_cancelling:
        return f"{text}, stopping" if text else "stopping"
    return text or "starting"
