"""Metric evaluations: the list, a new one, one with its tables and charts, two side by side, and downloads."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.frames.criteria_in_use import name_criteria
from projects.access import ProjectRequest, Right, requires
from projects.charts.responses import answer_chart
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.keyed_forms import find_newest
from projects.web.lists import paginate
from projects.web.refusals import refusals
from projects.web.typed_texts import read_typed
from projects.web.whole_numbers import ID_DIGITS, parse_whole_number
from results.models import Study
from results.scope.human_sources import keep_choice
from results.studies import causes, comparison, presentation, running
from results.studies.forms import StudyForm
from results.studies.freshness import find_outdated, is_outdated
from results.studies.kinds import KINDS


@requires(Right.READ)
@require_safe
def study_list(request: ProjectRequest, project: Project) -> HttpResponse:
    studies = project.studies.select_related("requested_by__user").defer("result")
    page = paginate(request, studies)
    context = {
        "page": page,
        "kinds": KINDS,
        "outdated": find_outdated(project, page),
        "criteria": name_criteria(project),
    }
    return render(request, "results/studies/list.html", context)


@requires(Right.READ)
@require_http_methods(["GET", "HEAD", "POST"])
def study_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Choose settings by GET; request the evaluation by POST."""
    # An unknown kind in the address shows the first one.
    kind = KINDS.get(request.GET.get("kind", ""), next(iter(KINDS.values())))
    form = StudyForm(project, kind, request.POST if request.method == "POST" else None)
    context = {"form": form, "kind": kind, "kinds": KINDS.values(), "newest": find_newest(project, Study)}
    if not form.is_bound:
        return render(request, "results/studies/new.html", context)
    if form.is_valid():
        with refusals(request, form):
            studies = running.request_each(
                project=project,
                actor=request.membership,
                kind=kind.name,
                settings=form.list_settings(),
                seed=form.read_seed(),
                name=form.cleaned_data["name"],
                newest=request.POST.get("newest", ""),
            )
            if humans := form.cleaned_data.get("humans"):
                keep_choice(project=project, actor=request.membership, choice=humans)
            if len(studies) == 1:
                return redirect(studies[0])
            messages.success(request, f"Requested {len(studies)} evaluations, one for each split.")
            numbers = urlencode({"first": studies[0].number, "second": studies[1].number})
            return redirect(f"{reverse('results:study-compare', args=[project.slug])}?{numbers}")
    return render(request, "results/studies/new.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@requires(Right.READ)
@never_cache
@require_safe
def study_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    study = _fetch(project, number)
    chosen = request.GET.get("show", "")
    context = {
        **_progress(study),
        "kind": KINDS.get(study.kind),
        "choices": presentation.list_settings(study),
        "sections": presentation.group_sections(presentation.list_sections(study, with_texts=True), chosen),
        "left_out": presentation.list_left_out(study),
        "missing": presentation.list_missing(study),
        "metrics": [(metric, presentation.format_metric(metric)) for metric in (study.result or {}).get("metrics", [])],
        # Caveats depend on the figures: some hold only where something was undefined.
        "limits": presentation.list_caveats(study),
        "warnings": presentation.list_warnings(study),
        "compares_z_scores": presentation.compares_z_scores(study),
        "is_outdated": is_outdated(study),
        "others": project.studies.filter(kind=study.kind, state=Study.State.DONE).exclude(pk=study.pk).defer("result"),
        "may_delete": running.may_delete(study, request.membership),
    }
    return render(request, "results/studies/show.html", context)


@requires(Right.READ)
@never_cache
@require_safe
def study_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _progress(_fetch(project, number)))


@requires(Right.READ)
@require_POST
def study_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    study = _fetch(project, number)
    cancel_job(request, study)
    return redirect(study)


@requires(Right.READ)
@require_POST
def study_again(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    study = _fetch(project, number)
    with refusals(request):
        again = running.run_again(study=study, actor=request.membership)
        return redirect(again)
    return redirect(study)


@requires(Right.READ)
@require_POST
def study_delete(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    study = _fetch(project, number)
    with refusals(request):
        running.delete_study(study=study, actor=request.membership)
        messages.success(request, f"Metric evaluation {number} deleted.")
        return redirect("results:study-list", project.slug)
    return redirect(study)


@requires(Right.READ)
@require_POST
def study_cause(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Store the cause of an error of a metric."""
    study = _fetch(project, number)
    sent, section = request.POST, request.POST.get("section", "")
    candidate = parse_whole_number(sent.get("candidate", ""), most_digits=ID_DIGITS)
    # The section goes into the address that follows.
    if candidate is None or not section.isprintable():
        raise Http404("This candidate does not exist.")
    with refusals(request):
        causes.set_cause(
            study=study,
            actor=request.membership,
            candidate=candidate,
            compared=sent.get("compared", ""),
            cause=read_typed(sent.get("cause", "")),
        )
        messages.success(request, "Cause saved.")
    query = urlencode({"show": f"{section},{section.replace('errors', 'causes')}"})
    return redirect(f"{study.get_absolute_url()}?{query}#{section}-{candidate}")


@requires(Right.READ)
@require_safe
def study_compare(request: ProjectRequest, project: Project) -> HttpResponse:
    """Show two evaluations of one kind side by side, by their numbers in the address; without these, the list."""
    both = _fetch_both(request, project)
    if both is None:
        return redirect("results:study-list", project.slug)
    first, second = both
    context: dict[str, Any] = {"first": first, "second": second, "query": request.GET.urlencode()}
    if _can_compare(first, second):
        context["settings"] = comparison.compare_settings(first, second)
        context["compared"] = comparison.compare(first, second)
    return render(request, "results/studies/compare.html", context)


@requires(Right.READ)
@require_safe
def study_compare_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    both = _fetch_both(request, project)
    if both is None or not _can_compare(*both):
        raise Http404("Two finished evaluations of one type are needed.")
    stem = f"studies-{both[0].number}-{both[1].number}"
    tables = [section.table for section in comparison.compare(*both).sections]
    return answer_table(project, tables, name, form, stem=stem)


def _fetch_both(request: ProjectRequest, project: Project) -> tuple[Study, Study] | None:
    """Return the two evaluations of the address; None if it does not name two numbers."""
    first, second = (parse_whole_number(request.GET.get(name, "")) for name in ("first", "second"))
    if first is None or second is None:
        return None
    return _fetch(project, first), _fetch(project, second)


def _can_compare(first: Study, second: Study) -> bool:
    return bool(first.kind == second.kind and first.result and second.result)


@requires(Right.READ)
@require_safe
def study_chart(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    return answer_chart(project, presentation.list_charts(_fetch(project, number)), name, form)


@requires(Right.READ)
@require_safe
def study_table(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    tables = [section.table for section in presentation.list_sections(_fetch(project, number))]
    return answer_table(project, tables, name, form, stem=f"study-{number}")


def _fetch(project: Project, number: int) -> Study:
    return get_object_or_404(project.studies.select_related("project", "requested_by__user"), number=number)


def _progress(study: Study) -> dict[str, Any]:
    args = [study.project.slug, study.number]
    title = "Computing the metric evaluation"
    return {"study": study, **job_context(study, title=title, urls="results:study", args=args, counts="steps")}
