"""After a removal: the person reads their own history and earnings, and nothing else."""

import re
import uuid

import pytest
from django.test import Client

from annotate.models import Assignment, Notice
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import consent, notices
from annotate.payments import paying
from annotate.work import serving
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link
from tests.annotate.panels.samples import rate as rate_in_session
from tests.annotate.submitted_work import claim, rate
from tests.factories import make_consent
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db

HISTORY = "/p/bridges/history/"
REASON = "Straight lines."


def read(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return condense(response.content.decode())


def remove(member: Membership, manager: Membership) -> None:
    members.remove(target=member, actor=manager, why="Poor.", exclusion=Exclusion())


def reject(project: Project, manager: Membership | None) -> None:
    decisions.reject(project=project, actor=manager, chosen=WorkFilter(), reason=REASON)


@pytest.mark.parametrize("is_removed_first", [False, True])
def test_somebody_removed_reads_why_work_was_rejected_and_replies(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn, *, is_removed_first: bool
) -> None:
    open_batch(project, n_hits=2, cents_per_hit=50)
    (work,) = rate(annotator)
    if is_removed_first:
        remove(annotator, manager)
    reject(project, manager)
    if not is_removed_first:
        remove(annotator, manager)
    client = client_of(annotator)
    desk = read(client, "/desk/")
    assert "Your membership in this project has ended." in desk
    assert f"A HIT you submitted was rejected. Reason: {REASON}" in desk
    assert f'href="{HISTORY}"' in desk
    history = read(client, HISTORY)
    assert REASON in history
    assert "Your membership in this project has ended." in history
    own = f"{HISTORY}{work.uuid}/"
    page = read(client, own)
    assert REASON in page
    assert f'action="{own}reply/"' in page
    for address in {*re.findall(r'href="(/[^"#?]*)"', desk + history + page)}:
        assert client.get(address, follow=True).status_code == 200, f"{address} is closed"
    assert client.post(f"{own}reply/", {"text": "I read every one."}).status_code == 302
    work.refresh_from_db()
    assert work.reply == "I read every one."
    assert "I read every one." in read(client_of(manager), f"/p/bridges/submitted/{work.uuid}/")
    notice = Notice.objects.get()
    client.post(f"/p/bridges/messages/{notice.pk}/")
    assert REASON not in read(client, "/desk/")


def test_somebody_removed_gets_no_work_and_reads_nobody_elses(
    project: Project, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=3)
    (theirs,) = rate(other_annotator)
    rate(annotator)
    unfinished = claim(annotator)
    Assignment.objects.filter(pk=unfinished.pk).update(state="expired", holds_place=False)
    remove(annotator, manager)
    client = client_of(annotator)
    assert client.get(f"{HISTORY}{theirs.uuid}/").status_code == 404
    assert client.post(f"{HISTORY}{theirs.uuid}/reply/", {"text": "Mine."}).status_code == 404
    for closed in ("desk/", "instructions/", "consent/", f"work/{unfinished.uuid}/"):
        assert client.get(f"/p/bridges/{closed}").status_code == 403
    assert client.post("/p/bridges/work/").status_code == 403
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert "there are no ratings" in read(client, f"{HISTORY}{unfinished.uuid}/")


def test_somebody_removed_reads_what_they_earned(
    project: Project, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=2, cents_per_hit=50)
    rate(annotator)
    why = "Sorry for the delay."
    for member, cents in ((annotator, 7), (other_annotator, 11)):
        paying.add_entry(actor=manager, annotator=member, kind="bonus", cents=cents, why=why, key=uuid.uuid4())
        remove(member, manager)
    address = "/p/bridges/earned/"
    client = client_of(annotator)
    for page in (read(client, "/desk/"), read(client, HISTORY)):
        assert f'href="{address}"' in page
    page = read(client, address)
    assert why in page
    assert "$0.07" in page
    assert "$0.11" not in page
    assert "Your membership in this project has ended." in page
    for found in {*re.findall(r'href="(/[^"#?]*)"', page)}:
        assert client.get(found, follow=True).status_code == 200, f"{found} is closed"
    # Who was paid without rating anything has earnings and no history.
    desk = read(client_of(other_annotator), "/desk/")
    assert f'href="{address}"' in desk
    assert f'href="{HISTORY}"' not in desk


def test_a_removed_manager_reads_no_message_about_others(
    project: Project, annotator: Membership, manager: Membership, owner: Membership, client_of: SignIn
) -> None:
    text = f"{annotator.pseudonym} withdrew their consent."
    notices.send(annotators=[manager.pk], text=text, kind=Notice.Kind.DECISION, actor=None)
    remove(manager, owner)
    desk = read(client_of(manager), "/desk/")
    assert "Past projects" in desk
    assert annotator.pseudonym not in desk


def test_a_removed_participants_link_leads_to_their_history(project: Project, manager: Membership) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=2)
    open_link(panel, "pia")
    rate_in_session(member_of(panel, "pia"))
    idle, _ = open_link(panel, "ben")
    reject(project, None)
    for name in ("pia", "ben"):
        remove(member_of(panel, name), manager)
    client, answer = open_link(panel, "pia")
    assert answer["Location"] == HISTORY
    assert REASON in read(client, HISTORY)
    # Who has done nothing has nothing to read.
    assert open_link(panel, "ben")[1].status_code == 403
    assert idle.get("/p/bridges/session/").status_code == 403


def test_a_removed_participant_who_was_done_reads_how_their_session_ended(
    project: Project, manager: Membership
) -> None:
    make_consent(project)
    panel = make_panel(manager)
    open_batch(project, n_hits=1)
    client, _ = open_link(panel, "pia")
    consent.agree(annotator=member_of(panel, "pia"), version=1)
    rate_in_session(member_of(panel, "pia"))
    session = "/p/bridges/session/"
    assert "CODE-completed" in read(client, session)
    remove(member_of(panel, "pia"), manager)
    page = read(client, session)
    assert "CODE-completed" in page
    assert "Your membership in this project has ended." in page
    assert f'href="{HISTORY}"' in page
    assert client.get("/p/bridges/session/return/")["Location"].startswith("https://")
    assert open_link(panel, "pia", client=client)[1]["Location"] == session, "They may have lost the page before."
    for address in {*re.findall(r'href="(/[^"#?]*)"', page)} - {"/p/bridges/session/return/"}:
        assert client.get(address, follow=True).status_code == 200, f"{address} is closed"
