"""Open places that nobody may take: those who are not qualified, and the caps a manager can raise."""

import pytest
from django.urls import reverse

from annotate.batches import judgments_wanted, lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.progress import find_stuck_places
from annotate.batches.terms import Terms
from annotate.models import Batch, Outcome
from annotate.onboarding import consent
from annotate.panels import managing, sessions
from annotate.qualification import granting
from annotate.work import serving, submitting
from annotate.work.openings import find_opening
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, session_of
from tests.annotate.panels.samples import rate as rate_in_session
from tests.annotate.qualification import factories
from tests.annotate.submitted_work import rate
from tests.annotate.surveys.samples import AGE, make_survey
from tests.factories import make_consent, make_corpus
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project, manager: Membership) -> Batch:
    make_corpus(project, n_passages=3, n_candidates=3)
    batch = create_batch(project=project, actor=manager, terms=Terms(judgments=1))
    lifecycle.open_batch(batch=batch, actor=None)
    return batch


def kinds(batch: Batch) -> list[tuple[str, int]]:
    return [(part.kind, part.n_places) for part in find_stuck_places(batch).by_reason]


def caps_url(batch: Batch) -> str:
    return reverse("annotate:batch-caps", args=[batch.project.slug, batch.number])


def test_places_wait_for_somebody_who_passes_the_test(
    batch: Batch, project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    assert kinds(batch) == []
    factories.make_test(project)
    assert kinds(batch) == [("unqualified", 3)]
    page = client_of(manager).get(reverse("annotate:batch-show", args=[project.slug, batch.number])).content.decode()
    assert "have not passed the qualification test" in page
    assert "grant the qualification" in page
    granting.grant(annotator=annotator, actor=manager, why="Known to us")
    assert kinds(batch) == []


def test_a_closed_test_holds_up_nobody(batch: Batch, project: Project, annotator: Membership) -> None:
    factories.make_test(project, is_open=False)
    assert kinds(batch) == []


def test_raising_the_caps_frees_the_places(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    client = client_of(manager)
    sent = {"max_hits_per_annotator": "1", "max_hits_per_day": "", "max_share_percent": ""}
    assert client.post(caps_url(batch), sent).status_code == 302
    work = serving.claim(annotator)
    assert not isinstance(work, serving.NoWork)
    submitting.submit(annotator=annotator, assignment_uuid=work, sent=answered())
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert kinds(batch) == [("caps", 2)]
    page = client.get(reverse("annotate:batch-show", args=[batch.project.slug, 1])).content.decode()
    assert "Raise the limits" in page
    client.post(
        caps_url(batch), {**sent, "max_hits_per_annotator": "", "max_hits_per_day": "10", "max_share_percent": "66.67"}
    )
    batch.refresh_from_db()
    assert (batch.max_hits_per_annotator, batch.max_hits_per_day, batch.max_share) == (None, 10, 0.6667)
    assert 'value="66.67"' in client.get(caps_url(batch)).content.decode()
    entry = LogEntry.objects.filter(act="change caps").latest("pk")
    assert entry.before == {"max_hits_per_annotator": 1, "max_hits_per_day": None, "max_share": None}
    assert entry.after == {"max_hits_per_annotator": None, "max_hits_per_day": 10, "max_share": 0.6667}


def test_a_share_is_the_same_cap_for_serving_and_for_what_is_stuck(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=30, n_items=1)
    rate(annotator, 28)
    # 0.29 * 100 is 28.999… as a float, and allows 29 HITs.
    Batch.objects.filter(pk=batch.pk).update(n_hits=100, max_share=0.29)
    assert find_opening(annotator).has_hit
    assert kinds(batch) == []
    rate(annotator)
    assert not find_opening(annotator).has_hit
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert kinds(batch) == [("caps", 1)]


def test_who_was_screened_out_takes_no_places(
    batch: Batch, project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    assert kinds(batch) == []
    make_survey(manager, AGE)
    client_of(annotator).post(reverse("annotate:survey", args=[project.slug, "before"]), {"version": 1, "q1": "3"})
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert kinds(batch) == [("nobody", 3)]


def test_who_has_left_the_study_takes_no_places_until_they_agree_again(
    project: Project, manager: Membership, annotator: Membership
) -> None:
    batch = open_batch(project, n_hits=2, consent=make_consent(project))
    assert kinds(batch) == [], "They have yet to agree."
    consent.agree(annotator=annotator, version=1)
    consent.withdraw(annotator=annotator, removes_work=False)
    assert kinds(batch) == [("nobody", 2)]
    # Others may arrive by a panel, though everyone who came so far has left.
    panel = make_panel(manager)
    open_link(panel, "pia")
    consent.agree(annotator=member_of(panel, "pia"), version=1)
    consent.withdraw(annotator=member_of(panel, "pia"), removes_work=False)
    assert kinds(batch) == []
    managing.end_panel(panel=panel, actor=manager)
    assert kinds(batch) == [("nobody", 2)]
    consent.agree(annotator=annotator, version=1)
    assert kinds(batch) == []


def test_participants_of_an_ended_panel_take_places_only_during_their_session(
    project: Project, manager: Membership
) -> None:
    batch = open_batch(project, n_hits=3)
    panel = make_panel(manager)
    open_link(panel, "pia")
    rate_in_session(member_of(panel, "pia"))
    sessions.end(session_of(panel, "pia"), Outcome.COMPLETED)
    assert kinds(batch) == [], "Others may arrive until the panel ends."
    open_link(panel, "ada")
    managing.end_panel(panel=panel, actor=manager)
    assert kinds(batch) == [], "Her session goes on."
    sessions.end(session_of(panel, "ada"), Outcome.NO_CONSENT)
    assert kinds(batch) == [("nobody", 2)]


def test_two_changes_of_different_caps_both_hold(batch: Batch) -> None:
    seen_before = Batch.objects.get(pk=batch.pk)
    judgments_wanted.change_caps(batch=batch, actor=None, caps={"max_hits_per_day": 5})
    judgments_wanted.change_caps(batch=seen_before, actor=None, caps={"max_share": 0.5})
    batch.refresh_from_db()
    assert (batch.max_hits_per_day, batch.max_share) == (5, 0.5)


@pytest.mark.parametrize(
    "over",
    [
        {"max_hits_per_annotator": "0"},
        {"max_hits_per_day": "-1"},
        {"max_share_percent": "101"},
        {"max_share_percent": "NaN"},
    ],
)
def test_impossible_caps_are_refused(
    batch: Batch, manager: Membership, client_of: SignIn, over: dict[str, str]
) -> None:
    sent = {"max_hits_per_annotator": "", "max_hits_per_day": "", "max_share_percent": "", **over}
    assert client_of(manager).post(caps_url(batch), sent).status_code == 422
    assert not LogEntry.objects.filter(act="change caps").exists()


def test_named_annotators_and_archives_take_no_caps(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    make_corpus(project, n_passages=1, n_candidates=2)
    named = create_batch(project=project, actor=manager, terms=Terms(annotators=(annotator,)))
    client = client_of(manager)
    sent = {"max_hits_per_annotator": "1", "max_hits_per_day": "", "max_share_percent": ""}
    response = client.post(caps_url(named), sent)
    assert response.status_code == 422
    assert "Each chosen annotator rates everything" in response.content.decode()
    lifecycle.open_batch(batch=named, actor=None)
    lifecycle.close(batch=named, actor=None)
    lifecycle.archive(batch=named, actor=None)
    assert "limits don’t apply" in client.post(caps_url(named), sent).content.decode()


def test_a_batch_is_complete_when_its_last_place_is_submitted(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    client, url = client_of(manager), reverse("annotate:batch-list", args=[batch.project.slug])
    for n in range(3):
        assert ">complete<" not in client.get(url).content.decode(), n
        work = serving.claim(annotator)
        assert not isinstance(work, serving.NoWork)
        submitting.submit(annotator=annotator, assignment_uuid=work, sent=answered())
    assert ">complete<" in client.get(url).content.decode()
    judgments_wanted.change_wanted(batch=batch, actor=None, judgments=2, hit_numbers=[1])
    assert ">complete<" not in client.get(url).content.decode()
