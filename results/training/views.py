"""Trained metrics: the list, a new one, one with its cost, its card and its tables, and downloads."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.frames.criteria_in_use import name_criteria
from measures.neural.environment import is_installed
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.lists import paginate
from projects.web.refusals import refusals
from projects.web.whole_numbers import parse_whole_number
from results.models import Training
from results.training import requesting
from results.training.forms import TrainingForm
from results.training.presentation import describe_cost, list_parts, list_stats
from results.training.tables import list_charts, list_tables
from results.training.training_plan import TrainingPlan


@requires(Right.READ)
@require_safe
def training_list(request: ProjectRequest, project: Project) -> HttpResponse:
    trainings = project.trainings.select_related("judgment_set", "project").defer(
        "result", "estimate", "judgment_set__files", "judgment_set__facts"
    )
    context = {"page": paginate(request, trainings), "criteria": name_criteria(project)}
    return render(request, "results/training/list.html", context)


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def training_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Choose by GET, request the estimate by POST; open to researchers, as no judgment changes."""
    form = TrainingForm(project, request.POST if request.method == "POST" else None)
    context = {"form": form, "is_installed": is_installed()}
    if not form.is_bound:
        number = request.GET.get("set", "")
        if number:
            chosen = get_object_or_404(form.sets, number=parse_whole_number(number))
            form.fields["set"].initial = chosen.number
        return render(request, "results/training/new.html", context)
    if form.is_valid():
        with refusals(request, form):
            data = form.cleaned_data
            training = requesting.request_training(
                project=project,
                actor=request.membership,
                judgment_set=data["set"],
                criterion=data["criterion"],
                name=data["name"],
                plan=form.plan(),
                table=data["table"],
            )
            return redirect(training)
    return render(request, "results/training/new.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@requires(Right.READ)
@never_cache
@require_safe
def training_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    training = _fetch(project, number)
    context = {
        **_progress(training),
        "choices": TrainingPlan.from_dict(training.settings).list_choices(),
        "cost": describe_cost(training),
        "parts": list_parts(training),
        "stats": list_stats(training),
        "tables": list_tables(training),
        "charts": list_charts(training),
        "criteria": name_criteria(project),
        "may_delete": requesting.may_delete(training, request.membership),
    }
    return render(request, "results/training/show.html", context)


@requires(Right.READ)
@never_cache
@require_safe
def training_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _progress(_fetch(project, number)))


@requires(Right.READ)
@require_POST
def training_start(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    training = _fetch(project, number)
    with refusals(request):
        requesting.start(training=training)
    return redirect(training)


@requires(Right.READ)
@require_POST
def training_again(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Go on with a training that did not end, from its last checkpoint."""
    training = _fetch(project, number)
    with refusals(request):
        requesting.go_on(training=training)
    return redirect(training)


@requires(Right.READ)
@require_POST
def training_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    training = _fetch(project, number)
    cancel_job(request, training)
    return redirect(training)


@requires(Right.READ)
@require_POST
def training_delete(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    training = _fetch(project, number)
    with refusals(request):
        requesting.delete_training(training=training, actor=request.membership)
        messages.success(request, f"Training {number} deleted.")
        return redirect("results:training-list", project.slug)
    return redirect(training)


@requires(Right.READ)
@require_safe
def training_table(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    return answer_table(project, list_tables(_fetch(project, number)), name, form, stem=f"training-{number}")


@requires(Right.READ)
@require_safe
def training_chart(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    return answer_chart(project, list_charts(_fetch(project, number)), name, form)


def _fetch(project: Project, number: int) -> Training:
    rows = project.trainings.select_related("project", "judgment_set", "requested_by__user")
    return get_object_or_404(rows, number=number)


def _progress(training: Training) -> dict[str, Any]:
    is_estimate = training.step == Training.Step.ESTIMATE
    job = job_context(
        training,
        title="Measuring the cost of the training" if is_estimate else "Training the metric",
        urls="results:training",
        args=[training.project.slug, training.number],
        counts="steps" if is_estimate else "rows",
    )
    return {"training": training, **job}
