"""Tables as downloads."""

from collections.abc import Iterable

from django.http import Http404, HttpResponse

from projects.downloads import download_headers
from projects.models import Project
from projects.tables.tables import Table
from projects.tables.writing import FORMS, write


def answer_table(project: Project, tables: Iterable[Table], name: str, form: str, *, stem: str = "") -> HttpResponse:
    """Return the table of this name as a file. Raises Http404 for an unknown name or format."""
    table = next((each for each in tables if each.name == name), None)
    if table is None or form not in FORMS:
        raise Http404("This table does not exist.")
    file_name = "-".join(filter(None, [project.slug, stem, name]))
    return HttpResponse(write(table, form), content_type=FORMS[form], headers=download_headers(f"{file_name}.{form}"))
