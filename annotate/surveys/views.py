"""Managers' pages of surveys: both with their versions, the editor with its preview, the answers and their file."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate.models import Survey, SurveyQuestion
from annotate.onboarding.survey_form import SurveyForm
from annotate.surveys import collected_answers, editing
from annotate.surveys.forms import (
    MOST_QUESTIONS,
    BaseQuestionFormSet,
    QuestionForm,
    QuestionFormSet,
    SurveyHeadForm,
)
from projects.access import ProjectRequest, Right, requires
from projects.downloads import download_headers
from projects.models import Project
from projects.texts.versions import current_consent
from projects.web.forms import add_row, count_wrong_fields
from projects.web.lists import paginate
from projects.web.refusals import refusals

PREFIX = "questions"


@requires(Right.MANAGE)
@never_cache
@require_safe
def survey_list(request: ProjectRequest, project: Project) -> HttpResponse:
    is_answered = ~Q(responses__answers={})
    versions = project.surveys.annotate(
        n_questions=Count("questions", distinct=True),
        n_answered=Count("responses", filter=is_answered, distinct=True),
        n_screened_out=Count("responses", filter=Q(responses__is_screened_out=True), distinct=True),
    )
    surveys = [
        {"moment": value, "label": label, "versions": [each for each in versions if each.moment == value]}
        for value, label in Survey.Moment.choices
    ]
    context = {"surveys": surveys, "has_consent": current_consent(project) is not None}
    return render(request, "annotate/surveys/list.html", context)


@requires(Right.MANAGE)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def survey_edit(request: ProjectRequest, project: Project, moment: str) -> HttpResponse:
    """Edit the questions as a list. Saving makes a new version; the buttons beside it only show what was entered."""
    _check(moment)
    if request.method != "POST":
        newest = editing.find_newest(project, moment)
        stored = list(newest.questions.all()) if newest else []
        initial = [{**QuestionForm.make_initial(each), "ORDER": each.position} for each in stored]
        start = {"introduction": newest.introduction if newest else "", "version": newest.version if newest else 0}
        questions = _make_formset(moment, initial=initial)
        return _render_editor(request, project, moment, SurveyHeadForm(initial=start), questions)
    if "add" in request.POST:
        more = _add_question(request.POST, moment)
        return _render_editor(request, project, moment, SurveyHeadForm(request.POST), more)
    form, questions = SurveyHeadForm(request.POST), _make_formset(moment, request.POST)
    if not (form.is_valid() and questions.is_valid()):
        return _render_editor(request, project, moment, form, questions, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    kept = questions.kept()
    if "preview" in request.POST:
        asked = [SurveyQuestion(position=n, **question) for n, question in enumerate(kept, start=1)]
        return _render_editor(request, project, moment, form, questions, preview=SurveyForm(asked))
    with refusals(request, form):
        survey = editing.save_survey(
            actor=request.membership,
            moment=moment,
            introduction=form.cleaned_data["introduction"],
            questions=kept,
            based_on=form.cleaned_data["version"],
        )
        messages.success(request, f"Version {survey.version} saved. It is asked from now on.")
        return redirect("annotate:survey-list", project.slug)
    return _render_editor(request, project, moment, form, questions, status=HTTPStatus.UNPROCESSABLE_ENTITY)


@requires(Right.MANAGE)
@require_POST
def survey_end(request: ProjectRequest, project: Project, moment: str) -> HttpResponse:
    _check(moment)
    with refusals(request):
        editing.end_survey(actor=request.membership, moment=moment)
        messages.success(request, "The survey is no longer asked. Its answers are kept.")
    return redirect("annotate:survey-list", project.slug)


@requires(Right.MANAGE)
@never_cache
@require_safe
def survey_answers(request: ProjectRequest, project: Project, moment: str) -> HttpResponse:
    """Show the answers to one version, by default to the newest, question by question."""
    _check(moment)
    versions = list(project.surveys.filter(moment=moment))
    if not versions:
        raise Http404("There is no such survey.")
    wanted = request.GET.get("version", "")
    survey = next((each for each in versions if str(each.version) == wanted), versions[0])
    responses = survey.responses.exclude(answers={}).select_related("annotator").order_by("-pk")
    context = {
        "survey": survey,
        "versions": versions,
        "summaries": collected_answers.summarise(survey),
        "page": paginate(request, responses),
        "n_screened_out": survey.responses.filter(is_screened_out=True).count(),
    }
    return render(request, "annotate/surveys/answers.html", context)


@requires(Right.MANAGE)
@require_POST
def survey_file(request: ProjectRequest, project: Project, moment: str) -> HttpResponse:
    _check(moment)
    content = collected_answers.write_file(actor=request.membership, moment=moment)
    headers = download_headers(f"{project.slug}-survey-{moment}.csv")
    return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _check(moment: str) -> None:
    if moment not in Survey.Moment.values:
        raise Http404("There is no such survey.")


def _make_formset(
    moment: str, data: QueryDict | None = None, initial: list[dict[str, Any]] | None = None
) -> BaseQuestionFormSet:
    return QuestionFormSet(data, prefix=PREFIX, initial=initial, form_kwargs={"moment": moment})


def _add_question(sent: QueryDict, moment: str) -> BaseQuestionFormSet:
    """Return the questions as sent, with an empty one at the end; everything typed is kept."""
    n = _make_formset(moment, sent).total_form_count()
    return _make_formset(moment, add_row(sent, PREFIX, QuestionForm, n=n, most=MOST_QUESTIONS))


def _render_editor(
    request: ProjectRequest,
    project: Project,
    moment: str,
    form: SurveyHeadForm,
    questions: BaseQuestionFormSet,
    *,
    preview: SurveyForm | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    newest = editing.find_newest(project, moment)
    context = {
        "form": form,
        "questions": questions,
        "n_errors": 0 if status == HTTPStatus.OK else count_wrong_fields(form, questions),
        "preview": preview,
        "moment": moment,
        "label": Survey.Moment(moment).label,
        "newest": newest,
        "n_answered": newest.responses.exclude(answers={}).count() if newest else 0,
        "may_add": questions.total_form_count() < MOST_QUESTIONS,
    }
    return render(request, "annotate/surveys/edit.html", context, status=status)
