"""No page that an annotator can open links to one that refuses them, also after they left or may no longer work."""

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotate import places
from annotate.models import Assignment, LedgerEntry
from annotate.onboarding import consent
from annotate.work import submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, open_batch
from tests.annotate.qualification.factories import make_test
from tests.factories import make_consent, make_instructions
from tests.page_reader import condense
from tests.people import SignIn
from tests.sized_projects import claim, submit

pytestmark = pytest.mark.django_db

START = "/p/bridges/work/"


def list_links(html: str) -> set[str]:
    """Return the addresses that a page leads to: its links, and where its forms are sent."""
    return set(re.findall(r'(?:href|action)="(/[^"#?]*)', html))


def read_all(client: Client) -> dict[str, str]:
    """Open every page that leads from the desk on, by links alone; each must open."""
    pages: dict[str, str] = {}
    waiting = ["/desk/"]
    while waiting:
        address = waiting.pop()
        answer = client.get(address)
        if answer.status_code == 405:  # a form is sent there
            continue
        assert answer.status_code in (200, 302), f"{address}: {answer.status_code}"
        if not answer.headers["Content-Type"].startswith("text/html"):  # a file
            continue
        pages[address] = html = condense(answer.content.decode())
        found = {each for each in list_links(html) if each.startswith(("/p/", "/desk/"))}
        waiting += [each for each in found if each not in pages and each not in waiting]
    return pages


@pytest.fixture
def busy(project: Project, annotator: Membership) -> Membership:
    """An annotator with something of everything: consent, practice, a test, pay, an expired HIT and an editable one."""
    text = make_consent(project)
    make_instructions(project)
    make_test(project)
    Project.objects.update(revision_minutes=60)
    annotator.refresh_from_db()
    consent.agree(annotator=annotator, version=text.version)
    open_batch(project, n_hits=6, cents_per_hit=40, requires_qualification=False)
    expired = claim(annotator)
    Assignment.objects.filter(uuid=expired).update(due_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        places.sweep(now=timezone.now())
    submit(annotator)
    claim(annotator)
    assert LedgerEntry.objects.exists()
    return annotator


@pytest.mark.parametrize("removes_work", [False, True])
def test_nobody_who_left_is_led_to_work(busy: Membership, client_of: SignIn, *, removes_work: bool) -> None:
    consent.withdraw(annotator=busy, removes_work=removes_work)
    pages = read_all(client_of(busy))
    assert "/p/bridges/history/" in pages
    for address, html in pages.items():
        links = list_links(html)
        led_to = {each for each in links if each.startswith(START) or "/revision/" in each or "/qualification/" in each}
        assert not led_to, address
        assert "Leave this study" not in html or "/consent/withdraw/" in address, address


@pytest.mark.parametrize(
    "over", [{"standing": "suspended"}, {"is_annotator": False, "role": "researcher"}, {"is_annotator": False}, {}]
)
def test_every_link_leads_somewhere(busy: Membership, client_of: SignIn, over: dict[str, object]) -> None:
    Membership.objects.filter(pk=busy.pk).update(**over)
    pages = read_all(client_of(busy))
    assert "/p/bridges/instructions/" in pages
    is_working = not over
    assert any(START in html for html in pages.values()) == is_working


def test_the_instructions_offer_a_start_only_if_there_is_a_hit(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    version = make_instructions(project)
    client = client_of(annotator)
    open_batch(project, n_hits=1, instructions=version)
    client.post(f"/p/bridges/instructions/{version.version}/read/")
    page = "/p/bridges/instructions/"
    assert "Start rating" in client.get(page).content.decode()
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=answered())
    html = client.get(page).content.decode()
    assert "Start rating" not in html
    assert "ve rated everything for now" in html


def test_leaving_is_apart_from_earnings(busy: Membership, client_of: SignIn) -> None:
    html = condense(client_of(busy).get("/desk/").content.decode())
    links = html[html.index('class="desk-links') :]
    links = links[: links.index("</p>")]
    assert "Earnings" in links
    assert "Leave this study" not in links
    assert html.index("Leave this study") > html.index("Your hourly rate")


def test_when_pay_is_approved_is_explained_once(busy: Membership, client_of: SignIn) -> None:
    submitting.return_hit(annotator=busy, assignment_uuid=Assignment.objects.open().get().uuid, reason="")
    for _ in range(3):
        submit(busy)
    html = condense(client_of(busy).get("/p/bridges/earned/").content.decode())
    assert html.count("awaiting approval</span>") == 4
    assert html.count("A manager reviews your HITs") == 1
    due = timezone.now() + timedelta(days=7)
    assert html.count(f"until {due:%-d %b %Y}") == 4
