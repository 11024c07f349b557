"""Pages of the rubric and of new versions."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from measures.rubric_presets import PRESETS
from projects.access import ProjectRequest, Right, requires
from projects.models import Project, Rubric
from projects.rubric import rubrics, versions
from projects.rubric.forms import MOST_CRITERIA, BaseCriterionFormSet, CriterionForm, CriterionFormSet, RubricForm
from projects.web.forms import add_row, count_wrong_fields
from projects.web.refusals import refusals


@requires(Right.READ)
@require_safe
def rubric_show(request: ProjectRequest, project: Project, version: int | None = None) -> HttpResponse:
    current = rubrics.current_rubric(project)
    rubric = current if version is None else get_object_or_404(project.rubrics, version=version)
    context = {
        "rubric": rubric,
        "current": current,
        "criteria": rubrics.read_criteria(rubric) if rubric is not None else (),
        "stored": {criterion.key: criterion for criterion in rubric.criteria.all()} if rubric is not None else {},
        "versions": project.rubrics.order_by("-version"),
        "presets": PRESETS.values(),
    }
    return render(request, "projects/rubric/show.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def rubric_new(request: ProjectRequest, project: Project) -> HttpResponse:
    current = rubrics.current_rubric(project)
    if request.method != "POST":
        form, criteria = _start_from(current)
        return _rubric_form(request, form, criteria)
    form, criteria = RubricForm(request.POST), CriterionFormSet(request.POST, prefix="criteria")
    if "add" in request.POST:
        return _rubric_form(request, form, _with_one_more(request.POST), was_sent=False)
    if form.is_valid() and criteria.is_valid():
        kept = criteria.kept()
        with refusals(request, form):
            rubric = versions.revise_rubric(
                project=project,
                actor=request.membership,
                name=form.cleaned_data["name"],
                criteria=[one.spec() for one in kept],
                based_on=form.cleaned_data["based_on"],
                not_for_quality=[one.cleaned_data["key"] for one in kept if not one.cleaned_data["used_for_quality"]],
            )
            messages.success(
                request,
                f"Version {rubric.version} saved. New batches will use it.",
            )
            return redirect("projects:rubric-show", project.slug)
        # The page shows the reason, so that sending it again replaces the current version.
        form.data = {**form.cleaned_data, "based_on": _find_version(current)}
    return _rubric_form(request, form, criteria)


@requires(Right.MANAGE)
@require_POST
def rubric_preset(request: ProjectRequest, project: Project) -> HttpResponse:
    with refusals(request):
        rubric = versions.revise_to_preset(
            project=project, actor=request.membership, preset=request.POST.get("preset", "")
        )
        messages.success(
            request,
            f"{rubric.name} saved as version {rubric.version}. New batches will use it.",
        )
    return redirect("projects:rubric-show", project.slug)


def _start_from(current: Rubric | None) -> tuple[RubricForm, BaseCriterionFormSet]:
    initial = [CriterionForm.make_initial(criterion) for criterion in current.criteria.all()] if current else []
    form = RubricForm(initial={"based_on": _find_version(current)})
    return form, CriterionFormSet(prefix="criteria", initial=initial)


def _find_version(current: Rubric | None) -> int:
    """Return the number that a form is based on; 0 without a version."""
    return current.version if current is not None else 0


def _with_one_more(sent: QueryDict) -> BaseCriterionFormSet:
    """Return the criteria as sent, with an empty one at the end; everything typed is kept."""
    n = CriterionFormSet(sent, prefix="criteria").total_form_count()
    return CriterionFormSet(add_row(sent, "criteria", CriterionForm, n=n, most=MOST_CRITERIA), prefix="criteria")


def _rubric_form(
    request: ProjectRequest, form: RubricForm, criteria: BaseCriterionFormSet, *, was_sent: bool = True
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "criteria": criteria, "presets": PRESETS.values()}
    context["is_first"] = rubrics.current_rubric(request.project) is None
    context["n_errors"] = count_wrong_fields(form, criteria) if was_sent else 0
    return render(request, "projects/rubric/new.html", context)
