"""Pages that change a batch: state, limits, judgments wanted."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotate.batches import judgments_wanted, lifecycle
from annotate.batches.progress import fetch_progress, find_stuck_places
from annotate.batches.terms_forms import EditCapsForm, StateForm, WantedForm
from annotate.batches.views import fetch_batch
from annotate.models import Batch
from projects.access import ProjectRequest, Right, requires
from projects.language.amounts import format_number
from projects.models import Project
from projects.web.forms import choose_status
from projects.web.previews import Preview, read_settings
from projects.web.refusals import refusals


@requires(Right.MANAGE)
@require_POST
def batch_state(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = fetch_batch(project, number)
    form = StateForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Unknown action. Try again from the batch page.")
        return redirect("annotate:batch-show", project.slug, number)
    with refusals(request):
        done = _act(batch, request, form.cleaned_data["act"], form.cleaned_data["why"])
        messages.success(request, done)
        if form.cleaned_data["act"] == "delete":
            return redirect("annotate:batch-list", project.slug)
    return redirect("annotate:batch-show", project.slug, number)


def _act(batch: Batch, request: ProjectRequest, act: str, why: str) -> str:
    actor = request.membership
    if act == "reopen":
        lifecycle.reopen(batch=batch, actor=actor, why=why)
        return "Batch reopened."
    if act == "open":
        lifecycle.open_batch(batch=batch, actor=actor, why=why)
        return f"Batch opened. {_explain_progress(batch)}"
    if act in ("pay-by-item", "pay-in-full"):
        lifecycle.change_short_hit_pay(batch=batch, actor=actor, is_prorated=act == "pay-by-item")
        return "Pay for short HITs saved. Check the expected cost."
    if act == "pin":
        message = "The batch now uses the latest rubric, instructions and consent form."
        if lifecycle.adopt_newest_texts(batch=batch, actor=actor):
            message += " Its controls were deleted, because they are for the older scale. Generate them again."
        return message
    acts = {
        "pause": (lifecycle.pause, "Batch paused. HITs in progress can still be finished."),
        "close": (lifecycle.close, "Batch closed. HITs in progress can still be finished."),
        "archive": (lifecycle.archive, "Batch archived. Its judgments still count in all results."),
        "delete": (lifecycle.delete_draft, "Draft deleted."),
    }
    run, message = acts[act]
    run(batch=batch, actor=actor)
    return message


def _explain_progress(batch: Batch) -> str:
    progress = fetch_progress([batch])[batch.pk]
    if progress.is_complete:
        return "All its assignments are done."
    if progress.is_all_in_hand:
        return "All its HITs are assigned."
    if find_stuck_places(batch).n_places == progress.n_open:
        return "No one can take its HITs yet: see below."
    return "Annotators can now take its HITs."


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_wanted(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    """Preview a change of the number of judgments (GET), then make it (POST)."""
    batch = fetch_batch(project, number)
    if request.method == "POST":
        form = WantedForm(request.POST)
        if form.is_valid() and (done := _change_wanted(request, batch, form)):
            messages.success(request, done)
            return redirect("annotate:batch-show", project.slug, number)
        return _render_wanted(request, batch, form)
    if "judgments" in request.GET:
        return _render_wanted(request, batch, WantedForm(request.GET))
    chosen = ", ".join(request.GET.getlist("hit"))
    return _render_wanted(request, batch, WantedForm(initial={"judgments": batch.judgments, "hits": chosen}))


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def batch_caps(request: ProjectRequest, project: Project, number: int) -> HttpResponse:
    batch = fetch_batch(project, number)
    form = EditCapsForm(request.POST or None, initial=EditCapsForm.initial_caps(batch))
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            judgments_wanted.change_caps(batch=batch, actor=request.membership, caps=form.caps())
            messages.success(request, "Limits saved.")
            return redirect("annotate:batch-show", project.slug, number)
    status = choose_status(form)
    return render(request, "annotate/batches/caps.html", {"batch": batch, "form": form}, status=status)


def _change_wanted(request: ProjectRequest, batch: Batch, form: WantedForm) -> str:
    cleaned = form.cleaned_data
    with refusals(request, form):
        # A transaction inside the refusals: where reopening is refused, the new number is rolled back before the page
        # reads the batch again to show why.
        with transaction.atomic():
            added, removed = judgments_wanted.change_wanted(
                batch=batch,
                actor=request.membership,
                judgments=cleaned["judgments"],
                hit_numbers=cleaned["hits"],
                why=cleaned["why"],
            )
            # What was done is compared, as annotators may take HITs until the act has locked them.
            _make_preview(batch, form, added, removed).require_confirmed(request)
            if cleaned["reopen"]:
                lifecycle.reopen(batch=batch, actor=request.membership, why=cleaned["why"])
        numbers = {"added": format_number(added), "removed": format_number(removed)}
        if cleaned["reopen"]:
            return "{added} assignments added, {removed} removed. Batch reopened.".format(**numbers)
        return "{added} assignments added, {removed} removed.".format(**numbers)
    return ""


def _render_wanted(request: ProjectRequest, batch: Batch, form: WantedForm) -> HttpResponse:
    context: dict[str, Any] = {"batch": batch, "form": form, "progress": fetch_progress([batch])[batch.pk]}
    if form.is_bound and form.is_valid():
        with refusals(request, form):
            cleaned = form.cleaned_data
            change = judgments_wanted.plan_wanted(
                batch=batch, judgments=cleaned["judgments"], hit_numbers=cleaned["hits"]
            )
            context |= {"change": change, "preview": _make_preview(batch, form, change.n_added, change.n_removed)}
    status = choose_status(form)
    return render(request, "annotate/batches/wanted.html", context, status=status)


def _make_preview(batch: Batch, form: WantedForm, n_added: int, n_removed: int) -> Preview:
    return Preview("wanted", batch, read_settings(form, leave_out=["reopen", "why"]), [n_added, n_removed])
