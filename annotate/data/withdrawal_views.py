"""Pages that withdraw a candidate or a passage: the preview and the reason."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.data import withdrawing
from annotate.places import Withdrawn
from projects.access import ProjectRequest, Right, requires
from projects.language.amounts import format_number, plural
from projects.models import Candidate, Passage, Project
from projects.web.forms import WhyForm, choose_status
from projects.web.refusals import refusals


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def candidate_withdraw(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    candidates = Candidate.objects.select_related("question__passage", "dataset")
    candidate = get_object_or_404(candidates, pk=pk, dataset__project=project)

    def act(why: str) -> Withdrawn:
        return withdrawing.withdraw_candidate(project=project, actor=request.membership, candidate=candidate, why=why)

    passage = candidate.question.passage
    back = f"{reverse('annotate:passage-show', args=[project.slug, passage.pk])}#question-{candidate.question_id}"
    return _render_form(request, candidate, passage, [candidate.pk], back, act)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def passage_withdraw(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    passage = get_object_or_404(Passage.objects.select_related("dataset"), pk=pk, dataset__project=project)

    def act(why: str) -> Withdrawn:
        return withdrawing.withdraw_passage(project=project, actor=request.membership, passage=passage, why=why)

    candidates = list(Candidate.objects.filter(question__passage=passage).values_list("pk", flat=True))
    back = reverse("annotate:passage-show", args=[project.slug, passage.pk])
    return _render_form(request, None, passage, candidates, back, act)


def _render_form(
    request: ProjectRequest,
    candidate: Candidate | None,
    passage: Passage,
    candidate_ids: list[int],
    back: str,
    act: Callable[[str], Withdrawn],
) -> HttpResponse:
    form = WhyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            done = act(form.cleaned_data["why"])
            n = done.n_judgments
            message = plural(
                n, "Withdrawn. {n} judgment of it no longer counts.", "Withdrawn. {n} judgments of it no longer count."
            )
            messages.success(request, message.format(n=format_number(n)))
            return redirect(back)
    context = {
        "candidate": candidate,
        "passage": passage,
        "is_withdrawn": (candidate or passage).withdrawn_at is not None,
        "plan": withdrawing.plan_withdrawal(candidate_ids),
        "form": form,
        "back": back,
    }
    return render(request, "annotate/data/withdraw.html", context, status=choose_status(form))
