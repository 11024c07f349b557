"""Pages of the guides."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from projects.access import SignedInRequest, may_read_projects, public, reads_projects
from projects.guides.guides import ANNOTATORS, GUIDES, read_guide


@public
@require_safe
def annotators_guide(request: HttpRequest) -> HttpResponse:
    return _show(request, ANNOTATORS, has_others=may_read_projects(request.user))


@reads_projects
@require_safe
def guide(request: SignedInRequest, name: str) -> HttpResponse:
    return _show(request, name, has_others=True)


def _show(request: HttpRequest, name: str, *, has_others: bool) -> HttpResponse:
    try:
        found = read_guide(name)
    except LookupError as unknown:
        raise Http404("There is no such guide.") from unknown
    context = {"guide": found, "guides": [read_guide(each) for each in GUIDES] if has_others else []}
    return render(request, "projects/guides/show.html", context)
