"""Charts as downloads."""

from collections.abc import Iterable

from django.http import Http404, HttpResponse

from projects.charts.drawing import FORMS, Chart, write
from projects.downloads import SANDBOX, download_headers
from projects.models import Project


def answer_chart(project: Project, charts: Iterable[Chart], name: str, form: str) -> HttpResponse:
    """Return the chart of this name as a file. Raises Http404 for an unknown name or format."""
    chart = next((each for each in charts if each.name == name), None)
    if chart is None or form not in FORMS:
        raise Http404("This chart does not exist.")
    return HttpResponse(
        write(chart, form),
        content_type=FORMS[form],
        # An SVG opened by itself is a document, and its colours are in inline styles.
        headers=download_headers(f"{project.slug}-{name}.{form}", policy=f"{SANDBOX}; style-src 'unsafe-inline'"),
    )
