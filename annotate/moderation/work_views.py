"""Pages of submissions: the list, a decision on many, one assignment."""

import uuid
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Assignment, Batch, LedgerEntry, Remark
from annotate.models.assignment import AssignmentQuerySet
from annotate.moderation import decisions
from annotate.moderation.assignment_page import list_items_with_ratings
from annotate.moderation.decisions import Decision
from annotate.moderation.forms import DecisionForm, RejectForm, SetAsideForm
from annotate.moderation.work_filter import COUNTING, MARKS, WorkFilter, find_emptied_hits
from annotate.payments import ledger
from annotate.places import RestoredWork
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import format_number, plural
from projects.models import Act, LogEntry, Project
from projects.web.forms import WhyForm, choose_status
from projects.web.lists import order_by, paginate, read_sort, read_text, read_word
from projects.web.previews import Preview
from projects.web.refusals import refusals
from projects.web.whole_numbers import parse_whole_number

COLUMNS = {
    "submitted": "submitted_at",
    "annotator": "annotator__pseudonym",
    "batch": "hit__batch__number",
    "state": "state",
    "seconds": "seconds_an_item",
}

DECISIONS = (Act.APPROVE_WORK, Act.REJECT_WORK)
"""That can be on several assignments at once."""


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def submitted_list(request: ProjectRequest, project: Project) -> HttpResponse:
    chosen = _read_filter(request)
    sort = read_sort(request, COLUMNS, "-submitted")
    rows = chosen.select_from(project).select_related("hit__batch", "annotator")
    rows = rows.annotate(seconds_an_item=F("active_seconds") / F("layout__len")).order_by(
        order_by(sort, COLUMNS), "-pk"
    )
    page = paginate(request, rows)
    _add_remarks(page.object_list)
    # Asked only if the filter finds nothing, to tell an empty project from a filter that is too narrow.
    everything = WorkFilter().select_from(project)
    context = {
        "page": page,
        "sort": sort,
        "chosen": chosen,
        # Sent along with a decision on all in the list, which then leaves out what is submitted from now on.
        "now": timezone.now().isoformat(),
        "has_any": bool(page.paginator.count) or everything.exists(),
        "states": [(state.value, state.label) for state in Assignment.SUBMITTED_STATES],
        "marks": MARKS,
        "emptied": find_emptied_hits(project),
        "counting": COUNTING,
        "batches": Batch.objects.filter(project=project).collecting().as_choices(),
        "approve_after_days": project.approve_after_days,
    }
    return render(request, "annotate/moderation/submitted_list.html", context)


def _add_remarks(page: Iterable[Assignment]) -> None:
    """Count the comments on the assignments of one page: counting for all of a list would group every one of them."""
    assignments = list(page)
    remarks = Remark.objects.filter(assignment__in=assignments).order_by()
    found = dict(remarks.values_list("assignment").annotate(n=Count("pk")))
    for assignment in assignments:
        assignment.n_remarks = found.get(assignment.pk, 0)  # type: ignore[attr-defined]


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def submitted_decide(request: ProjectRequest, project: Project) -> HttpResponse:
    """Preview a decision on the selected or all matching assignments (GET), then make it (POST)."""
    sent = request.POST if request.method == "POST" else request.GET
    choice = DecisionForm(sent)
    back = reverse("annotate:submitted-list", args=[project.slug]) + choice.make_list_query()
    uuids = [each for each in sent.getlist("work") if _is_uuid(each)]
    if not choice.is_valid() or not (uuids or choice.cleaned_data["all"]):
        messages.error(request, "Select the assignments to decide on, or choose all in the list.")
        return redirect(back)
    chosen, act, with_absent = choice.work_filter(uuids), choice.cleaned_data["act"], choice.cleaned_data["absent"]
    # Approving needs no form; its preview has only the button.
    form = RejectForm(request.POST if request.method == "POST" and act == "reject" else None)
    if request.method == "POST" and (act == "approve" or form.is_valid()):
        with refusals(request, form if form.is_bound else None):
            messages.success(request, _decide_as_shown(request, project, chosen, act, form, with_absent=with_absent))
            return redirect(back)
    work = chosen.select_from(project)
    plan = _plan(work, act, with_absent=with_absent)
    context = {
        "act": act,
        "plan": plan,
        "absent": decisions.count_absent(work) if act == "approve" else [],
        "with_absent": with_absent,
        "preview": _make_preview(project, chosen, act, plan, with_absent=with_absent),
        "form": form,
        "fields": [(name, value) for name in choice.fields if name != "absent" for value in sent.getlist(name)],
        "uuids": uuids if not choice.cleaned_data["all"] else [],
        "is_paid": ledger.pays_anything(project),
    }
    status = choose_status(form)
    return render(request, "annotate/moderation/submitted_decide.html", context, status=status)


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def assignment_show(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    return _render_assignment(request, _fetch_assignment(project, assignment_uuid))


@requires(Right.MANAGE)
@never_cache
@require_POST
def assignment_decide(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID) -> HttpResponse:
    assignment = _fetch_assignment(project, assignment_uuid)
    chosen, act = WorkFilter(uuids=(str(assignment.uuid),)), request.POST.get("act")
    form = RejectForm(request.POST) if act == "reject" else WhyForm(request.POST) if act == "accept" else None
    if act not in ("approve", "reject", "accept") or (form is not None and not form.is_valid()):
        return _render_assignment(request, assignment, form=form, act=act or "")
    with refusals(request):
        if act == "accept" and form is not None:
            done = decisions.accept(
                project=project, actor=request.membership, assignment=assignment, why=form.cleaned_data["why"]
            )
            message = _describe_accepted(done)
        else:
            # Whoever decides on a single assignment has its annotator's page beside it.
            message = _decide(request, project, chosen, act, form, with_absent=True)
        messages.success(request, message)
    return redirect("annotate:assignment-show", project.slug, assignment.uuid)


def _describe_accepted(done: RestoredWork) -> str:
    if done.n_counted:
        return "Accepted after all. It counts."
    if done.n_surplus:
        return "Accepted after all, as surplus."
    return "Accepted after all. It doesn’t count, as it had been excluded or was surplus before it was rejected."


@requires(Right.MANAGE)
@require_POST
def assignment_item(request: ProjectRequest, project: Project, assignment_uuid: uuid.UUID, place: int) -> HttpResponse:
    """Set one judgment aside, or count it again."""
    assignment = _fetch_assignment(project, assignment_uuid)
    if place >= len(assignment.layout):
        raise Http404("No such item.")
    form = SetAsideForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Give a reason. It is recorded in the audit log.")
        return redirect("annotate:assignment-show", project.slug, assignment.uuid)
    again, why = form.cleaned_data["again"], form.cleaned_data["why"]
    with refusals(request):
        decisions.set_aside(
            project=project, actor=request.membership, assignment=assignment, place=place, is_counted=again, why=why
        )
        messages.success(
            request, "The judgment counts again." if again else "Judgment set aside. It isn’t collected again."
        )
    return redirect("annotate:assignment-show", project.slug, assignment.uuid)


@transaction.atomic
def _decide_as_shown(
    request: ProjectRequest,
    project: Project,
    chosen: WorkFilter,
    act: str,
    form: RejectForm | WhyForm | None,
    *,
    with_absent: bool,
) -> str:
    """Decide on what the preview showed. Raises PreviewChanged if others have decided on some of it meanwhile."""
    work = chosen.select_from(project)
    # The batches are locked by the act itself and before assignments, so the numbers are compared first: what others
    # decide from here on, the act leaves out.
    plan = _plan(work, act, with_absent=with_absent)
    _make_preview(project, chosen, act, plan, with_absent=with_absent).require_confirmed(request)
    return _decide(request, project, chosen, act, form, with_absent=with_absent)


def _plan(work: AssignmentQuerySet, act: str, *, with_absent: bool) -> Decision:
    if act == "approve":
        return decisions.plan_approval(work, with_absent=with_absent)
    return decisions.plan_rejection(work)


def _make_preview(project: Project, chosen: WorkFilter, act: str, plan: Decision, *, with_absent: bool) -> Preview:
    numbers = [plan.n_assignments, plan.n_judgments, plan.n_places, plan.cents]
    return Preview(act, project, (chosen, with_absent), numbers)


def _decide(
    request: ProjectRequest,
    project: Project,
    chosen: WorkFilter,
    act: str,
    form: RejectForm | WhyForm | None,
    *,
    with_absent: bool,
) -> str:
    if act == "approve" or form is None:
        n = decisions.approve(project=project, actor=request.membership, chosen=chosen, with_absent=with_absent)
        return plural(n, "{n} assignment approved.", "{n} assignments approved.").format(n=format_number(n))
    done = decisions.reject(project=project, actor=request.membership, chosen=chosen, **form.cleaned_data)
    n, places = done.n_assignments, done.n_places
    rejected = plural(n, "{n} assignment rejected", "{n} assignments rejected").format(n=format_number(n))
    opened = plural(places, "{n} reassigned.", "{n} reassigned.").format(n=format_number(places))
    message = f"{rejected}, {opened}"
    if not done.closed_batches:
        return message
    return f"{message} {decisions.describe_closed(done.closed_batches, reopened=form.cleaned_data['reopen_batches'])}"


def _render_assignment(
    request: ProjectRequest, assignment: Assignment, *, form: Any = None, act: str = ""
) -> HttpResponse:
    batch = assignment.hit.batch
    entries = LedgerEntry.objects.filter(assignment=assignment).order_by("pk")
    context = {
        "assignment": assignment,
        "hit": assignment.hit,
        "batch": batch,
        "criteria": list(batch.rubric.criteria.all()),
        "items": list_items_with_ratings(assignment),
        "entries": entries,
        "cents": sum(entry.cents for entry in entries),
        "is_emptied": assignment.mark in COUNTING and assignment.hit_id in find_emptied_hits(request.project),
        "is_final": batch.state == Batch.State.ARCHIVED or batch.kind == Batch.Kind.IMPORTED,
        "is_closed": batch.state == Batch.State.CLOSED,
        "reject_form": form if act == "reject" and form is not None else RejectForm(auto_id="reject-%s"),
        "accept_form": form if act == "accept" and form is not None else WhyForm(auto_id="accept-%s"),
        "log": _find_log(assignment, request.project),
        "no_entry": "Decided with others: see the audit log." if assignment.decided_at else "No decisions yet.",
    }
    return render(
        request,
        "annotate/moderation/assignment_show.html",
        context,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if form else 200,
    )


def _find_log(assignment: Assignment, project: Project) -> QuerySet[LogEntry]:
    """Return the entries about an assignment, with its newest decision where that was one on several at once."""
    about = Q(object_type="assignment", object_id=str(assignment.pk))
    if assignment.decided_at is not None:
        # An entry about several is about the project, and has the same time as they have.
        about |= Q(object_type="project", act__in=DECISIONS, actor=assignment.decided_by_id, at=assignment.decided_at)
    return LogEntry.objects.filter(about, project=project).select_related("actor")


def _fetch_assignment(project: Project, assignment_uuid: uuid.UUID) -> Assignment:
    assignments = Assignment.objects.select_related("hit__batch__rubric", "hit__passage__dataset", "annotator")
    return get_object_or_404(assignments, uuid=assignment_uuid, hit__batch__project=project)


def _read_filter(request: ProjectRequest) -> WorkFilter:
    return WorkFilter(
        batch=parse_whole_number(read_text(request, "batch")),
        annotator=read_text(request, "annotator"),
        state=read_word(request, "state", Assignment.SUBMITTED_STATES),
        mark=read_word(request, "mark", [mark for mark, _ in MARKS]),
        is_answered=bool(read_text(request, "answered")),
        only_absent=bool(read_text(request, "inactive")),
    )


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
