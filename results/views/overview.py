"""The overview of a project."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.checking.alerts import alerts_of
from projects.access import ProjectRequest, Right, requires
from projects.models import Project
from projects.snapshots import snapshot
from results.overview import make_overview


@requires(Right.READ)
@require_safe
@snapshot()
def project_overview(request: ProjectRequest, project: Project) -> HttpResponse:
    overview = make_overview(project, can_manage=request.membership.can_manage)
    alerts = alerts_of(project) if request.membership.can_manage else None
    return render(request, "results/project_overview.html", {"overview": overview, "alerts": alerts})
