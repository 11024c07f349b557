"""The overview of a project, and the chart of its progress."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.models.quality import count_alerts
from annotate.prolific.tending import list_failing
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.database.snapshots import snapshot
from projects.models import Project
from results.overview.overview import make_overview
from results.overview.progress_chart import draw_progress, progress_by_day


@requires(Right.READ)
@require_safe
@snapshot()
def project_overview(request: ProjectRequest, project: Project) -> HttpResponse:
    days = progress_by_day(project)
    context = {
        "overview": make_overview(project, can_manage=request.membership.can_manage),
        "alerts": count_alerts(project) if request.membership.can_manage else None,
        "failing_studies": list_failing(project) if request.membership.can_manage else [],
        "days": days,
        "progress_chart": draw_progress(days),
    }
    return render(request, "results/overview/overview.html", context)


@requires(Right.READ)
@require_safe
def overview_chart(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    return answer_chart(project, [draw_progress(progress_by_day(project))], name, form)
