"""Practice with feedback: offered where there are items for it, whatever the state of the test."""

from dataclasses import replace

import pytest

from annotate.models import Attempt, QualificationTest
from annotate.qualification import attempts, design
from annotate.qualification.items import edit_item, read_spec
from annotate.qualification.practice import find_practice
from measures.rubric import DEFAULT_PRESET, PRESETS
from projects.errors import Refused
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.qualification.factories import answer, make_test
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


def test_an_attempt_that_cannot_be_graded_ends_where_it_is_handed_in(
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
