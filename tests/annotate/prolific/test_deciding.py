"""Messages, approvals, rejections and bonuses: each done once, in whatever order the platform tells of them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client

from annotate.models import (
    Hit,
    PanelPayment,
    PanelSession,
    ProlificAccount,
    ProlificBonus,
    ProlificEvent,
    ProlificSubmission,
)
from annotate.prolific import accounts, bonuses, drafting, receiving, reconciling, submissions, tending
from annotate.prolific.calling import PlatformError
from annotate.prolific.views import list_approvable
from demo.fake_prolific.api import TOKEN, Reply
from demo.fake_prolific.platform import Event
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.prolific.samples import Person, Scene, make_prolific_panel, publish
from tests.fakes.prolific import Fake, post
from tests.people import SignIn

pytestmark = pytest.mark.django_db

WHY = (
    "The attention check in the third text was not answered, and half of the ratings came within two seconds each. " * 2
)


@pytest.fixture
def scene(connected: Fake, project: Project, owner: Membership, manager: Membership) -> Scene:
    """A published study with ten places, whose messages come to this site."""
    open_batch(project, n_hits=2, judgments=5)
    panel = make_prolific_panel(manager)
    account = ProlificAccount.objects.get()
    accounts.subscribe(actor=owner, url=f"http://testserver{accounts.make_address(account)}")
    made = publish(connected, manager, panel, places=10, most_places=10)
    connected.platform.outbox.clear()
    return made


def test_messages_come_twice_late_and_in_any_order(scene: Scene, owner: Membership) -> None:
    """What was told last on the platform's clock is what stays."""
    fake = scene.fake
    person = scene.come()
    person.finish()
    fake.pass_time(seconds=5)
    fake.platform.approve(person.submission)
    reserved, active, submitted, approved = fake.platform.outbox
    assert fake.deliver([approved, active, submitted, submitted, reserved, approved]) == [200] * 6
    assert ProlificEvent.objects.count() == 4
    assert person.session.state == "finished"  # nothing is done while the platform waits
    assert len(receiving.handle_waiting()) == 4
    assert (person.session.state, person.row.status) == ("approved", "APPROVED")
    assert ProlificEvent.objects.exclude(resource_id="").count() == 0
    assert fake.deliver([submitted]) == [200]
    assert receiving.handle_waiting() == []
    assert not any(path.endswith(f"submissions/{person.submission}/") for _, path in fake.api.calls)
    # Sent as new, it is older than what is known.
    again = replace(submitted, headers={**submitted.headers, "X-Event-ID": "other"})
    assert fake.deliver([again]) == [200]
    receiving.handle_waiting()
    assert (person.session.state, person.row.status) == ("approved", "APPROVED")
    # In the same second, too.
    second = scene.come()
    second.finish()
    fake.platform.approve(second.submission)
    fake.deliver(list(reversed(fake.platform.outbox[4:])))
    receiving.handle_waiting()
    assert (second.session.state, second.row.status) == ("approved", "APPROVED")
    ProlificEvent.objects.update(received_at=fake.now - timedelta(days=31))
    assert receiving.forget_old() > 0


def test_only_messages_signed_by_the_platform_are_kept(scene: Scene, owner: Membership) -> None:
    fake, person = scene.fake, scene.come()
    event: Event = fake.platform.outbox[-1]
    stamp = int(fake.now.timestamp())
    assert post(event, **{"X-Prolific-Request-Signature": "AAAA"}).status_code == 403
    assert post(event, **{"X-Prolific-Request-Signature": "sígné"}).status_code == 403
    assert post(replace(event, body=event.body.replace(b"ACTIVE", b"APPROVED"))).status_code == 403
    for seconds, status in ((-330, 403), (330, 403), (-270, 200), (270, 200)):
        old = str(stamp + seconds)
        signed = {
            "X-Prolific-Request-Timestamp": old,
            "X-Prolific-Request-Signature": fake.platform.sign(old, event.body),
            "X-Event-ID": f"at {seconds}",
        }
        assert post(event, **signed).status_code == status, seconds
    not_json = replace(event, body=b"{")
    signature = fake.platform.sign(event.headers["X-Prolific-Request-Timestamp"], b"{")
    assert post(not_json, **{"X-Prolific-Request-Signature": signature}).status_code == 400
    assert post(replace(event, body=b"x" * 70_000)).status_code == 413
    assert post(replace(event, url="http://x/hooks/prolific/nowhere/")).status_code == 404
    assert Client(enforce_csrf_checks=True).get(event.url.removeprefix("http://testserver")).status_code == 405
    # A time without signature can't make a message newer than the request that carried it.
    ProlificEvent.objects.all().delete()
    assert post(event, **{"X-Timestamp": str(stamp + 99_999)}).status_code == 200
    assert ProlificEvent.objects.get().at.timestamp() == stamp
    # While the secret is renewed, messages signed with the one before are still on their way; no older ones.
    for known in (True, False):
        accounts.subscribe(actor=owner, url="unused")
        assert post(event, **{"X-Event-ID": str(known)}).status_code == (200 if known else 403)
    assert len(fake.platform.subscriptions) == 2
    # Another workspace has no subscriptions yet, and making them can fail and be asked for again.
    ProlificAccount.objects.update(workspace_id="another")
    assert accounts.connect(actor=owner, token=TOKEN).secret == ""
    fake.platform.subscriptions.clear()
    fake.fail("500", "subscriptions/$")
    with pytest.raises(PlatformError):
        accounts.subscribe(actor=owner, url="unused")
    assert ProlificAccount.objects.filter(secret="", secret_before="").exists()
    accounts.subscribe(actor=owner, url="unused")
    assert len(fake.platform.subscriptions) == 2
    assert person.session.state == "arrived"


def test_a_message_of_an_unknown_submission_is_asked_about(scene: Scene) -> None:
    """Two studies, and a person who has yet to arrive: their places are counted as taken."""
    fake = scene.fake
    drafting.pause(study=scene.study, actor=scene.manager)  # it offers all open places
    other = publish(fake, scene.manager, make_prolific_panel(scene.manager))
    drafting.start(study=scene.study, actor=scene.manager)
    submission = fake.platform.reserve(scene.study.external_id, fake.platform.draw_participant())
    fake.deliver()
    receiving.handle_waiting()
    row = scene.study.submissions.get()
    assert (row.external_id, row.status, row.session) == (submission, "RESERVED", None)
    assert not other.study.submissions.exists()
    # The token can't be read any more: the message is done with, and those behind it are read.
    fake.platform.reserve(scene.study.external_id, fake.platform.draw_participant())
    fake.deliver()
    token = ProlificAccount.objects.get().token
    ProlificAccount.objects.update(token="from another key")
    assert receiving.handle_waiting() == [None]
    assert not ProlificEvent.objects.filter(is_waiting=True).exists()
    ProlificAccount.objects.update(token=token)
    # Arrived before the message or after it, the session is joined, and the code that no message names is asked for.
    person = scene.come()
    person.finish()
    fake.pass_time(seconds=5)
    fake.deliver()
    assert tending.read_messages() == 3
    assert (person.row.status, person.row.entered_code, person.session.state) == (
        "AWAITING REVIEW",
        "DONE",
        "submitted",
    )
    assert reconciling.compare(scene.study) == []
    # Nobody comes for the places that others have taken here: the study pauses with the next message, not in a minute.
    Hit.objects.update(places_open=0)
    scene.come()
    assert scene.there["status"] == "ACTIVE"
    fake.deliver()
    tending.read_messages()
    assert scene.there["status"] == "PAUSED"
    # That the platform has moved on by itself, and refuses to start, is no failure.
    Hit.objects.update(places_open=3)
    scene.there["status"] = "AWAITING REVIEW"
    assert tending.tend(scene.study.pk, polls=False)
    assert (scene.study.status, scene.study.error) == ("AWAITING REVIEW", "")


def test_of_two_submissions_for_the_same_hits_one_is_approved(scene: Scene) -> None:
    """Who comes again gets the code again; the second one is listed, and left to a person."""
    first = scene.come()
    first.finish()
    again = Person(scene, first.participant, scene.fake.platform.reserve(scene.study.external_id, first.participant))
    for address in (scene.fake.platform.start(again.submission), f"/p/{scene.panel.project.slug}/session/"):
        first.client.get(address.removeprefix("http://testserver"), follow=True)
    assert (again.session.state, again.session.participant) == ("finished", first.session.participant)
    other = scene.come()
    other.finish()
    again.complete()
    scene.fake.pass_time(seconds=5)
    scene.fake.deliver()
    tending.read_messages()
    assert {each.external_id for each in list_approvable(scene.study)} == {first.submission, other.submission}
    [found] = reconciling.compare(scene.study)
    assert found.submission == again.row
    assert "another submission was sent for the same HITs" in found.what
    # Once one is approved, whichever it is, the other one is not sent with the rest.
    ProlificSubmission.objects.filter(pk=again.row.pk).update(status="APPROVED")
    assert {each.external_id for each in list_approvable(scene.study)} == {other.submission}


def test_a_second_submission_of_rejected_work_is_left_to_a_person(scene: Scene, client_of: SignIn) -> None:
    """Who was rejected and comes again gets the code again, and no button for all pays for the rejected HITs."""
    first, other = scene.come(), scene.come()
    first.finish()
    other.finish()
    scene.fake.pass_time(seconds=5)
    tending.tend(scene.study.pk, is_prompt=True)
    submissions.reject(row=first.row, actor=scene.manager, category="LOW_EFFORT", message=WHY)
    again = Person(scene, first.participant, scene.fake.platform.reserve(scene.study.external_id, first.participant))
    for address in (scene.fake.platform.start(again.submission), f"/p/{scene.panel.project.slug}/session/"):
        first.client.get(address.removeprefix("http://testserver"), follow=True)
    again.complete()
    scene.fake.pass_time(seconds=5)
    tending.tend(scene.study.pk, is_prompt=True)
    assert again.session.state == "submitted"
    assert {each.external_id for each in list_approvable(scene.study)} == {other.submission}
    [found] = reconciling.compare(scene.study)
    assert found.submission == again.row
    assert "another submission for the same HITs was rejected" in found.what
    base = f"/p/{scene.panel.project.slug}/panels/{scene.panel.number}/prolific/"
    assert "1 approval is sent" in client_of(scene.manager).post(f"{base}act/", {"act": "approve"}, follow=True).text


def test_approvals_wait_for_the_platform(scene: Scene, client_of: SignIn) -> None:
    """Approved while still active, passed over in bulk, and lost: it is asked again until the platform lists it."""
    fake, study = scene.fake, scene.study
    people = [scene.come() for _ in range(3)]
    for person in people:
        person.work()
    tending.tend(study.pk, is_prompt=True)
    first, *_ = people
    client = client_of(scene.manager)
    base = f"/p/{scene.panel.project.slug}/panels/{scene.panel.number}/prolific/"
    row = first.row
    assert row.status == "ACTIVE"
    assert "is sent to Prolific" in client.post(f"{base}submissions/{row.pk}/", follow=True).text
    api = fake.client()
    assert submissions.approve_wanted(study, api) == 0  # not submitted there
    for person in people:
        person.complete()
    # The list says so already, but the approval comes too early for another part of the platform.
    fake.pass_time(seconds=1)
    submissions.read_all(study, api)
    fake.platform.submissions[first.submission]["status"] = "ACTIVE"
    assert submissions.approve_wanted(study, api, now=fake.now) == 1
    assert first.session.state == "submitted"
    fake.platform.submissions[first.submission]["status"] = "AWAITING REVIEW"
    fake.pass_time(minutes=1)
    submissions.read_all(study, api)
    assert submissions.approve_wanted(study, api, now=fake.now) == 0
    fake.pass_time(minutes=11)
    page = client.post(f"{base}act/", {"act": "approve"}, follow=True).text
    assert "2 approvals" in page
    fake.fail("lost", "bulk-approve")
    assert submissions.approve_wanted(study, api, now=fake.now) == 3
    fake.pass_time(minutes=1)
    submissions.read_all(study, api)
    assert {person.session.state for person in people} == {"submitted"}  # accepted is not approved
    assert not PanelPayment.objects.filter(told="paid").exists()
    fake.platform.settle()
    fake.pass_time(minutes=1)
    submissions.read_all(study, api)
    assert {person.session.state for person in people} == {"approved"}
    told = PanelPayment.objects.filter(kind="reward").values_list("cents", "told")
    assert list(told) == [(250, "paid")] * 3


def test_a_person_rejects_with_a_category_and_a_message(scene: Scene, client_of: SignIn) -> None:
    fake, person = scene.fake, scene.come()
    person.finish()
    tending.tend(scene.study.pk, is_prompt=True)
    client = client_of(scene.manager)
    path = f"/p/{scene.panel.project.slug}/panels/{scene.panel.number}/prolific/submissions/{person.row.pk}/reject/"
    assert "at least 100 characters" in client.post(path, {"category": "LOW_EFFORT", "message": "Bad."}).text
    assert client.post(path, {"category": "", "message": WHY}).status_code == 422
    assert fake.count_calls("POST", "/transition/") == 1  # that of publishing
    page = client.post(path, {"category": "LOW_EFFORT", "message": WHY}, follow=True).text
    assert "Rejected on Prolific" in page
    assert person.session.state == "rejected"
    assert "can’t be rejected" in client.post(path, {"category": "LOW_EFFORT", "message": WHY}).text


def test_rejections_are_taken_back_on_the_page(scene: Scene, client_of: SignIn) -> None:
    """The platform lets rejected submissions be approved, one by one: in bulk it passes over them."""
    fake, people = scene.fake, [scene.come() for _ in range(2)]
    client = client_of(scene.manager)
    base = f"/p/{scene.panel.project.slug}/panels/{scene.panel.number}/prolific/"
    for person in people:
        person.finish()
    tending.tend(scene.study.pk, is_prompt=True)
    for person in people:
        submissions.reject(row=person.row, actor=scene.manager, category="LOW_EFFORT", message=WHY)
    assert client.get(base).text.count("Approve after all") == 2
    for person in people:
        client.post(f"{base}submissions/{person.row.pk}/")
    assert client.get(base).text.count("approval pending") == 2
    fake.pass_time(seconds=5)
    tending.tend(scene.study.pk, is_prompt=True)
    assert {person.session.state for person in people} == {"approved"}


def test_an_approval_that_is_refused_holds_up_no_other(scene: Scene) -> None:
    """Together those that wait, and each rejected one by itself."""
    fake, people = scene.fake, [scene.come() for _ in range(4)]
    for person in people:
        person.finish()
    tending.tend(scene.study.pk, is_prompt=True)
    for person in people[:2]:
        submissions.reject(row=person.row, actor=scene.manager, category="LOW_EFFORT", message=WHY)
    submissions.want_approval(study=scene.study, actor=scene.manager, chosen=scene.study.submissions.all())
    del fake.platform.submissions[people[0].submission]
    with pytest.raises(PlatformError):
        submissions.approve_wanted(scene.study, fake.client(), now=fake.now)
    assert submissions.approve_wanted(scene.study, fake.client(), now=fake.now) == 0, "each was tried"
    with pytest.raises(PlatformError):  # and is again where the clock was set back since
        submissions.approve_wanted(scene.study, fake.client(), now=fake.now - timedelta(days=1))
    fake.platform.settle()
    fake.pass_time(minutes=1)
    submissions.read_all(scene.study, fake.client())
    assert [person.session.state for person in people] == ["rejected", "approved", "approved", "approved"]


@pytest.mark.parametrize(
    ("line", "cents"),
    [
        ("{}\t1,50", 150),
        ("{};1,5", 150),
        ("{},1.50", 150),
        ('{},"1,50"', 150),
        ('"{}";"1,50";', 150),
        ("{},1,50", 150),
        ("  {} ; 0,05 ", 5),
        ("{} 2.", 200),
        ("{}\t\t1.50", 150),
        ("{};;1.50", 150),
        ("{} 1.50\u00a0", 150),
    ],
)
def test_bonuses_are_pasted_from_a_spreadsheet(scene: Scene, line: str, cents: int) -> None:
    """The decimal mark is a point or a comma, whatever parts the columns."""
    person = scene.come()
    tending.tend(scene.study.pk, is_prompt=True)
    text = line.format(person.member.pseudonym)
    assert bonuses.read_lines(scene.study, f"\n{text}\n\t\n") == {person.member: cents}


@pytest.mark.parametrize("amount", ["1,500", "1.234,50", "1,50 €", "1 50", "12e1", "1,2,3", ",50"])
def test_amounts_that_could_mean_another_sum_are_refused(scene: Scene, amount: str) -> None:
    with pytest.raises(Refused) as caught:
        bonuses.read_lines(scene.study, f"{scene.come().member.pseudonym}\t{amount}")
    assert "can’t be read. Write only a number such as 1.50 or 1,50." in str(caught.value.details)


def test_screened_out_timed_out_and_returned_on_the_platform(scene: Scene) -> None:
    out, late, back = [scene.come() for _ in range(3)]
    fake = scene.fake
    fake.platform.change_status(fake.platform.submissions[out.submission], "SCREENED OUT")
    fake.platform.time_out(late.submission)
    fake.platform.give_back(back.submission)
    fake.deliver()
    receiving.handle_waiting()
    assert [each.session.state for each in (out, late, back)] == ["screened_out", "timed_out", "returned"]
    assert out.session.outcome == "screened_out"
    fake.pass_time(seconds=5)
    late.complete()
    tending.tend(scene.study.pk, is_prompt=True)
    assert late.session.state == "submitted"
    assert PanelSession.objects.count() == 3


def test_bonuses_are_paid_once_whatever_becomes_of_the_answer(
    scene: Scene, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units and not cents; a sent payment without an answer waits for a person; one that was refused doesn't."""
    fake, people = scene.fake, [scene.come() for _ in range(2)]
    for person in people:
        person.finish()
    tending.tend(scene.study.pk, is_prompt=True)
    client = client_of(scene.manager)
    base = f"/p/{scene.panel.project.slug}/panels/{scene.panel.number}/prolific/bonuses/"
    one, two = (person.member.pseudonym for person in people)
    wrong = f"{one} 150.00\na-nobody22 1.00\n{one}\n{two} 1.234\n{two} 1\n{two} 1\n{two} ١\n{one} -1"
    page = client.post(f"{base}new/", {"lines": wrong, "why": "Thanks"}).text
    for message in (
        "Line 1: the amount",
        "Line 2: a-nobody22 took no part",
        "Line 3: write",
        "Line 4: “1.234”",
        "twice",
    ):
        assert message in page
    assert "Line 7: “١”" in page
    assert "Line 8: “-1”" in page
    fake.fail("500", "bonus-payments/$", method="POST")
    page = client.post(f"{base}new/", {"lines": f"{one} 1.50\n\n{two}, 0.05", "why": "Thanks"}, follow=True).text
    assert "Nothing was paid" in page
    bonus = ProlificBonus.objects.get()
    keys = set(bonus.lines.values_list("key", flat=True))
    assert (bonus.state, bonus.cents, len(keys)) == ("new", 155, 2)
    owed = PanelPayment.objects.filter(key__in=keys)
    assert sorted(owed.values_list("cents", "approved_at", "told")) == [(5, None, ""), (150, None, "")]
    path = f"{base}{bonus.number}/"
    page = client.post(f"{path}act/", {"act": "set up"}, follow=True).text
    assert "2.07 GBP" in page
    assert fake.platform.paid == []
    # Without a token nothing is sent, so nothing is stored as sent or owed.
    token, n_owed = ProlificAccount.objects.get().token, PanelPayment.objects.count()
    ProlificAccount.objects.update(token="from another key")
    assert "SECRET_KEY has changed" in client.post(f"{path}act/", {"act": "pay"}, follow=True).text
    assert "SECRET_KEY has changed" in client.post(f"{base}new/", {"lines": f"{one} 1", "why": "More"}).text
    assert (ProlificBonus.objects.get().state, PanelPayment.objects.count()) == ("set_up", n_owed)
    ProlificAccount.objects.update(token=token)
    fake.fail("429", "/pay/$", value="9999")
    assert "asks to wait" in client.post(f"{path}act/", {"act": "pay"}, follow=True).text
    bonus.refresh_from_db()
    assert (bonus.state, bonus.sent_at) == ("set_up", None)
    fake.fail("lost", "/pay/$")
    page = client.post(f"{path}act/", {"act": "pay"}, follow=True).text
    assert "may be paid" in page
    assert sorted(cents for _, cents in fake.platform.paid) == [5, 150]
    for act in ("pay", "set up", "cancel"):
        client.post(f"{path}act/", {"act": act})
    tending.tend(scene.study.pk, is_prompt=True)
    assert fake.count_calls("POST", "/pay/") == 2
    assert len(fake.platform.paid) == 2
    page = client.post(f"{path}act/", {"act": "was paid"}, follow=True).text
    assert "paid" in page
    bonus.refresh_from_db()
    assert bonus.state == "paid"
    assert set(bonus.lines.values_list("key", flat=True)) == keys
    assert sorted(owed.values_list("told", "told_cents", "told_fee_cents")) == [("paid", 5, 2), ("paid", 150, 50)]
    assert owed.filter(approved_at=None).count() == 0
    with pytest.raises(Refused):
        bonuses.settle(bonus=bonus, actor=scene.manager, was_paid=False)
    # A second one, whose answer fails before anything is done: a person says so, and pays again.
    second = bonuses.set_up(study=scene.study, actor=scene.manager, amounts={people[0].member: 100}, why="More")
    fake.fail("500", "/pay/$")
    with pytest.raises(PlatformError, match="may be paid"):
        bonuses.pay(bonus=second, actor=scene.manager)
    with pytest.raises(Refused, match="sent"):
        bonuses.pay(bonus=second, actor=scene.manager)
    bonuses.settle(bonus=second, actor=scene.manager, was_paid=False)
    bonuses.pay(bonus=second, actor=scene.manager)
    assert len(fake.platform.paid) == 3
    # Accepted in words that can't be read, it may be paid as well.
    third = bonuses.set_up(study=scene.study, actor=scene.manager, amounts={people[0].member: 100}, why="More")
    monkeypatch.setattr(fake.api, "_answer", lambda *_: Reply(202, ["accepted"]))
    with pytest.raises(PlatformError, match="may be paid"):
        bonuses.pay(bonus=third, actor=scene.manager)
    third.refresh_from_db()
    assert third.state == "sent"
    with pytest.raises(Refused, match="1 to 200"):
        bonuses.read_lines(scene.study, "\n")
