"""Pages of the data: the overview, lists of passages, questions and candidates, one passage, the split."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import Count, F, Func, IntegerField, Q, QuerySet
from django.db.models.functions import Coalesce, Left
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotate.data.forms import SplitForm
from annotate.data.lengths import TEXTS, UNITS, fetch_lengths
from annotate.data.table import data_table
from annotate.frames.kept import keep
from projects.access import ProjectRequest, Right, requires
from projects.database.snapshots import snapshot
from projects.language.amounts import format_number
from projects.models import Candidate, Dataset, MinimalPair, Passage, Project, Question
from projects.splitting import SplitPlan, plan_split, write_split
from projects.web.forms import choose_status
from projects.web.lists import TALL_PAGE_SIZE, order_by, paginate, read_sort, read_text, read_word
from projects.web.previews import Preview, read_settings
from projects.web.refusals import refusals

NONE = "none"
"""The value for the empty split or source in an address; one that really has this name is included."""

MOST_NAMES = 500
"""The most names that a filter offers."""
START_CHARACTERS = 400
"""The part of a passage's text that its list shows."""


@requires(Right.READ)
@require_safe
@snapshot()
def data_overview(request: ProjectRequest, project: Project) -> HttpResponse:
    table = keep(project, "data table", "", partial(data_table, project))
    unit = read_word(request, "lengths", UNITS)
    context = {
        "table": table,
        "unit": unit,
        "units": UNITS,
        "texts": TEXTS,
        # Counting the words of all texts takes seconds in a large project, so it is done on request.
        "lengths": [(line, line.averages(unit)) for line in fetch_lengths(project)] if unit else [],
        "datasets": list(table.by_dataset()),
        "can_manage": request.membership.can_manage,
        "imports": project.imports.select_related("requested_by")[:5] if request.membership.can_manage else [],
    }
    return render(request, "annotate/data/overview.html", context)


@dataclass(frozen=True)
class Filters:
    """The filters of a list, restricted to values that the project has."""

    dataset: str
    split: str
    source: str
    type: str
    text: str
    choices: dict[str, list[str]]

    @property
    def is_any(self) -> bool:
        return bool(self.dataset or self.split or self.source or self.type or self.text)


CANDIDATE_COLUMNS = {"dataset": "dataset__name", "id": "external_id", "source": "source", "added": "pk"}
QUESTION_COLUMNS = {"dataset": "dataset__name", "id": "external_id", "type": "type", "added": "pk"}
PASSAGE_COLUMNS = {"dataset": "dataset__name", "id": "external_id", "split": "split", "added": "pk"}


@requires(Right.READ)
@require_safe
def data_candidates(request: ProjectRequest, project: Project) -> HttpResponse:
    filters = _read_filters(request, project, with_source=True)
    rows = Candidate.objects.in_project(project).select_related("dataset", "question__passage")
    rows = rows.defer("metadata", "question__passage__text", "question__passage__documents")
    rows = rows.filter(_filter_facets(filters, "question__"), _match_name("source", filters.source))
    if filters.text:
        rows = rows.filter(Q(text__icontains=filters.text) | Q(external_id=filters.text))
    sort = read_sort(request, CANDIDATE_COLUMNS, "added")
    rows = rows.order_by(order_by(sort, CANDIDATE_COLUMNS), "pk")
    return _render_list(request, "candidates", rows, filters, sort=sort)


@requires(Right.READ)
@require_safe
def data_questions(request: ProjectRequest, project: Project) -> HttpResponse:
    filters = _read_filters(request, project)
    rows = Question.objects.in_project(project).select_related("dataset", "passage")
    rows = rows.defer("passage__text", "passage__documents")
    rows = rows.filter(_filter_facets(filters, ""))
    if filters.text:
        rows = rows.filter(Q(text__icontains=filters.text) | Q(external_id=filters.text))
    sort = read_sort(request, QUESTION_COLUMNS, "added")
    rows = rows.order_by(order_by(sort, QUESTION_COLUMNS), "pk")
    return _render_list(request, "questions", rows, filters, sort=sort, counts={"n_candidates": "candidates"})


@requires(Right.READ)
@require_safe
def data_passages(request: ProjectRequest, project: Project) -> HttpResponse:
    filters = _read_filters(request, project, with_type=False)
    passages = Passage.objects.in_project(project).select_related("dataset").defer("text", "documents")
    # Only the beginning of each text leaves the database: a passage may be as long as a book.
    rows = passages.annotate(start=Left("text", START_CHARACTERS), n_documents=Coalesce(_count_documents(), 0))
    rows = rows.filter(_match_name("dataset__name", filters.dataset), _match_name("split", filters.split))
    if filters.text:
        rows = rows.filter(
            Q(text__icontains=filters.text) | Q(title__icontains=filters.text) | Q(external_id=filters.text)
        )
    sort = read_sort(request, PASSAGE_COLUMNS, "added")
    rows = rows.order_by(order_by(sort, PASSAGE_COLUMNS), "pk")
    return _render_list(request, "passages", rows, filters, sort=sort, counts={"n_questions": "questions"})


@requires(Right.READ)
@require_safe
@snapshot()
def passage_show(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    passage = get_object_or_404(Passage.objects.select_related("dataset"), pk=pk, dataset__project=project)
    questions = passage.questions.order_by("pk").prefetch_related("references", "candidates")
    page = paginate(request, questions, TALL_PAGE_SIZE)
    # Judgments and pairs are fetched for the whole page at once, not for each candidate.
    candidates = [candidate for question in page for candidate in question.candidates.all()]
    judged = Candidate.objects.filter(pk__in=[each.pk for each in candidates], judgments__is_counted=True)
    n_judged = dict(judged.annotate(n=Count("judgments")).values_list("pk", "n"))
    pairs = MinimalPair.objects.filter(question__in=[question.pk for question in page])
    pair_by_candidate = {pk: pair for pair in pairs for pk in (pair.candidate_1_id, pair.candidate_2_id)}
    by_id = {candidate.pk: candidate for candidate in candidates}
    for candidate in candidates:
        rated = by_id.get(candidate.identical_to_id)
        candidate.rated_as = (rated.source or rated.external_id) if rated else ""
        candidate.n_judged = n_judged.get(candidate.pk, 0)
        candidate.pair = pair_by_candidate.get(candidate.pk)
        candidate.is_better = candidate.pair is not None and candidate.pair.candidate_1_id == candidate.pk
    return render(request, "annotate/data/passage_show.html", {"passage": passage, "page": page})


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def data_split(request: ProjectRequest, project: Project) -> HttpResponse:
    """Preview the split (GET), then apply exactly that split (POST)."""
    datasets = Dataset.objects.filter(project=project)
    sent = request.POST if request.method == "POST" else request.GET
    form = SplitForm(sent if "shares" in sent else None, datasets=datasets)
    plan = preview = None
    if form.is_bound and form.is_valid():
        with refusals(request, form):
            plan = _plan_split(project, form)
            preview = Preview("split", project, read_settings(form), plan.assigned)
            if request.method == "POST":
                preview.require_confirmed(request)
                n = write_split(project=project, plan=plan, actor=request.membership)
                messages.success(request, f"{format_number(n)} passages assigned to a split.")
                return redirect("annotate:data-overview", project.slug)
    if form.errors:
        plan = None
    context = {
        "form": form,
        "plan": plan,
        "plan_lines": _describe_plan(plan) if plan else [],
        "preview": preview,
        "is_empty": plan is not None and not plan.assigned,
        "has_data": datasets.exists(),
        "n_unsplit": Passage.objects.in_project(project).filter(split="").count(),
    }
    return render(request, "annotate/data/split.html", context, status=choose_status(form))


def _plan_split(project: Project, form: SplitForm) -> SplitPlan:
    sent = form.cleaned_data
    return plan_split(
        project=project, shares=sent["shares"], seed=sent["seed"], datasets=list(sent["datasets"]) or None
    )


def _describe_plan(plan: SplitPlan) -> list[dict[str, Any]]:
    return [
        {
            "name": each.dataset,
            "n_kept": each.n_kept,
            "lines": [
                {
                    "split": split,
                    "n_passages": each.n_passages[split],
                    "n_candidates": each.n_candidates[split],
                    "percent": 100 * share,
                }
                for split, share in each.shares.items()
            ],
        }
        for each in plan.datasets
    ]


def _read_filters(
    request: ProjectRequest, project: Project, *, with_source: bool = False, with_type: bool = True
) -> Filters:
    datasets = Dataset.objects.filter(project=project)
    passages = Passage.objects.in_project(project)
    choices = {
        "dataset": list(datasets.values_list("name", flat=True)[:MOST_NAMES]),
        "split": _list_names(passages.order_by("split").values_list("split", flat=True)),
        "source": _list_names(Candidate.objects.in_project(project).order_by("source").values_list("source", flat=True))
        if with_source
        else [],
        "type": [each for each in Question.Type.values if each] if with_type else [],
    }
    return Filters(
        **{name: read_word(request, name, words) for name, words in choices.items()},
        text=read_text(request, "q"),
        choices=choices,
    )


def _list_names(names: QuerySet[Any, str]) -> list[str]:
    return [name or NONE for name in names.distinct()[:MOST_NAMES]]


def _filter_facets(filters: Filters, prefix: str) -> Q:
    return (
        _match_name("dataset__name", filters.dataset)
        & _match_name(f"{prefix}passage__split", filters.split)
        & _match_name(f"{prefix}type", filters.type)
    )


def _match_name(field: str, name: str) -> Q:
    if not name:
        return Q()
    return Q(**{f"{field}__in": ["", name]}) if name == NONE else Q(**{field: name})


def _render_list(
    request: ProjectRequest,
    noun: str,
    rows: QuerySet[Any],
    filters: Filters,
    *,
    sort: str,
    counts: dict[str, str] | None = None,
) -> HttpResponse:
    page = paginate(request, rows)
    for name, related in (counts or {}).items():
        _add_counts(page.object_list, name, related)
    context = {
        "page": page,
        "noun": noun,
        "filters": filters,
        "selects": [
            {"name": name, "label": name.capitalize(), "words": words, "chosen": getattr(filters, name)}
            for name, words in filters.choices.items()
            if len(words) > 1 or getattr(filters, name)
        ],
        "sort": sort,
        "has_any": bool(filters.choices["dataset"]),
    }
    return render(request, "annotate/data/list.html", context)


def _count_documents() -> Func:
    return Func(F("documents"), function="jsonb_array_length", output_field=IntegerField())


def _add_counts(rows: Any, name: str, related: str) -> None:
    """Add counts to the rows of one page: counting for every row of the list would be slow."""
    model = type(rows[0]) if len(rows) else None
    if model is None:
        return
    pks = [row.pk for row in rows]
    found = dict(model._default_manager.filter(pk__in=pks).annotate(n=Count(related)).values_list("pk", "n"))
    for row in rows:
        setattr(row, name, found.get(row.pk, 0))
