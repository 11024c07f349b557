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
from annotate.quality.figure_formats import format_figures, format_findings
from measures.quality.habits import BINS
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.models import LogEntry, Membership, Project

MOST_SHOWN = 20
"""Rows of each list on the page. The complete lists of alerts, spot checks and log entries have pages of their own."""


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
    # The page compares with everyone else, so the annotator's own figures stay out of the medians, as do those that
    # removed annotators keep.
    everybody = dict(
        AnnotatorFigures.objects.filter(annotator__project=project)
        .exclude(annotator=annotator)
        .exclude(annotator__standing=Membership.Standing.REMOVED)
        .values_list("annotator_id", "figures")
    )
    scale, pay = find_quality_scale(project), _fetch_pay(project, annotator)
    findings = Finding.objects.filter(annotator=annotator).select_related("settled_by")
    # Open alerts come first, however old they are: the list is cut, and what waits for a decision must not be.
    findings = findings.order_by(Case(When(state=Finding.State.OPEN, then=0), default=1), "-pk")
    context = {
        "annotator": annotator,
        "stored": stored,
        "figures": format_figures(stored.figures if stored else {}, everybody.values()),
        "findings": format_findings(findings[:MOST_SHOWN]),
        "reviews": _fetch_reviews(annotator),
        "n_rated": annotator_profile.count_rated(annotator, scale) if scale else 0,
        "work": annotator_profile.count_work(annotator),
        "pay": pay,
        "is_under_floor": pay is not None and pay.hourly.is_under(project.hourly_floor_cents),
        "entries": _fetch_log(project, annotator),
        "is_own": annotator.pk == request.membership.pk,
        "consents": annotator.consent_acceptances.select_related("consent").order_by("-pk")[:MOST_SHOWN],
        **(_make_charts(annotator, scale, stored, list(everybody.values())) if scale else {}),
    }
    return render(request, "annotate/quality/annotator_show.html", context)


def _make_charts(
    annotator: Membership, scale: QualityScale, stored: AnnotatorFigures | None, everybody: list[dict[str, Any]]
) -> dict[str, Any]:
    hits = annotator_profile.fetch_history(annotator, scale)
    own = _read_counts(stored.figures) if stored else []
    theirs = [_read_counts(each) for each in everybody]
    # Annotators without any score yet have no counts, so their lists are shorter.
    others = [sum(each[place] for each in theirs if place < len(each)) for place in range(len(own))]
    labels = _make_labels(scale, len(own))
    has_scores = sum(own) > 0
    return {
        "hits": hits,
        "history_chart": charts.chart_history(hits, low=scale.low, high=scale.high) if hits else None,
        "scale_chart": charts.chart_scale_use(own, others, labels) if has_scores else None,
        "scale_rows": list(zip(labels, own, others, strict=True)) if has_scores else [],
    }


def _read_counts(figures: dict[str, Any]) -> list[int]:
    scale = figures.get("scale")
    return list(scale.get("counts", [])) if isinstance(scale, dict) else []


def _make_labels(scale: QualityScale, n: int) -> list[str]:
    """Return the labels of `n` bars: the points of the scale, or the lower ends of a slider's bins."""
    # `scale_use` counts a long scale in bins as it does a slider, so its labels must be those of bins too.
    if scale.is_slider or (n == BINS and scale.span > 2 * BINS):
        step = scale.span / max(1, n)
        return [f"{scale.low + place * step:g}" for place in range(n)]
    return [f"{scale.low + place:g}" for place in range(n)]


def _fetch_reviews(annotator: Membership) -> QuerySet[Review]:
    return (
        Review.objects.filter(assignment__annotator=annotator)
        .select_related("assignment__hit__batch", "reviewer")
        .annotate(n_poor=Count("verdicts", filter=Q(verdicts__is_poor=True)), n_verdicts=Count("verdicts"))
        .order_by("-pk")[:MOST_SHOWN]
    )


def _fetch_pay(project: Project, annotator: Membership) -> ledger.Sums | None:
    """Return the pay of an annotator, or None if the project pays nothing."""
    if not ledger.pays_anything(project):
        return None
    return ledger.sum_by_annotator([annotator]).get(annotator.pk, ledger.Sums())


def _fetch_log(project: Project, annotator: Membership) -> QuerySet[LogEntry]:
    about = Q(object_type="membership", object_id=str(annotator.pk))
    return LogEntry.objects.filter(about, project=project).select_related("actor")[:MOST_SHOWN]
