"""The page of one annotator: status, indicators, charts, alerts, spot checks, pay and history."""

from typing import Any

from django.db.models import Case, Count, Q, QuerySet, When
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotate.models import AnnotatorFigures, Finding, Review
from annotate.payments import ledger
from annotate.quality import annotator_profile, charts
from annotate.quality.evidence import QualityScale, find_quality_scale
from annotate.quality.figures_shown import show_figures, show_findings
from measures.quality.habits import BINS
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import LogEntry, Membership, Project

MOST_SHOWN = 20


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def annotator_show(request: ProjectRequest, project: Project, pseudonym: str) -> HttpResponse:
    members = project.memberships.select_related("user", "figures")
    annotator = members.filter(pseudonym=pseudonym).first()
    if annotator is None:
        raise Http404("No member has this pseudonym.")
    stored: AnnotatorFigures | None = getattr(annotator, "figures", None)
    everybody = dict(
        AnnotatorFigures.objects.filter(annotator__project=project)
        .exclude(annotator=annotator)
        .values_list("annotator_id", "figures")
    )
    yardstick, pay = find_quality_scale(project), _pay(project, annotator)
    findings = Finding.objects.filter(annotator=annotator).select_related("settled_by")
    findings = findings.order_by(Case(When(state=Finding.State.OPEN, then=0), default=1), "-pk")
    context = {
        "annotator": annotator,
        "stored": stored,
        "figures": show_figures(stored.figures if stored else {}, everybody.values()),
        "findings": show_findings(findings[:MOST_SHOWN]),
        "reviews": _reviews(annotator),
        "work": annotator_profile.count_work(annotator),
        "pay": pay,
        "is_under_floor": pay is not None and pay.hourly.is_under(project.hourly_floor_cents),
        "entries": _log_of(project, annotator),
        "is_own": annotator.pk == request.membership.pk,
        "consents": annotator.consent_acceptances.select_related("consent").order_by("-pk")[:MOST_SHOWN],
        **(_charts(annotator, yardstick, stored, list(everybody.values())) if yardstick else {}),
    }
    return render(request, "annotate/quality/annotator_show.html", context)


def _charts(
    annotator: Membership, yardstick: QualityScale, stored: AnnotatorFigures | None, everybody: list[dict[str, Any]]
) -> dict[str, Any]:
    hits = annotator_profile.fetch_history(annotator, yardstick)
    own = _counts(stored.figures) if stored else []
    theirs = [_counts(each) for each in everybody]
    others = [sum(each[place] for each in theirs if place < len(each)) for place in range(len(own))]
    labels = _labels(yardstick, len(own))
    has_scores = sum(own) > 0
    return {
        "hits": hits,
        "history_chart": charts.chart_history(hits, low=yardstick.low, high=yardstick.high) if hits else None,
        "scale_chart": charts.chart_scale_use(own, others, labels) if has_scores else None,
        "scale_rows": list(zip(labels, own, others, strict=True)) if has_scores else [],
    }


def _counts(figures: dict[str, Any]) -> list[int]:
    scale = figures.get("scale")
    return list(scale.get("counts", [])) if isinstance(scale, dict) else []


def _labels(yardstick: QualityScale, n: int) -> list[str]:
    if yardstick.is_slider or (n == BINS and yardstick.span > 2 * BINS):
        step = yardstick.span / max(1, n)
        return [f"{yardstick.low + place * step:g}" for place in range(n)]
    return [f"{yardstick.low + place:g}" for place in range(n)]


def _reviews(annotator: Membership) -> QuerySet[Review]:
    return (
        Review.objects.filter(assignment__annotator=annotator)
        .select_related("assignment__hit__batch", "reviewer")
        .annotate(n_poor=Count("verdicts", filter=Q(verdicts__is_poor=True)), n_verdicts=Count("verdicts"))
        .order_by("-pk")[:MOST_SHOWN]
    )


def _pay(project: Project, annotator: Membership) -> ledger.Sums | None:
    """Return the pay of an annotator, or None if the project pays nothing."""
    if not ledger.pays_anything(project):
        return None
    return ledger.sum_by_annotator([annotator]).get(annotator.pk, ledger.Sums())


def _log_of(project: Project, annotator: Membership) -> QuerySet[LogEntry]:
    about = Q(object_type="membership", object_id=str(annotator.pk))
    return LogEntry.objects.filter(about, project=project).select_related("actor")[:MOST_SHOWN]
