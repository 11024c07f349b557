"""Pages of minimal pairs: the list with its counts, adding, editing, deleting and withdrawing a pair."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import Case, CharField, Count, F, Q, QuerySet, Value, When
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate.data import pairs as data_pairs
from annotate.data.forms import PairForm
from annotate.data.pairs import PHENOMENA
from annotate.data.views import MOST_NAMES, NONE
from annotate.data.withdrawing import plan_withdrawal
from annotate.models import Judgment
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import format_number, plural
from projects.models import MinimalPair, Project, Question
from projects.web.forms import WhyForm, choose_status
from projects.web.lists import paginate, read_text, read_word
from projects.web.refusals import refusals

SCORES = {
    "higher": "better one higher",
    "not": "better one not higher",
    NONE: "not given",
}
"""The filter by the scores given with a pair."""

_SCORE_FILTERS = {"higher": Q(score_1__gt=F("score_2")), "not": Q(score_1__lte=F("score_2")), NONE: Q(score_1=None)}
_SCORES = Case(
    *(When(condition, then=Value(name)) for name, condition in _SCORE_FILTERS.items()), output_field=CharField()
)
_IS_WITHDRAWN = (
    Q(candidate_1__withdrawn_at__isnull=False)
    | Q(candidate_2__withdrawn_at__isnull=False)
    | Q(question__passage__withdrawn_at__isnull=False)
)


@requires(Right.READ)
@require_safe
@snapshot()
def pair_list(request: ProjectRequest, project: Project) -> HttpResponse:
    pairs = MinimalPair.objects.filter(question__dataset__project=project)
    counts = _count_pairs(pairs)
    chosen = {
        "dataset": read_word(request, "dataset", counts["datasets"]),
        "phenomenon": read_word(request, "phenomenon", [word for word, _name in counts["phenomena"]]),
        "scores": read_word(request, "scores", SCORES),
        "q": read_text(request, "q"),
    }
    rows = _filter(pairs, chosen)
    rows = rows.select_related("question__dataset", "question__passage", "candidate_1", "candidate_2")
    rows = rows.defer("question__passage__text", "question__passage__documents")
    page = paginate(request, rows.order_by("pk"))
    _add_judgments(page.object_list)
    context = {"page": page, "chosen": chosen, "is_narrowed": any(chosen.values()), "score_labels": SCORES, **counts}
    return render(request, "annotate/data/pair_list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def pair_new(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    questions = Question.objects.select_related("dataset", "passage").prefetch_related("references")
    question = get_object_or_404(questions, pk=pk, dataset__project=project)
    form = PairForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            data_pairs.write_pair(project=project, actor=request.membership, question=question, written=form.written())
            _report_saved(request, form, "Minimal pair added.")
            if "another" in request.POST:
                return redirect("annotate:pair-new", project.slug, question.pk)
            return redirect("annotate:pair-list", project.slug)
    return _render_form(request, form, question, None)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def pair_edit(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    pair = _fetch_pair(project, pk)
    is_used = data_pairs.is_used(pair)
    form = PairForm(request.POST if request.method == "POST" else None, pair=pair, is_used=is_used)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            data_pairs.change_pair(project=project, actor=request.membership, pair=pair, written=form.written())
            _report_saved(request, form, "Minimal pair saved.")
            return redirect("annotate:pair-list", project.slug)
    return _render_form(request, form, pair.question, pair, is_used=is_used)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def pair_remove(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Delete a pair that no one has been asked about, or withdraw it with a reason."""
    pair = _fetch_pair(project, pk)
    is_used = data_pairs.is_used(pair)
    form = WhyForm(request.POST if request.method == "POST" else None) if is_used else None
    if request.method == "POST" and (form is None or form.is_valid()):
        with refusals(request):
            if form is None:
                data_pairs.delete_pair(project=project, actor=request.membership, pair=pair)
                messages.success(request, "Minimal pair deleted.")
            else:
                why = form.cleaned_data["why"]
                done = data_pairs.withdraw_pair(project=project, actor=request.membership, pair=pair, why=why)
                message = plural(
                    done.n_judgments,
                    "Withdrawn. %(n)s judgment of it no longer counts.",
                    "Withdrawn. %(n)s judgments of it no longer count.",
                )
                messages.success(request, message % {"n": format_number(done.n_judgments)})
            return redirect("annotate:pair-list", project.slug)
        return redirect("annotate:pair-remove", project.slug, pair.pk)
    plan = plan_withdrawal([pair.candidate_1_id, pair.candidate_2_id]) if is_used else None
    context = {"pair": pair, "form": form, "plan": plan, "is_withdrawn": _is_withdrawn(pair)}
    return render(
        request,
        "annotate/data/pair_remove.html",
        context,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if form and form.errors else 200,
    )


def _fetch_pair(project: Project, pk: int) -> MinimalPair:
    pairs = MinimalPair.objects.select_related("question__dataset", "question__passage", "candidate_1", "candidate_2")
    pairs = pairs.prefetch_related("question__references")
    return get_object_or_404(pairs, pk=pk, question__dataset__project=project)


def _is_withdrawn(pair: MinimalPair) -> bool:
    return bool(pair.candidate_1.withdrawn_at and pair.candidate_2.withdrawn_at)


def _report_saved(request: ProjectRequest, form: PairForm, saved: str) -> None:
    if form.written().is_first_higher is False:
        saved += " " + "The better candidate’s score isn’t higher, so the pair is excluded from metric accuracy."
        messages.warning(request, saved)
    else:
        messages.success(request, saved)


def _render_form(
    request: ProjectRequest, form: PairForm, question: Question, pair: MinimalPair | None, *, is_used: bool = False
) -> HttpResponse:
    pairs = MinimalPair.objects.filter(question__dataset__project=request.project).order_by("phenomenon")
    used = pairs.exclude(phenomenon__in=("", *PHENOMENA)).values_list("phenomenon", flat=True).distinct()
    context = {
        "form": form,
        "question": question,
        "pair": pair,
        "is_used": is_used,
        "phenomena": [*PHENOMENA, *used[:MOST_NAMES]],
    }
    return render(request, "annotate/data/pair_form.html", context, status=choose_status(form))


def _filter(rows: QuerySet[MinimalPair], chosen: dict[str, str]) -> QuerySet[MinimalPair]:
    if chosen["dataset"]:
        rows = rows.filter(question__dataset__name=chosen["dataset"])
    if chosen["phenomenon"]:
        words = chosen["phenomenon"]
        rows = rows.filter(phenomenon__in=["", words] if words == NONE else [words])
    if chosen["scores"]:
        rows = rows.filter(_SCORE_FILTERS[chosen["scores"]])
    if text := chosen["q"]:
        in_texts = Q(candidate_1__text__icontains=text) | Q(candidate_2__text__icontains=text)
        rows = rows.filter(in_texts | Q(question__text__icontains=text) | Q(candidate_1__external_id=text))
    return rows


def _count_pairs(pairs: QuerySet[MinimalPair]) -> dict[str, Any]:
    """Count pairs by dataset and phenomenon, by their scores, and the withdrawn ones."""
    grouped = pairs.order_by().values("question__dataset__name", "phenomenon", scores=_SCORES)
    # One query by all three; the sums below are made of its few rows.
    n: dict[tuple[str, str], int] = {}
    n_by_scores: dict[str, int] = dict.fromkeys(SCORES, 0)
    for row in grouped.annotate(n=Count("pk"), n_withdrawn=Count("pk", filter=_IS_WITHDRAWN)):
        key = (row["question__dataset__name"], row["phenomenon"])
        n[key] = n.get(key, 0) + row["n"]
        n_by_scores[row["scores"]] += row["n"]
        n_by_scores["withdrawn"] = n_by_scores.get("withdrawn", 0) + row["n_withdrawn"]
    datasets = sorted({dataset for dataset, _phenomenon in n})
    phenomena = sorted({phenomenon for _dataset, phenomenon in n}, key=data_pairs.pair_position)
    return {
        "datasets": datasets,
        "phenomena": [(name or NONE, name) for name in phenomena],
        "lines": [
            {"dataset": each, "cells": [(name or NONE, n.get((each, name), 0)) for name in phenomena],
             "n": sum(n.get((each, name), 0) for name in phenomena)}
            for each in datasets
        ],
        "sums": [sum(n.get((each, name), 0) for each in datasets) for name in phenomena],
        "n_pairs": sum(n.values()),
        "n_by_scores": n_by_scores,
    }  # fmt: skip


def _add_judgments(pairs: Any) -> None:
    """Add the number of counted judgments of each candidate of the pairs on one page, with one query."""
    ids = [pk for pair in pairs for pk in (pair.candidate_1_id, pair.candidate_2_id)]
    judged = Judgment.objects.filter(candidate__in=ids, is_counted=True).order_by()
    found = dict(judged.values_list("candidate").annotate(n=Count("assignment", distinct=True)))
    for pair in pairs:
        pair.n_judged = [found.get(pk, 0) for pk in (pair.candidate_1_id, pair.candidate_2_id)]
        pair.is_withdrawn = bool(
            pair.candidate_1.withdrawn_at or pair.candidate_2.withdrawn_at or pair.question.passage.withdrawn_at
        )
