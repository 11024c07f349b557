"""A study on Prolific: drafted, published by a person, its places, and what both sides say at the end."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotate.batches import lifecycle
from annotate.integrity import verifying
from annotate.models import Batch, Hit, Outcome, Panel, PanelSession, ProlificAccount, ProlificStudy, ProlificSubmission
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.onboarding import erasing
from annotate.panels import managing, sessions
from annotate.prolific import accounts, drafting, following, participant_groups, reconciling, submissions, tending
from annotate.prolific.calling import Client as ApiClient
from annotate.prolific.calling import PlatformError
from demo.fake_prolific.api import TOKEN
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import assert_equation, open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, rate, session_id, session_of
from tests.annotate.prolific.samples import Scene, make_prolific_panel, publish, study_form
from tests.fakes.prolific import Fake
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def tend(scene: Scene) -> ProlificStudy:
    """One round of the worker, which asks for the list."""
    assert tending.tend(scene.study.pk, is_prompt=True)
    assert scene.study.error == ""
    return scene.study


def test_a_token_is_checked_and_kept_encrypted(fake: Fake, connected: Fake, owner: Membership) -> None:
    account = ProlificAccount.objects.get()
    assert (account.currency, account.workspace_id) == ("GBP", fake.platform.workspace)
    assert TOKEN not in account.token
    assert accounts.open_client(owner.project).token == TOKEN
    for wrong, message in (("", "Enter the API token"), ("wrong", "doesn’t accept"), ("tökn", "not a token")):
        with pytest.raises(Refused, match=message):
            accounts.connect(actor=owner, token=wrong)
    ProlificAccount.objects.update(token="from another key")
    with pytest.raises(Refused, match="SECRET_KEY has changed"):
        accounts.open_client(owner.project)
    accounts.disconnect(actor=owner)
    accounts.disconnect(actor=owner)
    with pytest.raises(Refused, match="No Prolific account"):
        accounts.open_client(owner.project)
    assert LogEntry.objects.filter(act="disconnect Prolific").count() == 1


def test_a_draft_shows_its_cost_and_a_person_publishes_it(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    """The answer to the first draft is lost: saved again, it is found and not made twice."""
    fake, panel = connected, make_prolific_panel(manager)
    client: Client = client_of(manager)
    base = f"/p/{project.slug}/panels/{panel.number}/prolific/"
    assert "No study yet" in client.get(base).text
    fake.fail("lost", r"studies/$", method="POST")
    stored = client.post(f"{base}edit/", study_form(), follow=True).text
    assert "didn’t answer" in stored
    assert "Publish" not in stored
    page = client.post(f"{base}edit/", study_form(title="Rate <b>answers"), follow=True).text
    assert len(fake.platform.studies) == 1
    there = next(iter(fake.platform.studies.values()))
    assert (there["name"], there["reward"], there["total_available_places"]) == ("Rate <b>answers", 250, 2)
    assert "Rate &lt;b&gt;answers" in page
    assert "6.67 GBP for 2 places, 16.67 GBP for" in " ".join(page.split())
    assert "{{%PROLIFIC_PID%}}" in there["external_study_url"]
    kinds = {each["code"]: (each["code_type"], each["actions"][0]["action"]) for each in there["completion_codes"]}
    assert kinds == {
        "DONE": ("COMPLETED", "MANUALLY_REVIEW"),
        "NOCONSENT": ("NO_CONSENT", "REQUEST_RETURN"),
        "FAILED": ("FAILED_ATTENTION_CHECK", "MANUALLY_REVIEW"),
        "FULL": ("OTHER", "REQUEST_RETURN"),
    }
    panel.refresh_from_db()
    assert panel.study_id == there["id"]
    seal = page.split('name="shown" value="')[1].split('"')[0]
    act = {"act": "publish", "shown": seal}
    assert "No place is open" in client.post(f"{base}act/", act, follow=True).text
    open_batch(project)
    assert "Nothing was changed yet" in client.post(f"{base}act/", {"act": "publish"}, follow=True).text
    assert there["status"] == "UNPUBLISHED"
    fake.fail("lost", "transition", method="POST")
    assert "Published" in client.post(f"{base}act/", act, follow=True).text
    assert (there["status"], ProlificStudy.objects.get().status) == ("ACTIVE", "ACTIVE")
    assert "is published" in client.post(f"{base}edit/", study_form()).text
    assert "33.33 GBP" in client.get(f"{base}places/?most_places=10").text
    page = client.get(f"{base}places/?most_places=20").text
    assert "66.67 GBP" in page
    confirm = f"{base}places/?shown={page.split('?shown=')[1].split(chr(34))[0]}"
    assert "Nothing was changed yet" in client.post(f"{base}places/", {"most_places": 20}).text
    assert "The form was changed" in client.post(confirm, {"most_places": 10_000}).text
    assert ProlificStudy.objects.get().most_places == 5
    assert "Saved" in client.post(confirm, {"most_places": 20}, follow=True).text
    assert ProlificStudy.objects.get().most_places == 20
    # What is there stays there and is paid, so that fewer places would cost no less.
    fewer = client.get(f"{base}places/?most_places=1")
    assert fewer.status_code == 422
    assert "2 places are on Prolific already, and places never fall. Enter 2 or more." in fewer.text
    assert "with fees" not in fewer.text
    stranger = Client().get(f"/panel/{panel.token}/?PROLIFIC_PID={'a' * 24}&SESSION_ID={'b' * 24}&STUDY_ID={'c' * 24}")
    assert stranger.status_code == 400
    for wrong in ({"most_places": 1}, {"filters": '[{"x": 1}]'}, {"filters": "{"}, {"reward": "0"}):
        other = make_prolific_panel(manager)
        path = f"/p/{project.slug}/panels/{other.number}/prolific/edit/"
        assert client.post(path, study_form(**wrong)).status_code == 422
    own = make_prolific_panel(manager, has_own_codes=True)
    page = client.post(f"/p/{project.slug}/panels/{own.number}/prolific/edit/", study_form()).text
    assert "one code for all" in page


def test_a_draft_below_the_least_pay_is_refused_in_the_platforms_words(
    connected: Fake, project: Project, manager: Membership
) -> None:
    panel = make_prolific_panel(manager)
    open_batch(project)
    with pytest.raises(PlatformError, match="the least is 600"):
        publish(connected, manager, panel, reward="0.50")
    study = ProlificStudy.objects.get()
    assert study.published_at is None
    assert not tending.tend_all()


def test_a_publication_that_may_be_done_is_asked_about(connected: Fake, project: Project, manager: Membership) -> None:
    """Done although the answer was 500 or, to a second click, 400; else the draft is one again."""
    open_batch(project)
    panel = make_prolific_panel(manager)
    connected.fail("500", "transition/$")
    with pytest.raises(PlatformError, match="status 500"):
        publish(connected, manager, panel)
    study = ProlificStudy.objects.select_related("panel").get()
    assert study.published_at is None
    path = f"{drafting.STUDIES}{study.external_id}/"
    connected.client().post(f"{path}transition/", {"action": "PUBLISH"})
    connected.fail("500", path, method="GET", n=9)
    with pytest.raises(PlatformError):
        drafting.publish(study=study, actor=manager)
    assert ProlificStudy.objects.get().published_at is not None
    connected.api.faults.clear()
    drafting.publish(study=study, actor=manager)
    study = ProlificStudy.objects.get()
    assert (study.status, study.published_at is None, study.published_by) == ("ACTIVE", False, manager)


def test_places_follow_the_open_places(connected: Fake, project: Project, manager: Membership) -> None:
    """Six sessions are wanted, two places to begin with, five at most; then a return, a removal, a pause, a start."""
    panel = make_prolific_panel(manager)
    open_batch(project, n_hits=2, judgments=3)
    scene = publish(connected, manager, panel)
    assert following.count_sessions(panel) == 6
    plan = following.plan_places(scene.study)
    assert (plan.total, plan.is_open, plan.n_beyond) == (5, True, 1)
    tend(scene)
    assert scene.there["total_available_places"] == 5
    # Who has a place there and has yet to arrive will take one of the open places here.
    coming = connected.platform.reserve(scene.study.external_id, connected.platform.draw_participant())
    assert following.plan_places(tend(scene)).n_beyond == 1
    connected.platform.give_back(coming)
    connected.pass_time(seconds=10)
    people = [scene.come() for _ in range(5)]
    tend(scene)
    for person in people:
        person.finish()
    connected.pass_time(seconds=10)
    study = tend(scene)
    assert (study.total_places, study.status) == (5, "AWAITING REVIEW")
    assert {person.session.state for person in people} == {"submitted"}
    # The sixth comes once a person allows it, having seen what it costs.
    drafting.raise_limit(study=study, actor=manager, most_places=20)
    study = tend(scene)
    assert (study.total_places, scene.there["status"], study.most_cost_cents) == (6, "ACTIVE", 6667)
    last = scene.come()
    # One who came by another way takes the last open place; the study has a free place and pauses.
    connected.platform.give_back(last.submission)
    connected.pass_time(seconds=10)
    tend(scene)
    assert last.session.state == "returned"
    other = make_prolific_panel(manager, study_parameter="")
    Client().get(f"/panel/{other.token}/?PROLIFIC_PID={'a' * 24}&SESSION_ID={'b' * 24}")
    assert Hit.objects.filter(places_open__gt=0).count() == 0
    study = tend(scene)
    assert (study.is_paused_here, scene.there["status"]) == (True, "PAUSED")
    # A removal with re-collection opens a place, and the study starts again by itself.
    exclusion = Exclusion(scope=ExclusionScope.ALL)
    members.remove(target=people[0].member, actor=manager, why="Two accounts.", exclusion=exclusion)
    study = tend(scene)
    assert (study.is_paused_here, scene.there["status"]) == (False, "ACTIVE")
    # A pause by a person lasts.
    drafting.pause(study=study, actor=manager)
    tend(scene)
    assert scene.there["status"] == "PAUSED"
    drafting.start(study=scene.study, actor=manager)
    managing.end_panel(panel=panel, actor=manager)
    tend(scene)
    assert scene.there["status"] == "PAUSED"
    assert_equation()
    assert verifying.verify() == []


def test_who_was_screened_out_here_takes_one_place_until_they_return_it(
    connected: Fake, project: Project, manager: Membership
) -> None:
    """Their places here are open again, while they still have the one there: a new participant needs no further one."""
    open_batch(project, n_hits=3, judgments=1)
    scene = publish(connected, manager, make_prolific_panel(manager), places=3, most_places=9)
    first, second, third = (scene.come() for _ in range(3))
    tend(scene)
    for person, outcome in ((first, Outcome.NO_CONSENT), (second, Outcome.FAILED_CHECK)):
        sessions.end(person.session, outcome)
    # Whoever failed the check is reviewed and paid, and keeps their place there.
    plan = following.plan_places(tend(scene))
    assert (scene.there["total_available_places"], plan.n_beyond) == (4, 0)
    connected.platform.give_back(first.submission)
    connected.pass_time(seconds=10)
    study = tend(scene)
    assert (study.total_places, study.status) == (4, "ACTIVE")
    assert following.plan_places(study).is_open
    sessions.end(third.session, Outcome.NOTHING_LEFT)
    assert tend(scene).total_places == 4
    PanelSession.objects.filter(pk=third.session.pk).update(ended_at=timezone.now() - following.RETURNS_WITHIN)
    assert tend(scene).total_places == 5, "they may not return it"


def test_a_later_study_offers_what_an_earlier_one_leaves(
    connected: Fake, project: Project, manager: Membership
) -> None:
    """Six HITs: four are offered by the first study; the second has two a session, so one session, and later two."""
    open_batch(project, n_hits=6, judgments=1)
    first = publish(connected, manager, make_prolific_panel(manager), places=4, most_places=4)
    second = publish(connected, manager, make_prolific_panel(manager, hits_per_session=2), places=1, most_places=9)
    tend(first)
    assert following.plan_places(tend(second)).total == 1
    arrived = first.come()
    assert following.plan_places(tend(second)).here.n_left == 1
    connected.platform.give_back(arrived.submission)
    drafting.pause(study=first.study, actor=manager)
    assert following.plan_places(tend(second)).total == 3


def test_a_draft_is_told_what_earlier_studies_leave(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    client, panel = client_of(manager), make_prolific_panel(manager)
    edit = f"/p/{project.slug}/panels/{panel.number}/prolific/edit/"
    assert "No places are open here yet." in client.get(edit).text
    open_batch(project, n_hits=6, judgments=1)
    assert "enough for 6 sessions." in " ".join(client.get(edit).text.split())
    first = publish(connected, manager, make_prolific_panel(manager), places=4, most_places=6)
    page = " ".join(client.get(edit).text.split())
    assert "enough for 2 sessions, besides those that earlier studies of this project offer." in page
    assert re.search(r'name="places" value="2"', page)
    tend(first)
    assert "Earlier studies of this project offer all places that are open here." in client.get(edit).text
    client.post(edit, study_form())
    study = edit.removesuffix("edit/")
    page = " ".join(client.get(study).text.split())
    assert "places for 0 sessions, besides those that earlier studies of this project offer" in page
    act = {"act": "publish", "shown": re.search(r'name="shown" value="([^"]+)"', page)[1]}  # type: ignore[index]
    refused = client.post(f"{study}act/", act, follow=True).text
    assert "Earlier studies of this project offer all open places." in refused
    assert ProlificStudy.objects.get(panel=panel).published_at is None
    drafting.pause(study=first.study, actor=manager)
    client.post(f"{study}act/", act)
    assert ProlificStudy.objects.get(panel=panel).published_at is not None


def test_a_paused_study_says_who_has_the_places(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    batch = open_batch(project, n_hits=2, judgments=1)
    first = publish(connected, manager, make_prolific_panel(manager), places=1, most_places=1)
    second = publish(connected, manager, make_prolific_panel(manager), places=1, most_places=1)
    drafting.raise_limit(study=first.study, actor=manager, most_places=2)
    tend(first)
    tend(second)
    page = f"/p/{project.slug}/panels/{second.panel.number}/prolific/"
    client = client_of(manager)
    assert "Paused because earlier studies offer all open places." in " ".join(client.get(page).text.split())
    lifecycle.pause(batch=batch, actor=manager)
    assert "Paused because no place is open." in " ".join(client.get(page).text.split())


def test_a_study_pauses_for_people_on_their_way_and_stays_paused_at_its_limit(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Two places there and one here: somebody has it, and a second person is told of only once the study is paused."""
    batch = open_batch(project, n_hits=1, judgments=1)
    scene = publish(connected, manager, make_prolific_panel(manager), places=2, most_places=2)
    connected.platform.reserve(scene.study.external_id, connected.platform.draw_participant())
    tend(scene)
    client, page = client_of(manager), f"/p/{project.slug}/panels/{scene.panel.number}/prolific/"
    text = " ".join(client.get(page).text.split())
    assert "Paused because participants on their way take all open places." in text
    late = ProlificSubmission(study=scene.study, external_id="6a" * 12, status="RESERVED", told_at=timezone.now())
    late.save()
    Hit.objects.filter(batch=batch).update(places_wanted=6, places_open=6)
    text = " ".join(client.get(page).text.split())
    assert "Paused because all its places are taken." in text
    assert "more sessions are needed than the maximum places allow." in text


def test_a_study_that_is_gone_keeps_no_places_once_its_panel_has_ended(
    connected: Fake, project: Project, manager: Membership
) -> None:
    """Deleted on the platform, it stays active here and can't be paused; the next study has all places."""
    open_batch(project, n_hits=4, judgments=1)
    first = publish(connected, manager, make_prolific_panel(manager), places=3, most_places=3)
    second = publish(connected, manager, make_prolific_panel(manager), places=1, most_places=4)
    del connected.platform.studies[first.study.external_id]
    managing.end_panel(panel=first.panel, actor=manager)
    assert tending.tend(first.study.pk, is_prompt=True)
    assert "doesn’t know this study" in first.study.error
    assert first.study.status == "ACTIVE"
    assert following.plan_places(tend(second)).total == 4


def test_managers_see_on_the_overview_that_a_study_is_not_up_to_date(
    connected: Fake, project: Project, manager: Membership, owner: Membership, researcher: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=2, judgments=1)
    scene = publish(connected, manager, make_prolific_panel(manager))
    overview, study = f"/p/{project.slug}/", f"/p/{project.slug}/panels/{scene.panel.number}/prolific/"
    account = f"/p/{project.slug}/prolific/"
    assert "isn’t up to date" not in client_of(manager).get(overview).text
    ProlificAccount.objects.update(token=accounts._encrypt("revoked"))
    tending.tend(scene.study.pk, is_prompt=True)
    page = client_of(manager).get(overview).text
    assert f'href="{study}"' in page
    assert "The study “<bdi>Rate answers</bdi>” on Prolific" in page
    assert "isn’t up to date. Prolific doesn’t accept the API token. Enter it again." in page
    assert "isn’t up to date" not in client_of(researcher).get(overview).text
    assert f'href="{account}"' in client_of(owner).get(study).text
    assert f'href="{account}"' not in client_of(manager).get(study).text
    managing.end_panel(panel=scene.panel, actor=manager)
    assert "isn’t up to date" not in client_of(manager).get(overview).text


def test_a_study_whose_panel_has_ended_is_not_started_again(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project, n_hits=2, judgments=1)
    scene = publish(connected, manager, make_prolific_panel(manager))
    client, base = client_of(manager), f"/p/{project.slug}/panels/{scene.panel.number}/prolific/"
    drafting.pause(study=scene.study, actor=manager)
    assert "Start</button>" in client.get(base).text
    managing.end_panel(panel=scene.panel, actor=manager)
    page = client.get(base).text
    assert "The panel has ended, so nobody new can come." in page
    assert "Start</button>" not in page
    ProlificStudy.objects.update(status="ACTIVE")  # it could not be paused
    assert "still active on Prolific: stop it there" in client.get(base).text
    ProlificStudy.objects.update(status="PAUSED")
    assert "The panel has ended" in client.post(f"{base}act/", {"act": "start"}, follow=True).text
    assert scene.there["status"] == "PAUSED"


def test_a_published_study_is_shown_without_its_account(
    connected: Fake, project: Project, manager: Membership, owner: Membership, client_of: SignIn
) -> None:
    """Whoever decides on Prolific itself sees which submissions wait."""
    open_batch(project, n_hits=2, judgments=1)
    scene = publish(connected, manager, make_prolific_panel(manager))
    person = scene.come()
    person.finish()
    tend(scene)
    panel = client_of(manager).get(f"/p/{project.slug}/panels/{scene.panel.number}/").text
    assert "A status that you record here changes nothing there" in panel
    assert f'href="/p/{project.slug}/submitted/?annotator={person.member.pseudonym}"' in panel
    accounts.disconnect(actor=owner)
    page = client_of(manager).get(f"/p/{project.slug}/panels/{scene.panel.number}/prolific/").text
    assert "No Prolific account is connected" in page
    assert person.submission in page
    draft = f"/p/{project.slug}/panels/{make_prolific_panel(manager).number}/prolific/"
    assert "Connect account" in client_of(owner).get(draft).text
    assert "Connect account" not in client_of(manager).get(draft).text


def test_an_owner_connects_the_account_before_there_is_a_panel(owner: Membership, client_of: SignIn) -> None:
    page = client_of(owner).get(f"/p/{owner.project.slug}/panels/").text
    assert f"/p/{owner.project.slug}/prolific/" in page


def test_one_hit_of_many_places_needs_as_many_people(project: Project, manager: Membership) -> None:
    panel = make_prolific_panel(manager, hits_per_session=5)
    open_batch(project, n_hits=2, judgments=4)
    assert following.count_sessions(panel) == 4
    open_batch(project, n_hits=20, judgments=1, has_named_annotators=True)
    assert following.count_sessions(panel) == 4


def test_what_was_done_for_another_panel_makes_no_session_longer(project: Project, manager: Membership) -> None:
    """Where minutes are set, a session has as many HITs as finished ones had, and here they had one."""
    first = make_panel(manager, platform=Panel.Platform.CONNECT, hits_per_session=3)
    minutes = {"hits_per_session": None, "minutes_per_session": 60}
    second = make_panel(manager, platform=Panel.Platform.CONNECT, **minutes)
    open_batch(project, n_hits=8, judgments=1)
    client, _ = open_link(first, "pia")
    member = member_of(first, "pia")
    for _ in range(3):
        rate(member)
    open_link(second, "pia", client, session=session_id("second"))
    rate(member)
    sessions.end(session_of(second, "pia"), Outcome.COMPLETED)
    assert following.count_sessions(second) == 4


def test_both_sides_are_compared(connected: Fake, project: Project, manager: Membership, client_of: SignIn) -> None:
    """No code, another code, returned after finishing, unknown here, screened out there: each has a line."""
    panel = make_prolific_panel(manager)
    open_batch(project, n_hits=2, judgments=5)
    scene = publish(connected, manager, panel, places=9, most_places=9)
    good, without, other, returned, unfinished = [scene.come() for _ in range(5)]
    stranger = connected.platform.reserve(scene.study.external_id, connected.platform.draw_participant())
    connected.platform.start(stranger)
    good.finish()
    without.work()
    without.complete(None)
    other.work()
    other.complete("WRONG")
    returned.finish()
    unfinished.complete("DONE")
    connected.platform.complete(stranger, "DONE")
    tend(scene)
    connected.platform.give_back(returned.submission)
    connected.pass_time(seconds=5)
    study = tend(scene)
    found = {each.submission.external_id: each.what for each in reconciling.compare(study) if each.submission}
    assert found == {
        without.submission: "Finished here, entered no code on Prolific. The data are complete.",
        other.submission: "Finished here, entered another code on Prolific. The data are complete.",
        returned.submission: "Finished here, returned on Prolific.",
        unfinished.submission: "Awaiting review on Prolific; not finished here.",
        stranger: "Awaiting review on Prolific; unknown here, or erased.",
    }
    client = client_of(manager)
    page = client.get(f"/p/{project.slug}/panels/{panel.number}/prolific/").text
    assert "5 differences" in page
    assert "Approve all that finished (3)" in page
    participant_groups.make_groups(study=study, actor=manager)
    members.remove(target=other.member, actor=manager, why="Two accounts.", exclusion=Exclusion())
    tend(scene)
    made = connected.platform.groups[scene.study.removed_group]
    assert made["participants"] == {other.participant}
    # The ids are in the tables that are made for them; erasing a participant deletes them there too.
    with connection.cursor() as cursor:
        for needle, tables in (
            (good.participant, {"annotate_panelparticipant"}),
            (good.submission, {"annotate_panelsession", "annotate_prolificsubmission"}),
        ):
            holding = set()
            for table in connection.introspection.table_names(cursor):
                cursor.execute(f'SELECT EXISTS (SELECT 1 FROM "{table}" t WHERE t::text LIKE %s)', [f"%{needle}%"])
                holding |= {table} if cursor.fetchone()[0] else set()
            assert holding == tables
    user = good.member.user
    assert user is not None
    erasing.erase(user=user, removes_work=False)
    assert not scene.study.submissions.filter(external_id=good.submission).exists()


def test_a_failure_is_shown_and_tried_again_later(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removed field and an error of this site stop neither the worker nor another study."""
    open_batch(project, n_hits=6)
    scene = publish(connected, manager, make_prolific_panel(manager))
    other = publish(connected, manager, make_prolific_panel(manager))
    connected.fail("field removed", rf"studies/{scene.study.external_id}/$", value="status", method="GET")
    now = connected.now
    assert tending.tend_all(now=now) == 2
    assert "no “status”" in scene.study.error
    assert other.study.error == ""
    page = client_of(manager).get(f"/p/{project.slug}/panels/{scene.panel.number}/prolific/").text
    assert "Its API may have changed" in page
    assert tending.tend_all(now=now) == 1
    later = now + tending.POLL_EVERY
    assert tending.tend_all(now=later) == 2
    assert scene.study.error == ""
    person = other.come()
    person.complete("DO\x00NE")
    fill_groups = participant_groups.fill_groups

    def fail_first(study: ProlificStudy, client: ApiClient) -> None:
        if study.pk == scene.study.pk:
            raise ValueError("A string literal cannot contain NUL (0x00) characters.")
        fill_groups(study, client)

    monkeypatch.setattr(participant_groups, "fill_groups", fail_first)
    assert tending.tend_all(now=later + tending.POLL_EVERY) == 2
    assert "unexpected error" in scene.study.error
    assert (other.study.error, person.row.entered_code) == ("", "DONE")
    for until in (later + tending.LEASE, later + tending.LEASE + timedelta(minutes=1)):  # by a clock that is ahead
        ProlificStudy.objects.filter(pk=scene.study.pk).update(leased_until=until, retry_at=None)
        assert not tending.tend(scene.study.pk, now=later)
    ahead = later + timedelta(days=31)  # by a clock that was set back since
    ProlificStudy.objects.filter(pk=scene.study.pk).update(leased_until=ahead, retry_at=ahead, polled_at=ahead)
    assert tending.tend(scene.study.pk, now=later)
    assert ProlificStudy.objects.get(pk=scene.study.pk).polled_at == later
    assert not tending._is_list_due(scene.study, later - timedelta(minutes=1)), "the other host's clock is ahead"


def test_a_failing_participant_group_stops_nothing_else(connected: Fake, project: Project, manager: Membership) -> None:
    """It fails, and later it is gone: approvals and places go on, and the page says what is wrong."""
    open_batch(project, n_hits=2, judgments=3)
    scene = publish(connected, manager, make_prolific_panel(manager), places=9, most_places=9)
    person, removed = scene.come(), scene.come()
    participant_groups.make_groups(study=scene.study, actor=manager)
    members.remove(target=removed.member, actor=manager, why="Two accounts.", exclusion=Exclusion())
    person.finish()
    tend(scene)
    submissions.want_approval(study=scene.study, actor=manager, chosen=scene.study.submissions.all())
    lifecycle.close(batch=Batch.objects.get(), actor=manager)
    connected.fail("500", "participant-groups", n=99)
    now = timezone.now() + tending.POLL_EVERY
    assert tending.tend(scene.study.pk, now=now)
    assert scene.study.polled_at == now
    assert "status 500" in scene.study.error
    assert (scene.there["status"], person.row.status) == ("PAUSED", "APPROVED")
    # Nothing else waits for it, and its error stays until it is tried again.
    assert tending.tend(scene.study.pk, now=now)
    assert "status 500" in scene.study.error
    connected.api.faults.clear()
    del connected.platform.groups[scene.study.removed_group]
    assert tending.tend(scene.study.pk, is_prompt=True)
    assert "The participant group of those who were removed is gone from Prolific." in scene.study.error
    assert scene.study.qualified_group
    assert not scene.study.removed_group
    assert tending.tend(scene.study.pk, is_prompt=True)
    assert "is gone from Prolific" in scene.study.error, "until it is created again"
    participant_groups.make_groups(study=scene.study, actor=manager)
    assert connected.platform.groups[scene.study.removed_group]["participants"] == {removed.participant}
    tend(scene)


def test_places_follow_also_where_codes_and_approvals_fail(
    connected: Fake, project: Project, manager: Membership
) -> None:
    open_batch(project, n_hits=2, judgments=3)
    scene = publish(connected, manager, make_prolific_panel(manager), places=9, most_places=9)
    person = scene.come()
    person.finish()
    tend(scene)
    submissions.want_approval(study=scene.study, actor=manager, chosen=scene.study.submissions.all())
    ProlificSubmission.objects.update(entered_code="")
    lifecycle.close(batch=Batch.objects.get(), actor=manager)
    connected.fail("500", f"submissions/{person.submission}/", n=99)
    assert tending.tend(scene.study.pk, polls=False)
    assert "status 500" in scene.study.error
    assert scene.there["status"] == "PAUSED"
