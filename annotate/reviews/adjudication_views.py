"""The page of adjudication: candidates with disagreement, their ratings, and the adjudicated score."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Batch
from annotate.reviews import adjudication
from annotate.reviews.adjudication import Differences
from annotate.reviews.forms import AdjudicationForm
from measures.gold_rules import GoldRule
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Candidate, Criterion, Project
from projects.rubric.rubrics import describe_on_page
from projects.web.lists import paginate, read_text, read_word
from projects.web.refusals import refusals
from projects.web.whole_numbers import parse_whole_number

SIZE = 10
"""Candidates of a page, each of which is shown with its passage, references and all ratings."""


@requires(Right.READ)
@never_cache
@require_safe
@snapshot()
def adjudication_list(request: ProjectRequest, project: Project) -> HttpResponse:
    criteria = {criterion.key: criterion for criterion in criteria_in_use(project)}
    context = {
        "criteria": list(criteria.values()),
        "gold": adjudication.read_gold_rule(project),
        "can_manage": request.membership.can_manage,
    }
    if not criteria:
        return render(request, "annotate/reviews/adjudication_list.html", context)
    criterion = criteria[read_word(request, "criterion", criteria, next(iter(criteria)))]
    state = read_word(request, "state", adjudication.STATES, "waiting")
    batch = parse_whole_number(read_text(request, "batch"))
    found_differences = Differences(project, criterion, state=state, batch=batch)
    page = paginate(request, found_differences, SIZE)
    ids = [row.candidate_id for row in page.object_list]
    candidates = Candidate.objects.select_related("question__passage", "dataset").prefetch_related(
        "question__references"
    )
    found = candidates.in_bulk(ids)
    ratings = adjudication.fetch_counted_ratings(ids, criterion)
    adjudications = adjudication.fetch_adjudications(ids, criterion)
    newest = describe_on_page(Criterion.objects.get(pk=criterion.ids[0]))
    context |= {
        "page": page,
        "rows": [
            {
                "row": row,
                "candidate": found[row.candidate_id],
                "ratings": ratings[row.candidate_id],
                "adjudication": adjudications.get(row.candidate_id),
            }
            for row in page.object_list
        ],
        "criterion": criterion,
        "points": newest.points,
        "state": state,
        "states": list(adjudication.STATES.items()),
        "batch_number": batch,
        "batches": Batch.objects.filter(project=project).as_choices(),
    }
    return render(request, "annotate/reviews/adjudication_list.html", context)


@requires(Right.MANAGE)
@require_POST
def adjudication_settle(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    candidates = Candidate.objects.select_related("question__passage")
    candidate = get_object_or_404(candidates, pk=pk, dataset__project=project)
    criterion = next((each for each in criteria_in_use(project) if each.key == request.POST.get("criterion")), None)
    form = AdjudicationForm(request.POST)
    if criterion is None or not form.is_valid():
        messages.error(request, "Enter a score on the scale.")
        return _redirect_back(request, project)
    with refusals(request):
        if request.POST.get("act") == "take back":
            adjudication.withdraw_adjudication(
                project=project, actor=request.membership, candidate=candidate, criterion=criterion
            )
            message = "Adjudicated score removed. The annotators’ scores apply."
        else:
            if form.cleaned_data["value"] is None:
                # The form allows an empty score, because removing one sends none.
                raise Refused("Enter a score on the scale.")
            adjudication.adjudicate(
                project=project,
                actor=request.membership,
                candidate=candidate,
                criterion=criterion,
                value=form.cleaned_data["value"],
                note=form.cleaned_data["note"],
            )
            message = "Adjudicated score saved."
        messages.success(request, message)
    return _redirect_back(request, project)


@requires(Right.MANAGE)
@require_POST
def adjudication_rule(request: ProjectRequest, project: Project) -> HttpResponse:
    wins = request.POST.get("wins") == "1"
    with refusals(request):
        adjudication.set_rule(project=project, actor=request.membership, wins=wins)
        gold = adjudication.read_gold_rule(project)
        if not gold.adjudication_wins:
            message = "Gold scores are now computed from the annotators’ scores alone."
        elif gold.rule == GoldRule.Z:
            message = "Adjudicated scores take precedence once gold scores are not means of z scores."
        else:
            message = "Adjudicated scores are now gold scores."
        messages.success(request, message)
    return redirect("annotate:adjudication-list", project.slug)


def _redirect_back(request: ProjectRequest, project: Project) -> HttpResponse:
    back = request.POST.get("next", "")
    # Back to the same filter and page, but never to another site: only a path is accepted.
    if url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/"):
        return redirect(back)
    return redirect("annotate:adjudication-list", project.slug)
