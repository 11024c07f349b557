"""Pay by a panel's platform: what sessions are owed, what the platform says, and where the two differ."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from annotate.models import Assignment, Outcome, Panel, PanelPayment, PanelSession
from annotate.onboarding import erasing
from annotate.panels import managing, sessions
from annotate.payments import ledger, panel_pay
from annotate.payments.panel_comparison import (
    DIFFERENCES,
    NOT_OWED,
    list_differences,
    measure_hourly_pay,
    sum_by_panel,
)
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, member_of, open_link, rate, session_of
from tests.factories import make_membership
from tests.page_reader import read
from tests.people import SignIn

pytestmark = pytest.mark.django_db

Kind = PanelPayment.Kind
State = PanelSession.State
Told = PanelPayment.Told
TERMS = {"reward_cents": 150, "screened_out_cents": 14, "fee_share": 0.4, "minutes_expected": 10}
NOW = timezone.now()


def arrive(panel: Panel, name: str, outcome: Outcome | None = None) -> PanelSession:
    open_link(panel, name)
    if outcome is not None:
        sessions.end(session_of(panel, name), outcome)
    return session_of(panel, name)


def reward_of(session: PanelSession) -> PanelPayment:
    return PanelPayment.objects.get(panel=session.panel, key=panel_pay.make_reward_key(session))


def say(session: PanelSession, cents: int | None = None, fee_cents: int | None = None) -> PanelPayment:
    """What the platform says of a reward that it has paid."""
    return panel_pay.record_panel_payment(
        panel=session.panel,
        key=panel_pay.make_reward_key(session),
        kind=PanelPayment.Kind.REWARD,
        told=Told.PAID,
        cents=cents,
        fee_cents=fee_cents,
        external_id="submission-1",
    )


def test_the_page_of_a_panel_says_what_is_paid_besides_the_reward(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    """The fee and what is paid to who is screened out, where they are set, also without a reward."""
    cases: list[tuple[dict[str, Any], list[str | None]]] = [
        (TERMS, ["$1.50", "$0.14", "40 % on top: $0.60 for each reward"]),
        ({"reward_cents": 150, "minutes_expected": 10, "fee_share": 0.125}, ["$1.50", None, "12.5 % on top: $0.19"]),
        ({"screened_out_cents": 14, "fee_share": 0.4}, ["none", "$0.14", "40 % on top"]),
        ({"reward_cents": 150}, ["$1.50", None, None]),
    ]
    for terms, expected in cases:
        panel = make_panel(manager, **terms)
        facts = read(client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/").text).facts
        found = [facts.get(name) for name in ("Reward", "Reward when screened out", "Platform’s fee")]
        starts = [text and text[: len(wanted or "")] for text, wanted in zip(found, expected, strict=True)]
        assert starts == expected, (terms, found)


def test_a_reward_follows_its_session(project: Project, manager: Membership) -> None:
    """Finished: owed. Approved: paid. Returned or timed out: no more, until the platform approves after all."""
    panel = make_panel(manager, **TERMS)
    open_batch(project, n_hits=9)
    pia = arrive(panel, "pia", Outcome.COMPLETED)
    sessions.end(pia, Outcome.COMPLETED)
    entry = reward_of(pia)
    assert (entry.cents, entry.approved_at, entry.told) == (150, None, "")
    sessions.record(pia, State.SUBMITTED, at=NOW)
    assert reward_of(pia).told == Told.WAITING
    for _ in range(2):
        sessions.record(session_of(panel, "pia"), State.APPROVED, at=NOW + timedelta(minutes=5))
    entry = reward_of(pia)
    assert entry.approved_at is not None
    assert (entry.told, entry.told_cents) == (Told.PAID, None)

    ada = arrive(panel, "ada", Outcome.COMPLETED)
    sessions.record(ada, State.TIMED_OUT, at=NOW)
    assert reward_of(ada).cancelled_at is not None
    sessions.record(session_of(panel, "ada"), State.APPROVED, at=NOW + timedelta(minutes=5))
    assert (reward_of(ada).cancelled_at, reward_of(ada).told) == (None, Told.PAID)

    screened = arrive(panel, "ben", Outcome.SCREENED_OUT)
    assert reward_of(screened).cents == 14
    arrive(panel, "cem", Outcome.NO_CONSENT)
    by_platform = arrive(panel, "dana")
    sessions.record(by_platform, State.SUBMITTED, at=NOW)
    sessions.record(session_of(panel, "dana"), State.SCREENED_OUT, at=NOW)
    assert session_of(panel, "dana").outcome == Outcome.SCREENED_OUT
    assert (reward_of(by_platform).cents, reward_of(by_platform).told) == (14, Told.PAID)
    assert PanelPayment.objects.count() == 4
    assert ledger.list_balances(project) == []  # the platform's money is not the project's


@pytest.mark.parametrize("by_way_of", [State.SUBMITTED, State.TIMED_OUT])
def test_a_changed_reward_holds_for_those_who_finish_afterwards(
    project: Project, manager: Membership, by_way_of: PanelSession.State
) -> None:
    panel = make_panel(manager, **TERMS)
    open_batch(project, n_hits=9)
    pia = arrive(panel, "pia", Outcome.COMPLETED)
    Panel.objects.update(reward_cents=200)
    sessions.record(session_of(panel, "pia"), by_way_of, at=NOW)
    sessions.record(session_of(panel, "pia"), State.APPROVED, at=NOW + timedelta(minutes=5))
    assert session_of(panel, "pia").state == State.APPROVED
    assert (reward_of(pia).cents, reward_of(pia).told) == (150, Told.PAID)
    assert reward_of(pia).approved_at is not None
    panel.refresh_from_db()
    assert reward_of(arrive(panel, "ada", Outcome.COMPLETED)).cents == 200


def test_a_set_is_owed_once_and_only_where_the_platform_pays(project: Project, manager: Membership) -> None:
    open_batch(project, n_hits=2)
    panel = make_panel(manager, **TERMS)
    client, _ = open_link(panel, "pia")
    rate(member_of(panel, "pia"))
    sessions.end(session_of(panel, "pia"), Outcome.COMPLETED)
    open_link(panel, "pia", client, session="another-session-of-pia-000")
    second = session_of(panel, "pia")
    assert second.state == State.FINISHED
    # Who comes again has the code at once, which is no second visit from the arrival to the code.
    PanelSession.objects.exclude(pk=second.pk).update(arrived_at=F("ended_at") - timedelta(minutes=5))
    hourly = measure_hourly_pay([panel])[panel.pk]
    assert hourly.median_minutes == pytest.approx(5)
    assert hourly.n_completed == 1
    sessions.record(second, State.APPROVED, at=NOW)
    owed = PanelPayment.objects.filter(cancelled_at=None)
    assert owed.count() == 1
    assert list_differences(project) == []
    own = make_panel(manager, paid_by=Panel.Payer.PROJECT)
    arrive(own, "ada", Outcome.COMPLETED)
    assert owed.count() == 1
    with pytest.raises(Refused, match="This project pays"):
        managing.change_panel(panel=own, actor=manager, values={"reward_cents": 5})


def come_again(panel: Panel, name: str, client: Client) -> PanelSession:
    open_link(panel, name, client, session=f"another-session-of-{name}-000")
    return session_of(panel, name)


def finish(panel: Panel, name: str) -> tuple[PanelSession, Client]:
    """Somebody does their set of one HIT and sees the code."""
    client, _ = open_link(panel, name)
    rate(member_of(panel, name))
    Assignment.objects.update(active_seconds=900, has_odd_times=False)
    sessions.end(session_of(panel, name), Outcome.COMPLETED)
    return session_of(panel, name), client


def finish_twice(project: Project, manager: Membership) -> tuple[PanelSession, PanelSession]:
    """Somebody does their set, comes again, and gets the same code in a second session."""
    open_batch(project, n_hits=2)
    panel = make_panel(manager, **TERMS)
    first, client = finish(panel, "pia")
    return first, come_again(panel, "pia", client)


def test_the_second_of_two_submissions_for_the_same_hits_is_not_owed(project: Project, manager: Membership) -> None:
    """It is named as such, while it waits and once the platform has paid both."""
    first, second = finish_twice(project, manager)
    sessions.record(first, State.SUBMITTED, at=NOW)
    sessions.record(second, State.SUBMITTED, at=NOW)
    assert [found.what for found in list_differences(project)] == [DIFFERENCES["sent again"]]
    sessions.record(first, State.APPROVED, at=NOW)
    sessions.record(second, State.APPROVED, at=NOW)
    assert [found.what for found in list_differences(project)] == [DIFFERENCES["paid again"]]
    (sums,) = sum_by_panel(project)
    assert (sums.owed, sums.approved, sums.paid, sums.texts["active"]) == (0, 0, 150, "$6.00")


def test_the_submission_that_the_platform_approves_is_the_one_that_is_owed(
    project: Project, manager: Membership
) -> None:
    """Not the first one, which then no longer awaits approval in the ledger, with what was announced for it."""
    first, second = finish_twice(project, manager)
    sessions.record(first, State.SUBMITTED, at=NOW)
    Panel.objects.update(reward_cents=200)
    sessions.record(second, State.APPROVED, at=NOW)
    (sums,) = sum_by_panel(project)
    assert (sums.owed, sums.approved, sums.paid, sums.texts["active"]) == (0, 0, 150, "$6.00")
    assert [found.what for found in list_differences(project)] == [DIFFERENCES["sent again"]]
    sessions.record(first, State.REJECTED, at=NOW + timedelta(minutes=1))
    assert list_differences(project) == []
    sessions.record(first, State.APPROVED, at=NOW + timedelta(minutes=2))
    assert [found.what for found in list_differences(project)] == [DIFFERENCES["paid again"]]
    assert sum_by_panel(project)[0].texts["active"] == "$6.00"


@pytest.mark.parametrize("state", [State.RETURNED, State.REJECTED])
def test_a_submission_that_waits_is_owed_once_the_other_for_the_same_hits_is_not(
    project: Project, manager: Membership, state: str
) -> None:
    first, second = finish_twice(project, manager)
    arrive(first.panel, "ben", Outcome.COMPLETED)
    sessions.record(second, State.SUBMITTED, at=NOW)
    Panel.objects.update(reward_cents=200)
    for _ in range(2):
        sessions.record(first, state, at=NOW)
        assert reward_of(first).cancelled_at is not None
        owed = reward_of(second)
        assert (owed.cents, owed.cancelled_at, owed.told) == (150, None, "waiting"), "what was announced for these HITs"
        assert list_differences(project) == []
    sessions.record(second, State.RETURNED, at=NOW + timedelta(minutes=1))
    assert PanelPayment.objects.get(cancelled_at=None).session == session_of(first.panel, "ben")


def test_who_was_screened_out_and_completes_the_set_after_all_is_owed_both(
    project: Project, manager: Membership
) -> None:
    open_batch(project, n_hits=2)
    panel = make_panel(manager, **TERMS)
    client, _ = open_link(panel, "pia")
    sessions.record(session_of(panel, "pia"), State.SCREENED_OUT, actor=manager)
    second = come_again(panel, "pia", client)
    rate(member_of(panel, "pia"))
    sessions.end(second, Outcome.COMPLETED)
    assert reward_of(second).cents == 150
    sessions.record(second, State.APPROVED, at=NOW)
    assert list_differences(project) == []
    (sums,) = sum_by_panel(project)
    assert (sums.owed, sums.approved, sums.paid) == (0, 0, 164)


def test_a_screened_out_session_that_is_not_paid_here_is_no_second_submission(
    project: Project, manager: Membership
) -> None:
    open_batch(project, n_hits=2)
    panel = make_panel(manager, **{**TERMS, "screened_out_cents": None})
    client, _ = open_link(panel, "pia")
    sessions.end(session_of(panel, "pia"), Outcome.SCREENED_OUT)
    first = session_of(panel, "pia")
    second = come_again(panel, "pia", client)
    rate(member_of(panel, "pia"))
    sessions.end(second, Outcome.COMPLETED)
    sessions.record(second, State.APPROVED, at=NOW)
    sessions.record(first, State.APPROVED, at=NOW)
    assert [found.what for found in list_differences(project)] == [NOT_OWED]


def test_who_comes_again_is_owed_once_also_after_a_return_or_when_screened_out(
    project: Project, manager: Membership
) -> None:
    open_batch(project, n_hits=2)
    panel = make_panel(manager, **TERMS)
    first, client = finish(panel, "pia")
    sessions.record(first, State.RETURNED, at=NOW)
    assert reward_of(come_again(panel, "pia", client)).cents == 150
    client, _ = open_link(panel, "ben")
    sessions.end(session_of(panel, "ben"), Outcome.SCREENED_OUT)
    again = come_again(panel, "ben", client)
    sessions.end(again, Outcome.SCREENED_OUT)
    assert list(PanelPayment.objects.filter(cents=14).values_list("session__outcome")) == [("screened_out",)]


def test_the_platforms_word_is_ordered_by_its_time_and_a_sum_is_owed_once(
    project: Project, manager: Membership
) -> None:
    panel = make_panel(manager, **TERMS)
    bonus: dict[str, Any] = {"panel": panel, "key": "bonus:1", "kind": PanelPayment.Kind.BONUS}
    panel_pay.owe(**bonus, cents=50, annotator=manager)
    assert panel_pay.owe(**bonus, cents=50, annotator=manager).pk == PanelPayment.objects.get().pk
    with pytest.raises(Refused, match="another sum"):
        panel_pay.owe(**bonus, cents=60, annotator=manager)
    assert panel_pay.approve(PanelPayment.objects.all()) == 1
    assert panel_pay.approve(PanelPayment.objects.all()) == 0
    panel_pay.record_panel_payment(**bonus, told=Told.PAID, cents=50, at=NOW)
    older = panel_pay.record_panel_payment(**bonus, told=Told.WAITING, at=NOW - timedelta(hours=1))
    assert (older.told, older.told_cents) == (Told.PAID, 50)


def test_only_another_reward_for_the_same_set_keeps_one_from_being_owed(project: Project, manager: Membership) -> None:
    """Not a bonus, what the platform alone has told of, nor a reward in another panel or of somebody else."""
    panel, other = make_panel(manager, **TERMS), make_panel(manager, **TERMS)
    open_batch(project, n_hits=2)
    pia = arrive(panel, "pia")
    member = member_of(panel, "pia")
    panel_pay.owe(panel=panel, key="bonus:1", kind=Kind.BONUS, cents=50, annotator=member)
    panel_pay.owe(panel=other, key="reward:0", kind=Kind.REWARD, cents=60, annotator=member)
    panel_pay.owe(panel=panel, key="reward:00", kind=Kind.REWARD, cents=70, annotator=manager)
    panel_pay.record_panel_payment(panel=panel, key="reward:0", kind=Kind.REWARD, told=Told.WAITING, annotator=member)
    sessions.end(pia, Outcome.COMPLETED)
    finished = reward_of(pia)
    assert finished.cents == 150
    sessions.record(session_of(panel, "pia"), State.APPROVED, at=NOW)
    assert reward_of(pia).owed_at == finished.owed_at
    assert not PanelPayment.objects.exclude(cancelled_at=None).exists()


def test_what_is_owed_and_what_the_platform_says_are_kept_apart(project: Project, manager: Membership) -> None:
    panel = make_panel(manager, **TERMS)
    bonus: dict[str, Any] = {"panel": panel, "key": "bonus:1", "kind": Kind.BONUS, "annotator": manager}
    entries = PanelPayment.objects.filter(key="bonus:1")
    panel_pay.record_panel_payment(**bonus, told=Told.PAID, cents=60, fee_cents=6, external_id="b-1", at=NOW)
    assert panel_pay.approve(entries) == 0, "It isn't owed."
    told = panel_pay.owe(**bonus, cents=70)
    assert (told.cents, told.told_cents, told.cancelled_at) == (70, 60, None)
    # A later word that leaves something out doesn't take it back.
    panel_pay.record_panel_payment(**bonus, told=Told.PAID, at=NOW + timedelta(seconds=1))
    later = entries.get()
    assert (later.cents, later.told_cents, later.told_fee_cents, later.external_id) == (70, 60, 6, "b-1")
    new: dict[str, Any] = {"cents": 61, "fee_cents": 7, "external_id": "b-2"}
    panel_pay.record_panel_payment(**bonus, **new, told=Told.PAID, at=NOW + timedelta(seconds=2))
    latest = entries.get()
    assert (latest.told_cents, latest.told_fee_cents, latest.external_id) == (61, 7, "b-2")
    assert (panel_pay.cancel(entries), panel_pay.cancel(entries), panel_pay.approve(entries)) == (1, 0, 0)
    assert panel_pay.owe(**bonus, cents=80).cents == 80, "After it was cancelled, another sum may be owed."
    assert panel_pay.approve(entries) == 1
    someone = {**bonus, "key": "bonus:2", "annotator": make_membership(project)}
    panel_pay.record_panel_payment(**someone, told=Told.PAID, external_id="b-3")
    panel_pay.forget_ids([manager])
    assert list(PanelPayment.objects.order_by("key").values_list("external_id", flat=True)) == ["", "b-3"]


@pytest.mark.parametrize("state", [State.RETURNED, State.TIMED_OUT, State.REJECTED])
def test_a_session_that_is_approved_after_all_is_owed_again(
    project: Project, manager: Membership, state: PanelSession.State
) -> None:
    panel = make_panel(manager, **TERMS)
    open_batch(project, n_hits=1)
    session = arrive(panel, "ada", Outcome.COMPLETED if state == State.REJECTED else None)
    sessions.record(session, state, at=NOW)
    assert not PanelPayment.objects.filter(cancelled_at=None).exists()
    assert sessions.record(session, State.APPROVED, at=NOW + timedelta(minutes=1))
    owed = PanelPayment.objects.get()
    assert (owed.cents, owed.cancelled_at, owed.told) == (TERMS["reward_cents"], None, Told.PAID)
    assert owed.approved_at is not None


def test_each_difference_is_listed_once(project: Project, manager: Membership, client_of: SignIn) -> None:
    """One session for each rule, and one on which both sides agree."""
    Project.objects.filter(pk=project.pk).update(hourly_floor_cents=950)
    panel = make_panel(manager, **TERMS)
    open_batch(project, n_hits=9)
    names = ("right", "amount", "fee", "cancelled", "refused", "unanswered", "silent")
    done = {name: arrive(panel, name, Outcome.COMPLETED) for name in names}
    say(done["right"], 150, 60)
    say(done["amount"], 100, 40)
    say(done["fee"], 150, 75)
    sessions.record(done["cancelled"], State.RETURNED, at=NOW)
    say(done["cancelled"])
    sessions.record(done["refused"], State.REJECTED, at=NOW)
    entries = PanelPayment.objects
    entries.filter(session=done["refused"]).update(cancelled_at=None)
    long_ago = NOW - timedelta(days=2)
    entries.filter(session=done["unanswered"]).update(approved_at=long_ago)
    entries.filter(session=done["silent"]).update(owed_at=long_ago)
    unexpected = arrive(panel, "unexpected")
    say(unexpected, 150)
    sessions.record(arrive(panel, "unowed"), State.SUBMITTED, at=NOW)
    found = list_differences(project)
    again = {DIFFERENCES[key] for key in ("sent again", "paid again")}  # these have tests of their own
    assert sorted(each.what for each in found) == sorted({*DIFFERENCES.values(), NOT_OWED} - again)
    project.refresh_from_db()
    (sums,) = sum_by_panel(project)
    assert (sums.owed, sums.approved, sums.paid, sums.fees) == (300, 150, 700, 175)
    assert sums.hourly.announced_cents == 900
    assert sums.is_under_floor  # 9 dollars an hour are announced
    page = client_of(manager).get(f"/p/{project.slug}/payments/panels/").text
    assert "8 differences" in page
    assert "Charged there with other fees" in page
    assert "pays less than $9.50 per hour" in page
    assert "submission-1" not in page


def test_hourly_pay_is_measured_by_active_time_and_ids_go_with_the_account(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    panel = make_panel(manager, **TERMS, currency="GBP")
    open_batch(project, n_hits=2)
    pia = arrive(panel, "pia")
    rate(member_of(panel, "pia"))
    Assignment.objects.update(active_seconds=900, has_odd_times=False)
    sessions.end(pia, Outcome.COMPLETED)
    say(pia, 150)
    (sums,) = sum_by_panel(project)
    assert sums.texts["active"] == "6.00 GBP"
    assert not sums.is_under_floor  # the minimum is in dollars
    client, address = client_of(manager), f"/p/{project.slug}/payments/panels/"
    assert "pay in another currency is not compared" not in client.get(address).text
    Project.objects.update(hourly_floor_cents=950)
    assert "pay in another currency is not compared" in client.get(address).text
    shown = client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/").text
    facts = read(shown).facts
    assert facts["Reward"] == "1.50 GBP, 9.00 GBP per hour for the 10 minutes announced"
    assert facts["Hourly pay so far"] == "6.00 GBP by active time"
    user = member_of(panel, "pia").user
    assert user is not None
    erasing.erase(user=user, removes_work=False)
    entry = PanelPayment.objects.get()
    assert (entry.external_id, entry.session_id, entry.cents) == ("", None, 150)


@pytest.mark.parametrize(
    ("currency", "reward", "shown", "hourly"),
    [("JPY", 150_000, "150,000 JPY", "900,000 JPY"), ("KWD", 1_250, "1.250 KWD", "7.500 KWD")],
)
def test_rewards_are_in_the_smallest_unit_of_their_currency_which_need_not_be_a_hundredth(
    project: Project, manager: Membership, client_of: SignIn, currency: str, reward: int, shown: str, hourly: str
) -> None:
    panel = make_panel(manager)
    client, address = client_of(manager), f"/p/{project.slug}/panels/{panel.number}/"
    page = client.get(f"{address}edit/")
    assert page.context is not None
    sent = {name: value for name, value in page.context["form"].initial.items() if value not in (None, False)}
    terms = {"reward_cents": reward, "currency": currency, "minutes_expected": 10}
    assert client.post(f"{address}edit/", {**sent, **terms}).status_code == 302
    text = " ".join(client.get(address).content.decode().split())
    assert f"{shown}, {hourly} per hour" in text


def test_the_form_takes_the_terms(project: Project, manager: Membership, client_of: SignIn) -> None:
    panel = make_panel(manager)
    client, address = client_of(manager), f"/p/{project.slug}/panels/{panel.number}/edit/"
    page = client.get(address)
    assert page.context is not None
    sent = {name: value for name, value in page.context["form"].initial.items() if value not in (None, False)}
    assert (
        client.post(address, {**sent, "reward_cents": 200, "currency": "EUR", "fee_percent": "33.3"}).status_code == 302
    )
    panel.refresh_from_db()
    assert (panel.reward_cents, panel.currency, panel.fee_share) == (200, "EUR", 0.333)
    assert client.post(address, {**sent, "currency": "euro"}).status_code == 422
