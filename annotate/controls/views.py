"""The controls page of a batch, for managers only: the plan, the pool and the share of degradable answers."""

import math
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import F, Q
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst
from django.views.decorators.http import require_POST, require_safe

from annotate.batches import control_plan as batches_control_plan
from annotate.batches.control_plan import ControlPlan
from annotate.batches.control_plan_forms import PlanForm
from annotate.controls import control_jobs
from annotate.controls import pool as controls_pool
from annotate.controls.degraded_answers import count_degradable
from annotate.controls.forms import ControlActForm
from annotate.models import Batch, ControlJob, Item
from measures.outcome import Undefined
from measures.rubric import format_plain_number
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.jobs.pages import cancel_job, job_context, job_fragment
from projects.language import amounts
from projects.models import Criterion, Project
from projects.web.forms import choose_status
from projects.web.lists import paginate, read_word
from projects.web.previews import NOT_SHOWN, Preview, PreviewChanged
from projects.web.refusals import refusals

STATES = {
    "waiting": ("awaiting acceptance", Q(accepted_at=None, retired_at=None)),
    "in-use": ("in use", Q(accepted_at__isnull=False, retired_at=None)),
    "retired": ("retired", Q(retired_at__isnull=False)),
}
KINDS = {
    "known_answer": ("known answers", Q(control="known_answer") & ~Q(recipe="candidate")),
    "known_candidate": ("rated candidates", Q(recipe="candidate")),
    "degraded": ("degraded", Q(control="degraded")),
    "source": ("undegraded originals", Q(control="source")),
}


@requires(Right.MANAGE)
@require_safe
@snapshot()
def control_list(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = _fetch_batch(project, number)
    return _render(request, batch, _make_form(batch))


@requires(Right.MANAGE)
@require_POST
def control_plan(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = _fetch_batch(project, number)
    form = _make_form(batch, request.POST)
    if not form.is_valid():
        return _render(request, batch, form)
    with refusals(request, form):
        is_cut = controls_pool.set_plan(batch=batch, actor=request.membership, plan=form.plan())
        messages.success(
            request,
            "Plan saved. The HITs have been regrouped to make room." if is_cut else "Plan saved.",
        )
        return redirect("annotate:batch-controls", project.slug, number)
    return _render(request, batch, form)


@requires(Right.MANAGE)
@require_POST
def control_act(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = _fetch_batch(project, number)
    form = ControlActForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Unknown action. Try again from this page.")
        return redirect("annotate:batch-controls", project.slug, number)
    with refusals(request):
        if message := _act(request, batch, form.cleaned_data):
            messages.success(request, message)
    # Back to the same part of the pool. Only a known state is taken from the form, so the address can't be tampered
    # with.
    back: HttpResponseRedirect = redirect("annotate:batch-controls", project.slug, number)
    if request.POST.get("state") in STATES:
        back["Location"] += f"?state={request.POST['state']}"
    return back


@requires(Right.MANAGE)
@require_safe
@snapshot()
def controls_job(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    return job_fragment(request, _build_progress(_fetch_job(project, number)))


@requires(Right.MANAGE)
@require_POST
def controls_cancel(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    cancel_job(request, _fetch_job(project, number), done="Cancelled. No controls were added.")
    return redirect("annotate:batch-controls", project.slug, number)


def _fetch_job(project: Project, number: int) -> ControlJob:
    jobs = ControlJob.objects.select_related("batch__project")
    return get_object_or_404(jobs, batch__project=project, batch__number=number)


def _build_progress(job: ControlJob) -> dict[str, Any]:
    args = [job.batch.project.slug, job.batch.number]
    return job_context(job, title="Generating controls", urls="annotate:controls", args=args, counts="passages")


def _act(request: ProjectRequest, batch: Batch, cleaned: dict[str, Any]) -> str:
    """Act on the pool and return what to tell; nothing for the generation, whose progress the page shows."""
    to_pool: dict[str, Any] = {"batch": batch, "actor": request.membership}
    items = cleaned["item"]
    match cleaned["act"]:
        case "make":
            _require_saved_plan(request, batch)
            control_jobs.start(**to_pool)
            return ""
        case "accept":
            return _describe_accepted(batch, controls_pool.accept(**to_pool, item_ids=items))
        case "accept-all":
            with transaction.atomic():
                n = controls_pool.accept(**to_pool)
                # What was accepted is compared: controls may have been generated or retired since the page was shown.
                if n:
                    _preview_accepting_all(batch, n).require_confirmed(request)
            return _describe_accepted(batch, n)
        case "retire":
            n = controls_pool.retire(**to_pool, item_ids=items, why=cleaned["why"])
            return f"{amounts.format_number(n)} retired."
        case _:
            if len(items) != 1:
                raise Refused("Edit one control at a time.")
            controls_pool.reword(**to_pool, item_id=items[0], text=cleaned["text"])
            return "Text saved."


def _make_form(batch: Batch, sent: QueryDict | None = None) -> PlanForm:
    return PlanForm(sent, initial=PlanForm.initial_plan(ControlPlan.read(batch.control_plan)))


def _preview_accepting_all(batch: Batch, n: int) -> Preview:
    return Preview("accept all controls", batch, numbers=n)


def _require_saved_plan(request: ProjectRequest, batch: Batch) -> None:
    """Refuse to generate controls by another plan than the one that the page shows beside the button."""
    form = _make_form(batch, request.POST)
    saved = form.initial
    # Some fields appear only with one item at a time.
    shown = [name for name in form.fields if name in request.POST]
    is_same = form.is_valid() and all(PlanForm.initial_plan(form.plan())[name] == saved[name] for name in shown)
    if not shown:
        raise PreviewChanged(NOT_SHOWN)
    if not is_same:
        raise PreviewChanged("The plan was changed but not saved, so nothing was generated. Save the plan first.")


def _describe_accepted(batch: Batch, n: int) -> str:
    when = "now get them" if batch.state == Batch.State.OPEN else "get them once the batch is open"
    return f"{amounts.format_number(n)} accepted. Annotators {when}."


def _render(request: ProjectRequest, batch: Batch, form: PlanForm) -> HttpResponse:
    plan = ControlPlan.read(batch.control_plan)
    counts = controls_pool.count_pool(batch)
    kind = read_word(request, "kind", KINDS)
    # Without a choice, what waits for the manager is shown first.
    state = read_word(request, "state", STATES) or ("waiting" if any(c["waiting"] for c in counts.values()) else "")
    pool = batches_control_plan.list_pool(batch).select_related("question", "made_from__candidate")
    for chosen, among in ((state, STATES), (kind, KINDS)):
        pool = pool.filter(among[chosen][1]) if chosen else pool
    n_waiting = sum(count["waiting"] for count in counts.values())
    page = paginate(request, pool.order_by(F("question__passage_id"), "question_id", "control", "id"))
    job = ControlJob.objects.select_related("batch__project").filter(batch=batch).first()
    criteria = list(batch.rubric.criteria.order_by("position"))
    context = {
        **(_build_progress(job) if job else {}),
        "batch": batch,
        "has_failed_to_degrade": bool(job and (job.report or {}).get("n_not_degraded"))
        and not any(counts["degraded"].values()),
        "plan": plan,
        "form": form,
        "is_one": batch.presentation == Batch.Presentation.ONE,
        "can_change": batch.kind != Batch.Kind.IMPORTED
        and batch.state in (Batch.State.DRAFT, Batch.State.OPEN, Batch.State.PAUSED),
        "counts": [(KINDS[name][0], counts[name]) for name in KINDS],
        "n_in_pool": sum(sum(count.values()) for count in counts.values()),
        "n_waiting": n_waiting,
        "accepting_all": _preview_accepting_all(batch, n_waiting),
        "page": page,
        "rows": [_make_row(item, criteria) for item in page.object_list],
        "state": state,
        "kind": kind,
        "states": [("all", "any status"), *((name, capfirst(label)) for name, (label, _) in STATES.items())],
        "kinds": [(name, capfirst(label)) for name, (label, _) in KINDS.items()],
        # Degrading thousands of answers takes seconds, so it is measured only when asked for.
        "yields": _list_yields(batch, plan) if "yield" in request.GET else None,
    }
    status = choose_status(form)
    return render(request, "annotate/controls/list.html", context, status=status)


def _make_row(item: Item, criteria: Sequence[Criterion]) -> dict[str, Any]:
    source = item.made_from
    made_from = None
    if source is not None:
        made_from = source.shown_text if source.shown_text is not None else source.candidate and source.candidate.text
    expected = item.expected or {}
    is_waiting = item.accepted_at is None and item.retired_at is None
    return {
        "item": item,
        "made_from": made_from,
        "expected": [_format_range(each, expected[each.key]) for each in criteria if each.key in expected],
        "state": "retired" if item.retired_at else "awaiting acceptance" if is_waiting else "in use",
        "can_edit": is_waiting
        and item.recipe in (Item.Recipe.REFERENCE, Item.Recipe.EDITED_REFERENCE)
        and item.control == Item.Control.KNOWN_ANSWER,
    }


def _format_range(criterion: Criterion, ends: list[float]) -> str:
    """Return the scores that count as correct, on a scale of points the points among them."""
    first, last = ends
    if criterion.kind == Criterion.Kind.ORDINAL and math.ceil(first) <= math.floor(last):
        first, last = math.ceil(first), math.floor(last)
    low, high = (format_plain_number(round(end, 2)) for end in (first, last))
    return f"{criterion.name} {low}" if low == high else f"{criterion.name} {low} to {high}"


def _list_yields(batch: Batch, plan: ControlPlan) -> list[dict[str, Any]]:
    return [
        {
            "n_words": found.n_words,
            "n_tried": found.n_tried,
            "n_made": found.n_made,
            "share": None if isinstance(found.share, Undefined) else found.share,
            "reasons": sorted(found.reasons.items(), key=lambda reason: -reason[1]),
        }
        for found in count_degradable(batch, plan.seed)
    ]


def _fetch_batch(project: Project, number: int) -> Batch:
    batches = Batch.objects.select_related("project", "rubric")
    return get_object_or_404(batches, project=project, number=number)
