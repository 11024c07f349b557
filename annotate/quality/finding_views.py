"""Pages of alerts: the list, and resolving single ones or a filtered list after a preview."""

from http import HTTPStatus

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate.models import Finding
from annotate.quality import findings as quality_findings
from annotate.quality.figure_formats import FINDINGS, format_findings
from annotate.quality.forms import SettleForm
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import plural
from projects.models import Project
from projects.web.lists import paginate, read_text, read_word
from projects.web.whole_numbers import ID_DIGITS, parse_whole_number

MOST_AT_ONCE = 500
"""Alerts resolved with one form. The preview lists each, so that no one resolves what they have not seen."""
WEIGHTS = {"serious": "Indicates poor quality", "hint": "Hint"}
STATES = {**dict(Finding.State.choices), "all": "any status"}


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def finding_list(request: ProjectRequest, project: Project) -> HttpResponse:
    findings = _filter_findings(request, project)
    page = paginate(request, findings.select_related("annotator", "settled_by"))
    # The link to resolve all of them takes the filter along, but not the page of the list.
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "page": page,
        "rows": format_findings(page),
        "kinds": FINDINGS,
        "kind": read_word(request, "kind", FINDINGS),
        "weights": WEIGHTS,
        "weight": read_word(request, "weight", WEIGHTS),
        "states": STATES,
        "state": read_word(request, "state", STATES, "open"),
        "q": read_text(request, "q"),
        "query": query.urlencode(),
        "has_any": bool(page.paginator.count) or Finding.objects.filter(annotator__project=project).exists(),
        "n_open_here": findings.filter(state=Finding.State.OPEN).count(),
    }
    return render(request, "annotate/quality/finding_list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def finding_settle(request: ProjectRequest, project: Project) -> HttpResponse:
    """Preview the alerts to be resolved, by ids or by the filter of the address (GET), then resolve these (POST)."""
    if request.method == "POST":
        # The ids of the previewed alerts are sent, not the filter: alerts found meanwhile match it too, and no one has
        # seen them.
        form = SettleForm(request.POST)
        ids = _read_ids(request.POST.getlist("id"))
        if form.is_valid():
            n_resolved = quality_findings.resolve_finding(
                project=project, findings=ids, actor=request.membership, **form.cleaned_data
            )
            done = plural(n_resolved, "{n} alert resolved.", "{n} alerts resolved.")
            messages.success(request, done.format(n=n_resolved))
            return redirect(_find_way_back(request, project))
        findings = _open(project).filter(pk__in=ids)
    else:
        form = SettleForm()
        is_all = request.GET.get("all") == "1"
        selected = _open(project).filter(pk__in=_read_ids(request.GET.getlist("id")))
        findings = _filter_findings(request, project) if is_all else selected
        findings = findings.filter(state=Finding.State.OPEN)
    n_found = findings.count()
    context = {
        "form": form,
        "rows": format_findings(findings.select_related("annotator")[:MOST_AT_ONCE]),
        "n_left_out": max(0, n_found - MOST_AT_ONCE),
        "most": MOST_AT_ONCE,
        "next": _find_way_back(request, project),
    }
    return render(
        request,
        "annotate/quality/finding_settle.html",
        context,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else 200,
    )


def _open(project: Project) -> QuerySet[Finding]:
    return Finding.objects.filter(annotator__project=project, state=Finding.State.OPEN).order_by("-pk")


def _filter_findings(request: ProjectRequest, project: Project) -> QuerySet[Finding]:
    findings = Finding.objects.filter(annotator__project=project).order_by("-pk")
    state = read_word(request, "state", STATES, "open")
    if state != "all":
        findings = findings.filter(state=state)
    if kind := read_word(request, "kind", FINDINGS):
        findings = findings.filter(kind=kind)
    if weight := read_word(request, "weight", WEIGHTS):
        findings = findings.filter(evidence__is_serious=weight == "serious")
    if text := read_text(request, "q"):
        findings = findings.filter(annotator__pseudonym__icontains=text)
    return findings


def _read_ids(texts: list[str]) -> list[int]:
    ids = (parse_whole_number(text, most_digits=ID_DIGITS) for text in texts[: 2 * MOST_AT_ONCE])
    return [each for each in ids if each is not None]


def _find_way_back(request: ProjectRequest, project: Project) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=False)
    return wanted if wanted.startswith("/") and is_ours else f"{project.get_absolute_url()}quality/findings/"
