"""Charts as downloads."""

import logging
from collections.abc import Iterable
from http import HTTPStatus

from django.http import Http404, HttpResponse

from projects.charts.drawing import FORMS, Chart, write
from projects.charts.drawing_process import Undrawable
from projects.downloads import SANDBOX, download_headers
from projects.models import Project

logger = logging.getLogger(__name__)


def answer_chart(project: Project, charts: Iterable[Chart], name: str, form: str) -> HttpResponse:
    """Return the chart of this name as a file, or 503 if it could not be drawn.

    Raises Http404 for an unknown name or format.
    """
    chart = next((each for each in charts if each.name == name), None)
    if chart is None or form not in FORMS:
        raise Http404("This chart does not exist.")
    try:
        written = write(chart, form)
    except Undrawable:
        logger.exception("The chart “%s” could not be drawn as %s.", name, form)
        return HttpResponse(
            "This chart could not be drawn. Download its figures as CSV, or try again in a minute.",
            status=HTTPStatus.SERVICE_UNAVAILABLE,
            content_type="text/plain; charset=utf-8",
            headers={"Retry-After": "60"},
        )
    return HttpResponse(
        written,
        content_type=FORMS[form],
        # An SVG opened by itself is a document, and its colours are in inline styles.
        headers=download_headers(f"{project.slug}-{name}.{form}", policy=f"{SANDBOX}; style-src 'unsafe-inline'"),
    )
