"""Pages of the test's items: added manually with a preview, edited, retired, from a file, from rated candidates."""

from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.attempts.attempt_page import make_page_context
from annotate.attempts.gradable_items import find_quality_criteria
from annotate.imports.mapping_form import MappingForm
from annotate.imports.preview import hash_columns
from annotate.models import QualificationItem, QualificationTest
from annotate.qualification import items, items_from_candidates, items_from_file
from annotate.qualification.design_views import fetch_test
from annotate.qualification.forms import CandidatesForm, FileForm, ItemForm, describe_expected
from annotate.rating.form_parts import Prefill
from annotate.rating.page import site_urls
from projects.access import ProjectRequest, Right, requires
from projects.downloads import FileMissing, send_file
from projects.errors import Refused
from projects.importing import FileRefused
from projects.importing.skipping import SkippedRows
from projects.language.amounts import plural
from projects.models import Project
from projects.rubric.rubrics import read_criteria
from projects.web.forms import choose_status
from projects.web.lists import TALL_PAGE_SIZE, order_by, paginate, read_sort, read_text
from projects.web.refusals import refusals
from projects.web.upload_requests import takes_files
from projects.web.uploads import KeptUpload, find_for_retry, keep_for_retry
from projects.web.whole_numbers import ID_DIGITS, parse_whole_number

CANDIDATE_COLUMNS = {"mean": "mean", "n": "n", "sd": "sd", "candidate": "text"}


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def item_new(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    if "preview" in request.POST:
        return _render_form(request, test, _make_preview_form(request, test), None)
    form = ItemForm(find_quality_criteria(test.rubric), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            items.add_items(test=test, actor=request.membership, specs=[form.spec()], how="typed")
            messages.success(request, "Item added.")
            following = (
                "annotate:qualification-new-item" if "another" in request.POST else "annotate:qualification-test"
            )
            return redirect(following, project.slug)
    return _render_form(request, test, form, None)


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def item_edit(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    item = _fetch_item(project, pk)
    if "preview" in request.POST:
        return _render_form(request, item.test, _make_preview_form(request, item.test), item)
    criteria = find_quality_criteria(item.test.rubric)
    data = request.POST if request.method == "POST" else None
    form = ItemForm(criteria, data, initial=ItemForm.initial_values(item), item=item)
    if request.method == "POST" and form.is_valid():
        with refusals(request, form):
            items.edit_item(item=item, actor=request.membership, spec=form.spec())
            messages.success(request, "Item saved.")
            return redirect("annotate:qualification-test", project.slug)
    return _render_form(request, item.test, form, item)


@requires(Right.MANAGE)
@require_POST
def item_retire(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    with refusals(request):
        items.retire_item(item=_fetch_item(project, pk), actor=request.membership)
        messages.success(request, "Item retired. New attempts won’t include it.")
    return redirect("annotate:qualification-test", project.slug)


@requires(Right.READ)
@require_safe
def item_preview(request: ProjectRequest, project: Project, pk: int) -> HttpResponse:
    """Show the whole page as an annotator sees it."""
    item = _fetch_item(project, pk)
    context = {
        "assignment": None,
        "preview": True,
        "due_at_ms": None,
        "errors": {},
        "urls": {**site_urls(project.slug), "desk": reverse("annotate:qualification-test", args=[project.slug])},
        **make_page_context(project, [item], read_criteria(item.test.rubric), Prefill()),
    }
    return render(request, "annotate/rating/hit_rate.html", context)


@requires(Right.MANAGE)
@partial(takes_files, is_kept=False)
@require_http_methods(["GET", "HEAD", "POST"])
def items_file(request: ProjectRequest, project: Project) -> HttpResponse:
    """Add the items of a file. After an error the page keeps the file: the form sends its token in place of it."""
    test = fetch_test(project)
    whose = _name_keeper(request)
    kept = find_for_retry(request.POST.get("kept", "") or request.GET.get("skipped", ""), whose=whose)
    if request.method != "POST":
        return _render_file(request, test, FileForm(), skipped=kept)
    form = FileForm(request.POST, request.FILES)
    if kept is not None:
        form.keep()
    if not form.is_valid():
        return _render_file(request, test, form, kept=kept)
    if upload := form.cleaned_data["file"]:
        kept = keep_for_retry(upload, whose=whose)
    assert kept is not None, "Without a file of its own the form needs a kept one."
    skipped, refusal, mapping = SkippedRows(), None, None
    with refusals(request, form):
        try:
            mapping = _read_mapping(request, test, kept, form)
            if request.POST.get("then") == "look" or (mapping.is_bound and not mapping.is_valid()):
                return _render_file(request, test, form, kept=kept, mapping=mapping)
            made = items_from_file.import_items(
                test=test,
                actor=request.membership,
                path=kept.path,
                name=kept.name,
                options=form.options(mapping.mapping() if mapping.is_bound else {}),
                skipped=skipped,
                kept_rows=items_from_file.find_kept_rows(kept.path),
            )
        except FileRefused as refused:
            refusal = refused
        except FileNotFoundError as gone:
            kept = None
            raise Refused("Another file was uploaded in its place. Choose the file again.", field="file") from gone
        else:
            n = len(made)
            messages.success(request, plural(n, "{n} item added.", "{n} items added.").format(n=n))
            if skipped:
                return redirect(f"{reverse('annotate:qualification-file', args=[project.slug])}?skipped={kept.token}")
            kept.delete()
            return redirect("annotate:qualification-test", project.slug)
    return _render_file(request, test, form, kept=kept, refusal=refusal, mapping=mapping)


@requires(Right.MANAGE)
@require_safe
def items_file_skipped(request: ProjectRequest, project: Project) -> FileResponse:
    """Download the rows of a file that were skipped, with the reason."""
    kept = find_for_retry(request.GET.get("skipped", ""), whose=_name_keeper(request))
    missing = "There is no list of skipped rows."
    if kept is None:
        raise FileMissing(missing)
    return send_file(
        items_from_file.find_skipped_file(kept.path),
        name=f"{project.slug}-items-skipped.csv",
        content_type="text/csv; charset=utf-8",
        missing=missing,
    )


@requires(Right.MANAGE)
@require_http_methods(["GET", "HEAD", "POST"])
def items_candidates(request: ProjectRequest, project: Project) -> HttpResponse:
    test = fetch_test(project)
    form = CandidatesForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        sent = request.POST.getlist("candidate")
        ids = (parse_whole_number(each, most_digits=ID_DIGITS) for each in sent)
        chosen = [each for each in ids if each is not None]
        with refusals(request, form):
            made = items_from_candidates.add_candidates(
                test=test, actor=request.membership, candidate_ids=chosen[: items.MOST_ITEMS], **form.cleaned_data
            )
            n = len(made)
            one, more = "{n} item added. Add an explanation to it.", "{n} items added. Add explanations to them."
            messages.success(request, plural(n, one, more).format(n=n))
            return redirect("annotate:qualification-test", project.slug)
    sort, query = read_sort(request, CANDIDATE_COLUMNS, "-n"), read_text(request, "q")
    rows = items_from_candidates.list_known_scores(project, test.rubric)
    # Candidates that are items already; a retired one may be added again.
    rows = rows.exclude(candidate__in=test.items.filter(retired_at=None, candidate__isnull=False).values("candidate"))
    if query:
        rows = rows.filter(Q(text__icontains=query) | Q(question__icontains=query))
    page = paginate(request, rows.order_by(order_by(sort, CANDIDATE_COLUMNS), "candidate_id"), TALL_PAGE_SIZE)
    context = {
        "form": form,
        "page": page,
        "sort": sort,
        "q": query,
        "criteria": find_quality_criteria(test.rubric),
    }
    status = choose_status(form)
    return render(request, "annotate/qualification/candidates.html", context, status=status)


def _fetch_item(project: Project, pk: int) -> QualificationItem:
    found = QualificationItem.objects.select_related("test__project", "test__rubric")
    return get_object_or_404(found, pk=pk, test__project=project)


def _render_form(
    request: ProjectRequest, test: QualificationTest, form: ItemForm, item: QualificationItem | None
) -> HttpResponse:
    """Render the form next to the item as annotators will see it, filled with the current input."""
    context: dict[str, Any] = {
        "form": form,
        "test": test,
        "item": item,
        # The initial values of a preview are what is typed.
        "seen": request.POST.get("seen", "") if "preview" in request.POST else form.seen,
        "was_shown": item is not None and items.was_shown(item),
        **_make_preview(test, form, item),
    }
    if "preview" in request.POST and request.headers.get("HX-Request"):
        return render(request, "annotate/qualification/_item_preview.html", context)
    status = choose_status(form)
    return render(request, "annotate/qualification/item.html", context, status=status)


def _make_preview_form(request: ProjectRequest, test: QualificationTest) -> ItemForm:
    """Return the current input for the preview, without validating it."""
    return ItemForm(find_quality_criteria(test.rubric), initial=request.POST.dict())


def _make_preview(test: QualificationTest, form: ItemForm, item: QualificationItem | None) -> dict[str, Any]:
    # What was typed, whether a form that was sent, the input of a preview (passed as initial values) or the stored
    # item. The stored item's own references are used where nothing was typed, since the field drops their line ends.
    typed = form.data if form.is_bound else form.initial
    lines = str(typed.get("references", "")).splitlines()
    shown = SimpleNamespace(
        question=typed.get("question", ""),
        references=[{"text": line.strip()} for line in lines if line.strip()]
        if item is None or form.is_bound or "csrfmiddlewaretoken" in typed
        else item.references,
        answer=typed.get("answer", ""),
        passage_title=typed.get("passage_title", ""),
        passage_text=typed.get("passage_text", ""),
    )
    return make_page_context(test.project, [shown], read_criteria(test.rubric), Prefill())  # type: ignore[list-item]


def _read_mapping(request: ProjectRequest, test: QualificationTest, kept: KeptUpload, form: FileForm) -> MappingForm:
    """Return the form that maps the columns of the file, with what was sent if that was for these columns."""
    criteria = find_quality_criteria(test.rubric)
    found = items_from_file.preview_items(path=kept.path, name=kept.name, criteria=criteria, options=form.options({}))
    is_for_these = request.POST.get("columns") == hash_columns(found.columns)
    return MappingForm(found, {}, {}, request.POST if is_for_these else None)


def _name_keeper(request: ProjectRequest) -> str:
    return f"items of membership {request.membership.pk}"


def _render_file(
    request: ProjectRequest,
    test: QualificationTest,
    form: FileForm,
    *,
    kept: KeptUpload | None = None,
    skipped: KeptUpload | None = None,
    refusal: FileRefused | None = None,
    mapping: MappingForm | None = None,
) -> HttpResponse:
    if kept is not None:
        form.keep()
    if mapping is not None:
        form.show_detected(mapping.preview)
    context = {
        "form": form,
        "kept": kept,
        "skipped": skipped,
        "refusal": refusal.as_dict() if refusal else None,
        "mapping": mapping,
        "columns_id": hash_columns(mapping.preview.columns) if mapping else "",
        "criteria": [(each, describe_expected(each)) for each in find_quality_criteria(test.rubric)],
    }
    has_errors = refusal or form.errors or (mapping is not None and mapping.errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if has_errors else HTTPStatus.OK
    return render(request, "annotate/qualification/file.html", context, status=status)
