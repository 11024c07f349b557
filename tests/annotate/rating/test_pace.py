"""Pay and time before a HIT, on the desk, in the HIT and on the page of an invitation."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotate.models import Assignment, Batch, Hit
from annotate.rating.pace import Duration, estimate_duration, find_duration, find_paces, measure_hits, measure_pace
from projects.models import Candidate, Membership, Passage, Project, Question, Reference
from projects.people import invitations
from tests.annotate.open_batches import add_hit, open_batch
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.page_reader import condense
from tests.people import SignIn
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db


def read_text(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return condense(response.content.decode())


def submit_in(annotator: Membership, seconds: float, *, n_items: int = 3) -> None:
    submit(annotator, n_items=n_items)
    mine = Assignment.objects.filter(annotator=annotator).latest("pk")
    Assignment.objects.filter(pk=mine.pk).update(active_seconds=seconds)


def test_the_estimate_counts_all_that_there_is_to_read(project: Project) -> None:
    """The passage, each question and its references once, and every answer."""
    batch = open_batch(project, n_hits=0)
    question = make_question(make_passage(make_dataset(project)), references=("one", "two"))
    add_hit(batch, make_candidates(question, 4), 0)
    Passage.objects.update(text="p" * 6000)
    Question.objects.update(text="q" * 600)
    Reference.objects.update(text="r" * 200)
    Candidate.objects.update(text="c" * 250)
    n_bytes = 6000 + 600 + 2 * 200 + 4 * 250
    assert estimate_duration(Hit.objects.get().pk) == Duration(n_bytes / 20 + 4 * 8, is_estimate=True)


def test_long_texts_take_long_and_documents_count(project: Project) -> None:
    open_batch(project, n_hits=1)
    Passage.objects.update(text="", documents=[{"title": "One", "text": "w" * 60_000}])
    found = estimate_duration(Hit.objects.get().pk)
    assert found is not None
    assert 50 <= found.seconds / 60 <= 52


def test_a_pace_is_of_the_latest_measured_hits(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=30, n_items=1)
    for n in range(25):
        submit_in(annotator, 1000 if n < 5 else 12, n_items=1)
    assert find_paces([annotator.pk]) == {annotator.pk: 12}
    assert find_duration(Hit.objects.earliest("pk").pk, annotator.pk, 10) == Duration(120)


@pytest.mark.parametrize("over", [{"active_seconds": None}, {"active_seconds": 0}, {"has_odd_times": True}])
def test_what_was_not_measured_makes_no_pace(project: Project, annotator: Membership, over: dict[str, object]) -> None:
    open_batch(project)
    submit_in(annotator, 60)
    Assignment.objects.update(**over)
    assert find_paces([annotator.pk]) == {}


def test_less_than_a_minute_is_a_minute() -> None:
    assert Duration(3).hours == Duration(70).hours == 1 / 60
    assert Duration(100).hours == 2 / 60


def test_pay_and_time_are_at_the_top_of_a_hit(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project, n_hits=3, cents_per_hit=50)
    client = client_of(annotator)
    pay = "This HIT pays $0.50."
    page = read_text(client, f"/p/bridges/work/{claim(annotator)}/")
    assert f"{pay} It takes about 1 minute, estimated from the length of the texts." in page
    assert page.index(pay) < page.index('id="item0"')
    assert page.count(pay) == 1
    submit_in(annotator, 240)
    assert f"{pay} You usually take about 4 minutes." in read_text(client, f"/p/bridges/work/{claim(annotator)}/")


def test_a_hit_shown_one_at_a_time_counts_all_of_its_answers(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=1, n_items=5, presentation=Batch.Presentation.ONE)
    Candidate.objects.update(text="c" * 6000)
    page = read_text(client_of(annotator), f"/p/bridges/work/{claim(annotator)}/")
    assert "This HIT takes about 26 minutes, estimated from the length of the texts." in page


def test_a_hit_whose_texts_are_all_withdrawn_says_no_time(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    batch = open_batch(project, n_hits=1)
    uuid = claim(annotator)
    batch.hits.get().items.update(retired_at=timezone.now())
    assert "estimated from" not in read_text(client_of(annotator), f"/p/bridges/work/{uuid}/")


@pytest.fixture
def link(project: Project, owner: Membership) -> str:
    token = invitations.create_invitation(actor=owner, role="annotator")[1]
    return f"/join/{token}/"


def test_an_invitation_says_the_pay_and_the_time_before_joining(project: Project, link: str) -> None:
    open_batch(project, n_hits=1, cents_per_hit=40)
    Passage.objects.update(text="w" * 12_000)
    page = read_text(Client(), link)
    assert "A full HIT pays $0.40. It takes about 10 minutes, estimated from the length of the texts." in page
    open_batch(project, n_hits=1, cents_per_hit=70)
    assert "A full HIT pays $0.40 to $0.70." in read_text(Client(), link)


def test_an_invitation_says_the_time_of_a_full_hit_beside_its_pay(project: Project, link: str) -> None:
    batch = open_batch(project, n_hits=1, n_items=2, cents_per_hit=40)
    add_hit(batch, make_candidates(make_question(make_passage(make_dataset(project))), n=10), 1)
    (size,) = measure_hits([batch.hits.get(number=2).pk]).values()
    assert size.n_items == 10
    minutes = round(size.seconds_by_length / 60)
    assert f"A full HIT pays $0.40. It takes about {minutes} minute" in read_text(Client(), link)


def test_an_invitation_says_how_long_others_take_once_that_is_known(
    project: Project, link: str, annotator: Membership
) -> None:
    open_batch(project, n_hits=10)
    for n in range(10):
        assert "estimated from the length" in read_text(Client(), link)
        assert measure_pace(project).n_hits == n
        submit_in(annotator, 180)
        Assignment.objects.update(submitted_at=timezone.now() - timedelta(days=n))
    assert "A HIT usually takes others about 3 minutes." in read_text(Client(), link)


def test_an_invitation_to_a_project_without_batches_says_the_projects_pay(project: Project, link: str) -> None:
    Project.objects.update(cents_per_hit=30, cents_per_item=2, hit_size=10)
    page = read_text(Client(), link)
    assert "A full HIT pays $0.50." in page
    assert "minute" not in page
    Project.objects.update(cents_per_hit=0, cents_per_item=0)
    assert "They aren't paid." in read_text(Client(), link).replace("&#x27;", "'")


def test_a_time_without_a_pay_before_it_says_what_takes_it(project: Project, link: str) -> None:
    open_batch(project, n_hits=1)
    page = read_text(Client(), link).replace("&#x27;", "'")
    assert "They aren't paid. A HIT takes about 1 minute, estimated from the length of the texts." in page


def test_only_annotators_see_the_pay(project: Project, owner: Membership) -> None:
    make_membership(project)
    token = invitations.create_invitation(actor=owner, role="researcher")[1]
    assert "HIT pays" not in read_text(Client(), f"/join/{token}/")
