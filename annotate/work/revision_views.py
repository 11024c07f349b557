"""Pages of an annotator's own HITs: read again, and edited while the project's window is open."""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.batches.control_plan import shows_repeats
from annotate.models import Assignment, Batch
from annotate.payments.pending import find_pending
from annotate.rating import answers
from annotate.rating.form_parts import ItemOnPage
from annotate.rating.page import PageParts, read_assignment, render_assignment, site_urls, to_milliseconds
from annotate.rating.script_requests import answers_script, save_draft
from annotate.rating.sent import SentAnswers, read_rating
from annotate.work import revising, submitting
from annotate.work import revision_draft as work_revision_draft
from annotate.work.forms import ReplyForm
from annotate.work.not_stored import render_closed, render_conflict, show_answers_on_access_lost
from measures.rubric import format_plain_number
from projects.access import ProjectRequest, Right, has_right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Membership, Project
from projects.rubric.rubrics import CriterionOnPage
from projects.web.refusals import refusals

State = Assignment.State
UNFINISHED = (State.OPEN, State.EXPIRED)
UNSENT = (*UNFINISHED, State.RETURNED, State.WITHDRAWN)


@dataclass(frozen=True)
class Revision:
    """The page's stand-in for an assignment: the browser keeps unsent changes under the version that they change."""

    uuid: str
    due_at: datetime | None


@requires(Right.HISTORY)
@never_cache
@require_safe
@snapshot()
def history_show(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _fetch_own(request.membership, assignment_uuid)
    if assignment.state in UNFINISHED and has_right(request.membership, Right.WORK):
        return redirect("annotate:work-show", project.slug, assignment.uuid)
    is_hidden = _is_hidden(assignment.hit.batch)
    has_answers = assignment.state not in UNSENT and not is_hidden
    newest = revising.newest_answers(assignment) if has_answers else SentAnswers(values={})
    context = {
        "assignment": assignment,
        **_add_ratings(read_assignment(project, assignment, newest), newest),
        "is_hidden": is_hidden,
        "has_answers": has_answers,
        "window": revising.find_window(assignment) if revising.is_open_to(request.membership, assignment) else None,
        "pending": find_pending(assignment),
        "has_desk": has_right(request.membership, Right.MEMBER),
        "cents": assignment.ledger_entries.aggregate(cents=Sum("cents"))["cents"],
    }
    return render(request, "annotate/work/history_show.html", context)


@answers_script
@requires(Right.WORK, on_access_lost=show_answers_on_access_lost)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def revision(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _fetch_own(request.membership, assignment_uuid)
    history = reverse("annotate:history-show", args=[project.slug, assignment.uuid])
    if request.method == "POST":
        return _revise(request, assignment, history)
    if why_not := revising.explain_closed_window(request.membership, assignment):
        messages.info(request, why_not)
        return redirect(history)
    return _render_revision(request, assignment)


@requires(Right.HISTORY)
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


def _revise(request: ProjectRequest, assignment: Assignment, history: str) -> HttpResponse:
    annotator = request.membership
    if request.POST.get("act") == "drop":
        work_revision_draft.drop_draft(annotator=annotator, assignment_uuid=assignment.uuid)
        return redirect(history)
    sent, of = read_rating(request.POST), request.POST.get("of", "")
    try:
        revised = revising.revise(annotator=annotator, assignment_uuid=assignment.uuid, sent=sent, of=of)
    except answers.Incomplete as refusal:
        with suppress(Refused):
            work_revision_draft.save_form(annotator=annotator, assignment_uuid=assignment.uuid, sent=sent, of=of)
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
    return redirect(history)


@requires(Right.WORK, answers_json=True)
@never_cache
@require_POST
def revision_draft(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    act = partial(
        work_revision_draft.save_draft,
        annotator=request.membership,
        assignment_uuid=assignment_uuid,
        of=request.GET.get("of", ""),
    )
    return save_draft(request, act)


def _show_again(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    """Render a form whose CSRF token was stale again, filled in and with a fresh token."""
    assignment = _fetch_own(request.membership, assignment_uuid)
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
    over: dict[str, object] = {
        "assignment": Revision(f"{assignment.uuid}-{key}", until),
        "submitted_at": assignment.submitted_at,
        "of": key,
        "own_words": {"saved": _("Not applied until you save"), "just_now": ""},
        "is_expired": False,
        "due_at_ms": to_milliseconds(until),
        "due_over": _("The time to edit this HIT is over."),
        "due_after": _("After that, you can no longer edit this HIT."),
        "urls": {
            **site_urls(slug),
            "submit": reverse("annotate:revision", args=[slug, assignment.uuid]),
            "draft": f"{reverse('annotate:revision-draft', args=[slug, assignment.uuid])}?of={key}",
            "history": reverse("annotate:history-show", args=[slug, assignment.uuid]),
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


class RatedItem(ItemOnPage):
    """An item with its ratings as text, instead of fields."""

    ratings: list[dict[str, str]]
    comment: str
    is_flagged: bool


def _add_ratings(parts: PageParts, sent: SentAnswers) -> dict[str, object]:
    """Return the parts of the page with the ratings, comment and flag of each item."""

    def rated(item: ItemOnPage) -> RatedItem:
        position = int(item["position"])
        values = sent.values.get(position, {})
        return {
            **item,
            "ratings": [_describe_rating(criterion, values.get(criterion.key)) for criterion in parts["criteria"]],
            "comment": sent.comments.get(position, ""),
            "is_flagged": position in sent.flags,
        }

    groups = [{**group, "items": [rated(item) for item in group["items"]]} for group in parts["groups"]]
    return {**parts, "groups": groups}


def _describe_rating(criterion: CriterionOnPage, value: float | str | None) -> dict[str, str]:
    """Return the name of the criterion, the value and its label; both are empty if there is no value."""
    if value is None or isinstance(value, str):
        return {"name": criterion.name, "value": "", "label": ""}
    labels = [str(point["label"]) for point in criterion.points if point["value"] == value]
    return {"name": criterion.name, "value": format_plain_number(value), "label": labels[0] if labels else ""}


def _is_hidden(batch: Batch) -> bool:
    """Return whether ratings are hidden until the batch is closed, because repeats may ask for them again."""
    return batch.state not in (Batch.State.CLOSED, Batch.State.ARCHIVED) and shows_repeats(batch)


def _fetch_own(annotator: Membership, assignment_uuid: uuid.UUID) -> Assignment:
    """Return the annotator's own assignment. Raises Http404 for anyone else's and for imported judgments."""
    found = Assignment.objects.filter(uuid=assignment_uuid, annotator=annotator)
    found = found.exclude(hit__batch__kind=Batch.Kind.IMPORTED).select_related("hit__batch", "hit__passage")
    assignment = found.first()
    if assignment is None:
        raise Http404("No such HIT.")
    assignment.annotator = annotator
    return assignment
