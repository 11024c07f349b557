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
from annotate.quality.figure_names import FINDINGS
from annotate.quality.figures_shown import show_findings
from annotate.quality.forms import SettleForm
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import plural
from projects.models import Project
from projects.web.lists import paginate, read_text, read_word

MOST_AT_ONCE = 500
WEIGHTS = {"serious": "Indicates poor quality", "hint": "Hint"}
STATES = {**dict(Finding.State.choices), "all": "any status"}


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def finding_list(request: ProjectRequest, project: Project) -> HttpResponse:
    findings = _asked(request, project)
    page = paginate(request, findings.select_related("annotator", "settled_by"))
    asked = request.GET.copy()
    asked.pop("page", None)
    context = {
        "page": page,
        "rows": show_findings(page),
        "kinds": FINDINGS,
        "kind": read_word(request, "kind", FINDINGS),
        "weights": WEIGHTS,
        "weight": read_word(request, "weight", WEIGHTS),
        "states": STATES,
        "state": read_word(request, "state", STATES, "open"),
        "q": read_text(request, "q"),
        "query": asked.urlencode(),
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
        form = SettleForm(request.POST)
        ids = _ids(request.POST.getlist("id"))
        if form.is_valid():
            n_settled = quality_findings.resolve_finding(
                project=project, findings=ids, actor=request.membership, **form.cleaned_data
            )
            said = plural(n_settled, "{n} alert resolved.", "{n} alerts resolved.")
            messages.success(request, said.format(n=n_settled))
            return redirect(_back(request, project))
        findings = _open(project).filter(pk__in=ids)
    else:
        form = SettleForm()
        is_all = request.GET.get("all") == "1"
        findings = _asked(request, project) if is_all else _open(project).filter(pk__in=_ids(request.GET.getlist("id")))
        findings = findings.filter(state=Finding.State.OPEN)
    n_found = findings.count()
    context = {
        "form": form,
        "rows": show_findings(findings.select_related("annotator")[:MOST_AT_ONCE]),
        "n_left_out": max(0, n_found - MOST_AT_ONCE),
        "most": MOST_AT_ONCE,
        "next": _back(request, project),
    }
    return render(
        request,
        "annotate/quality/finding_settle.html",
        context,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else 200,
    )


def _open(project: Project) -> QuerySet[Finding]:
    return Finding.objects.filter(annotator__project=project, state=Finding.State.OPEN).order_by("-pk")


def _asked(request: ProjectRequest, project: Project) -> QuerySet[Finding]:
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


def _ids(texts: list[str]) -> list[int]:
    return [int(text) for text in texts[: 2 * MOST_AT_ONCE] if text.isascii() and text.isdigit() and len(text) < 16]


def _back(request: ProjectRequest, project: Project) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=False)
    return wanted if wanted.startswith("/") and is_ours else f"{project.get_absolute_url()}quality/findings/"
