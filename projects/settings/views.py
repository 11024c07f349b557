"""Pages of creating a project, its settings and deleting it."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from projects.access import ProjectRequest, Right, SignedInRequest, creates_projects, requires, requires_second_factor
from projects.models import Project
from projects.rubric.rubrics import current_rubric
from projects.settings import lifecycle
from projects.settings.forms import SHOWN, DeleteForm, NewProjectForm, SettingsForm
from projects.texts import versions
from projects.texts.versions import current_consent, current_instructions
from projects.web.refusals import refusals

_NAMES_OF_SHOWN = {
    "shows_question_type": "question type",
    "shows_entities": "entities",
    "shows_reference_opinion": "opinion of the references",
    "shows_candidate_opinion": "opinion of the candidates",
}


@creates_projects
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: SignedInRequest) -> HttpResponse:
    form = NewProjectForm(request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form, field="slug"):
            project = form.create(request.user)
            messages.success(request, "Project created. Next, import data.")
            return redirect(project)
    return render(request, "projects/settings/project_new.html", {"form": form})


@requires(Right.READ)
@require_safe
def project_settings(request: ProjectRequest, project: Project) -> HttpResponse:
    context = {
        "rubric": current_rubric(project),
        "instructions": current_instructions(project),
        "consent": current_consent(project),
        "consents": versions.count_uses(project),
        "language": dict(settings.LANGUAGES).get(project.language, project.language),
        "shown": [_NAMES_OF_SHOWN[name] for name in SHOWN if getattr(project, name)],
        "second_factor_required": requires_second_factor(project),
        "fee_percent": SettingsForm.make_initial(project)["fee_percent"],
        "keep_days": settings.KEEP_DELETED_DAYS,
    }
    return render(request, "projects/settings/show.html", context)


@requires(Right.OWN)
@require_http_methods(["GET", "HEAD", "POST"])
def project_settings_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    sent = request.POST if request.method == "POST" else None
    form = SettingsForm(sent, initial=SettingsForm.make_initial(project))
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            lifecycle.change_settings(project=project, actor=request.membership, values=form.values())
            messages.success(request, "Settings saved. Existing batches keep their HIT size, time limit and pay.")
            return redirect("projects:project-settings", project.slug)
    return render(request, "projects/settings/edit.html", {"form": form})


@requires(Right.OWN)
@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: ProjectRequest, project: Project) -> HttpResponse:
    form = DeleteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form, field="typed"):
            lifecycle.delete_project(project=project, actor=request.membership, typed=form.cleaned_data["typed"])
            days = settings.KEEP_DELETED_DAYS
            until = f" for {days} day{'s' if days > 1 else ''}" if days else ""
            messages.success(request, f"{project.name} deleted. The site administrator can restore it{until}.")
            return redirect("annotate:desk")
    context = {"form": form, "keep_days": settings.KEEP_DELETED_DAYS}
    return render(request, "projects/settings/project_delete.html", context)
