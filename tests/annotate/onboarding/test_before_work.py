"""What comes before work: the consent, then the instructions, only where there is a HIT, and each once."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate import places
from annotate.models import Assignment, Batch, Grant
from annotate.onboarding import consent as onboarding_consent
from annotate.onboarding import instructions
from annotate.onboarding.consent import OldVersion
from annotate.work import serving, submitting
from annotate.work.serving import ConfirmFirst, NoWork
from projects.errors import Refused
from projects.models import (
    Consent,
    ConsentAcceptance,
    Instructions,
    InstructionsReading,
    LogEntry,
    Membership,
    Project,
    User,
)
from tests.annotate.open_batches import answered, assert_equation, open_batch
from tests.annotate.qualification.factories import make_test
from tests.annotate.submitted_work import rate
from tests.annotate.surveys.samples import make_survey
from tests.factories import make_batch, make_consent, make_corpus, make_instructions, make_membership, make_project
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def unread(project: Project, text: str = "Rate the whole answer.") -> Instructions:
    """A version that nobody has read yet."""
    return Instructions.objects.create(project=project, version=project.instructions.count() + 1, text=text)


def agree(annotator: Membership, consent: Consent) -> None:
    onboarding_consent.agree(annotator=annotator, version=consent.version)


def test_the_consent_comes_first_then_the_instructions_then_the_hit(project: Project, annotator: Membership) -> None:
    consent, version = make_consent(project), unread(project)
    batch = open_batch(project, consent=consent, instructions=version)
    first = serving.claim(annotator)
    assert isinstance(first, ConfirmFirst)
    assert (first.batch_id, first.lacks_consent) == (batch.pk, True)
    agree(annotator, consent)
    second = serving.claim(annotator)
    assert isinstance(second, ConfirmFirst)
    assert (second.lacks_consent, second.unread_version) == (False, version.version)
    assert not Assignment.objects.exists()
    assert_equation()
    assert instructions.confirm(annotator=annotator, instructions=version) is True
    assert isinstance(serving.claim(annotator), UUID)
    assert_equation()


def test_the_desk_names_the_consent_before_the_test_that_waits_for_it(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    make_test(project)
    open_batch(project)
    consent = make_consent(project)
    desk = reverse("annotate:project-desk", args=[project.slug])
    client, ask = client_of(annotator), "Please read the consent and agree first."
    page = client.get(desk).content.decode()
    assert (ask in page, "Pass the qualification test to start." in page) == (True, False)
    # Who may not take the test is told why, and not to agree.
    grant = Grant.objects.create(annotator=annotator, given_by=manager, kind=Grant.Kind.REVOKED, why="Poor.")
    page = client.get(desk).content.decode()
    assert (ask in page, "A project manager ended your qualification." in page) == (False, True)
    grant.delete()
    agree(annotator, consent)
    page = client.get(desk).content.decode()
    assert (ask in page, "Pass the qualification test to start." in page) == (False, True)


def test_a_newer_consent_hides_neither_work_nor_the_survey_after_it(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    consent = make_consent(project)
    make_test(project)  # that none of these HITs needs
    open_batch(project, n_hits=2, consent=consent, requires_qualification=False)
    agree(annotator, consent)
    make_survey(manager, moment="after")
    rate(annotator)
    make_consent(project, text="# Newer")
    desk = reverse("annotate:project-desk", args=[project.slug])
    client = client_of(annotator)
    page = client.get(desk).content.decode()
    assert "Work is available." in page
    assert "Please read the consent" not in page
    rate(annotator)
    assert "Answer the survey" in client.get(desk).content.decode()
    assert "/consent/" in client.get(reverse("annotate:survey", args=[project.slug, "after"]))["Location"]


def test_nobody_confirms_for_nothing(project: Project, annotator: Membership, other_annotator: Membership) -> None:
    """If the queue is empty for somebody, the page gives the reason and asks nothing."""
    consent = make_consent(project)
    agree(other_annotator, consent)
    open_batch(project, n_hits=1, consent=consent, instructions=unread(project))
    instructions.confirm(annotator=other_annotator, instructions=project.instructions.latest("version"))
    taken = serving.claim(other_annotator)
    assert isinstance(taken, UUID)
    found = serving.claim(annotator)
    assert isinstance(found, NoWork)
    assert not isinstance(found, ConfirmFirst)
    submitting.return_hit(annotator=other_annotator, assignment_uuid=taken, reason="")
    assert isinstance(serving.claim(annotator), ConfirmFirst)


def test_what_is_open_can_be_finished(project: Project, annotator: Membership) -> None:
    batch = open_batch(project)
    mine = serving.claim(annotator)
    Batch.objects.filter(pk=batch.pk).update(consent=make_consent(project), instructions=unread(project))
    assert serving.claim(annotator) == mine
    submitting.submit(annotator=annotator, assignment_uuid=mine, sent=answered())  # type: ignore[arg-type]
    assert isinstance(serving.claim(annotator), ConfirmFirst)


def test_a_newer_text_covers_an_older_one_and_not_the_other_way_round(project: Project, annotator: Membership) -> None:
    first = make_consent(project)
    agree(annotator, first)
    open_batch(project, n_hits=1, consent=first)
    newer = make_consent(project)
    open_batch(project, n_hits=1, consent=newer, priority=1)
    found = serving.claim(annotator)
    assert isinstance(found, ConfirmFirst)
    agree(annotator, newer)
    for _ in range(2):
        work = serving.claim(annotator)
        assert isinstance(work, UUID)
        submitting.submit(annotator=annotator, assignment_uuid=work, sent=answered())


def test_the_instructions_of_each_batch_are_read_by_themselves(project: Project, annotator: Membership) -> None:
    """Another version is other words: having read a newer one says nothing of an older."""
    older, newer = unread(project), unread(project)
    instructions.confirm(annotator=annotator, instructions=newer)
    open_batch(project, instructions=older)
    found = serving.claim(annotator)
    assert isinstance(found, ConfirmFirst)
    assert found.unread_version == older.version


def test_agreeing_elsewhere_counts_for_nothing(project: Project, annotator: Membership) -> None:
    """Neither somebody else's agreement nor one's own in another project."""
    consent = make_consent(project)
    agree(make_membership(project), consent)
    away = make_membership(make_project(), annotator.user)
    agree(away, make_consent(away.project))
    open_batch(project, consent=consent)
    assert isinstance(serving.claim(annotator), ConfirmFirst)


def test_a_project_without_a_text_asks_for_none(project: Project, annotator: Membership) -> None:
    make_corpus(project)
    batch = make_batch(project)
    assert batch.consent is None
    assert isinstance(serving.claim(annotator), UUID)
    with pytest.raises(Refused, match="ask for consent"):
        onboarding_consent.agree(annotator=annotator, version=1)


def test_a_batch_pins_the_newest_text(project: Project) -> None:
    make_consent(project)
    newest = make_consent(project)
    make_corpus(project)
    assert make_batch(project).consent == newest


def test_a_batch_that_was_made_before_there_was_a_text_asks_for_it(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=2)
    claimed = serving.claim(annotator)
    assert isinstance(claimed, UUID)
    submitting.submit(annotator=annotator, assignment_uuid=claimed, sent=answered())
    make_consent(project)
    asked = serving.claim(annotator)
    assert isinstance(asked, ConfirmFirst)
    assert asked.lacks_consent
    onboarding_consent.agree(annotator=annotator, version=1)
    assert isinstance(serving.claim(annotator), UUID)


def test_an_older_version_that_is_asked_for_later_is_not_shown_as_a_change(
    project: Project, annotator: Membership
) -> None:
    newer = make_instructions(project, "# Newer")
    older = project.instructions.get(version=1)
    assert instructions.find_last_confirmed(annotator, newer) == older
    assert instructions.find_last_confirmed(annotator, older) is None


def test_the_gates_cost_no_query(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=3)

    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            found = serving.claim(annotator)
        assert isinstance(found, UUID)
        submitting.return_hit(annotator=annotator, assignment_uuid=found, reason="")
        return len(queries)

    n_queries()
    before = n_queries()
    consent, version = make_consent(project), unread(project)
    Batch.objects.update(consent=consent, instructions=version)
    agree(annotator, consent)
    instructions.confirm(annotator=annotator, instructions=version)
    assert n_queries() == before


def test_agreeing_is_stored_once_with_its_time(project: Project, annotator: Membership) -> None:
    consent = make_consent(project)
    assert [onboarding_consent.agree(annotator=annotator, version=1) for _ in range(2)] == [True, False]
    row = ConsentAcceptance.objects.get()
    assert (row.membership, row.consent, row.withdrawn_at) == (annotator, consent, None)
    assert row.accepted_at is not None
    assert LogEntry.objects.get(act="agree to consent").actor == annotator


def test_an_old_version_cannot_be_agreed_to(project: Project, annotator: Membership) -> None:
    make_consent(project)
    make_consent(project)
    for version in (0, 1, 3):
        with pytest.raises(OldVersion):
            onboarding_consent.agree(annotator=annotator, version=version)
    assert not ConsentAcceptance.objects.exists()


# --- the pages


def start(client: Client) -> str:
    """Where the button of the desk leads."""
    response = client.post("/p/bridges/work/")
    assert response.status_code == 303
    return str(response["Location"])


def test_a_newcomer_is_led_from_page_to_page(project: Project, annotator: Membership, client_of: SignIn) -> None:
    make_consent(project, "You may stop *at any time*.")
    version = unread(project, "Rate with **care**.")
    batch = open_batch(project, consent=project.consents.get(), instructions=version)
    client = client_of(annotator)
    consent_url = start(client)
    assert consent_url == "/p/bridges/consent/?next=work"
    page = client.get(consent_url).content.decode()
    assert "You may stop <em>at any time</em>." in page
    assert 'name="next" value="work"' in page
    onward = client.post("/p/bridges/consent/", {"act": "agree", "version": "1", "next": "work"})
    read_url = f"/p/bridges/instructions/2/read/?next=work&batch={batch.number}"
    assert (onward.status_code, onward["Location"]) == (303, read_url)
    page = client.get(onward["Location"]).content.decode()
    assert "Rate with <strong>care</strong>." in page
    assert "I've read this" in page
    hit = client.post("/p/bridges/instructions/2/read/", {"next": "work"})
    assert hit["Location"] == f"/p/bridges/work/{Assignment.objects.get().uuid}/"


def test_declining_leads_to_the_desk_with_the_reason(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project, consent=make_consent(project))
    client = client_of(annotator)
    answer = client.post("/p/bridges/consent/", {"act": "decline", "version": "1", "next": "work"}, follow=True)
    assert answer.redirect_chain == [("/p/bridges/desk/", 302)]
    assert "t agree, so you can" in answer.content.decode()
    assert not ConsentAcceptance.objects.exists()
    assert start(client) == "/p/bridges/consent/?next=work"


@pytest.mark.parametrize("version", ["", "x", "-1", "1", "9" * 40, "²"])
def test_an_old_form_of_the_consent_shows_the_new_text(
    project: Project, annotator: Membership, client_of: SignIn, version: str
) -> None:
    make_consent(project, "The old words.")
    make_consent(project, "The new words.")
    answer = client_of(annotator).post("/p/bridges/consent/", {"act": "agree", "version": version})
    assert answer.status_code == 409
    assert "The new words." in answer.content.decode()
    assert 'name="version" value="2"' in answer.content.decode()
    assert not ConsentAcceptance.objects.exists()


def test_changed_instructions_say_what_has_changed(project: Project, annotator: Membership, client_of: SignIn) -> None:
    old = unread(project, "Rate the answer.\n\nStay calm.\n\nRead all of it.")
    instructions.confirm(annotator=annotator, instructions=old)
    new = unread(project, "Rate the answer.\n\nStay <b>very</b> calm.\n\nRead all of it.")
    open_batch(project, instructions=new)
    client = client_of(annotator)
    page = client.get(start(client)).content.decode()
    assert "The instructions have changed" in page
    assert "<del>Stay calm.</del>" in page
    assert "<ins>Stay &lt;b&gt;very&lt;/b&gt; calm.</ins>" in page
    assert "You've read version 2." in page


def test_a_version_posted_from_an_old_page_leads_to_the_one_that_is_asked(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    unread(project)
    asked = unread(project)
    batch = open_batch(project, instructions=asked)
    answer = client_of(annotator).post("/p/bridges/instructions/2/read/", {"next": "work"})
    assert answer["Location"] == f"/p/bridges/instructions/3/read/?next=work&batch={batch.number}"
    assert not Assignment.objects.exists()


def test_nobody_but_annotators_of_the_project_can_agree_or_confirm(
    project: Project, researcher: Membership, stranger: User, client_of: SignIn
) -> None:
    make_consent(project)
    for who, status, shut in ((researcher, 302, 403), (stranger, 404, 404)):
        client = client_of(who)
        assert client.post("/p/bridges/consent/", {"act": "agree", "version": "1"}).status_code == status
        assert client.post("/p/bridges/instructions/1/read/").status_code == shut
        assert client.post("/p/bridges/consent/withdraw/", {"work": "out", "is_meant": "on"}).status_code == status
    assert not ConsentAcceptance.objects.exists()
    assert client_of(make_membership(project)).post("/p/bridges/instructions/99/read/").status_code == 404


def test_an_address_to_go_on_to_is_never_taken_from_the_form(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    make_consent(project)
    answer = client_of(annotator).post(
        "/p/bridges/consent/", {"act": "agree", "version": "1", "next": "https://elsewhere.example/"}
    )
    assert answer["Location"] == "/p/bridges/desk/"


# --- at once


@pytest.mark.django_db(transaction=True)
@pytest.mark.xdist_group("races")
def test_two_tabs_agree_and_confirm_at_once(project: Project, annotator: Membership) -> None:
    consent, version = make_consent(project), unread(project)
    open_batch(project, n_hits=4, judgments=2, consent=consent, instructions=version)

    def work(_n: int) -> object:
        try:
            me = Membership.objects.select_related("project").get(pk=annotator.pk)
            onboarding_consent.agree(annotator=me, version=1)
            instructions.confirm(annotator=me, instructions=version)
            return serving.claim(me)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        found = set(pool.map(work, range(6)))
    assert len(found) == 1
    assert isinstance(found.pop(), UUID)
    assert (ConsentAcceptance.objects.count(), InstructionsReading.objects.filter(instructions=version).count()) == (
        1,
        1,
    )
    assert_equation()


@pytest.mark.django_db(transaction=True)
@pytest.mark.xdist_group("races")
def test_many_who_are_asked_first_leave_the_queue_as_it_was(project: Project) -> None:
    """Looking whether there is a HIT takes no place, however many look."""
    open_batch(project, n_hits=2, instructions=unread(project))
    people = [make_membership(project) for _ in range(6)]
    InstructionsReading.objects.filter(instructions=project.instructions.latest("version")).delete()

    def ask(person: Membership) -> object:
        try:
            return serving.claim(person)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, people))
    assert all(isinstance(each, ConfirmFirst) for each in found)
    assert not Assignment.objects.exists()
    assert_equation()
    assert places.sweep() == 0
