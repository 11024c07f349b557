"""The page on which an annotator answers a survey."""

from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotate.desk.onboarding_views import continue_onboarding, read_next
from annotate.models import Outcome, Survey, SurveyResponse
from annotate.onboarding import surveys
from annotate.onboarding.consent import ConsentFirst, consent_state
from annotate.onboarding.survey_form import SurveyForm
from annotate.panels.sessions import LIVE, end, find_session
from projects.access import ProjectRequest, Right, requires
from projects.models import Project
from projects.web.refusals import refusals


@requires(Right.WORK)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def survey(request: ProjectRequest, project: Project, moment: str) -> HttpResponse:
    """Ask what is yet to be answered; who has answered, or is asked nothing, goes on to the next step."""
    if moment not in Survey.Moment.values:
        raise Http404("There is no such survey.")
    asked, state = surveys.find_asked(project, moment), surveys.survey_state(request.membership)
    if asked is None or not (state.lacks_before if moment == Survey.Moment.BEFORE else state.lacks_after):
        return _continue(request, project)
    if consent_state(request.membership).is_missing:
        return redirect(f"{reverse('annotate:consent', args=[project.slug])}?next=work")
    is_sent = request.method == "POST"
    form = SurveyForm(list(asked.questions.all()), request.POST if is_sent else None)
    is_same = not is_sent or request.POST.get("version") == str(asked.version)
    if is_sent and is_same and form.is_valid():
        with refusals(request, form):
            try:
                return _store(request, project, asked, form)
            except (surveys.OldSurvey, ConsentFirst) as refusal:
                messages.warning(request, refusal.message)
                return redirect("annotate:survey", project.slug, moment)
    if not is_same:
        messages.warning(request, _("The questions changed while you were answering. These are the new ones."))
        form = SurveyForm(form.questions)
    context = {"survey": asked, "form": form, "following": read_next(request)}
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK if is_same else HTTPStatus.CONFLICT
    return render(request, "annotate/desk/survey_show.html", context, status=status)


def _store(request: ProjectRequest, project: Project, asked: Survey, form: SurveyForm) -> HttpResponse:
    response: SurveyResponse = surveys.answer(
        annotator=request.membership, survey=asked, answers=form.read_answers(), may_publish=form.may_publish()
    )
    session = find_session(request.membership)
    if session is not None and response.is_screened_out and session.state in LIVE:
        end(session, Outcome.SCREENED_OUT)
    elif asked.moment == Survey.Moment.AFTER and session is None:
        messages.success(request, _("Thank you! Your answers are saved."))
    return _continue(request, project)


def _continue(request: ProjectRequest, project: Project) -> HttpResponse:
    if request.membership.is_participant:
        return redirect("annotate:panel-session", project.slug)
    # Only a form may take a place on the next HIT.
    if request.method != "POST" or surveys.survey_state(request.membership).is_screened_out:
        return redirect("annotate:project-desk", project.slug)
    return continue_onboarding(request, project, read_next(request))
