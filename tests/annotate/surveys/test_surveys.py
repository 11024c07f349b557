"""Surveys: asked in their place, answered once, screening out, forgotten with their annotator, in a set if allowed."""

import csv
import io
import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotate.attempts import attempts
from annotate.models import QualificationTest, Survey, SurveyQuestion, SurveyResponse
from annotate.onboarding import consent as onboarding_consent
from annotate.onboarding import erasing, surveys
from annotate.onboarding.survey_form import SurveyForm
from annotate.surveys import editing
from annotate.work import serving
from projects.accounts import signing_in
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from results.sets import archive, canonical, freezing
from results.sets.selecting import Selection
from results.sets.settings import Settings
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, rate, session_of
from tests.annotate.qualification.factories import make_test
from tests.annotate.surveys.samples import AGE, FREE, TONGUE, make_question, make_survey
from tests.factories import make_consent
from tests.people import SignIn

pytestmark = pytest.mark.django_db

FINE = {"q1": "34", "q2": "de", "q3": "=1+1", "may_publish": "on"}


def url(project: Project, moment: str = "before") -> str:
    return reverse("annotate:survey", args=[project.slug, moment])


def send(client: Client, survey: Survey, answers: dict[str, str] = FINE, **over: str) -> Any:
    return client.post(url(survey.project, survey.moment), {"version": survey.version, **answers, **over})


def test_it_comes_between_consent_and_work(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    """For an ordinary invitation: consent, survey, test, HIT. Wrong answers and a second time store nothing."""
    text = make_consent(project)
    open_batch(project, n_hits=2, consent=text)
    survey = make_survey(manager)
    client = client_of(annotator)
    assert "consent" in client.get(url(project))["Location"]
    onboarding_consent.agree(annotator=annotator, version=text.version)
    started = client.post(reverse("annotate:work-start", args=[project.slug]))
    assert started["Location"] == f"{url(project)}?next=work"
    make_test(project)
    with pytest.raises(surveys.SurveyFirst):
        attempts.begin(annotator=annotator, purpose="test")
    QualificationTest.objects.update(state=QualificationTest.State.CLOSED)
    page = client.get(f"{url(project)}?next=work").text
    assert "How old are you?" in page
    assert "Deutsch" in page or "German" in page
    wrong = send(client, survey, {"q1": "200", "q2": "xx"})
    assert wrong.status_code == 422
    assert not SurveyResponse.objects.exists()
    answered = send(client, survey, next="work")
    assert "/work/" in answered["Location"]
    stored = SurveyResponse.objects.get()
    assert stored.answers == {"1": 34, "2": "de", "3": "=1+1"}
    assert (stored.may_publish, stored.is_screened_out) == (True, False)
    assert onboarding_consent.plan_withdrawal(annotator).may_be_published
    SurveyResponse.objects.update(may_publish=False)
    assert not onboarding_consent.plan_withdrawal(annotator).may_be_published
    send(client, survey, {"q1": "12", "q2": "fr"})
    assert SurveyResponse.objects.get().answers["1"] == 34
    assert client.get(url(project)).status_code == 302


def test_a_number_without_limits_has_a_size_that_statistics_can_hold() -> None:
    for limits, too_large in (({}, "9" * 400), ({"low": 0}, "1000000001"), ({"high": 5}, "-1000000001")):
        question = SurveyQuestion(position=1, text="How many?", kind="number", **limits)
        assert SurveyForm([question], {"q1": too_large}).errors
        assert SurveyForm([question], {"q1": "5"}).is_valid()


def test_an_answer_ends_the_visit_and_the_place_opens_again(project: Project, manager: Membership) -> None:
    """A panel's participant: the code “screened out” at once, in a new session too; the place goes to the next."""
    panel = make_panel(manager, code_screened_out="CODE-out", reward_cents=150, screened_out_cents=14)
    batch = open_batch(project, n_hits=1)
    survey = make_survey(manager)
    client, _ = open_link(panel, "pia")
    assert client.get(f"/p/{project.slug}/session/")["Location"] == url(project)
    assert batch.hits.get().places_open == 0
    page = client.get(send(client, survey, {"q1": "17", "q2": "de"})["Location"]).text
    assert "CODE-out" in page
    session = session_of(panel, "pia")
    assert (session.state, session.outcome) == ("screened_out", "screened_out")
    assert session.payments.get().cents == 14
    assert batch.hits.get().places_open == 1
    again, _ = open_link(panel, "pia", client, session="another-session-of-pia-000")
    assert "CODE-out" in again.get(f"/p/{project.slug}/session/").text
    assert batch.hits.get().places_open == 1
    other, _ = open_link(panel, "ada")
    assert "Start rating" in other.get(send(other, survey)["Location"]).text


def test_the_code_comes_after_the_last_survey(project: Project, manager: Membership) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    survey = make_survey(manager, FREE, moment="after")
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    page = client.get(f"/p/{project.slug}/session/", follow=True).text
    assert "Anything else?" in page
    assert "CODE" not in page
    assert "CODE-completed" in client.get(send(client, survey, {"q1": ""})["Location"]).text


def test_who_is_screened_out_gets_no_work_and_who_has_worked_is_not(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=3)
    rate(other_annotator)
    after = make_survey(manager, FREE, moment="after")
    survey = make_survey(manager, AGE)
    client = client_of(annotator)
    assert "what this study needs" in client.get(send(client, survey, {"q1": "3"})["Location"]).text
    refused = serving.claim(annotator)
    assert isinstance(refused, serving.NoWork)
    assert "what this study needs" in refused.reason
    with pytest.raises(Refused, match="what this study needs"):
        surveys.require_survey(annotator)
    other = client_of(other_annotator)
    send(other, survey, {"q1": "3"})
    assert not SurveyResponse.objects.get(annotator=other_annotator).is_screened_out
    rate(other_annotator)
    rate(other_annotator)
    desk = reverse("annotate:project-desk", args=[project.slug])
    assert url(project, "after") in other.get(desk).text
    send(other, after, {"q1": "Nice."})
    assert url(project, "after") not in other.get(desk).text


@pytest.mark.parametrize(
    ("question", "value", "is_out"),
    [
        ({"kind": "number", "screens_out": ["0-17", "99"]}, 17, True),
        ({"kind": "number", "screens_out": ["0-17", "99"]}, 18, False),
        ({"kind": "number", "screens_out": ["-5--1"]}, -3, True),
        # As earlier versions of the editor let them through.
        ({"kind": "number", "screens_out": ["18-" + "9" * 190], "screens_others": True}, 30, False),
        ({"kind": "number", "screens_out": ["٣"]}, 3, True),
        ({"kind": "number", "screens_out": ["18-65"], "screens_others": True}, 17, True),
        ({"kind": "number", "screens_out": ["18-65"], "screens_others": True}, 18, False),
        ({"kind": "language", "screens_out": ["en"], "screens_others": True}, "de", True),
        ({"kind": "choice", "options": ["a", "b"], "screens_out": ["b"]}, "b", True),
        ({"kind": "choice", "options": ["a", "b"]}, "b", False),
    ],
)
def test_answers_that_screen_out(question: dict[str, Any], value: str | int, is_out: bool) -> None:
    assert surveys.screens_out(SurveyQuestion(**make_question(**question)), value) == is_out


@pytest.mark.parametrize("n_options", [2, 30], ids=["buttons", "list"])
def test_a_choice_that_may_stay_open_says_so(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn, n_options: int
) -> None:
    open_batch(project, n_hits=1)
    options = [f"Option {n}" for n in range(n_options)]
    for is_required, n_marks in ((True, 0), (False, 1)):
        make_survey(manager, {"options": options, "is_required": is_required})
        assert client_of(annotator).get(url(project)).text.count('class="optional"') == n_marks


def test_questions_have_their_own_direction_on_every_page(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    make_survey(manager, {"text": "<b>Where?", "options": ["At sea?", "On land"]})
    page = client_of(annotator).get(url(project)).text
    assert "<bdi>&lt;b&gt;Where?</bdi>" in page
    assert "<bdi>At sea?</bdi>" in page


def test_the_editor_previews_checks_and_saves_versions(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    client, address = client_of(manager), reverse("annotate:survey-edit", args=[project.slug, "before"])
    start = client.get(address).text
    assert ("Question 1" in start, "Question 2" in start) == (True, False)
    labels = re.findall(r"<label for=\"id_questions-0-(\w+)\">(.*?)</label>", start, re.DOTALL)
    optional = {name for name, label in labels if "optional" in label}
    assert optional & {"text", "options", "low", "high"} == set(), "Some kinds need them."
    assert "low_label" in optional
    head = {"version": "0", "introduction": "Hello", "questions-TOTAL_FORMS": "2", "questions-INITIAL_FORMS": "0"}
    first = {"text": "<b>Age?", "kind": "number", "low": "0", "is_required": "on", "screens_out": "0-17", "ORDER": "2"}
    second = {"text": "Sex?", "kind": "choice", "options": "f\nm", "ORDER": "1", "is_published": "on"}
    sent = {**head, **{f"questions-{n}-{k}": v for n, each in enumerate((first, second)) for k, v in each.items()}}
    added = client.post(address, {**sent, "add": "1"}).text
    assert "Question 3" in added
    assert "Nothing was saved" not in added
    assert "This field is required" not in added
    half = client.post(address, {**sent, "questions-1-text": "", "add": "1"})
    assert "Nothing was saved" not in half.text, "who adds a question has not tried to save yet"
    head_alone = client.post(address, {**sent, "introduction": "x" * 2_001})
    assert "Correct the field marked below" in head_alone.text
    preview = client.post(address, {**sent, "preview": "1"}).text
    assert "&lt;b&gt;Age?" in preview
    assert preview.index("Sex?") < preview.index("&lt;b&gt;Age?")
    assert not Survey.objects.exists()
    # A question that was added and left as it is counts for nothing.
    empty = {"questions-TOTAL_FORMS": "3", "questions-2-kind": "choice", "questions-2-is_required": "on"}
    assert "Preview (not saved)" in client.post(address, {**sent, **empty, "preview": "1"}).text
    wrong = client.post(address, {**sent, "questions-0-screens_out": "many", "questions-1-options": "one"})
    assert wrong.status_code == 422
    assert "Nothing was saved. Correct the fields marked below first." in wrong.text
    assert "“many” is no answer to this question." in wrong.text
    assert "Enter 2 to 50 answers" in wrong.text
    for entry in ("9" * 5_000, "0" * 300, "0-" + "0" * 300, "٣", "1-٣", "10000000000"):
        wrong = client.post(address, {**sent, "questions-0-screens_out": entry})
        assert wrong.status_code == 422
        assert f"“{entry[:20]}" in wrong.text
        assert "is no answer to this question." in wrong.text
    assert client.post(address, sent).status_code == 302
    survey = Survey.objects.get()
    assert [each.text for each in survey.questions.all()] == ["Sex?", "<b>Age?"]
    assert "Somebody saved another version" in client.post(address, sent).text
    send(client_of(annotator), survey, {"q1": "f", "q2": "40"})
    assert "has 1 answer and can’t be changed" in client.get(address).text
    stored = {**sent, "version": "1", "introduction": "Other"}
    assert client.post(address, stored).status_code == 302
    assert [(each.version, each.ended_at is None) for each in Survey.objects.all()] == [(2, True), (1, False)]
    assert surveys.survey_state(annotator).lacks_before is False
    answers = client.get(reverse("annotate:survey-answers", args=[project.slug, "before"]), {"version": "1"}).text
    assert "median 40" in answers
    assert annotator.pseudonym in answers
    client.post(reverse("annotate:survey-end", args=[project.slug, "before"]))
    assert surveys.find_asked(project, "before") is None


def test_the_file_is_logged_and_guarded_and_old_forms_are_shown_again(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    old = make_survey(manager)
    new = make_survey(manager, AGE, {**TONGUE, "text": "Mother tongue?"}, FREE)
    stale = send(client_of(annotator), old)
    assert stale.status_code == 409
    assert "Mother tongue?" in stale.text
    send(client_of(annotator), new)
    file = client_of(manager).post(reverse("annotate:survey-file", args=[project.slug, "before"]))
    rows = list(csv.DictReader(io.StringIO(file.content.decode())))
    assert [(row["question"], row["answer"]) for row in rows] == [("1", "34"), ("2", "de"), ("3", "'=1+1")]
    assert {row["annotator"] for row in rows} == {annotator.pseudonym}
    assert LogEntry.objects.filter(act="download survey").count() == 1
    with pytest.raises(Refused, match="Nothing has changed"):
        make_survey(manager, AGE, {**TONGUE, "text": "Mother tongue?"}, FREE)
    editing.end_survey(actor=manager, moment="before")
    with pytest.raises(surveys.OldSurvey):
        surveys.answer(annotator=other_annotator, survey=new, answers={}, may_publish=False)


def test_answers_go_when_somebody_leaves(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    text = make_consent(project)
    survey = make_survey(manager)
    for member in (annotator, other_annotator):
        onboarding_consent.agree(annotator=member, version=text.version)
        send(client_of(member), survey)
    withdraw = reverse("annotate:consent-withdraw", args=[project.slug])
    SurveyResponse.objects.update(may_publish=False)
    page, in_files = (
        client_of(annotator).get(withdraw).text,
        "Files created earlier may still contain answers to surveys",
    )
    assert "Your answers to surveys are deleted" in page
    assert in_files not in page
    SurveyResponse.objects.update(may_publish=True)
    client = client_of(annotator)
    session = client.session
    session[signing_in.CONFIRMED] = time.time()  # as after a sign-in
    session.save()
    for address in (withdraw, reverse("annotate:account-delete")):
        assert in_files in client.get(address).text
    onboarding_consent.withdraw(annotator=annotator, removes_work=False)
    kept = SurveyResponse.objects.get(annotator=annotator)
    assert (kept.answers, kept.may_publish) == ({}, False)
    assert other_annotator.user is not None
    erasing.erase(user=other_annotator.user, removes_work=False)
    assert not SurveyResponse.objects.filter(annotator=other_annotator).exists()


def test_a_set_has_them_only_where_asked_and_allowed(
    project: Project,
    owner: Membership,
    manager: Membership,
    annotator: Membership,
    other_annotator: Membership,
    client_of: SignIn,
    tmp_path: Path,
) -> None:
    open_batch(project, n_hits=1, judgments=2)
    for member in (annotator, other_annotator):
        rate(member)
    survey = make_survey(manager)
    send(client_of(annotator), survey, {**FINE, "q2": "en"})
    send(client_of(other_annotator), survey, {"q1": "50", "q2": "fr"})
    for with_surveys in (False, True):
        folder = tmp_path / str(with_surveys)
        folder.mkdir()
        settings = Settings(with_surveys=with_surveys)
        assert ("with_surveys" in settings.as_dict()) == with_surveys
        canonical.write_rest(Selection(project, settings), folder, lambda _name, _n: None)
        written = folder / canonical.SURVEY_ANSWERS
        assert written.exists() == with_surveys
    frozen = freezing.freeze_now(project=project, name="With answers", settings=Settings(with_surveys=True))
    assert freezing.verify(frozen) == []
    inside = archive.read_file(freezing.find_path(frozen), frozen.facts["folder"], canonical.SURVEY_ANSWERS)
    assert b"".join(inside) == written.read_bytes()
    sheet = b"".join(archive.read_file(freezing.find_path(frozen), frozen.facts["folder"], "datasheet.md"))
    assert b"to questions that may be published. The other annotators may differ" in sheet
    rows = list(csv.DictReader(io.StringIO(written.read_text())))
    assert [(row["annotator"], row["question_number"], row["answer"]) for row in rows] == [
        (annotator.pseudonym, "2", "en")
    ]
