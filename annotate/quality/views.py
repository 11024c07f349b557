"""Pages of annotator quality: a project's annotators with their indicators, and the quality rules."""

from dataclasses import fields
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import AnnotatorFigures, Finding, QualityRules
from annotate.quality import monitoring, tables
from annotate.quality.control_summary import summarise_controls
from annotate.quality.degraded_tests import NAMES
from annotate.quality.figure_formats import BY_KEY, KINDS
from annotate.quality.forms import RulesForm
from annotate.reviews import spot_checks
from measures.quality.thresholds import Thresholds
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import plural
from projects.models import Membership, Project
from projects.tables.responses import answer_table
from projects.tables.tables import Table
from projects.web.lists import order_with_empty_last, paginate, read_sort, read_text, read_word, split_sort

DEFAULT_SORT = "-findings"
COLUMNS = {"pseudonym", "standing", "findings", *BY_KEY}


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def quality_list(request: ProjectRequest, project: Project) -> HttpResponse:
    sort = read_sort(request, COLUMNS, DEFAULT_SORT)
    page = paginate(request, _list_annotators(request, project))
    context = {
        "page": page,
        "rows": [(row, [_make_cell(row, kind.key) for kind in KINDS]) for row in page],
        "kinds": KINDS,
        "indicators": [(kind.key, kind.label) for kind in KINDS],
        "sort": sort,
        "standings": Membership.Standing.choices,
        "filters": {name: read_text(request, name) for name in ("q", "standing", "figure", "from", "to")},
        "has_any": bool(page.paginator.count) or _find_figures(project).exists(),
        "table": Table("annotators", "Annotator quality", (), ()),
        "query": request.GET.urlencode(),
    }
    return render(request, "annotate/quality/list.html", context)


@requires(Right.MANAGE)
@require_POST
def quality_refresh(request: ProjectRequest, project: Project) -> HttpResponse:
    done = monitoring.refresh_figures(project=project)
    n_drawn = spot_checks.draw_spot_checks(project=project)
    messages.success(
        request,
        f"Updated {done.n_annotators} {plural(done.n_annotators, 'annotator', 'annotators')}: "
        f"{done.n_opened} new {plural(done.n_opened, 'alert', 'alerts')}, "
        f"{n_drawn} new {plural(n_drawn, 'spot check', 'spot checks')}.",
    )
    return redirect("annotate:quality-list", project.slug)


@requires(Right.MANAGE)
@never_cache
@require_safe
@snapshot()
def quality_controls(request: ProjectRequest, project: Project) -> HttpResponse:
    summary = summarise_controls(project)
    found = {table.name.replace("-", "_"): table for table in tables.tabulate_controls(project, summary)}
    context = {"summary": summary, "tables": found, "test_name": NAMES[summary.test.value]}
    return render(request, "annotate/quality/controls.html", context)


@requires(Right.MANAGE)
@require_safe
@snapshot()
def quality_table(request: ProjectRequest, project: Project, name: str, form: str) -> HttpResponse:
    """Return every annotator that the list's filters leave, or the outcomes of controls, as a file."""
    if name == "annotators":
        found = [tables.tabulate_annotators(project, _list_annotators(request, project))]
    else:
        found = tables.tabulate_controls(project, summarise_controls(project))
    return answer_table(project, found, name, form, stem="quality")


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def quality_rules(request: ProjectRequest, project: Project) -> HttpResponse:
    rules = QualityRules.objects.filter(pk=project.pk).first() or QualityRules(project=project)
    form = RulesForm(request.POST if request.method == "POST" else None, initial=RulesForm.initial_values(rules))
    if form.is_valid():
        # Only what differs from the defaults is stored: all other thresholds follow the defaults of later versions.
        defaults = {field.name: field.default for field in fields(Thresholds)}
        thresholds = {name: form.cleaned_data[name] for name in defaults if form.cleaned_data[name] != defaults[name]}
        spot_checks.set_rules(
            project=project,
            actor=request.membership,
            share=form.cleaned_data["spot_check_share"],
            least=form.cleaned_data["spot_check_floor"],
            thresholds=thresholds,
        )
        messages.success(request, "Quality rules saved. They apply within a minute.")
        return redirect("annotate:quality-rules", project.slug)
    context = {"form": form, "seed": rules.seed}
    return render(
        request,
        "annotate/quality/rules.html",
        context,
        status=HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else 200,
    )


def _find_figures(project: Project) -> QuerySet[AnnotatorFigures]:
    return AnnotatorFigures.objects.filter(annotator__project=project)


def _list_annotators(request: ProjectRequest, project: Project) -> QuerySet[Any]:
    """Return the annotators that the filters of the address leave, in its order, with their open alerts counted."""
    rows = _filter(_find_figures(project).select_related("annotator__user"), request).annotate(
        n_findings=Count("annotator__findings", filter=Q(annotator__findings__state=Finding.State.OPEN))
    )
    return _sort(rows, read_sort(request, COLUMNS, DEFAULT_SORT))


def _filter(rows: QuerySet[AnnotatorFigures], request: ProjectRequest) -> QuerySet[AnnotatorFigures]:
    if text := read_text(request, "q"):
        rows = rows.filter(Q(annotator__pseudonym__icontains=text) | Q(annotator__user__username__icontains=text))
    if standing := read_word(request, "standing", Membership.Standing.values):
        rows = rows.filter(annotator__standing=standing)
    figure = read_word(request, "figure", BY_KEY)
    if figure:
        rows = rows.annotate(figure=BY_KEY[figure].order).filter(figure__isnull=False)
        if (least := _read_number(request, "from")) is not None:
            rows = rows.filter(figure__gte=least)
        if (most := _read_number(request, "to")) is not None:
            rows = rows.filter(figure__lte=most)
    return rows


def _read_number(request: ProjectRequest, name: str) -> float | None:
    try:
        # The table prints a true minus sign, and a number may be copied from it; many keyboards have a decimal comma.
        value = float(read_text(request, name).replace("−", "-").replace(",", "."))
    except ValueError:
        return None
    # This also drops infinity and NaN, which float() accepts.
    return value if abs(value) < 1e9 else None


def _sort(rows: QuerySet[Any], sort: str) -> QuerySet[Any]:
    name, is_descending = split_sort(sort)
    columns = {
        "pseudonym": F("annotator__pseudonym"),
        "standing": F("annotator__standing"),
        "findings": F("n_findings"),
    }
    column = columns.get(name) or BY_KEY[name].order
    # Undefined figures come last both ways: whoever sorts by a figure looks for its extremes.
    order = order_with_empty_last(column, is_descending=is_descending)
    return rows.order_by(order, "annotator__pseudonym")


def _make_cell(row: AnnotatorFigures, key: str) -> dict[str, str]:
    value = BY_KEY[key].value_in(row.figures)
    reason = "" if value is not None else BY_KEY[key].reason_in(row.figures)
    return {"text": BY_KEY[key].format(value), "reason": reason}
