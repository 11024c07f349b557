"""Pages of spot checks: the list, the blind rating, and the verdicts on the annotator's ratings."""

from collections.abc import Mapping
from http import HTTPStatus
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Judgment, Remark, Review
from annotate.rating import answers
from annotate.rating.sent import SentAnswers, read_rating
from annotate.rating.shown import describe_question, format_opinion, list_items, list_references
from annotate.reviews import spot_checks
from annotate.reviews.forms import read_verdicts
from annotate.reviews.spot_checks import ItemVerdict
from measures.rubric import format_plain_number
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Project
from projects.rubric.rubrics import frozen_criteria
from projects.web.lists import paginate, read_text, read_word
from projects.web.refusals import refusals

STATES = {**dict(Review.State.choices), "all": "any status"}
TO_DO = ("waiting", "rated")


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def review_list(request: ProjectRequest, project: Project) -> HttpResponse:
    state = read_word(request, "state", STATES)
    reviews = _list_reviews(project).annotate(
        n_poor=Count("verdicts", filter=Q(verdicts__is_poor=True)), n_verdicts=Count("verdicts")
    )
    text = read_text(request, "q")
    # Only finished spot checks can be searched by annotator: a search must not tell whose work a blind rating is about.
    if text:
        state = Review.State.DONE
        reviews = reviews.filter(assignment__annotator__pseudonym__icontains=text)
    if state != "all":
        reviews = reviews.filter(state__in=(state,) if state else TO_DO)
    page = paginate(request, reviews.order_by("pk"))
    context = {
        "page": page,
        "state": state,
        "states": STATES,
        "q": text,
        "has_any": bool(page.paginator.count) or _list_reviews(project).exists(),
    }
    return render(request, "annotate/reviews/list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def review_show(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Show the blind rating; once it is stored, both ratings side by side."""
    review = get_object_or_404(_list_reviews(project), pk=pk)
    if refusal := spot_checks.why_not_review(review, request.membership):
        messages.error(request, refusal)
        return redirect("annotate:review-list", project.slug)
    if request.method == "POST":
        return _store_rating(request, project, review)
    if review.state == Review.State.WAITING:
        return _render_blind(request, project, review, SentAnswers(values={}), {})
    return _render_sides(request, project, review, {})


def _store_rating(request: ProjectRequest, project: Project, review: Review) -> HttpResponse:
    sent = read_rating(request.POST)
    with refusals(request):
        try:
            spot_checks.store_review_ratings(review=review, reviewer=request.membership, sent=sent)
        except answers.Incomplete as refusal:
            return _render_blind(request, project, review, sent, refusal.errors)
    return redirect("annotate:review-show", project.slug, review.pk)


@requires(Right.MANAGE)
@never_cache
@require_POST
def review_judge(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    review = get_object_or_404(_list_reviews(project), pk=pk)
    verdicts = read_verdicts(request.POST, len(review.assignment.layout))
    try:
        spot_checks.store_verdicts(review=review, reviewer=request.membership, verdicts=verdicts)
    except Refused as refusal:
        if review.state != Review.State.RATED or spot_checks.why_not_review(review, request.membership):
            messages.error(request, refusal.message)
            return redirect("annotate:review-list", project.slug)
        return _render_sides(request, project, review, verdicts, error=refusal.message)
    messages.success(request, "Spot check saved. The annotator’s indicators update within a minute.")
    # The next one may not be the manager's own work, which they would be refused.
    following = (
        _list_reviews(project).filter(state=Review.State.WAITING).exclude(assignment__annotator=request.membership)
    )
    if "next" in request.POST and (found := following.order_by("pk").first()):
        return redirect("annotate:review-show", project.slug, found.pk)
    return redirect("annotate:review-list", project.slug)


def _list_reviews(project: Project) -> Any:
    reviews = Review.objects.filter(assignment__annotator__project=project)
    return reviews.select_related(
        "assignment__annotator", "assignment__hit__batch", "assignment__hit__passage", "reviewer"
    )


def _render_blind(
    request: ProjectRequest, project: Project, review: Review, sent: SentAnswers, errors: Mapping[int, str]
) -> HttpResponse:
    items = list_items(review.assignment.layout, with_opinions=project.shows_candidate_opinion)
    passage = review.assignment.hit.passage
    criteria = frozen_criteria(review.assignment.hit.batch.rubric_id)
    references = list_references({item.question_id for item in items}, project)
    groups = []
    for question_id, run in groupby(enumerate(items), key=lambda pair: pair[1].question_id):
        pairs = list(run)
        rows = [
            {
                "place": place,
                "text": item.text,
                "opinion": format_opinion(item.opinion),
                "error": errors.get(place, ""),
                "cannot": sent.cannot.get(place, ""),
                "answers": [
                    (criterion, f"a{place}-{criterion.key}", sent.values.get(place, {}).get(criterion.key))
                    for criterion in criteria
                ],
            }
            for place, item in pairs
        ]
        question = describe_question(pairs[0][1], passage, project)
        groups.append({"question": question, "references": references.get(question_id, []), "items": rows})
    context = {
        "review": review,
        "passage": passage,
        "groups": groups,
        "criteria": criteria,
        "n_items": len(items),
        "n_errors": len(errors),
    }
    return render(
        request, "annotate/reviews/rate.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY if errors else 200
    )


def _render_sides(
    request: ProjectRequest, project: Project, review: Review, verdicts: Mapping[int, ItemVerdict], *, error: str = ""
) -> HttpResponse:
    items = list_items(review.assignment.layout, with_opinions=project.shows_candidate_opinion)
    passage = review.assignment.hit.passage
    # Stored verdicts if the check is finished, otherwise those of a form that was refused.
    given = {verdict.item_id: ItemVerdict(verdict.is_poor, verdict.note) for verdict in review.verdicts.all()}
    own, remarks = _fetch_values(review), _fetch_remarks(review)
    references = list_references({item.question_id for item in items}, project, even_hidden=True)
    rows = []
    for place, item in enumerate(items):
        theirs = (review.answers or {}).get(str(item.id), {})
        rows.append(
            {
                "place": place,
                "item": item,
                "question": describe_question(item, passage, project),
                "opinion": format_opinion(item.opinion),
                "references": references.get(item.question_id, []),
                "remark": remarks.get(item.id),
                "verdict": given.get(item.id) or verdicts.get(place),
                "lines": [
                    (criterion.name, *_format_pair(own.get((item.id, criterion.id)), theirs.get(criterion.key)))
                    for criterion in frozen_criteria(review.assignment.hit.batch.rubric_id)
                ],
            }
        )
    context = {
        "review": review,
        "rows": rows,
        "passage": passage,
        "error": error,
        "is_done": review.state == Review.State.DONE,
        "n_poor": sum(verdict.is_poor for verdict in given.values()),
    }
    return render(
        request, "annotate/reviews/sides.html", context, status=HTTPStatus.UNPROCESSABLE_ENTITY if error else 200
    )


def _fetch_values(review: Review) -> dict[tuple[int, int], float | None]:
    judgments = Judgment.objects.filter(assignment=review.assignment)
    return {(item, criterion): value for item, criterion, value in judgments.values_list("item", "criterion", "value")}


def _fetch_remarks(review: Review) -> dict[int, Remark]:
    return {remark.item_id: remark for remark in Remark.objects.filter(assignment=review.assignment)}


def _format_pair(own: float | None, theirs: float | None) -> tuple[str, str, bool]:
    """Return both ratings as texts, and whether they differ."""
    return _format_value(theirs), _format_value(own), own != theirs


def _format_value(value: float | None) -> str:
    return "cannot be judged" if value is None else format_plain_number(value)
