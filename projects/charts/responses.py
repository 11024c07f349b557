"""Charts as downloads."""

from collections.abc import Iterable

from django.http import Http404, HttpResponse

from projects.charts.drawing import FORMS, Chart, write
from projects.models import Project


def answer_chart(project: Project, charts: Iterable[Chart], name: str, form: str) -> HttpResponse:
    """Return the chart of this name as a file. Raises Http404 for an unknown name or format."""
    chart = next((each for each in charts if each.name == name), None)
    if chart is None or form not in FORMS:
        raise Http404("This chart does not exist.")
    return HttpResponse(
        write(chart, form),
        content_type=FORMS[form],
        headers={
            "Content-Disposition": f'attachment; filename="{project.slug}-{name}.{form}"',
            "Cache-Control": "no-store",
            # An SVG opened by itself is a document that could run scripts; sandbox forbids that.
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
        },
    )
