"""Deleting an account: nothing names the person any more, and their judgments stay or are removed as they chose."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from django.contrib.auth import SESSION_KEY
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from annotate.integrity import verifying
from annotate.models import Assignment, Attempt, Batch, Draft, Hit, Judgment, Notice, Remark
from annotate.moderation import members as moderation_members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.onboarding import consent, erasing, notices
from annotate.rating.sent import Ratings, SentAnswers
from annotate.work import drafts, submitting
from projects.accounts import single_sign_on
from projects.api import tokens
from projects.database import erasures
from projects.errors import Refused
from projects.models import ApiToken, Erasure, LogEntry, Membership, Project, User
from projects.people import members as people_members
from projects.templatetags.people import name_for
from tests import factories
from tests.annotate.open_batches import assert_equation, open_batch
from tests.annotate.qualification.factories import make_test, take
from tests.annotate.submitted_work import claim, rate, reasons
from tests.concurrency import start_beside
from tests.people import SignIn
from tests.projects.accounts.codes import give_app, show_code
from tests.projects.api.client import Script

pytestmark = pytest.mark.django_db
URL = "/account/delete/"
PLANTED = "z7planted"
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def own_list(settings: Settings, tmp_path: Path) -> None:
    """A list of erasures of its own for each test."""
    settings.SHARED_DIR = tmp_path


@pytest.fixture
def person(annotator: Membership, quick_passwords: None) -> User:
    assert annotator.user is not None
    user = annotator.user
    user.username, user.first_name, user.last_name = f"{PLANTED}-name", f"{PLANTED}-first", f"{PLANTED}-last"
    user.email = f"{PLANTED}@example.org"
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=6, judgments=2, cents_per_hit=50)


def find_everywhere(text: str) -> list[str]:
    """The tables in which any column of any row contains a text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s', [f"%{text}%"])
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def sound() -> None:
    assert verifying.verify() == []
    assert_equation()


def test_nothing_names_the_person_any_more(
    batch: Batch, person: User, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work = rate(annotator, 2)
    open_one = claim(annotator)
    drafts.save(annotator=annotator, assignment_uuid=open_one.uuid, sent={"comments": {"0": ["mine", 1]}})
    notices.send(annotators=[annotator.pk], text="Dear annotator", kind=Notice.Kind.WARNING, actor=manager)
    wrong = Client().post("/sign-in/", {"username": person.username, "password": "wrong"})
    assert wrong.status_code == 200
    client = client_of(annotator)
    assert client.get("/account/").status_code == 200
    assert set(find_everywhere(PLANTED)) >= {"projects_user", "axes_accessattempt"}

    assert erasing.erase(user=person, removes_work=False) == 0
    assert find_everywhere(PLANTED) == []
    assert not User.objects.filter(pk=person.pk).exists()
    assert client.get("/account/").status_code == 302
    assert not Draft.objects.exists()
    assert not Notice.objects.exists()
    assert SESSION_KEY not in client.session
    open_one.refresh_from_db()
    assert (open_one.state, open_one.holds_place) == ("withdrawn", False)

    annotator = Membership.objects.get(pk=annotator.pk)
    assert (annotator.user, annotator.standing) == (None, Membership.Standing.REMOVED)
    assert reasons(*work) == {""}
    assert name_for(annotator, manager) == annotator.pseudonym
    (entry,) = LogEntry.objects.filter(act="erase account")
    assert entry.object_id == str(annotator.pk)
    office = client_of(manager)
    for page in ("people/", f"people/{annotator.pseudonym}/", "payments/", "submitted/", "quality/", "log/"):
        assert office.get(f"/p/bridges/{page}").status_code == 200, page
    sound()


def test_nobody_comes_back_by_a_deleted_account(
    batch: Batch, person: User, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work = rate(annotator, 2)
    erasing.erase(user=person, removes_work=False)
    office, script = client_of(manager), Script(manager, can_write=True)
    base = f"/p/bridges/people/{annotator.pseudonym}/"
    page = office.get(base).content.decode()
    assert "Their account was deleted" in page
    for act, sent in (("restore", {"why": "Again"}), ("suspend", {"why": "Wait"}), ("warn", {"text": "Hello"})):
        assert f'href="{base}{act}/"' not in page
        assert "deleted their account" in office.get(f"{base}{act}/").content.decode()
        assert "deleted their account" in office.post(f"{base}{act}/", sent).content.decode()
    for path, sent in (
        ("standing", {"act": "restore", "why": "Again"}),
        ("standing", {"act": "suspend", "why": "Wait"}),
        ("messages", {"text": "Hello"}),
    ):
        refused = script.send(f"people/{annotator.pseudonym}/{path}/", sent)
        assert (refused.status_code, "deleted their account" in refused.json()["detail"]) == (409, True)
    with pytest.raises(Refused, match="deleted their account"):
        people_members.change_role(target=annotator, role="researcher", actor=manager)
    annotator.refresh_from_db()
    assert (annotator.standing, annotator.role) == ("removed", "annotator")
    assert not Notice.objects.exists()
    # Their work can still be left out.
    assert f'href="{base}remove/"' in page
    plan = moderation_members.remove(
        target=annotator, actor=manager, why="Poor.", exclusion=Exclusion(scope=ExclusionScope.ALL)
    )
    assert plan.n_assignments == len(work)


def test_judgments_are_removed_for_good_where_that_is_chosen(
    batch: Batch, person: User, annotator: Membership, other_annotator: Membership
) -> None:
    """Also in a project that asks for no consent."""
    work, theirs = rate(annotator, 2), rate(other_annotator)
    remark = Remark.objects.create(assignment=work[0], item_id=work[0].layout[0], comment="I am Ann", is_flagged=True)
    assert erasing.erase(user=person, removes_work=True) == 2
    assert reasons(*work) == {"consent withdrawn"}
    assert reasons(*theirs) == {""}
    remark.refresh_from_db()
    assert (remark.comment, remark.is_flagged) == ("", True)
    assert Erasure.objects.get(membership=annotator).takes_work_out
    sound()
    Erasure.objects.update(takes_work_out=False)
    assert [breach.rule for breach in verifying.verify()] == ["taken_out_by_its_annotator"]
    Erasure.objects.update(takes_work_out=True)
    Judgment.objects.filter(annotator=annotator).update(is_counted=True, not_counted_reason="")
    assert "taken_out_stays_out" in {breach.rule for breach in verifying.verify()}


@pytest.mark.parametrize("removes_work", [True, False])
def test_what_the_person_wrote_goes(batch: Batch, person: User, annotator: Membership, removes_work: bool) -> None:
    """Comments stay with ratings that are kept; messages to managers and what was typed at the sign-in go."""
    work = claim(annotator)
    values: dict[int, Ratings] = {0: {"correctness": 4.0}, 2: {"correctness": 4.0}}
    sent = SentAnswers(values=values, comments={0: f"{PLANTED} comment"}, cannot={1: f"{PLANTED} reason"})
    submitting.submit(annotator=annotator, assignment_uuid=work.uuid, sent=sent)
    Assignment.objects.update(reply=f"{PLANTED} reply")
    returned = claim(annotator)
    submitting.return_hit(annotator=annotator, assignment_uuid=returned.uuid, reason=f"{PLANTED} return")
    for typed in (person.email.upper(), person.username.title()):
        AccessAttempt.objects.create(username=typed, failures_since_start=1, get_data="", post_data="")
    ApiToken.objects.create(membership=annotator, name=f"{PLANTED} laptop", expires_at=timezone.now() + timedelta(1))
    make_test(batch.project)
    attempt = take(annotator)
    assert attempt.answers is not None
    attempt.answers["items"][0].update(comment=f"{PLANTED} comment", cannot=f"{PLANTED} reason")
    attempt.save()
    erasing.erase(user=person, removes_work=removes_work)
    assert set(find_everywhere(PLANTED)) == (set() if removes_work else {"annotate_remark", "annotate_attempt"})
    attempt.refresh_from_db()
    assert attempt.answers["items"][0]["cannot"]
    sound()


def test_who_withdrew_before_can_still_remove_what_they_kept(
    project: Project, person: User, annotator: Membership
) -> None:
    open_batch(project, consent=factories.make_consent(project))
    consent.agree(annotator=annotator, version=1)
    work = rate(annotator)
    consent.withdraw(annotator=annotator, removes_work=False)
    erasing.erase(user=person, removes_work=True)
    assert reasons(*work) == {"consent withdrawn"}
    sound()


def test_the_only_owner_of_a_project_stays(owner: Membership, project: Project, manager: Membership) -> None:
    with pytest.raises(Refused, match="only owner of Bridges"):
        erasing.erase(user=owner.user, removes_work=False)  # type: ignore[arg-type]
    manager.role = Membership.Role.OWNER
    manager.save()
    User.objects.filter(memberships=manager).update(is_active=False)
    with pytest.raises(Refused, match="only owner of Bridges"):
        erasing.erase(user=owner.user, removes_work=False)  # type: ignore[arg-type]
    User.objects.filter(memberships=manager).update(is_active=True)
    erasing.erase(user=owner.user, removes_work=False)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="only owner"):
        erasing.erase(user=manager.user, removes_work=False)  # type: ignore[arg-type]
    project.deleted_at = timezone.now()
    project.save()
    erasing.erase(user=manager.user, removes_work=False)  # type: ignore[arg-type]


def test_a_token_of_the_account_opens_nothing(researcher: Membership) -> None:
    _token, secret = tokens.make_token(membership=researcher, name="mine")
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/projects/", headers=headers).status_code == 200
    erasing.erase(user=researcher.user, removes_work=False)  # type: ignore[arg-type]
    assert Client().get("/api/v1/projects/", headers=headers).status_code == 401


def test_a_restored_backup_does_not_bring_the_account_back(batch: Batch, person: User, annotator: Membership) -> None:
    """Somebody who has the number of the erased account since is another person."""
    work = rate(annotator)
    with transaction.atomic():
        erasing.erase(user=person, removes_work=True)
        transaction.set_rollback(True)  # as if a backup from before were restored: the database is older than the list
    assert PLANTED not in erasures.find_path().read_text()
    assert find_everywhere(PLANTED)
    assert erasures.repeat_all() == 1
    assert find_everywhere(PLANTED) == []
    assert reasons(*work) == {"consent withdrawn"}
    sound()
    assert erasures.repeat_all() == 0
    User.objects.create(pk=person.pk, username="somebody else")
    assert erasures.repeat_all() == 0


@pytest.mark.parametrize(("choice", "reason"), [("keep", ""), ("out", "consent withdrawn")])
def test_the_page_says_what_happens_asks_for_the_password_and_does_what_was_chosen(
    batch: Batch, person: User, annotator: Membership, client_of: SignIn, choice: str, reason: str
) -> None:
    work = rate(annotator, 2)
    client = client_of(annotator)
    assert URL in client.get("/account/").content.decode()
    page = client.get(URL).content.decode()
    assert "Bridges" in page
    assert "$1.00" in page
    good = {"work": choice, "password": PASSWORD, "is_meant": "on"}
    for lacking, sentence in (
        ({"work": ""}, "Choose what should happen"),
        ({"password": "wrong"}, "t your password."),
        ({"is_meant": ""}, "Tick the box"),
    ):
        answer = client.post(URL, {**good, **lacking})
        assert answer.status_code == 422
        assert sentence in answer.content.decode()
    assert User.objects.filter(pk=person.pk).exists()
    answer = client.post(URL, good, follow=True)
    assert "Your account was deleted." in answer.content.decode()
    assert not User.objects.filter(pk=person.pk).exists()
    assert reasons(*work) == {reason}


def test_the_command_says_first_what_it_would_delete(
    batch: Batch, person: User, annotator: Membership, capsys: pytest.CaptureFixture[str]
) -> None:
    rate(annotator)
    factories.make_user("zoe")
    call_command("erase_account", person.username, "--dry-run")
    shown = capsys.readouterr().out
    assert annotator.pseudonym in shown
    assert "is erased: False" in shown
    assert User.objects.filter(pk=person.pk).exists()
    call_command("erase_account", person.username, "--remove-work", "--json")
    shown = capsys.readouterr().out
    assert '"n_hits": 1' in shown
    assert '"is_erased": true' in shown
    assert not Judgment.objects.filter(annotator=annotator, is_counted=True).exists()
    with pytest.raises(CommandError, match="No user"):
        call_command("erase_account", person.username)
    assert User.objects.filter(username="zoe").exists()


def test_the_command_refuses_an_only_owner_at_once(owner: Membership, project: Project) -> None:
    assert owner.user
    with pytest.raises(CommandError, match=f"“{owner.user.username}” is the only owner of {project.name}"):
        call_command("erase_account", owner.user.username, "--dry-run")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_who_press_at_once_delete_it_once(batch: Batch, person: User, annotator: Membership) -> None:
    rate(annotator)
    came = []

    def press() -> None:
        try:
            came.append(erasing.erase(user=person, removes_work=True))
        except User.DoesNotExist:
            came.append(-1)
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == [-1, 1]
    assert Erasure.objects.count() == 1
    assert not Attempt.objects.exclude(draft={}).exists()
    sound()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_it_locks_assignments_with_messages_before_any_hit(batch: Batch, person: User, annotator: Membership) -> None:
    """Decisions lock in this order too; the other way round each would wait for the other."""
    rate(annotator)
    replied = Assignment.objects.get()
    Assignment.objects.filter(pk=replied.pk).update(reply="Why?")
    claim(annotator)
    held = Assignment.objects.open().get()
    with transaction.atomic():
        Assignment.objects.select_for_update().get(pk=replied.pk)
        finish = start_beside(lambda: erasing.erase(user=person, removes_work=False))
        Hit.objects.select_for_update(nowait=True).get(pk=held.hit_id)
    assert finish() == 0
    replied.refresh_from_db()
    assert replied.reply == ""


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays(owner: Membership, manager: Membership) -> None:
    Membership.objects.filter(pk=manager.pk).update(role=Membership.Role.OWNER)
    came = []

    def press(user: User) -> None:
        try:
            came.append(erasing.erase(user=user, removes_work=False))
        except Refused:
            came.append(-1)
        finally:
            connection.close()

    threads = [threading.Thread(target=press, args=[each.user]) for each in (owner, manager)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(came) == [-1, 0]
    assert owner.project.memberships.active().filter(role=Membership.Role.OWNER, user__isnull=False).count() == 1


def test_the_password_can_be_guessed_as_seldom_as_at_the_sign_in(
    person: User, client_of: SignIn, settings: Settings
) -> None:
    client = client_of(person)

    def delete(password: str) -> int:
        return client.post(URL, {"work": "keep", "password": password, "is_meant": "on"}).status_code

    assert [delete("wrong") for _ in range(settings.AXES_FAILURE_LIMIT)][:-1] == [422] * 9
    assert delete(PASSWORD) == 429
    assert User.objects.filter(pk=person.pk).exists()


def test_an_account_without_a_password_is_deleted_after_another_proof(person: User, client_of: SignIn) -> None:
    person.set_unusable_password()
    person.save()
    give_app(person)
    single_sign_on.link(user=person, uid="7", email="p@example.org")
    client = client_of(person)
    good = {"work": "keep", "is_meant": "on"}
    assert client.post(URL, good)["Location"] == "/account/confirm/?next=%2Faccount%2Fdelete%2F"
    assert client.post("/account/confirm/", {"code": show_code(), "next": URL})["Location"] == URL
    assert 'name="password"' not in client.get(URL).content.decode()
    assert client.post(URL, good).status_code == 302
    assert not User.objects.filter(pk=person.pk).exists()
    assert not Authenticator.objects.exists()
    assert not SocialAccount.objects.exists()
