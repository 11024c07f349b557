"""Pages of overlap plans: the list, a new one, its rules, its cost, and its start."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.batches import trials
from annotate.batches.progress import fetch_progress
from annotate.models import Batch, OverlapPlan
from annotate.planning.forms import CollectionForm, PlanForm, StartForm
from annotate.planning.hit_presentation import Presentation, read_presentation
from annotate.planning.overlap import MOCHA, Rule, are_by_type, read_rules
from annotate.planning.plans import (
    PricedPlan,
    Started,
    TrialUse,
    change_plan,
    create_plan,
    find_trial_use,
    price_plan,
    start_plan,
)
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.language.amounts import format_number, plural
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.keyed_forms import find_made_before, find_newest
from projects.web.lists import TALL_PAGE_SIZE, paginate, read_word
from projects.web.previews import Preview
from projects.web.refusals import refusals


@requires(Right.READ)
@require_safe
@snapshot()
def plan_list(request: ProjectRequest, project: Project) -> HttpResponse:
    plans = OverlapPlan.objects.filter(project=project).order_by("-number").prefetch_related("batches")
    context = {
        "page": paginate(request, plans, TALL_PAGE_SIZE),
        "can_manage": request.membership.can_manage,
        "has_candidates": project.datasets.exists(),
    }
    return render(request, "annotate/planning/list.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def plan_new(request: ProjectRequest, project: Project) -> HttpResponse:
    preset = MOCHA if request.GET.get("preset") == "mocha" else ()
    form = PlanForm(project, request.POST or None, rules=preset, by_type=_is_by_type(request))
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            with transaction.atomic():
                plan = create_plan(
                    project=project, actor=request.membership, name=form.cleaned_data["name"], rules=form.rules()
                )
                newest = request.POST.get("newest", "")
                if before := find_made_before(plan, newest=newest, alike=["name", "rules", "created_by"]):
                    transaction.set_rollback(True)
                    plan = before
            return redirect("annotate:plan-show", project.slug, plan.number)
    return _render_form(request, project, form)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def plan_edit(request: ProjectRequest, project: Project, plan_number: int) -> HttpResponse:
    plan = _fetch_plan(project, plan_number)
    preset = MOCHA if request.GET.get("preset") == "mocha" else read_rules(plan.rules)
    by_type = _is_by_type(request, default=are_by_type(preset))
    form = PlanForm(project, request.POST or None, rules=preset, by_type=by_type, initial={"name": plan.name})
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            change_plan(plan=plan, actor=request.membership, name=form.cleaned_data["name"], rules=form.rules())
            messages.success(request, "Plan saved. Batches created earlier don’t change.")
            return redirect("annotate:plan-show", project.slug, plan.number)
    return _render_form(request, project, form, plan)


@requires(Right.READ)
@require_safe
@snapshot()
def plan_show(request: ProjectRequest, project: Project, plan_number: int) -> HttpResponse:
    plan = _fetch_plan(project, plan_number)
    requested = read_word(request, "use_of_trial", Batch.UseOfTrial.values)
    use = find_trial_use(plan, project, requested)
    batches = list(plan.batches.order_by("number"))
    closed = list(Batch.objects.filter(project=project, kind=Batch.Kind.FULL, state=Batch.State.CLOSED))
    progress = fetch_progress([*batches, *closed])
    form = CollectionForm(read_presentation(plan, project, batches=batches), request.GET)
    context: dict[str, Any] = {
        "plan": plan,
        "use": use,
        "uses": Batch.UseOfTrial.choices,
        "is_use_settled": any(batch.trial_id for batch in batches),
        "rows": [(batch, progress[batch.pk]) for batch in batches],
        "n_drafts": sum(batch.state == Batch.State.DRAFT for batch in batches),
        # Full batches that were closed early, with their open places, which the plan would collect again.
        "closed_early": [(batch, progress[batch.pk].n_open) for batch in closed if progress[batch.pk].n_open],
        "has_unfinished_trial": trials.find_unfinished(project) is not None,
        "form": form,
        "can_manage": request.membership.can_manage,
    }
    # A plan that can't be priced now, for example without a rubric, still has a page, which says why.
    try:
        rules: tuple[Rule, ...] = read_rules(plan.rules)
        if form.is_valid():
            context["presentation"] = form.read()
            figures = price_plan(project, rules, use, context["presentation"])
            context |= {"figures": figures, "preview": _make_preview(plan, use, context["presentation"], figures)}
    except Refused as refusal:
        context["refusal"] = refusal.message
    return render(request, "annotate/planning/show.html", context)


@requires(Right.MANAGE)
@require_POST
def plan_start(request: ProjectRequest, project: Project, plan_number: int) -> HttpResponse:
    plan = _fetch_plan(project, plan_number)
    form, settings = StartForm(request.POST), CollectionForm(read_presentation(plan, project), request.POST)
    if not form.is_valid() or not settings.is_valid():
        messages.error(request, "The form was incomplete, so nothing was created. Try again.")
        return redirect("annotate:plan-show", project.slug, plan.number)
    with refusals(request):
        with transaction.atomic():
            started = start_plan(
                plan=plan,
                actor=request.membership,
                asked=form.cleaned_data["use_of_trial"],
                opens=form.cleaned_data["opens"],
                why=form.cleaned_data["why"],
                presentation=settings.read(),
            )
            # The figures are those that the plan was started with, computed under its locks.
            _make_preview(plan, started.figures.use, settings.read(), started.figures).require_confirmed(request)
        messages.success(request, _describe_started(started, opened=form.cleaned_data["opens"]))
        return redirect("annotate:plan-show", project.slug, plan.number)
    # What was chosen stays chosen, so that the page shows the preview of it.
    chosen = {name: request.POST[name] for name in (*settings.fields, "use_of_trial") if name in request.POST}
    return redirect(reverse("annotate:plan-show", args=[project.slug, plan.number], query=chosen))


def _make_preview(plan: OverlapPlan, use: TrialUse, presentation: Presentation, figures: PricedPlan) -> Preview:
    settings = {"rules": plan.rules, "trial": use.trial, "use": use.use, "presentation": presentation}
    # Of the cost only what the plan fixes: personal HITs and re-collection are estimates that change with every HIT.
    parts = [
        [each.part.judgments, each.part.n_candidates, each.part.n_hits, each.cost.ordinary.cents]
        for each in figures.parts
    ]
    top_ups = [[each.batch.pk, each.top_up.n_places, each.cost.ordinary.cents] for each in figures.top_ups]
    return Preview("plan", plan, settings, [parts, top_ups])


def _is_by_type(request: ProjectRequest, *, default: bool = False) -> bool:
    """Return whether the form has a field for each question type: `by` in the address, which a POST keeps."""
    return {"type": True, "split": False}.get(request.GET.get("by", ""), default)


def _describe_started(started: Started, *, opened: bool) -> str:
    sentences = []
    if started.batches:
        n = len(started.batches)
        sentences.append(plural(n, "%(n)s batch created.", "%(n)s batches created.") % {"n": n})
        if not opened:
            sentences.append("Review and open each one; drafts are not visible to annotators.")
    if started.n_places:
        sentences.append(
            plural(
                started.n_places,
                "%(n_places)s assignment added to existing batches.",
                "%(n_places)s assignments added to existing batches.",
            )
            % {"n_places": format_number(started.n_places)}
        )
    return " ".join(sentences) or "Nothing is missing, so nothing was created."


def _render_form(
    request: ProjectRequest, project: Project, form: PlanForm, plan: OverlapPlan | None = None
) -> HttpResponse:
    context = {"form": form, "plan": plan, "newest": None if plan else find_newest(project, OverlapPlan)}
    return render(request, "annotate/planning/edit.html", context, status=choose_status(form))


def _fetch_plan(project: Project, number: int) -> OverlapPlan:
    return get_object_or_404(OverlapPlan.objects.select_related("project"), project=project, number=number)
