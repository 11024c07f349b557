"""A project's own pages: making one, its settings, deleting it, its log."""

import re
from datetime import UTC
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateformat import format as date_format
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_http_methods, require_safe

from projects import founding
from projects.access import ProjectRequest, Right, SignedInRequest, creates_projects, requires
from projects.errors import Refused
from projects.forms.people import LogFilterForm
from projects.forms.projects import DeleteForm, NewProjectForm, SettingsForm
from projects.models import LogEntry, Project
from projects.revising import current_instructions
from projects.rubrics import current_rubric

ENTRIES_ON_A_PAGE = 50
NEWEST_ENTRIES = 5_000
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[\d.]+(Z|[+-]\d\d:\d\d)$")


@creates_projects
@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: SignedInRequest) -> HttpResponse:
    form = NewProjectForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            project = founding.create_project(owner=request.user, **form.cleaned_data)
        except Refused as refusal:
            form.add_error("slug", refusal.message)
        else:
            messages.success(request, "The project is made. Import data next.")
            return redirect(project)
    return render(request, "projects/project_new.html", {"form": form})


@requires(Right.READ)
@require_safe
def project_settings(request: ProjectRequest, project: Project) -> HttpResponse:
    context = {
        "rubric": current_rubric(project),
        "instructions": current_instructions(project),
        "fee_percent": SettingsForm.initial_of(project)["fee_percent"],
    }
    return render(request, "projects/settings_show.html", context)


@requires(Right.OWN)
@require_http_methods(["GET", "HEAD", "POST"])
def project_settings_edit(request: ProjectRequest, project: Project) -> HttpResponse:
    sent = request.POST if request.method == "POST" else None
    form = SettingsForm(sent, initial=SettingsForm.initial_of(project))
    if request.method == "POST" and form.is_valid():
        founding.change_settings(project=project, actor=request.membership, values=form.values())
        messages.success(request, "The settings are saved. Batches that were made before keep theirs.")
        return redirect("projects:project-settings", project.slug)
    return render(request, "projects/settings_edit.html", {"form": form})


@requires(Right.OWN)
@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: ProjectRequest, project: Project) -> HttpResponse:
    form = DeleteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            founding.delete_project(project=project, actor=request.membership, typed=form.cleaned_data["typed"])
        except Refused as refusal:
            form.add_error("typed", refusal.message)
        else:
            messages.success(request, f"{project.name} is deleted. Whoever runs the site can bring it back.")
            return redirect("annotate:desk")
    return render(request, "projects/project_delete.html", {"form": form})


@requires(Right.MANAGE)
@require_safe
def log_list(request: ProjectRequest, project: Project) -> HttpResponse:
    form = LogFilterForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    entries = project.log.select_related("actor")
    if act := wanted.get("act"):
        entries = entries.filter(act=act)
    if actor := wanted.get("actor"):
        entries = entries.filter(actor=None) if actor == "system" else entries.filter(actor__pseudonym=actor)
    page = Paginator(entries, ENTRIES_ON_A_PAGE).get_page(request.GET.get("page"))
    newest = project.log.order_by("-id").values_list("act", "actor__pseudonym")[:NEWEST_ENTRIES]
    seen = set(newest)
    context = {
        "page": page,
        "acts": sorted({act for act, _ in seen} | {wanted.get("act") or ""} - {""}),
        "actors": sorted({actor for _, actor in seen if actor}),
        "wanted": wanted,
        "lines": _lines(project, list(page)),
    }
    return render(request, "projects/log_list.html", context)


def _lines(project: Project, entries: list[LogEntry]) -> list[dict[str, Any]]:
    """Entries as the page shows them: members by their pseudonyms, values by name."""
    ids = [entry.object_id for entry in entries if entry.object_type == "membership"]
    members = {str(pk): name for pk, name in project.memberships.filter(pk__in=ids).values_list("pk", "pseudonym")}
    return [
        {
            "entry": entry,
            "member": members.get(entry.object_id) if entry.object_type == "membership" else None,
            "before": _pairs(entry.before),
            "after": _pairs(entry.after),
        }
        for entry in entries
    ]


def _pairs(values: Any, inside: str = "") -> list[tuple[str, str]]:
    """A stored value as names and words; of a value within another, what is empty is left out."""
    if isinstance(values, dict):
        held = {name: value for name, value in values.items() if not inside or value not in (None, False, [], {}, "")}
        return [pair for name, value in held.items() for pair in _pairs(value, f"{inside} {name}".replace("_", " "))]
    return [] if values is None and not inside else [(inside.strip(), _in_words(values))]


def _in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_in_words(each) for each in value) or "none"
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return _moment_in_words(str(value)) or str(value)


def _moment_in_words(text: str) -> str:
    """A stored moment as people write it; empty for a text that is none, or only looks like one."""
    try:
        moment = parse_datetime(text) if MOMENT.match(text) else None
        return date_format(moment.astimezone(UTC), "j M Y, H:i") + " UTC" if moment else ""
    except (ValueError, OverflowError):
        return ""
