"""Pages of working on a HIT: take one, rate it, save the draft, submit it once, return it."""

import uuid
from functools import partial
from http import HTTPStatus
from typing import Protocol, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import REASON_BAD_ORIGIN, get_token
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.attempts import views as attempt_views
from annotate.models import Assignment, Batch, Draft, Hit, Survey
from annotate.rating import answers
from annotate.rating.page import render_assignment
from annotate.rating.script_requests import answers_script, save_draft
from annotate.rating.sent import read_position, read_rating
from annotate.work import drafts, revising, revision_views, serving, stepping, submitting, work_sessions
from annotate.work.forms import ReturnForm
from annotate.work.not_stored import (
    keep_as_draft,
    keep_draft_on_access_lost,
    render_closed,
    render_conflict,
    show_answers_on_access_lost,
)
from projects.access import (
    ProjectRequest,
    Right,
    SignedInRequest,
    requires,
    signed_in,
)
from projects.database.prepared import Columns, fetch_one
from projects.errors import Refused
from projects.models import Membership, Passage, Project
from projects.web.kept_forms import keep_form_until_sign_in, list_kept_fields
from projects.web.links import redirect_with_get
from projects.web.refusals import refusals

_ASSIGNMENT = Columns(Assignment, "a", ("uuid", "state", "layout", "due_at", "extended_at", "hit_id"))
_HIT = Columns(Hit, "h", ("batch_id", "passage_id"))
_PAY = ("hit_size", "cents_per_hit", "cents_per_item", "is_pay_prorated")
_BATCH = Columns(Batch, "b", ("rubric_id", "presentation", "must_read_to_end", *_PAY))
_PASSAGE = Columns(Passage, "p", ("title", "text", "documents"))
_DRAFT = Columns(Draft, "d", ("answers",))
# The hottest page reads its five rows by one prepared statement, and of each only the columns that it shows.
_ASSIGNMENT_PAGE = f"""
SELECT {_ASSIGNMENT.sql}, {_HIT.sql}, {_BATCH.sql}, {_PASSAGE.sql}, {_DRAFT.sql}
FROM annotate_assignment a
JOIN annotate_hit h ON h.id = a.hit_id
JOIN annotate_batch b ON b.id = h.batch_id
JOIN projects_passage p ON p.id = h.passage_id
LEFT JOIN annotate_draft d ON d.assignment_id = a.id
WHERE a.uuid = %(uuid)s::uuid AND a.annotator_id = %(annotator)s::bigint
"""


@requires(Right.WORK)
@require_POST
def work_start(request: ProjectRequest, project: Project) -> HttpResponse:
    return next_hit(request, project)


@answers_script
@requires(Right.WORK, on_access_lost=keep_draft_on_access_lost)
@gzip_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_show(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    if request.method == "POST":
        return _submit(request, project, assignment_uuid)
    assignment = _fetch_assignment(request.membership, assignment_uuid)
    if assignment.state in (Assignment.State.OPEN, Assignment.State.EXPIRED):
        if getattr(assignment, "draft", None) is None:
            drafts.expect_first(assignment, assignment.hit.batch.rubric_id)
        return render_assignment(request, project, assignment)
    messages.info(request, _("That HIT is {state}.").format(state=assignment.get_state_display()))
    return redirect("annotate:project-desk", project.slug)


def _submit(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    annotator, sent, position = request.membership, read_rating(request.POST), read_position(request.POST)
    submitted: submitting.Submitted | None
    try:
        if position is None:
            submitted = submitting.submit(annotator=annotator, assignment_uuid=assignment_uuid, sent=sent)
        else:
            submitted = stepping.answer_item(
                annotator=annotator, assignment_uuid=assignment_uuid, position=position, sent=sent
            )
    except Assignment.DoesNotExist as error:
        raise Http404("No such HIT.") from error
    except answers.Incomplete as refusal:
        # The page says that it is saved, which a browser without scripts has not done.
        keep_as_draft(annotator, assignment_uuid, sent)
        assignment = _fetch_assignment(annotator, assignment_uuid)
        return render_assignment(
            request, project, assignment, sent=sent, errors=refusal.errors, status=HTTPStatus.UNPROCESSABLE_ENTITY
        )
    except answers.SubmittedBefore as refusal:
        return render_conflict(request, _fetch_assignment(annotator, assignment_uuid), sent, refusal.message)
    except answers.TakesNoAnswers as refusal:
        is_kept = keep_as_draft(annotator, assignment_uuid, sent)
        assignment = _fetch_assignment(annotator, assignment_uuid)
        return render_closed(request, assignment, sent, refusal.message, is_kept=is_kept)
    except Refused as refusal:
        messages.info(request, refusal.message)
        return redirect_with_get(reverse("annotate:work-show", args=[project.slug, assignment_uuid]))
    if submitted is None:
        return redirect_with_get(reverse("annotate:work-show", args=[project.slug, assignment_uuid]))
    if submitted.was_stored:
        messages.info(request, _("Those ratings were already saved."))
    elif submitted.mark == Assignment.Mark.SURPLUS:
        messages.info(
            request,
            _("Submitted. Others finished this HIT first: your ratings are kept but don't count in the results."),
        )
    for hint in [] if submitted.was_stored else work_sessions.list_hints(request.user):
        messages.info(request, hint)
    return next_hit(
        request,
        project,
        after=_find_revisable(annotator, assignment_uuid),
        is_submitted=not submitted.was_stored and submitted.mark != Assignment.Mark.SURPLUS,
    )


def _find_revisable(annotator: Membership, assignment_uuid: uuid.UUID) -> uuid.UUID | None:
    """Return the HIT just submitted if its annotator may edit it; no query if the project allows no revisions."""
    if not annotator.project.revision_minutes:
        return None
    assignment = Assignment.objects.select_related("hit__batch").get(uuid=assignment_uuid)
    assignment.annotator = annotator
    return assignment_uuid if revising.find_window(assignment).is_open else None


def next_hit(
    request: ProjectRequest, project: Project, *, after: uuid.UUID | None = None, is_submitted: bool = False
) -> HttpResponse:
    """Redirect to the next HIT, to what must be confirmed before it, or to the desk, which says why there is none.

    The page of the next HIT offers to edit the HIT submitted just before it, `after`. The desk confirms that the HIT
    before `is_submitted`; a next HIT shows that by itself.
    """
    found = serving.claim(request.membership)
    if isinstance(found, serving.ConfirmFirst):
        if found.lacks_consent:
            return redirect_with_get(f"{reverse('annotate:consent', args=[project.slug])}?next=work")
        if found.lacks_survey:
            return redirect_with_get(
                f"{reverse('annotate:survey', args=[project.slug, Survey.Moment.BEFORE])}?next=work"
            )
        number = Batch.objects.values_list("number", flat=True).get(pk=found.batch_id)
        read = reverse("annotate:instructions-read", args=[project.slug, found.unread_version])
        return redirect_with_get(f"{read}?next=work&batch={number}")
    if isinstance(found, serving.NoWork):
        if is_submitted:
            messages.success(request, _("HIT submitted. Thank you!"))
        return redirect_with_get(reverse("annotate:project-desk", args=[project.slug]))
    shown = reverse("annotate:work-show", args=[project.slug, found])
    return redirect_with_get(f"{shown}?after={after}" if after else shown)


def _keep_draft_on_access_lost(
    request: SignedInRequest, membership: Membership, reason: str, *, assignment_uuid: uuid.UUID
) -> HttpResponse | None:
    """Save the draft of an annotator who may no longer submit, and tell the open page why."""
    if not Assignment.objects.filter(uuid=assignment_uuid, annotator=membership.pk).exists():
        return None
    return _save_draft(request, membership, assignment_uuid, ended=reason)


@requires(Right.WORK, answers_json=True, on_access_lost=_keep_draft_on_access_lost)
@require_POST
def work_draft(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    return _save_draft(request, request.membership, assignment_uuid)


def _save_draft(
    request: SignedInRequest, annotator: Membership, assignment_uuid: uuid.UUID, *, ended: str = ""
) -> HttpResponse:
    act = partial(drafts.save_for_page, annotator=annotator, assignment_uuid=assignment_uuid)
    return save_draft(request, act, ended=ended)


@requires(Right.WORK)
@require_POST
def work_return(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    form = ReturnForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    try:
        with refusals(request):
            submitting.return_hit(annotator=request.membership, assignment_uuid=assignment_uuid, reason=reason)
            messages.success(request, _("HIT returned. You won't be offered it again."))
    except Assignment.DoesNotExist as error:
        raise Http404("No such HIT.") from error
    return redirect_with_get(reverse("annotate:project-desk", args=[project.slug]))


@requires(Right.WORK)
@require_POST
def work_reopen(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    return _act_on_page(request, project, assignment_uuid, submitting.reopen, _("You can continue with this HIT."))


@requires(Right.WORK)
@require_POST
def work_extend(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    return _act_on_page(request, project, assignment_uuid, submitting.extend, _("Timer restarted."))


class ActOnHit(Protocol):
    """An act of an annotator on their own HIT."""

    def __call__(self, *, annotator: Membership, assignment_uuid: uuid.UUID) -> None: ...


def _act_on_page(
    request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID, act: ActOnHit, done: str
) -> HttpResponse:
    try:
        with refusals(request):
            act(annotator=request.membership, assignment_uuid=assignment_uuid)
            messages.success(request, done)
    except Assignment.DoesNotExist as error:
        raise Http404("No such HIT.") from error
    return redirect_with_get(reverse("annotate:work-show", args=[project.slug, assignment_uuid]))


@signed_in(answers_json=True)
@never_cache
@require_safe
def session(request: SignedInRequest) -> JsonResponse:
    return JsonResponse({"user": request.user.get_username(), "csrf": get_token(request)})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Render a rating form whose CSRF token was stale again, filled in and with a fresh token: nothing is lost."""
    try:
        match = resolve(request.path_info)
    except Resolver404:
        match = None
    pages = ("annotate:work-show", "annotate:attempt-show", "annotate:revision")
    if match is None or match.view_name not in pages or not request.user.is_authenticated:
        # Another site could otherwise lay out a form here that somebody sends, who may only look signed out: browsers
        # keep the session from forms of other sites.
        fields = list_kept_fields(request) if _is_of_this_site(request, reason) else []
        if fields and not request.user.is_authenticated:
            return keep_form_until_sign_in(request)
        return render(request, "403_csrf.html", {"fields": fields}, status=HTTPStatus.FORBIDDEN)
    if match.view_name != "annotate:work-show":
        show = attempt_views.show_again if match.view_name == "annotate:attempt-show" else revision_views.show_again
        return cast("HttpResponse", show(request, **match.kwargs))
    # Only a form that this site sent is saved as a draft: another site could otherwise fill in an annotator's answers.
    show_again = _show_again if _is_of_this_site(request, reason) else _show_again_from_elsewhere
    return cast("HttpResponse", show_again(request, **match.kwargs))


def _is_of_this_site(request: HttpRequest, reason: str) -> bool:
    """Return whether the browser states that one of this site's pages sent the form; Django has checked it before."""
    return "Origin" in request.headers and not reason.startswith(REASON_BAD_ORIGIN.partition("%")[0])


def _fill_in_again(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _fetch_assignment(request.membership, assignment_uuid)
    messages.warning(
        request, _("Your sign-in changed after you opened this page. Nothing is lost. Please submit again.")
    )
    sent = read_rating(request.POST)
    return render_assignment(request, project, assignment, sent=sent, status=HTTPStatus.FORBIDDEN)


_show_again = requires(Right.WORK, on_access_lost=keep_draft_on_access_lost)(_fill_in_again)
_show_again_from_elsewhere = requires(Right.WORK, on_access_lost=show_answers_on_access_lost)(_fill_in_again)


def _fetch_assignment(annotator: Membership, assignment_uuid: uuid.UUID) -> Assignment:
    """Return the annotator's own assignment with what its page shows. Raises Http404 for anyone else's."""
    values = fetch_one(_ASSIGNMENT_PAGE, {"uuid": assignment_uuid, "annotator": annotator.pk})
    if values is None:
        raise Http404("No such HIT.")
    assignment, hit = _ASSIGNMENT.take(values), _HIT.take(values)
    hit.batch, hit.passage = _BATCH.take(values), _PASSAGE.take(values)
    assignment.hit, assignment.annotator = hit, annotator
    # Also None goes into the relation's cache, or reading `assignment.draft` would query for a draft that isn't there.
    assignment._state.fields_cache["draft"] = None if values[0] is None else _DRAFT.take(values)
    return assignment
