"""Managers' pages of a panel and its sessions."""

from datetime import timedelta

import pytest
from django.db.models import F

from annotate.models import (
    Assignment,
    PanelSession,
    Reservation,
)
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import (
    make_panel,
    member_of,
    open_link,
    rate,
    session_id,
    show_session,
)
from tests.page_reader import condense, read
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def test_recording_a_status_by_hand_is_confirmed_and_says_if_the_session_is_in_progress(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    panel = make_panel(manager)
    open_batch(project, n_hits=2)
    client, _ = open_link(panel, "pia")
    page = f"/p/{project.slug}/panels/{panel.number}/"
    text = client_of(manager).get(page).text
    assert f'data-confirm="Record “{{choice}}” for {member_of(panel, "pia").pseudonym}?"' in text
    assert "The session is in progress, and ends without a completion code." in text
    rate(member_of(panel, "pia"))
    assert "CODE-completed" in show_session(client, project)
    assert "ends without a completion code" not in client_of(manager).get(page).text


def test_a_row_of_the_panel_has_the_hits_of_its_own_session(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Not the participant's: the second session has nothing to do but the rest, and a third gets the code at once."""
    panel = make_panel(manager, hits_per_session=2)
    open_batch(project, n_hits=4)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    # The test is one transaction, whose clock stands still.
    hour = timedelta(hours=1)
    for n in (2, 3):
        Assignment.objects.update(submitted_at=F("submitted_at") - hour)
        PanelSession.objects.update(arrived_at=F("arrived_at") - hour)
        open_link(panel, "pia", client, session=session_id(f"pia-{n}"))
        if n == 2:
            rate(member_of(panel, "pia"))
        show_session(client, project)
    page = read(client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/").text)
    rows = page.rows("List of sessions")
    assert [(row["Status"].split()[0], row["HITs"]) for row in rows] == [
        ("finished", "0 2 in earlier sessions"),
        ("finished", "1 of 1 1 in earlier sessions"),
        ("returned", "1 of 2"),
    ]


def test_sessions_that_were_not_let_in_are_counted_apart(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Anybody can make up a session of a known participant: it has arrived nowhere."""
    panel = make_panel(manager)
    open_batch(project, n_hits=4)
    open_link(panel, "pia")
    assert open_link(panel, "pia", session=session_id("made-up"))[1].status_code == 403
    browser = client_of(manager)
    page = f"/p/{project.slug}/panels/"
    listed = read(browser.get(page).text).rows("Panels")[0]
    assert (listed["Sessions"], listed["In progress"]) == ("1", "1")
    assert "1 arrived · 1 not let in" in browser.get(f"{page}{panel.number}/").text
    for state, n in (("arrived", 1), ("held", 1), ("", 2)):
        found = read(browser.get(f"{page}{panel.number}/", {"state": state}).text)
        assert len(found.rows("List of sessions")) == n, state
    held = read(browser.get(f"{page}{panel.number}/", {"state": "held"}).text).rows("List of sessions")[0]
    assert (held["Status"].startswith("not let in Another browser"), held["HITs"]) == (True, "")


def test_a_reserved_place_names_the_panel_on_the_pages_of_its_batch_and_hit(
    project: Project, manager: Membership, researcher: Membership, client_of: SignIn
) -> None:
    panel = make_panel(manager, name="Study <b>")
    batch = open_batch(project, n_hits=2)
    open_link(panel, "pia")
    hit = Reservation.objects.get().hit.number
    member = member_of(panel, "pia").pseudonym
    for path in (f"/p/{project.slug}/batches/{batch.number}/", f"/p/{project.slug}/batches/{batch.number}/hits/{hit}/"):
        text = condense(client_of(manager).get(path).text)
        assert f"reserved for <code>{member}</code> from" in text, path
        assert f'<a href="/p/{project.slug}/panels/{panel.number}/"><bdi>Study &lt;b&gt;</bdi></a>' in text, path
        assert "and more" not in text
        text = condense(client_of(researcher).get(path).text)
        assert "from <bdi>Study &lt;b&gt;</bdi>" in text, path
