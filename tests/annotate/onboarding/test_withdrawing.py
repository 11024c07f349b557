"""Withdrawing the consent: no more work, and what was given kept or taken out for good."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from annotate import places
from annotate.batches import lifecycle
from annotate.integrity import verifying
from annotate.integrity.rules import CONSENT
from annotate.models import Assignment, Batch, Draft, Hit, Judgment, LedgerEntry, Notice, SurveyResponse
from annotate.moderation import decisions, members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import WorkFilter
from annotate.onboarding import consent, surveys
from annotate.places import leaving
from annotate.rating import answers
from annotate.work import serving, submitting
from annotate.work.serving import ConfirmFirst
from projects.database import erasures
from projects.errors import Refused
from projects.models import Act, ConsentAcceptance, LogEntry, Membership, Project
from tests.annotate.open_batches import answered, assert_equation, fetch, open_batch
from tests.annotate.qualification.factories import make_test
from tests.annotate.submitted_work import claim, expire, make_reserved, rate, reasons
from tests.annotate.surveys.samples import make_survey
from tests.factories import make_consent
from tests.page_reader import condense
from tests.people import SignIn
from tests.processes import wait_until

pytestmark = pytest.mark.django_db
URL = "/p/bridges/consent/withdraw/"
OUT = {"work": "out", "is_meant": "on"}
KEEP = {"work": "keep", "is_meant": "on"}


@pytest.fixture(autouse=True)
def own_list(settings: Settings, tmp_path: Path) -> None:
    """A list of erasures of its own for each test."""
    settings.SHARED_DIR = tmp_path


@pytest.fixture
def batch(project: Project, annotator: Membership, other_annotator: Membership) -> Batch:
    """An open batch under a consent that both have agreed to."""
    batch = open_batch(project, n_hits=6, judgments=2, consent=make_consent(project), cents_per_hit=50)
    for person in (annotator, other_annotator):
        consent.agree(annotator=person, version=1)
    return batch


def count_places(batch: Batch) -> dict[str, int]:
    names = ("places_wanted", "places_open", "places_done")
    return Hit.objects.filter(batch=batch).aggregate(**{name: Sum(name) for name in names})


def sound() -> None:
    assert verifying.verify() == []
    assert_equation()


def test_removed_work_counts_nowhere_and_its_places_are_open_again(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    work, theirs = rate(annotator, 2), rate(other_annotator)
    open_one = claim(annotator)
    before = count_places(batch)
    done = consent.withdraw(annotator=annotator, removes_work=True)
    assert (done.n_hits, done.n_judgments, done.has_open_hit) == (2, 6, True)
    assert reasons(*work) == {"consent withdrawn"}
    assert not Judgment.objects.filter(annotator=annotator, is_counted=True).exists()
    assert reasons(*theirs) == {""}, "others' work stays as it is"
    after = count_places(batch)
    assert after["places_open"] == before["places_open"] + 3
    assert (after["places_done"], after["places_wanted"]) == (before["places_done"] - 2, before["places_wanted"])
    open_one.refresh_from_db()
    assert (open_one.state, open_one.holds_place) == ("withdrawn", False)
    assert ConsentAcceptance.objects.get(membership=annotator).is_taken_out
    assert LedgerEntry.objects.filter(annotator=annotator).aggregate(sum=Sum("cents"))["sum"] == 100
    sound()


def test_what_is_kept_goes_on_counting(batch: Batch, annotator: Membership) -> None:
    work = rate(annotator, 2)
    before = count_places(batch)
    consent.withdraw(annotator=annotator, removes_work=False)
    assert reasons(*work) == {""}
    assert count_places(batch) == before
    assert not ConsentAcceptance.objects.get(membership=annotator).is_taken_out
    found = serving.claim(annotator)
    assert isinstance(found, ConfirmFirst)
    assert found.lacks_consent
    sound()


def test_removed_work_stays_out_whatever_its_state(batch: Batch, annotator: Membership, manager: Membership) -> None:
    """Rejected, left out by a manager and surplus work too: no later act counts any of it."""
    rejected, excluded, counted = rate(annotator, 3)
    places.reject([rejected.pk], by=manager.pk, reason="Too fast", is_unpaid=False)
    places.exclude([excluded.pk], reason="Looked at random", reopens=False)
    consent.withdraw(annotator=annotator, removes_work=True)
    assert reasons(rejected, excluded, counted) == {"consent withdrawn"}
    sound()
    places.accept([rejected.pk], by=manager.pk)
    assert members.plan_restoring(target=annotator).n_counted == 0
    places.restore([excluded.pk, counted.pk])
    places.set_aside(assignment_id=counted.pk, item_id=counted.layout[0], is_counted=True)
    assert reasons(rejected, excluded, counted) == {"consent withdrawn"}
    sound()


def test_a_manager_who_removes_and_restores_counts_nothing_of_it_again(
    batch: Batch, annotator: Membership, manager: Membership
) -> None:
    work = rate(annotator, 2)
    members.remove(
        target=annotator, actor=manager, why="Rated at random", exclusion=Exclusion(scope=ExclusionScope.ALL)
    )
    annotator.refresh_from_db()
    members.restore(target=annotator, actor=manager, why="A mistake", with_work=False)
    annotator.refresh_from_db()
    consent.withdraw(annotator=annotator, removes_work=True)
    with pytest.raises(Refused, match="none of their work is excluded"):
        members.restore(target=annotator, actor=manager, why="Once more")
    assert reasons(*work) == {"consent withdrawn"}
    sound()


def test_archived_work_is_removed_and_opens_no_place(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    lifecycle.close(batch=batch, actor=None)
    lifecycle.archive(batch=batch, actor=None)
    before = count_places(batch)
    consent.withdraw(annotator=annotator, removes_work=True)
    assert (reasons(work), count_places(batch)) == ({"consent withdrawn"}, before)
    sound()


def test_what_had_expired_cannot_be_sent_late(batch: Batch, annotator: Membership) -> None:
    slow = claim(annotator)
    expire(slow)
    consent.withdraw(annotator=annotator, removes_work=False)
    with pytest.raises(answers.TakesNoAnswers, match="left this study"):
        submitting.submit(annotator=annotator, assignment_uuid=slow.uuid, sent=answered())
    with pytest.raises(answers.TakesNoAnswers):
        submitting.reopen(annotator=annotator, assignment_uuid=slow.uuid)
    sound()


def test_what_was_made_for_them_alone_is_taken_back(batch: Batch, annotator: Membership) -> None:
    hit = make_reserved(batch, annotator, is_taken=False)
    consent.withdraw(annotator=annotator, removes_work=True)
    hit.refresh_from_db()
    assert isinstance(hit, Hit)
    assert (hit.places_wanted, hit.places_open) == (0, 0)


def test_after_agreeing_again_there_is_new_work_and_the_old_stays_out(batch: Batch, annotator: Membership) -> None:
    (first,) = rate(annotator)
    consent.withdraw(annotator=annotator, removes_work=True)
    with pytest.raises(Refused, match="already"):
        consent.withdraw(annotator=annotator, removes_work=True)
    consent.agree(annotator=annotator, version=1)
    (second,) = rate(annotator)
    assert (reasons(first), reasons(second)) == ({"consent withdrawn"}, {""})
    assert first.hit_id != second.hit_id
    sound()
    consent.withdraw(annotator=annotator, removes_work=True)
    assert reasons(first, second) == {"consent withdrawn"}
    assert ConsentAcceptance.objects.filter(membership=annotator).count() == 2
    sound()


def test_a_batch_without_a_consent_serves_nobody_who_has_withdrawn(project: Project, annotator: Membership) -> None:
    make_consent(project)
    consent.agree(annotator=annotator, version=1)
    open_batch(project)
    consent.withdraw(annotator=annotator, removes_work=False)
    assert isinstance(serving.claim(annotator), ConfirmFirst)
    consent.agree(annotator=annotator, version=1)
    assert not isinstance(serving.claim(annotator), ConfirmFirst)


def test_managers_see_who_left_and_the_log_records_it(
    batch: Batch, annotator: Membership, manager: Membership, researcher: Membership
) -> None:
    rate(annotator, 2)
    consent.withdraw(annotator=annotator, removes_work=True)
    (notice,) = Notice.objects.all()
    assert notice.annotator == manager
    assert annotator.pseudonym in notice.text
    assert "2 submitted HITs" in notice.text
    entry = LogEntry.objects.get(act="withdraw consent")
    assert (entry.actor, (entry.after or {})["is_taken_out"], (entry.after or {})["taken_out"]) == (annotator, True, 2)


# --- the rules


def test_verify_finds_a_judgment_that_counts_again(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    consent.withdraw(annotator=annotator, removes_work=True)
    Judgment.objects.filter(assignment=work).update(is_counted=True, not_counted_reason="")
    assert "taken_out_stays_out" in {breach.rule for breach in verifying.verify()}


def test_verify_finds_a_reason_that_nobody_gave(batch: Batch, annotator: Membership) -> None:
    (work,) = rate(annotator)
    Judgment.objects.filter(assignment=work).update(is_counted=False, not_counted_reason="consent withdrawn")
    assert "taken_out_by_its_annotator" in {breach.rule for breach in verifying.verify()}


def test_verify_finds_work_without_consent(batch: Batch, annotator: Membership) -> None:
    rate(annotator)
    accepted = ConsentAcceptance.objects.filter(membership=annotator)
    assert verifying.verify() == []
    for over in ({"accepted_at": Now() + timedelta(hours=1)}, {"withdrawn_at": Now() - timedelta(hours=1)}):
        accepted.update(**over)
        assert "work_under_consent" in {breach.rule for breach in verifying.verify()}, over
        accepted.update(accepted_at=Now() - timedelta(hours=2), withdrawn_at=None)
    accepted.delete()
    assert "work_under_consent" in {breach.rule for breach in verifying.verify()}


def test_verify_believes_no_times_from_before_a_clock_was_set_back(batch: Batch, annotator: Membership) -> None:
    """The consent seems to come an hour after the work that it allowed."""
    ahead = timezone.now() + timedelta(hours=1)
    ConsentAcceptance.objects.filter(membership=annotator).update(accepted_at=ahead)
    entry = {"project": batch.project, "actor": annotator}
    LogEntry.objects.create(**entry, act=Act.AGREE_TO_CONSENT, at=ahead)
    rate(annotator)
    assert [breach.rule for breach in verifying.verify()] == ["work_under_consent"]
    LogEntry.objects.create(**entry, act=Act.ANSWER_REJECTION)
    assert verifying.verify() == []


def test_verify_reads_the_audit_log_once_where_a_newer_consent_came_after_the_work(
    batch: Batch, annotator: Membership
) -> None:
    """Read for each assignment, a log of 100,000 entries would take minutes."""
    ConsentAcceptance.objects.filter(membership=annotator).update(accepted_at=timezone.now() + timedelta(hours=1))
    rate(annotator, 3)
    (rule,) = (each for each in CONSENT if each.name == "work_under_consent")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {rule.query}")
        (((top,),),) = cursor.fetchall()
    assert top["Plan"]["Actual Rows"] == 3
    assert list_log_reads(top["Plan"]) == [1]


def list_log_reads(plan: dict[str, Any]) -> list[int]:
    """How often each part of a plan that reads the audit log does so."""
    own = [plan["Actual Loops"]] if plan.get("Relation Name") == LogEntry._meta.db_table else []
    return own + [n for each in plan.get("Plans", ()) for n in list_log_reads(each)]


def test_their_history_says_what_they_took_out(batch: Batch, annotator: Membership, client_of: SignIn) -> None:
    (work,) = rate(annotator)
    sentence = "You removed these ratings"
    pages = ("/p/bridges/history/", f"/p/bridges/history/{work.uuid}/")
    assert not any(sentence in client_of(annotator).get(page).content.decode() for page in pages)
    consent.withdraw(annotator=annotator, removes_work=True)
    assert all(sentence in client_of(annotator).get(page).content.decode() for page in pages)


def test_removed_work_is_not_rejected(batch: Batch, annotator: Membership, manager: Membership) -> None:
    """The page promised that what was earned is paid."""
    out = rate(annotator, 2)
    consent.withdraw(annotator=annotator, removes_work=True)
    consent.agree(annotator=annotator, version=1)
    (later,) = rate(annotator)
    reject: dict[str, Any] = {"project": batch.project, "actor": manager, "reason": "Too fast", "is_unpaid": True}
    with pytest.raises(Refused, match="has removed"):
        decisions.reject(**reject, chosen=WorkFilter(uuids=(str(out[0].uuid),)))
    done = decisions.reject(**reject, chosen=WorkFilter(annotator=annotator.pseudonym))
    later.refresh_from_db()
    assert (done.n_assignments, later.state) == (1, "rejected")
    assert LedgerEntry.objects.filter(assignment__in=out).aggregate(sum=Sum("cents"))["sum"] == 100
    sound()


def test_the_manager_reads_who_took_it_out(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    (work,) = rate(annotator)
    consent.withdraw(annotator=annotator, removes_work=True)
    page = client_of(manager).get(reverse("annotate:assignment-show", args=["bridges", work.uuid])).content.decode()
    assert "Removed by its annotator" in page
    assert "by a removal" not in page


# --- the pages


@pytest.mark.parametrize(("n_items", "words"), [(1, "1 of your ratings counts."), (3, "3 of your ratings count.")])
def test_the_page_counts_hits_and_ratings(
    project: Project, annotator: Membership, client_of: SignIn, n_items: int, words: str
) -> None:
    open_batch(project, n_hits=1, n_items=n_items, consent=make_consent(project))
    consent.agree(annotator=annotator, version=1)
    rate(annotator)
    page = condense(client_of(annotator).get(URL).content.decode())
    assert f"You've submitted 1 HIT. {words}" in page.replace("&#x27;", "'")


def test_an_open_hit_is_counted_for_whoever_has_it(
    batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    claim(other_annotator)
    assert [consent.plan_withdrawal(each).has_open_hit for each in (annotator, other_annotator)] == [False, True]


def test_the_page_says_what_happens_and_asks_to_mean_it(batch: Batch, annotator: Membership, client_of: SignIn) -> None:
    rate(annotator, 2)
    claim(annotator)
    client = client_of(annotator)
    page = client.get(URL).content.decode()
    for sentence in ("2 HITs", "goes to someone else", "You keep what you've earned", "you can't undo this"):
        assert sentence in page
    for sent in ({}, {"work": "out"}, {"is_meant": "on"}, {"work": "both", "is_meant": "on"}):
        assert client.post(URL, sent).status_code == 422
    assert Assignment.objects.open().exists()
    answer = client.post(URL, OUT, follow=True)
    assert "The ratings of 2 HITs are removed" in answer.content.decode()
    assert "left this study, so" in answer.content.decode()
    again = client.post(URL, OUT, follow=True)
    assert "already" in again.content.decode()


def test_somebody_else_is_not_touched(
    batch: Batch, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    work = rate(annotator)
    client_of(other_annotator).post(URL, OUT)
    assert reasons(*work) == {""}


def test_withdrawn_in_another_tab_while_rating_keeps_the_answers(
    batch: Batch, annotator: Membership, client_of: SignIn
) -> None:
    work, client = claim(annotator), client_of(annotator)
    client.post(URL, KEEP)
    answer = client.post(f"/p/bridges/work/{work.uuid}/", {"a0-correctness": "4", "comment1": "half right"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "left this study" in text
    assert "half right" in text
    assert Draft.objects.get(assignment=work).answers["answers"]["0"]["correctness"][0] == 4
    assert not Judgment.objects.exists()
    sound()


def test_whoever_withdrew_sees_it_and_gets_no_form_to_change_a_hit(
    project: Project, batch: Batch, annotator: Membership, client_of: SignIn
) -> None:
    Project.objects.update(revision_minutes=30)
    (work,) = rate(annotator)
    client, path = client_of(annotator), f"/p/bridges/history/{work.uuid}/revision/"
    assert b"Edit a submitted HIT" in client.get(path).content
    client.post(URL, KEEP)
    answer = client.get(path, follow=True)
    assert answer.redirect_chain == [(f"/p/bridges/history/{work.uuid}/", 302)]
    assert "left this study" in answer.content.decode()


def test_an_attempt_at_the_test_cannot_be_started_or_submitted(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    make_test(project)
    make_consent(project)
    client = client_of(annotator)
    begin = client.post("/p/bridges/qualification/attempts/", {"purpose": "test"})
    assert begin["Location"] == "/p/bridges/consent/?next=test"
    onward = client.post("/p/bridges/consent/", {"act": "agree", "version": "1", "next": "test"})
    assert onward["Location"] == "/p/bridges/qualification/"
    attempt = client.post("/p/bridges/qualification/attempts/", {"purpose": "test"})["Location"]
    client.post(URL, KEEP)
    assert client.get(attempt)["Location"] == "/p/bridges/consent/?next=test"


# --- at once


@pytest.mark.django_db(transaction=True)
@pytest.mark.xdist_group("races")
def test_a_hit_sent_while_its_annotator_withdraws_is_removed_or_refused(batch: Batch, annotator: Membership) -> None:
    """Never stored and counted: it came before, and is taken out, or after, and is a draft."""
    work, ended = claim(annotator), []

    def run(act: Any) -> None:
        try:
            act()
        except answers.TakesNoAnswers as gone:
            ended.append(gone)
        finally:
            connection.close()

    def fresh() -> Membership:
        return Membership.objects.select_related("project").get(pk=annotator.pk)

    acts = (
        lambda: submitting.submit(annotator=fresh(), assignment_uuid=work.uuid, sent=answered()),
        lambda: consent.withdraw(annotator=fresh(), removes_work=True),
    )
    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    wait_until(lambda: not any(thread.is_alive() for thread in threads))
    assert not Judgment.objects.filter(annotator=annotator, is_counted=True).exists()
    assert fetch(work.uuid).state == ("withdrawn" if ended else "submitted")
    sound()


@pytest.mark.django_db(transaction=True)
@pytest.mark.xdist_group("races")
def test_withdrawing_twice_at_once_happens_once(batch: Batch, annotator: Membership) -> None:
    rate(annotator, 2)
    refused = []

    def withdraw() -> None:
        try:
            me = Membership.objects.select_related("project").get(pk=annotator.pk)
            consent.withdraw(annotator=me, removes_work=True)
        except Refused as refusal:
            refused.append(refusal)
        finally:
            connection.close()

    threads = [threading.Thread(target=withdraw) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: not any(thread.is_alive() for thread in threads))
    assert len(refused) == 2
    assert LogEntry.objects.filter(act="withdraw consent").count() == 1
    sound()


def test_somebody_on_hold_can_withdraw_all_the_same(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work = rate(annotator)
    members.suspend(target=annotator, actor=manager, why="A question.")
    client = client_of(annotator)
    assert URL in client.get("/desk/").content.decode()
    assert client.get(URL).status_code == 200
    assert client.post(URL, OUT, follow=True).status_code == 200
    assert reasons(*work) == {"consent withdrawn"}
    assert consent.consent_state(annotator).has_withdrawn


def test_what_expires_while_they_withdraw_is_withdrawn_too(
    batch: Batch, annotator: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep asks no membership for leave: it may come between the look at their work and its locks."""
    open_one = claim(annotator)
    hold = leaving.lock_work

    def hold_after_a_sweep(*held: Any) -> leaving.LockedWork:
        expire(open_one)
        return hold(*held)

    monkeypatch.setattr(leaving, "lock_work", hold_after_a_sweep)
    consent.withdraw(annotator=annotator, removes_work=True)
    open_one.refresh_from_db()
    assert open_one.state == Assignment.State.WITHDRAWN
    with pytest.raises(answers.TakesNoAnswers):
        submitting.submit(annotator=annotator, assignment_uuid=open_one.uuid, sent=answered())
    sound()


def test_work_that_had_expired_stays_shut_to_whoever_has_withdrawn(batch: Batch, annotator: Membership) -> None:
    open_one = claim(annotator)
    expire(open_one)
    ConsentAcceptance.objects.filter(membership=annotator).update(withdrawn_at=Now())
    with pytest.raises(answers.TakesNoAnswers, match="left this study"):
        submitting.submit(annotator=annotator, assignment_uuid=open_one.uuid, sent=answered())
    with pytest.raises(Refused, match="left this study"):
        submitting.reopen(annotator=annotator, assignment_uuid=open_one.uuid)


def test_a_restored_backup_brings_back_neither_consent_nor_work_nor_answers(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership
) -> None:
    work, theirs = rate(annotator, 2), rate(other_annotator)
    surveys.answer(annotator=annotator, survey=make_survey(manager), answers={1: 30}, may_publish=False)
    with transaction.atomic():
        consent.withdraw(annotator=annotator, removes_work=True)
        transaction.set_rollback(True)  # as if a backup from before were restored: the database is older than the list
    assert annotator.pseudonym not in erasures.find_path().read_text()
    assert reasons(*work) == {""}
    assert erasures.repeat_all() == 1
    assert reasons(*work) == {"consent withdrawn"}
    assert reasons(*theirs) == {""}
    assert SurveyResponse.objects.get().answers == {}
    assert consent.consent_state(annotator).has_withdrawn
    assert erasures.repeat_all() == 0
    # Whoever has agreed again since keeps what they have done since.
    consent.agree(annotator=annotator, version=1)
    (later,), open_one = rate(annotator), claim(annotator)
    assert erasures.repeat_all() == 0
    open_one.refresh_from_db()
    assert (reasons(later), open_one.state) == ({""}, "open")
    sound()


def test_a_restored_backup_from_before_the_consent_has_the_work_removed(
    project: Project, annotator: Membership
) -> None:
    open_batch(project)
    (work,) = rate(annotator)
    with transaction.atomic():
        make_consent(project)
        consent.agree(annotator=annotator, version=1)
        consent.withdraw(annotator=annotator, removes_work=True)
        transaction.set_rollback(True)
    assert erasures.repeat_all() == 1
    assert reasons(work) == {"consent withdrawn"}
    assert erasures.repeat_all() == 0
    Membership.objects.filter(pk=annotator.pk).update(joined_at=Now())
    (later,) = rate(annotator)
    assert erasures.repeat_all() == 0, "another person has the number"
    assert reasons(later) == {""}
