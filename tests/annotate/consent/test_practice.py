"""Practice with feedback: offered where there are items for it, whatever the state of the test."""

import pytest

from annotate.models import Attempt
from annotate.qualifying import attempts, designing
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.qualification.making import make_test
from tests.people import SignIn

pytestmark = pytest.mark.django_db
PAGES = ("desk/", "instructions/", "qualification/")


@pytest.mark.parametrize("state", ["draft", "open", "closed"])
def test_it_is_offered_on_every_way_to_work(
    project: Project, annotator: Membership, client_of: SignIn, state: str
) -> None:
    test = make_test(project, n_practice=2, is_open=state == "open")
    if state == "closed":
        designing.close_test(test=test, actor=None)
    client = client_of(annotator)
    for page in PAGES:
        assert "Practise on 2 answers" in client.get(f"/p/bridges/{page}").content.decode(), page
    begun = client.post("/p/bridges/qualification/attempts/", {"purpose": "practice"})
    assert "Practice" in client.get(begun["Location"], follow=True).content.decode()
    test.rubric.refresh_from_db()
    assert test.rubric.frozen_at is not None
    assert "Go on practising" in client.get("/p/bridges/desk/").content.decode()


def test_there_is_none_without_items(project: Project, annotator: Membership, client_of: SignIn) -> None:
    make_test(project)
    client = client_of(annotator)
    for page in PAGES:
        assert "ractis" not in client.get(f"/p/bridges/{page}").content.decode(), page
    with pytest.raises(Refused, match="nothing to practise"):
        attempts.begin(annotator=annotator, purpose="practice")


def test_a_draft_is_for_practice_alone(project: Project, annotator: Membership) -> None:
    make_test(project, n_practice=1, is_open=False)
    with pytest.raises(Refused, match="no qualification test"):
        attempts.begin(annotator=annotator)
    assert attempts.begin(annotator=annotator, purpose="practice").purpose == Attempt.objects.get().purpose
