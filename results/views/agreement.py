"""The agreement page: alpha of a criterion, at every level, and per dataset, split or source."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.frames import Scope
from measures.rubric import Level
from projects.access import ProjectRequest, Right, requires
from projects.errors import Refused
from projects.models import Project
from projects.snapshots import snapshot
from results.agreeing import CONFIDENCE, RESAMPLES, SEED, measure_agreement
from results.excluded import count_entering
from results.forms import AgreementForm
from results.scoping import choose_criterion


@requires(Right.READ)
@require_safe
@snapshot()
def agreement(request: ProjectRequest, project: Project) -> HttpResponse:
    form = AgreementForm(project, request.GET or None)
    context = {"form": form, "n_resamples": RESAMPLES, "seed": SEED, "confidence": CONFIDENCE}
    if not form.criteria:
        return render(request, "results/agreement_show.html", context)
    if form.is_bound and not form.is_valid():
        return render(request, "results/agreement_show.html", context, status=400)
    asked = form.cleaned_data if form.is_bound else {}
    batch = asked.get("batch")
    try:
        criterion = choose_criterion(project, key=asked.get("criterion") or form.criteria[0].key, batch=batch)
    except Refused as refusal:
        return render(request, "results/agreement_show.html", {**context, "refusal": refusal.message})
    scope = Scope(
        project=project,
        criterion=criterion,
        stage=form.asked_stage(),
        batch=batch,
        is_blind_only=bool(asked.get("blind")),
    )
    report = measure_agreement(
        scope,
        level=Level(asked.get("level") or criterion.level),
        by=asked.get("by") or "dataset",
        is_by_passage=asked.get("resample") == "passages",
        other_levels=True,
        ask_intervals=bool(asked.get("interval")),
    )
    context |= {"report": report, "criterion": criterion, "entering": count_entering(scope)}
    return render(request, "results/agreement_show.html", context)
