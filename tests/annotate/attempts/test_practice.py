"""Practice with feedback: offered where there are items for it, whatever the state of the test."""

from dataclasses import replace

import pytest

from annotate.attempts import attempts
from annotate.attempts.gradable_items import read_spec
from annotate.attempts.practice import find_practice
from annotate.models import Attempt, QualificationTest
from annotate.qualification import design
from annotate.qualification.items import edit_item
from measures.rubric_presets import DEFAULT_PRESET, PRESETS
from projects.errors import Refused
from projects.models import Dataset, Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.qualification.factories import SECRET, answer, make_test
from tests.factories import make_corpus
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
PAGES = ("desk/", "instructions/", "qualification/")


@pytest.mark.parametrize("state", ["draft", "open", "closed"])
def test_it_is_offered_on_every_way_to_work(
    project: Project, annotator: Membership, client_of: SignIn, state: str
) -> None:
    test = make_test(project, n_practice=2, is_open=state == "open")
    if state == "closed":
        design.close_test(test=test, actor=None)
    client = client_of(annotator)
    for page in PAGES:
        assert "Practise with 2 answers" in client.get(f"/p/bridges/{page}").content.decode(), page
    begun = client.post("/p/bridges/qualification/attempts/", {"purpose": "practice"})
    assert "Practice" in client.get(begun["Location"], follow=True).content.decode()
    test.rubric.refresh_from_db()
    assert test.rubric.frozen_at is not None
    assert "Continue practice" in client.get("/p/bridges/desk/").content.decode()


def test_there_is_none_without_items(project: Project, annotator: Membership, client_of: SignIn) -> None:
    make_test(project)
    client = client_of(annotator)
    for page in PAGES:
        assert "ractis" not in client.get(f"/p/bridges/{page}").content.decode(), page
    with pytest.raises(Refused, match="nothing to practise"):
        attempts.begin(annotator=annotator, purpose="practice")


def test_a_draft_is_for_practice_alone(project: Project, annotator: Membership) -> None:
    make_test(project, n_practice=1, is_open=False)
    with pytest.raises(Refused, match="no open qualification test"):
        attempts.begin(annotator=annotator)
    assert attempts.begin(annotator=annotator, purpose="practice").purpose == Attempt.objects.get().purpose


def add_rubric(project: Project, *, is_for_quality: bool = True) -> None:
    """A newer version of the rubric: the criterion of the items, and one that none of them knows."""
    (known,) = PRESETS[DEFAULT_PRESET].criteria
    criteria = [known, replace(known, key="fluency", name="Fluency")]
    unused = [] if is_for_quality else [criterion.key for criterion in criteria]
    create_rubric(project, name="Newer", preset="custom", criteria=criteria, not_for_quality=unused)


def left_behind(project: Project) -> QualificationTest:
    """A test that was closed, then moved to a rubric that its items say nothing of."""
    test = make_test(project, n_practice=2)
    design.close_test(test=test, actor=None)
    add_rubric(project)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    test.refresh_from_db()
    return test


def test_what_cannot_be_graded_is_not_practised_on(project: Project, annotator: Membership, client_of: SignIn) -> None:
    test = left_behind(project)
    assert "ractis" not in client_of(annotator).get("/p/bridges/desk/").content.decode()
    with pytest.raises(Refused, match="nothing to practise"):
        attempts.begin(annotator=annotator, purpose="practice")
    item = test.items.filter(purpose="practice").first()
    assert item is not None
    both = replace(read_spec(item), expected={"correctness": (4, 4), "fluency": (4, 4)})
    edit_item(item=item, actor=None, spec=both)
    assert "Practise with 1 answer" in client_of(annotator).get("/p/bridges/desk/").content.decode()
    assert len(attempts.begin(annotator=annotator, purpose="practice").layout) == 1


def test_nothing_is_practised_on_without_a_criterion_to_grade_by(project: Project, annotator: Membership) -> None:
    test = make_test(project, n_practice=1, is_open=False)
    add_rubric(project, is_for_quality=False)
    design.move_to_rubric(test=test, actor=None, on_new_rubric="ask")
    assert find_practice(annotator) is None
    with pytest.raises(Refused, match="nothing to practise"):
        attempts.begin(annotator=annotator, purpose="practice")


def test_an_attempt_that_cannot_be_graded_ends_when_it_is_submitted(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    """Begun before items that do not fit were passed over."""
    test = make_test(project, n_practice=1)
    attempt = attempts.begin(annotator=annotator, purpose="practice")
    answer(annotator, attempt)
    test.items.update(expected={})
    page = {"page": "1", "a0-correctness": "4"}
    sent = client_of(annotator).post(f"/p/bridges/qualification/attempts/{attempt.uuid}/", page, follow=True)
    assert sent.status_code == 200
    attempt.refresh_from_db()
    assert attempt.state == Attempt.State.EXPIRED


def feedback(attempt: Attempt, number: int) -> str:
    return f"/p/bridges/qualification/attempts/{attempt.uuid}/feedback/{number}/"


def test_each_answer_in_practice_is_followed_by_its_correct_rating(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    make_test(project, n_practice=3, n_passages=1, feedback="none")
    attempt, client = attempts.begin(annotator=annotator, purpose="practice"), client_of(annotator)
    show = f"/p/bridges/qualification/attempts/{attempt.uuid}/"
    for number, value, message in ((1, "4", "Your rating is correct"), (2, "2", "Your rating differs")):
        page = client.get(f"{show}?page={number}").content.decode()
        assert f"Answer {number} of 3" in condense(page)
        assert SECRET not in page
        response = client.post(show, {"page": str(number), "a0-correctness": value}, follow=True)
        assert response.redirect_chain == [(feedback(attempt, number), 303)]
        html = condense(response.content.decode())
        assert message in html
        assert html.count(SECRET) == 1
        assert f"{show}?page={number + 1}" in html
    done = client.post(show, {"page": "3", "a0-correctness": "4"}, follow=True)
    assert "2 of 3 correct. Practice doesn" in condense(done.content.decode())
    assert done.content.decode().count(SECRET) == 3


def test_an_answer_that_is_not_rated_is_not_explained(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    make_test(project, n_practice=2)
    attempt, client = attempts.begin(annotator=annotator, purpose="practice"), client_of(annotator)
    show = f"/p/bridges/qualification/attempts/{attempt.uuid}/"
    for sent in ({"page": "1"}, {"page": "1", "a0-correctness": "9"}):
        response = client.post(show, sent, follow=True)
        assert SECRET not in response.content.decode()
        assert 'name="a0-correctness"' in response.content.decode()
    assert client.get(feedback(attempt, 1))["Location"] == f"{show}?page=1"
    for number in (0, 3, 99):
        assert client.get(feedback(attempt, number)).status_code == 404


def test_a_test_explains_nothing_before_its_end(
    project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    make_test(project, n_practice=1, feedback="full")
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt)
    response = client_of(annotator).get(feedback(attempt, 1), follow=True)
    assert SECRET not in response.content.decode()
    practice = attempts.begin(annotator=other_annotator, purpose="practice")
    assert client_of(annotator).get(feedback(practice, 1)).status_code == 404


@pytest.mark.parametrize("kind", ["question_generation", "generative"])
def test_generated_questions_are_named_so(
    project: Project, annotator: Membership, client_of: SignIn, kind: str
) -> None:
    make_corpus(project)
    Dataset.objects.update(kind=kind)
    make_test(project, n_practice=2)
    client, attempt = client_of(annotator), attempts.begin(annotator=annotator, purpose="practice")
    url = f"/p/bridges/qualification/attempts/{attempt.uuid}/"
    page = condense(client.get(f"{url}?page=1").content.decode())
    client.post(url, {"page": "1", "a0-correctness": "3"})
    explained = condense(client.get(feedback(attempt, 1)).content.decode())
    is_generated = kind == "question_generation"
    for words in ("Rate generated questions", "Question 1 of 2", "1 question about this text."):
        assert (words in page) == is_generated, words
    for words in ("Practice: question 1 of 2", "Generated question 1", "Target answer", "Next question"):
        assert (words in explained) == is_generated, words
    for words in ("Answer 1 of 2", "1 answer about this text."):
        assert (words in page) != is_generated, words
    assert ("Next answer" in explained) != is_generated
