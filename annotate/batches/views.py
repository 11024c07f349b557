"""Pages of batches: the list, a new one, one with its progress and HITs, its state, caps and number of judgments."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.batches import lifecycle, trials
from annotate.batches.control_plan import lacks_controls
from annotate.batches.costs import price_batch
from annotate.batches.creating import BatchPlan, create_batch, find_same_draft, plan_batch
from annotate.batches.forms import NewBatchForm
from annotate.batches.progress import fetch_progress, find_stuck_places, measure_speed
from annotate.batches.shortfalls import find_shortfall
from annotate.models import Assignment, Batch, Hit, Item, QualificationTest, Reservation
from measures.jackknife import FEW_UNITS
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import format_number, plural
from projects.models import Candidate, Project
from projects.rubric.rubrics import current_rubric
from projects.texts.versions import current_consent, current_instructions
from projects.web.lists import TALL_PAGE_SIZE, order_by, paginate, read_sort, read_text, read_word
from projects.web.previews import Preview, read_settings
from projects.web.refusals import refusals
from projects.web.whole_numbers import parse_whole_number

BATCH_COLUMNS = {
    "number": "number",
    "name": "name",
    "state": "state",
    "judgments": "judgments",
    "candidates": "n_items",
}


HIT_COLUMNS = {
    "number": "number",
    "next": "queue_key",
    "wanted": "places_wanted",
    "open": "places_open",
    "done": "places_done",
}


HIT_STATES = {
    "open": ("with unfilled assignments", Q(places_open__gt=0)),
    "held": ("in progress", Q(places_wanted__gt=F("places_open") + F("places_done"))),
    "complete": ("complete", Q(places_done=F("places_wanted"))),
}

MOST_LISTED = 50
"""HITs in progress that the page of a batch lists, and as many reserved ones."""


@requires(Right.READ)
@require_safe
@snapshot()
def batch_list(request: ProjectRequest, project: Project) -> HttpResponse:
    state = read_word(request, "state", Batch.State.values)
    sort = read_sort(request, BATCH_COLUMNS, "-number")
    batches = Batch.objects.filter(project=project).order_by(order_by(sort, BATCH_COLUMNS), "-number")
    if state:
        batches = batches.filter(state=state)
    if name := read_text(request, "q"):
        batches = batches.filter(name__icontains=name)
    page = paginate(request, batches, TALL_PAGE_SIZE)
    progress = fetch_progress(page.object_list)
    context = {
        "page": page,
        "rows": [(batch, progress[batch.pk]) for batch in page],
        "sort": sort,
        "state": state,
        "q": name,
        "states": Batch.State.choices,
        "can_manage": request.membership.can_manage,
        "has_any": bool(page.paginator.count) or Batch.objects.filter(project=project).exists(),
        "has_candidates": project.datasets.exists(),
    }
    return render(request, "annotate/batches/list.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_new(request: ProjectRequest, project: Project) -> HttpResponse:
    """Show the form, then the preview, then create the batch. The preview is a GET, whose address can be shared."""
    if request.method == "POST":
        return _create(request, project)
    # Every preview sends the HIT size, so its absence tells a first visit from a preview with errors.
    if "hit_size" not in request.GET:
        return _render_new(request, project, _make_blank_form(request, project))
    return _render_new(request, project, NewBatchForm(project, request.GET))


def _make_blank_form(request: ProjectRequest, project: Project) -> NewBatchForm:
    return NewBatchForm(project, initial=NewBatchForm.initial_values(project, read_word(request, "kind", ["trial"])))


def _create(request: ProjectRequest, project: Project) -> HttpResponse:
    form = NewBatchForm(project, request.POST)
    if not form.is_valid():
        return _render_new(request, project, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    with refusals(request, form):
        with transaction.atomic():
            # Imports, new rubrics and new texts wait for this lock, so what is planned here is what is created.
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            selection, terms = form.selection(), form.terms()
            plan = plan_batch(project=project, selection=selection, terms=terms)
            _make_preview(project, form, plan).require_confirmed(request)
            batch = create_batch(project=project, actor=request.membership, selection=selection, terms=terms)
        messages.success(
            request,
            f"{batch.name} created with {format_number(batch.n_hits)} {plural(batch.n_hits, 'HIT', 'HITs')}. "
            "Open it when everything is ready.",
        )
        return redirect("annotate:batch-show", project.slug, batch.number)
    return _render_new(request, project, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)


def _render_new(request: ProjectRequest, project: Project, form: NewBatchForm, status: int = 200) -> HttpResponse:
    context: dict[str, Any] = {
        "form": form,
        "rubric": current_rubric(project),
        "has_candidates": project.datasets.exists(),
    }
    if form.is_bound and form.is_valid():
        with refusals(request, form):
            selection, terms = form.selection(), form.terms()
            plan = plan_batch(project=project, selection=selection, terms=terms)
            context |= {"plan": plan, "preview": _make_preview(project, form, plan)}
            context["same_draft"] = find_same_draft(project, selection, terms)
            is_trial = terms.kind == Batch.Kind.TRIAL
            context["takes_all"] = is_trial and plan.n_candidates == Candidate.objects.to_rate_in(project).count()
            context["few_passages"] = FEW_UNITS if is_trial and plan.n_passages < FEW_UNITS else 0
    if form.is_bound and not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    context["instructions"] = current_instructions(project)
    context["consent"] = current_consent(project)
    return render(request, "annotate/batches/new.html", context, status=status)


def _make_preview(project: Project, form: NewBatchForm, plan: BatchPlan) -> Preview:
    """Seal the settings, the size and cost, and the versions that the page names."""
    texts = (current_rubric(project), current_instructions(project), current_consent(project))
    numbers = {
        "candidates": plan.n_candidates,
        "hits": plan.n_hits,
        "assignments": plan.n_assignments,
        "judgments": plan.n_judgments,
        # Not the estimates beside it, which change with every submission of the project.
        "cents": plan.cost.ordinary.cents,
        "texts": [text and text.pk for text in texts],
        # Each batch made since may have the same candidates, as when a form is sent twice.
        "in_other_batches": plan.n_in_other_batches,
        "newest": project.batches.aggregate(newest=Max("number"))["newest"],
    }
    return Preview("batch", project, read_settings(form, leave_out=["name"]), numbers)


@requires(Right.READ)
@require_safe
@snapshot()
def batch_show(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = fetch_batch(project, number)
    progress = fetch_progress([batch])[batch.pk]
    # Speed and stuck places say something only while people can work: before, nobody could have taken a place.
    is_live = batch.state in (Batch.State.OPEN, Batch.State.PAUSED)
    stuck = find_stuck_places(batch) if is_live else None
    newest = current_rubric(project)
    held, reserved = _list_held(batch), Reservation.objects.filter(hit__batch=batch).for_lists()[:MOST_LISTED]
    context = {
        "batch": batch,
        "progress": progress,
        "speed": measure_speed(batch, progress, n_stuck=stuck.n_places) if stuck else None,
        "stuck": stuck,
        # A new batch waits for its first annotators to join or to qualify, which is no alarm yet.
        "is_waiting_for_first": not progress.n_done and not progress.n_held,
        "moves": lifecycle.allowed_moves(batch),
        "not_yet": trials.explain_waiting_for_trial(batch),
        "counted_by": trials.find_reusing_batch(batch),
        "has_test": QualificationTest.objects.filter(project=project).exists(),
        "can_manage": request.membership.can_manage,
        "named": batch.named_annotators.select_related("annotator") if batch.has_named_annotators else [],
        "held": held,
        "reserved": reserved,
        "has_more_held": progress.n_held > len(held) + len(reserved),
        "shortfall": find_shortfall(batch),
        # What a draft will take is looked at before it is opened, when its terms can still be chosen anew.
        "cost": price_batch(batch) if batch.state == Batch.State.DRAFT and batch.n_hits else None,
        "lacks_controls": (is_live or batch.state == Batch.State.DRAFT) and lacks_controls(batch),
        "has_newer_versions": batch.state == Batch.State.DRAFT and _has_newer(project, batch, newest),
        **_make_hit_table(request, batch),
    }
    return render(request, "annotate/batches/show.html", context)


def fetch_batch(project: Project, number: int) -> Batch:
    pinned = ("rubric", "instructions", "consent", "trial", "plan")
    batches = Batch.objects.select_related("project", "created_by", *pinned)
    return get_object_or_404(batches, project=project, number=number)


def _has_newer(project: Project, batch: Batch, rubric: Any) -> bool:
    newest = (current_instructions(project), current_consent(project))
    return (rubric is not None and rubric != batch.rubric) or newest != (batch.instructions, batch.consent)


def _list_held(batch: Batch) -> QuerySet[Assignment]:
    """Return who is working on which HIT now, the first due first."""
    held = Assignment.objects.open().filter(hit__batch=batch, hit__purpose=Hit.Purpose.WORK)
    return held.select_related("hit", "annotator").order_by("due_at")[:MOST_LISTED]


def _make_hit_table(request: ProjectRequest, batch: Batch) -> dict[str, Any]:
    state = read_word(request, "state", HIT_STATES)
    sort = read_sort(request, HIT_COLUMNS, "number")
    query = read_text(request, "q")
    hits = Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK).select_related("passage__dataset")
    if state:
        hits = hits.filter(HIT_STATES[state][1])
    if (number := parse_whole_number(query)) is not None:
        hits = hits.filter(Q(number=number) | Q(passage__external_id=query))
    elif query:
        hits = hits.filter(Q(passage__external_id__icontains=query) | Q(passage__title__icontains=query))
    hits = hits.order_by(order_by(sort, HIT_COLUMNS), "number").annotate(
        n_held=F("places_wanted") - F("places_open") - F("places_done"),
        # A subquery for the HITs of this page: a join with GROUP BY would count the items of every HIT in the batch.
        n_items=Coalesce(
            Subquery(
                Item.objects.filter(hit=OuterRef("pk")).order_by().values("hit").annotate(n=Count("pk")).values("n")
            ),
            0,
        ),
    )
    return {
        "page": paginate(request, hits),
        "sort": sort,
        "state": state,
        "hit_states": [(name, label) for name, (label, _) in HIT_STATES.items()],
        "q": query,
    }
