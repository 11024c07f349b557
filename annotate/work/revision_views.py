"""One's own HITs: read again, and changed while the project's window is open."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Sum
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.batches.control_plan import shows_repeats
from annotate.models import Assignment, Batch
from annotate.payments.pending import find_pending
from annotate.rating import answers
from annotate.rating.draft_requests import save_draft
from annotate.rating.page import milliseconds, read_assignment, render_assignment, site_urls
from annotate.rating.sent import SentAnswers, read_rating
from annotate.work import revising, submitting
from annotate.work import revision_draft as work_revision_draft
from annotate.work.forms import ReplyForm
from annotate.work.not_stored import render_closed, render_conflict, show_answers_on_access_lost
from measures.rubric import format_number
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import Membership, Project
from projects.rubric.rubrics import CriterionOnPage
from projects.web.refusals import refusals

State = Assignment.State
UNSENT = (State.RETURNED, State.WITHDRAWN)


@dataclass(frozen=True)
class Revision:
    """What the page shows as its assignment: unsent changes are kept by the version that they change, in the window."""

    uuid: str
    due_at: datetime | None


@requires(Right.MEMBER)
@never_cache
@require_safe
@snapshot()
def history_show(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _own(request.membership, assignment_uuid)
    if assignment.state in (State.OPEN, State.EXPIRED):
        return redirect("annotate:work-show", project.slug, assignment.uuid)
    is_hidden = _is_hidden(assignment.hit.batch)
    has_answers = assignment.state not in UNSENT and not is_hidden
    said = revising.newest_answers(assignment) if has_answers else SentAnswers(values={})
    context = {
        "assignment": assignment,
        **_to_read(read_assignment(project, assignment, said), said),
        "is_hidden": is_hidden,
        "has_answers": has_answers,
        "window": revising.find_window(assignment) if revising.is_open_to(request.membership, assignment) else None,
        "stand": find_pending(assignment),
        "cents": assignment.ledger_entries.aggregate(cents=Sum("cents"))["cents"],
    }
    return render(request, "annotate/work/history_show.html", context)


@requires(Right.WORK, on_access_lost=show_answers_on_access_lost)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def revision(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _own(request.membership, assignment_uuid)
    shown = reverse("annotate:history-show", args=[project.slug, assignment.uuid])
    if request.method == "POST":
        return _revise(request, assignment, shown)
    if why_not := revising.explain_closed_window(request.membership, assignment):
        messages.info(request, why_not)
        return redirect(shown)
    return _render_revision(request, assignment)


@requires(Right.MEMBER)
@require_POST
def history_reply(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    form = ReplyForm(request.POST)
    text = form.cleaned_data["text"] if form.is_valid() else ""
    try:
        with refusals(request):
            submitting.reply(annotator=request.membership, assignment_uuid=assignment_uuid, text=text)
            messages.success(request, _("Reply sent. The project managers will read it."))
    except Assignment.DoesNotExist as error:
        raise Http404("No such HIT.") from error
    return redirect("annotate:history", project.slug)


def _revise(request: ProjectRequest, assignment: Assignment, shown: str) -> HttpResponse:
    me: dict[str, Any] = {"annotator": request.membership, "assignment_uuid": assignment.uuid}
    if request.POST.get("act") == "drop":
        work_revision_draft.drop_draft(**me)
        return redirect(shown)
    sent = read_rating(request.POST)
    try:
        revised = revising.revise(**me, sent=sent, of=request.POST.get("of", ""))
    except answers.Incomplete as refusal:
        return _render_revision(request, assignment, sent=sent, errors=refusal.errors)
    except answers.SubmittedBefore as refusal:
        again = reverse("annotate:revision", args=[request.project.slug, assignment.uuid])
        return render_conflict(request, assignment, sent, refusal.message, again_url=again)
    except answers.TakesNoAnswers as refusal:
        return render_closed(request, assignment, sent, refusal.message, is_kept=False)
    if revised.was_stored:
        messages.info(request, _("Nothing changed."))
    else:
        messages.success(request, _("Changes saved. We keep your earlier ratings too."))
    return redirect(shown)


@requires(Right.WORK, answers_json=True)
@never_cache
@require_POST
def revision_draft(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> JsonResponse:
    of = request.GET.get("of", "")
    return save_draft(
        request, work_revision_draft.save_draft, annotator=request.membership, assignment_uuid=assignment_uuid, of=of
    )


def _show_again(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    """A form whose token is stale comes back filled in, with a fresh token."""
    assignment = _own(request.membership, assignment_uuid)
    if assignment.submitted_at is None:
        raise PermissionDenied(_("You haven't submitted this HIT."))
    messages.warning(
        request, _("Your sign-in changed after you opened this page. Nothing is lost. Please submit again.")
    )
    sent = read_rating(request.POST)
    of = request.POST.get("of", "")
    return _render_revision(request, assignment, sent=sent, of=of, status=HTTPStatus.FORBIDDEN)


show_again = requires(Right.WORK, on_access_lost=show_answers_on_access_lost)(_show_again)


def _render_revision(
    request: ProjectRequest,
    assignment: Assignment,
    *,
    sent: SentAnswers | None = None,
    errors: dict[int, str] | None = None,
    of: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    newest, slug = revising.newest_answers(assignment), request.project.slug
    key = of or (request.POST.get("of", "") if errors else revising.version_key(newest))
    until = revising.find_window(assignment).until
    over = {
        "assignment": Revision(f"{assignment.uuid}-{key}", until),
        "submitted_at": assignment.submitted_at,
        "of": key,
        "own_words": {"saved": _("Not applied until you save"), "just_now": ""},
        "is_expired": False,
        "due_at_ms": milliseconds(until),
        "due_over": _("The time to edit this HIT is over."),
        "due_after": _("After that, you can no longer edit this HIT."),
        "urls": {
            **site_urls(slug),
            "submit": reverse("annotate:revision", args=[slug, assignment.uuid]),
            "draft": f"{reverse('annotate:revision-draft', args=[slug, assignment.uuid])}?of={key}",
            "shown": reverse("annotate:history-show", args=[slug, assignment.uuid]),
        },
    }
    return render_assignment(
        request,
        request.project,
        assignment,
        sent=sent if sent is not None else work_revision_draft.prefill_form(assignment, newest),
        errors=errors,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if errors else status,
        template="annotate/work/hit_revise.html",
        over=over,
    )


def _to_read(parts: dict[str, Any], said: SentAnswers) -> dict[str, Any]:
    """The page's parts with what was said of each item in words instead of its buttons."""
    for item in (item for group in parts["groups"] for item in group["items"]):
        place = int(item["place"])
        values = said.values.get(place, {})
        item["said"] = [_say(criterion, values.get(criterion.key)) for criterion in parts["criteria"]]
        item["comment"], item["is_flagged"] = said.comments.get(place, ""), place in said.flags
    return parts


def _say(criterion: CriterionOnPage, value: float | str | None) -> dict[str, str]:
    if value is None or isinstance(value, str):
        return {"name": criterion.name, "value": "", "label": ""}
    labels = [str(point["label"]) for point in criterion.points if point["value"] == value]
    return {"name": criterion.name, "value": format_number(value), "label": labels[0] if labels else ""}


def _is_hidden(batch: Batch) -> bool:
    """Whether the answers of a batch can be read only once it is closed: they may be asked for again."""
    return batch.state not in (Batch.State.CLOSED, Batch.State.ARCHIVED) and shows_repeats(batch)


def _own(annotator: Membership, assignment_uuid: uuid.UUID) -> Assignment:
    """The annotator's own assignment; anybody else's, and imported judgments, are not found."""
    found = Assignment.objects.filter(uuid=assignment_uuid, annotator=annotator)
    found = found.exclude(hit__batch__kind=Batch.Kind.IMPORTED).select_related("hit__batch", "hit__passage")
    assignment = found.first()
    if assignment is None:
        raise Http404("No such HIT.")
    assignment.annotator = annotator
    return assignment
