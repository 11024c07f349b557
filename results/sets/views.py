"""Judgment sets: the list, a new one with its preview, one with its figures and files, and its downloads."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Max
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.frames.criteria_in_use import name_criteria
from annotate.frames.kept import keep
from annotate.reviews.adjudication import uses_adjudication
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.models import Project
from projects.tables.responses import answer_table
from projects.web.lists import paginate
from projects.web.previews import OTHER_NUMBERS, Preview
from projects.web.refusals import refusals
from projects.web.typed_texts import read_typed
from results.models import JudgmentSet
from results.sets import depositing, downloads, freezing, readme, retiring
from results.sets.agreement_table import tabulate_set_agreement
from results.sets.agreement_text import list_warnings
from results.sets.forms import ReplacementForm, RetireForm, SetForm
from results.sets.readme import CHANGED
from results.sets.selecting import Selection, preview
from results.sets.settings import CRITERIA, Settings, reword_choice
from results.studies.freshness import find_outdated

OTHER_SET = (
    "Another set was requested since the preview, or the rule on adjudicated scores changed, so nothing was done. "
    "Check the new preview, then confirm it."
)


@requires(Right.READ)
@require_safe
@snapshot()
def set_list(request: ProjectRequest, project: Project) -> HttpResponse:
    sets = project.judgment_sets.select_related("requested_by__user", "successor").defer("files")
    page = paginate(request, sets)
    context = {
        "page": page,
        "can_manage": request.membership.can_manage,
        "taken_out": retiring.find_taken_out(project),
        "criteria": name_criteria(project),
    }
    return render(request, "results/sets/list.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def set_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Select and preview by GET; freeze by POST."""
    form = SetForm(project, request.POST if request.method == "POST" else request.GET or None)
    # Without a batch there is nothing to freeze, and the page says what to do first.
    if not form.criteria_in_use:
        return render(request, "results/sets/new.html", {"form": form})
    if form.is_bound and not form.is_valid():
        context = {"form": form, "name": (request.POST or request.GET).get("name", "")}
        return render(request, "results/sets/new.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    refusal = ""
    if request.method == "POST":
        try:
            name = read_typed(request.POST.get("name", ""))
            with transaction.atomic():
                judgment_set = freezing.request_set(
                    project=project, actor=request.membership, name=name, settings=form.settings()
                )
                # The numbering is locked by now: of one form sent twice at once, the second sees the set of the first.
                _make_preview(project, form, requested=judgment_set).require_confirmed(request)
        except Refused as refused:
            refusal = refused.message
            if refusal == OTHER_NUMBERS:
                if same := _find_same(judgment_set):
                    return redirect(same)
                refusal = OTHER_SET
        else:
            return redirect(judgment_set)
    return _preview(request, project, form, refusal)


@requires(Right.READ)
@never_cache
@require_safe
def set_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    judgment_set = _fetch(project, number)
    settings, criteria = Settings.from_dict(judgment_set.settings), name_criteria(project)
    context = {
        **_progress(judgment_set, can_manage=request.membership.can_manage),
        "criteria": criteria,
        "chosen": settings.list_choices(criteria),
        "reference": depositing.read_reference(judgment_set) if judgment_set.is_frozen else None,
        "files": [(file, readme.describe_file(file.name)) for file in freezing.find_files(judgment_set)],
        "agreement": tabulate_set_agreement(judgment_set, criteria) if judgment_set.is_frozen else None,
        "interval_warnings": list_warnings(judgment_set.facts.get("criteria", []), criteria),
        "left_out": sorted(judgment_set.facts.get("left_out", {}).items()),
        "changed": _list_changes(judgment_set),
        "changed_settings": _list_changed_settings(judgment_set, criteria),
        "is_taken_out": judgment_set.pk in retiring.find_taken_out(project),
        "taken_out_reason": retiring.TAKEN_OUT,
        "retirement": _make_retirement_form(judgment_set) if request.membership.can_manage else None,
        "predecessors": judgment_set.predecessors.order_by("number"),
        "can_manage": request.membership.can_manage,
    }
    return render(request, "results/sets/show.html", context)


@requires(Right.READ)
@never_cache
@require_safe
def set_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _progress(_fetch(project, number), can_manage=request.membership.can_manage))


@requires(Right.MANAGE)
@require_POST
def set_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    judgment_set = _fetch(project, number)
    cancel_job(request, judgment_set)
    return redirect(judgment_set)


@requires(Right.MANAGE)
@require_POST
def set_again(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    judgment_set = _fetch(project, number)
    with refusals(request):
        freezing.start_again(judgment_set=judgment_set)
    return redirect(judgment_set)


@requires(Right.MANAGE)
@require_POST
def set_retire(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    judgment_set = _fetch(project, number)
    with refusals(request):
        retiring.retire(
            judgment_set=judgment_set,
            actor=request.membership,
            why=read_typed(request.POST.get("why", "")),
            replacement=RetireForm(judgment_set, request.POST).read_replacement(),
        )
    return redirect(judgment_set)


@requires(Right.MANAGE)
@require_POST
def set_doi(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    judgment_set = _fetch(project, number)
    with refusals(request):
        depositing.set_doi(judgment_set=judgment_set, actor=request.membership, doi=request.POST.get("doi", ""))
    return redirect(f"{judgment_set.get_absolute_url()}#citation")


@requires(Right.MANAGE)
@require_POST
def set_succeed(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Choose the replacement of a retired set, or freeze one: the present judgments with the same settings."""
    judgment_set = _fetch(project, number)
    with refusals(request):
        if "replacement" in request.POST:
            chosen = ReplacementForm(judgment_set, request.POST).read_replacement()
            assert chosen is not None, "The field is required."
            retiring.choose_replacement(judgment_set=judgment_set, actor=request.membership, replacement=chosen)
            return redirect(judgment_set)
        successor = retiring.request_successor(judgment_set=judgment_set, actor=request.membership)
        if left_out := retiring.explain_left_out(judgment_set, successor):
            messages.warning(request, left_out)
        return redirect(successor)
    return redirect(judgment_set)


@requires(Right.READ)
@require_safe
def set_archive(request: ProjectRequest, project: Project, number: int) -> HttpResponseBase:
    return downloads.stream_archive(project, number, is_head=request.method == "HEAD")


@requires(Right.READ)
@require_safe
def set_table(request: ProjectRequest, project: Project, number: int, name: str, form: str) -> HttpResponse:
    judgment_set = _fetch(project, number)
    criteria = name_criteria(project)
    found = [tabulate_set_agreement(judgment_set, criteria)] if judgment_set.is_frozen else []
    return answer_table(project, found, name, form, stem=f"set-{number}")


@requires(Right.READ)
@require_safe
def set_file(request: ProjectRequest, project: Project, number: int, name: str) -> HttpResponseBase:
    return downloads.stream_file(
        project, number, name, is_head=request.method == "HEAD", asked_range=request.headers.get("Range")
    )


def _make_retirement_form(judgment_set: JudgmentSet) -> ReplacementForm | None:
    """Return the form that retires a frozen set or, if it is retired, names its replacement."""
    if not judgment_set.is_frozen:
        return None
    return ReplacementForm(judgment_set) if judgment_set.retired_at else RetireForm(judgment_set)


def _fetch(project: Project, number: int) -> JudgmentSet:
    sets = project.judgment_sets.select_related("project", "requested_by__user", "successor", "retired_by__user")
    return get_object_or_404(sets, number=number)


def _preview(request: ProjectRequest, project: Project, form: SetForm, refusal: str) -> HttpResponse:
    settings = form.settings()
    selection = Selection(project, settings)
    counts = keep(project, "set preview", selection.parameters(), partial(preview, selection))
    studies = [study for study in form.offered_studies if study.number in settings.studies]
    context = {
        "form": form,
        "counts": counts,
        "criteria": (criteria := name_criteria(project)),
        "chosen": settings.list_choices(criteria),
        "settings": settings,
        "studies": studies,
        "outdated": find_outdated(project, studies),
        "refusal": refusal,
        "preview": _make_preview(project, form),
        "name": (request.POST or request.GET).get("name", ""),
        "name_length": freezing.NAME_LENGTH,
        "newest": project.judgment_sets.frozen().first(),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if refusal else HTTPStatus.OK
    return render(request, "results/sets/new.html", context, status=status)


def _find_same(refused: JudgmentSet) -> JudgmentSet | None:
    """Return the set that the same person has requested with the same form before; what was refused is not stored."""
    sets = refused.project.judgment_sets.filter(requested_by=refused.requested_by, name=refused.name)
    return sets.filter(settings=refused.settings).order_by("-number").first()


def _make_preview(project: Project, form: SetForm, *, requested: JudgmentSet | None = None) -> Preview:
    """Seal the settings, and which set was the newest before the `requested` one: a form that is sent twice is one set.

    No counts: a set includes the judgments of the moment it is frozen, and the page says so.
    """
    before = project.judgment_sets.exclude(pk=requested.pk) if requested is not None else project.judgment_sets.all()
    newest = before.aggregate(newest=Max("number"))["newest"]
    return Preview("set", project, form.settings(), [uses_adjudication(project), newest])


def _list_changed_settings(judgment_set: JudgmentSet, criteria: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the name of each changed setting with its values before and after; `criteria` are names by key."""
    changes = judgment_set.facts.get("changes") or {"settings": []}
    found = []
    for each in changes["settings"]:
        (name, before), (_, after) = (reword_choice(each["name"], each[side]) for side in ("before", "after"))
        if name == CRITERIA:
            before, after = (_name_keys(value, criteria) for value in (before, after))
        found.append((name, before, after))
    return found


def _name_keys(value: str, criteria: Mapping[str, str]) -> str:
    return ", ".join(criteria.get(key, key) for key in value.split(", "))


def _list_changes(judgment_set: JudgmentSet) -> list[tuple[str, int]]:
    """Return how many judgments differ from the previous set, by what happened to them."""
    changes = judgment_set.facts.get("changes")
    return [(words, changes["judgments"][key]) for key, words in CHANGED.items()] if changes else []


def _progress(judgment_set: JudgmentSet, *, can_manage: bool) -> dict[str, Any]:
    args = [judgment_set.project.slug, judgment_set.number]
    job = job_context(
        judgment_set,
        title="Freezing the judgment set",
        urls="results:set",
        args=args,
        counts="judgments",
        can_cancel=can_manage,
    )
    return {"set": judgment_set, **job}
