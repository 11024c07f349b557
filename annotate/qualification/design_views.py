"""Managers' pages of the qualification test: the test, its settings and state, its attempts, who is qualified."""

import uuid
from collections import Counter
from collections.abc import Sequence

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.attempts import results
from annotate.attempts.admission import find_admission, find_qualified
from annotate.models import Attempt, Grant, QualificationItem, QualificationTest
from annotate.qualification import design, granting
from annotate.qualification.forms import GrantForm, TestSettingsForm
from annotate.qualification.item_statistics import compute_item_figures
from measures.grading import least_right
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import plural
from projects.models import Project
from projects.rubric.rubrics import CriterionOnPage, current_rubric, read_criteria
from projects.web.forms import choose_status
from projects.web.lists import paginate, read_text, read_word
from projects.web.refusals import refusals

Purpose = QualificationItem.Purpose
State = Attempt.State
STATES = {
    "passed": (State.PASSED.label, Q(state=State.PASSED, purpose=Purpose.TEST)),
    "failed": (State.FAILED.label, Q(state=State.FAILED)),
    "open": (State.OPEN.label, Q(state=State.OPEN)),
    "expired": (State.EXPIRED.label, Q(state=State.EXPIRED, purpose=Purpose.TEST)),
    "practice": (Purpose.PRACTICE.label, Q(purpose=Purpose.PRACTICE)),
}


@requires(Right.READ)
@require_safe
@snapshot()
def qualification_test(request: ProjectRequest, project: Project) -> HttpResponse:
    test = design.find_test(project)
    can_manage = request.membership.can_manage
    if test is None:
        return render(request, "annotate/qualification/empty.html", {"can_manage": can_manage})
    items = list(test.items.all())
    live = [item for item in items if item.retired_at is None]
    n_pool = sum(item.purpose == Purpose.TEST for item in live)
    n_taken = test.n_items or n_pool
    criteria = read_criteria(test.rubric)
    figures = compute_item_figures(test, items)
    states = Counter(test.attempts.filter(purpose=Purpose.TEST).values_list("state", flat=True))
    context = {
        "test": test,
        "rubric": test.rubric,
        "criteria": criteria,
        "rows": [
            {"item": item, "figures": figures[item.pk], "right": _format_expected(item, criteria)} for item in live
        ],
        "retired": [item for item in items if item.retired_at is not None],
        "n_pool": n_pool,
        "n_taken": n_taken,
        "n_needed": least_right(n_taken, test.pass_share),
        "n_graded": states[State.PASSED] + states[State.FAILED],
        "n_passed": states[State.PASSED],
        "n_qualified": find_qualified(test).count(),
        "why_not_open": design.why_not_open(test) if test.state != QualificationTest.State.OPEN else [],
        "newest": current_rubric(project) if design.has_newer_rubric(test) else None,
        "can_manage": can_manage,
    }
    return render(request, "annotate/qualification/show.html", context)


@requires(Right.MANAGE)
@require_POST
def qualification_make(request: ProjectRequest, project: Project) -> HttpResponse:
    with refusals(request):
        design.make_test(project=project, actor=request.membership)
    return redirect("annotate:qualification-test", project.slug)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def qualification_settings(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    form = TestSettingsForm(
        test, request.POST if request.method == "POST" else None, initial=TestSettingsForm.initial_values(test)
    )
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            design.change_settings(test=test, actor=request.membership, values=form.values())
            messages.success(request, "Settings saved.")
            return redirect("annotate:qualification-test", project.slug)
    status = choose_status(form)
    return render(request, "annotate/qualification/settings.html", {"form": form, "test": test}, status=status)


@requires(Right.MANAGE)
@require_POST
def qualification_state(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    with refusals(request, with_details=True):
        if request.POST.get("act") == "open":
            design.open_test(test=test, actor=request.membership)
            messages.success(request, "Test opened. Only people who pass can take work that requires it.")
        elif request.POST.get("act") == "close":
            design.close_test(test=test, actor=request.membership)
            messages.success(request, "Test closed. Everyone can work.")
    return redirect("annotate:qualification-test", project.slug)


@requires(Right.MANAGE)
@require_POST
def qualification_rubric(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    keep = request.POST.get("on_new_rubric", "")
    if keep not in QualificationTest.OnNewRubric.values:
        messages.error(request, "Choose whether everyone retakes the test.")
        return redirect("annotate:qualification-test", project.slug)
    with refusals(request, with_details=True):
        n_without = design.move_to_rubric(test=test, actor=request.membership, on_new_rubric=keep)
        messages.success(request, "The test now uses the latest version of the rubric.")
        if n_without:
            n_items = f"{n_without} {plural(n_without, 'item', 'items')}"
            why = f"A scale or its direction has changed: set the correct ratings of {n_items} again."
            messages.warning(request, why)
    return redirect("annotate:qualification-test", project.slug)


@requires(Right.READ)
@require_safe
@snapshot()
def qualification_attempts(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    state, query = read_word(request, "state", STATES), read_text(request, "q")
    attempts = Attempt.objects.filter(test=test).defer("draft", "answers").select_related("test", "annotator")
    attempts = attempts.order_by("-started_at", "-pk")
    has_any = attempts.exists()
    if state:
        attempts = attempts.filter(STATES[state][1])
    if query:
        attempts = attempts.filter(annotator__pseudonym__icontains=query)
    page = paginate(request, attempts)
    now = timezone.now()
    context = {
        "page": page,
        "rows": [results.summarise_result(attempt, now) for attempt in page],
        "state": state,
        "states": [(key, label) for key, (label, _found) in STATES.items()],
        "q": query,
        "has_any": has_any,
        "can_manage": request.membership.can_manage,
    }
    return render(request, "annotate/qualification/submitted_attempts.html", context)


@requires(Right.READ)
@require_safe
@snapshot()
def qualification_attempt(request: ProjectRequest, project: Project, attempt_uuid: uuid.UUID) -> HttpResponse:
    attempts = Attempt.objects.select_related("test__project", "rubric", "annotator")
    attempt = get_object_or_404(attempts, uuid=attempt_uuid, test__project=project)
    context = {
        "attempt": attempt,
        "summary": results.summarise_result(attempt, timezone.now()),
        "pages": results.explain_result(attempt) if attempt.n_right is not None else [],
        "can_manage": request.membership.can_manage,
    }
    return render(request, "annotate/qualification/submitted_attempt.html", context)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def qualification_person(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    member = get_object_or_404(project.memberships.select_related("user", "project"), pseudonym=pseudonym)
    form = GrantForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            act = granting.grant if form.cleaned_data["kind"] == Grant.Kind.GRANTED else granting.revoke
            act(annotator=member, actor=request.membership, why=form.cleaned_data["why"])
            is_granted = form.cleaned_data["kind"] == Grant.Kind.GRANTED
            messages.success(request, "Qualification granted." if is_granted else "Qualification revoked.")
            return redirect("annotate:qualification-person", project.slug, pseudonym)
    context = {
        "member": member,
        "form": form,
        "admission": find_admission(member),
        "grants": Grant.objects.filter(annotator=member).select_related("given_by"),
        "attempts": _summarise(Attempt.objects.filter(annotator=member)),
    }
    status = choose_status(form)
    return render(request, "annotate/qualification/person.html", context, status=status)


def fetch_test(project: Project) -> QualificationTest:
    test = design.find_test(project)
    if test is None:
        raise Http404("This project has no qualification test.")
    return test


def _summarise(attempts: QuerySet[Attempt]) -> list[results.AttemptSummary]:
    now = timezone.now()
    return [
        results.summarise_result(each, now) for each in attempts.select_related("test").order_by("-started_at", "-pk")
    ]


def _format_expected(item: QualificationItem, criteria: Sequence[CriterionOnPage]) -> list[str]:
    """Return the correct ratings of an item in the order of the rubric, named where it has several criteria."""
    ratings = {
        each.name: results.format_range(item.expected[each.key], item.tolerance)
        for each in criteria
        if each.key in item.expected
    }
    return [f"{name}: {rating}" for name, rating in ratings.items()] if len(criteria) > 1 else list(ratings.values())
