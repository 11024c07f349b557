"""The pages on which managers warn, suspend, remove and restore, and what the annotator sees of it."""

from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from annotate.batches import lifecycle
from annotate.models import Assignment, Batch, Finding, Notice
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, claim, rate
from tests.page_reader import read
from tests.people import SignIn
from tests.previews import confirm

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=3, judgments=1)


def path(what: str, member: Membership) -> str:
    return reverse(f"annotate:member-{what}", args=[member.project.slug, member.pseudonym])


def test_a_warning_goes_from_the_page_to_the_desk_and_off_it(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    ours, theirs = client_of(manager), client_of(annotator)
    empty = ours.post(path("warn", annotator), {"text": ""})
    assert (empty.status_code, Notice.objects.count()) == (422, 0)
    sent = ours.post(path("warn", annotator), {"text": "Please <b>read</b> the passages."}, follow=True)
    assert "stays on the desk" in sent.content.decode()
    for desk in ("/desk/", "/p/bridges/desk/"):
        page = theirs.get(desk).content.decode()
        assert "Please &lt;b&gt;read&lt;/b&gt; the passages." in page
    notice = Notice.objects.get()
    assert client_of(manager).post(f"/p/bridges/messages/{notice.pk}/").status_code == 404
    assert "marked as read" in theirs.post(f"/p/bridges/messages/{notice.pk}/", follow=True).content.decode()
    assert "read the passages" not in theirs.get("/desk/").content.decode()


def test_a_suspended_annotator_reads_the_message_on_the_desk_of_all_projects(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    answer = client_of(manager).post(
        path("suspend", annotator), {"why": "To be looked at", "text": "We look at your work."}, follow=True
    )
    assert "is suspended" in answer.content.decode()
    page = client_of(annotator).get("/desk/").content.decode()
    assert "We look at your work." in page
    assert "on hold" in page
    notice = Notice.objects.get()
    assert client_of(annotator).post(f"/p/bridges/messages/{notice.pk}/").status_code == 302
    notice.refresh_from_db()
    assert notice.read_at is not None


def test_a_removal_is_looked_at_by_its_address_and_then_done(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 2)
    claim(annotator)
    lifecycle.close(batch=batch, actor=None)
    client, page = client_of(manager), path("remove", annotator)
    assert client.get(page).status_code == 200
    shown = client.get(page, {"scope": "all", "reopens": "on"}).content.decode()
    screen = read(shown)
    assert [screen.number(label) for label in ("Excluded", "Judgments", "Reassigned")] == [2, 6, 2]
    assert screen.rows("By batch")[0]["Batch"] == batch.name
    assert "Reopen closed batches" in shown
    assert Assignment.objects.filter(mark="excluded").count() == 0
    assert "Resolve their open alerts" not in shown
    finding = Finding.objects.create(annotator=annotator, kind="same_score", evidence={"n": 9})
    assert "Resolve their open alerts" in client.get(page, {"scope": "all"}).content.decode()
    wanted = {"scope": "all", "reopens": "True"}
    more: dict[str, Any] = {"reopen_batches": "on", "resolves_alerts": "on"}
    assert confirm(client, page, wanted, **more, why="").status_code == 422
    done = confirm(client, page, wanted, follow=True, **more, why="Straight lines.").content.decode()
    assert f"2 assignments excluded, 2 reassigned. Reopened: {batch.name}." in done
    assert "1 alert resolved." in done
    finding.refresh_from_db()
    assert (finding.state, finding.settled_by, finding.note) == ("acted", manager, "Straight lines.")
    annotator.refresh_from_db()
    batch.refresh_from_db()
    assert (annotator.standing, batch.state) == ("removed", "open")
    assert_sound()


def test_work_reassigned_in_a_closed_batch_is_said_to_wait(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator)
    lifecycle.close(batch=batch, actor=None)
    wanted = {"scope": "all", "reopens": "True"}
    done = confirm(client_of(manager), path("remove", annotator), wanted, follow=True, why="Straight lines.")
    assert f"1 assignment excluded, 1 reassigned. “{batch.name}” is closed: reopen it so that" in done.content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"reopens": "on", "since": "", "batch": ""},
        {"scope": "since"},
        {"scope": "since", "since": "soon"},
        {"scope": "batch"},
        {"scope": "x"},
    ],
)
def test_a_choice_that_is_none_is_shown_again(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn, wrong: dict[str, str]
) -> None:
    client = client_of(manager)
    assert client.get(path("remove", annotator), wrong).status_code == 422
    assert client.post(path("remove", annotator), {**wrong, "why": "x"}).status_code == 422
    annotator.refresh_from_db()
    assert annotator.standing == "active"


def test_more_work_of_a_removed_annotator_is_excluded_in_words_of_its_own(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 2)
    members.remove(target=annotator, actor=manager, why="Poor.", exclusion=Exclusion(scope=ExclusionScope.NONE))
    client, page = client_of(manager), path("remove", annotator)
    shown = client.get(page, {"scope": "all", "reopens": "on"}).content.decode()
    assert "<h1>Exclude more work</h1>" in shown
    assert "lose access" not in shown
    done = confirm(client, page, {"scope": "all", "reopens": "True"}, follow=True, why="Straight lines.")
    assert "2 assignments excluded, 2 reassigned." in done.content.decode()
    assert "has been removed" not in done.content.decode()


def test_what_was_chosen_on_the_page_is_what_is_left_out(
    project: Project, batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 3)
    other = open_batch(project, n_hits=1)
    (work,) = rate(annotator)
    chosen = {"scope": "batch", "batch": str(other.number), "since": ""}
    confirm(client_of(manager), path("remove", annotator), chosen, why="Only here.")
    work.refresh_from_db()
    assert (work.mark, work.holds_place) == ("excluded", True)
    assert Assignment.objects.filter(mark="excluded").count() == 1


def test_restoring_shows_both_numbers_first(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 3)
    members.remove(target=annotator, actor=manager, why="Poor.", exclusion=Exclusion(scope=ExclusionScope.ALL))
    rate(other_annotator)
    client = client_of(manager)
    screen = read(client.get(path("restore", annotator)).content.decode())
    assert (screen.number("Counted again"), screen.number("Surplus")) == (2, 1)
    done = confirm(client, path("restore", annotator), follow=True, why="Our mistake.", with_work="on")
    assert "2 assignments count again; 1 is surplus" in done.content.decode()
    assert_sound()


def test_an_open_page_tells_a_removed_annotator_kindly_and_keeps_the_answers(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work, theirs = claim(annotator), client_of(annotator)
    confirm(client_of(manager), path("remove", annotator), {"scope": "none"}, why="They asked to leave.")
    answer = theirs.post(f"/p/bridges/work/{work.uuid}/", {"a0-correctness": "4"})
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Your work is kept. Thank you!" in page
    assert "as a draft" in page
    assert "you won't get this HIT again" in unescape(page)
    assert "it will be filled in" not in page
    assert theirs.get("/p/bridges/desk/").status_code == 403
    assert theirs.post("/p/bridges/work/").status_code == 403


def test_only_owners_act_on_managers_and_nobody_on_themselves(
    project: Project, manager: Membership, owner: Membership, client_of: SignIn
) -> None:
    page = client_of(manager).get(path("remove", owner)).content.decode()
    assert "Only the project owner" in page
    assert client_of(manager).post(path("remove", owner), {"scope": "none", "why": "x"}).status_code == 422
    own = client_of(manager).get(path("suspend", manager)).content.decode()
    assert "your own status" in own
    assert client_of(owner).post(path("suspend", manager), {"why": "On leave"}).status_code == 302


def test_the_member_page_leads_to_each_act(annotator: Membership, manager: Membership, client_of: SignIn) -> None:
    page = f"/p/bridges/people/{annotator.pseudonym}/"
    shown = client_of(manager).get(page).content.decode()
    assert all(path(what, annotator) in shown for what in ("warn", "suspend", "remove"))
    Membership.objects.filter(pk=annotator.pk).update(standing="removed")
    shown = client_of(manager).get(page).content.decode()
    assert path("restore", annotator) in shown
    assert path("suspend", annotator) not in shown
