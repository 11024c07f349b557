"""The pages of pay: managers give, approve, pay and take the file; annotators see their own, researchers nothing."""

import csv
import io
from collections.abc import Callable
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse
from openpyxl import load_workbook

from annotate.models import Assignment, LedgerEntry, Payment
from annotate.payments import ledger, paying
from projects.models import LogEntry, Membership, Project, User
from tests.annotate.payments.paid_work import earn, paid_batch, submitted
from tests.annotate.submitted_work import make_reserved, send
from tests.factories import make_membership
from tests.page_reader import Screen, condense, list_links, read
from tests.people import SignIn
from tests.previews import confirm, find_seal

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(manager: Membership, client_of: SignIn) -> Client:
    return client_of(manager)


def url(project: Project, name: str, *arguments: object) -> str:
    return reverse(f"annotate:{name}", args=[project.slug, *arguments])


def see(client: Client, address: str) -> Screen:
    response = client.get(address)
    assert response.status_code == 200
    return read(response.content.decode())


def test_the_list_shows_balances_stages_and_what_is_due(
    project: Project, client: Client, annotator: Membership, other_annotator: Membership
) -> None:
    batch = paid_batch(project)
    work = submitted(annotator, batch, 1, seconds=720)
    submitted(annotator, batch, 2, seconds=720)
    submitted(other_annotator, batch, 3, seconds=5)
    paying.approve_entries(assignment_ids=[work.pk])
    page = see(client, url(project, "payment-list"))
    assert {name: page.facts[name].split()[0] for name in ("Awaiting approval", "Approved", "Paid", "Hourly rate")} == {
        "Awaiting approval": "$0.80",
        "Approved": "$0.40",
        "Paid": "$0.00",
        "Hourly rate": "$2.99",
    }
    assert f"{url(project, 'submitted-list')}?state=submitted" in list_links(
        client.get(url(project, "payment-list")).content.decode()
    )
    rows = {row["Annotator"]: row for row in page.rows("Annotators")}
    assert rows[annotator.pseudonym]["Total"] == "$0.80"
    assert rows[annotator.pseudonym]["Hourly rate"] == "$2.00"
    assert rows[other_annotator.pseudonym]["Hourly rate"] == "too little time"
    assert rows["Total"]["HITs"] == "3"
    assert [(row["Stage"], row["Total"]) for row in page.rows("Stages")] == [("Full collection", "$1.20")]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("sort=owed", "ab"),
        ("sort=-owed", "ba"),
        ("sort=-paid", "ab"),
        ("show=owed&sort=owed", "ab"),
        ("show=approved", "b"),
        ("show=debt", ""),
        ("standing=suspended", "b"),
        ("q=A-AAA", "a"),
        ("q=nobody", ""),
        ("sort=nonsense&show=nonsense&page=nonsense", "ab"),
    ],
)
def test_balances_are_sorted_and_filtered_by_the_address(
    project: Project, client: Client, query: str, order: str
) -> None:
    first = make_membership(project, pseudonym="a-aaa")
    second = make_membership(project, pseudonym="a-bbb", standing="suspended")
    earn(first, 10)
    earn(first, 0, is_approved=True)
    earn(second, 20)
    earn(second, 5, is_approved=True)
    page = see(client, f"{url(project, 'payment-list')}?{query}")
    names = [row["Annotator"] for row in page.rows("Annotators") if row["Annotator"] != "Total"]
    assert names == [{"a": "a-aaa", "b": "a-bbb"}[letter] for letter in order]


def test_pay_under_the_floor_is_shown(project: Project, client: Client, annotator: Membership) -> None:
    submitted(annotator, paid_batch(project), 1, seconds=1_000)
    address = url(project, "payment-list")
    assert b"per hour of active time" not in client.get(address).content
    Project.objects.update(hourly_floor_cents=145)
    assert "1 annotator earns less than $1.45" in condense(client.get(address).content.decode())
    shown = see(client, f"{address}?show=under").rows("Annotators")
    assert shown[0]["Annotator"] == annotator.pseudonym
    Project.objects.update(hourly_floor_cents=144)
    assert b"per hour of active time" not in client.get(address).content


def test_a_payment_is_made_once_and_its_file_is_logged(
    project: Project, client: Client, manager: Membership, annotator: Membership
) -> None:
    earn(annotator, 1_234, is_approved=True)
    page = client.get(url(project, "payment-list"))
    assert page.context is not None
    sent = {**page.context["form"].initial, "note": "June"}
    first = client.post(url(project, "payment-make"), sent)
    payment = Payment.objects.get()
    assert first.headers["Location"] == url(project, "payment-show", 1)
    again = client.post(url(project, "payment-make"), sent, follow=True)
    assert "Payment 1 of $12.34 was recorded in the meantime" in again.content.decode()
    assert Payment.objects.get() == payment
    address = url(project, "payment-file", 1)
    assert client.get(address).status_code == 405
    assert not LogEntry.objects.filter(act="download payment").exists()
    file = client.post(address)
    assert 'filename="bridges-payment-1.csv"' in file.headers["Content-Disposition"]
    assert file.headers["Cache-Control"] == "no-store"
    (row,) = csv.DictReader(io.StringIO(file.content.decode()))
    assert row["username"] == "anna"
    assert (row["cents"], row["amount"]) == ("1234", "12.34")
    assert LogEntry.objects.get(act="download payment").actor == manager
    shown = client.get(url(project, "payment-show", 1)).content.decode()
    assert "anna" not in shown
    assert shown.count(manager.pseudonym) == 2


def test_the_excel_file_of_a_payment_has_numbers_and_texts(
    project: Project, client: Client, manager: Membership, annotator: Membership
) -> None:
    """Spreadsheets take 12.34 in CSV for a date or a text where the decimal mark is a comma, and break umlauts."""
    User.objects.filter(memberships=annotator).update(first_name="=Jürg", last_name="+1\x0b")
    earn(annotator, 1_234, is_approved=True)
    paying.make_payment(project=project, actor=manager)
    file = client.post(url(project, "payment-file", 1), {"form": "xlsx"})
    assert 'filename="bridges-payment-1.xlsx"' in file.headers["Content-Disposition"]
    assert file.headers["Cache-Control"] == "no-store"
    head, row = load_workbook(io.BytesIO(file.content)).worksheets[0].iter_rows()
    cells = {title.value: cell for title, cell in zip(head, row, strict=True)}
    assert (cells["cents"].value, cells["amount"].value, cells["currency"].value) == (1234, 12.34, "USD")
    assert cells["amount"].number_format == "0.00"
    assert (cells["name"].value, cells["name"].data_type) == ("=Jürg +1", "s")
    assert b"<f>" not in ZipFile(io.BytesIO(file.content)).read("xl/worksheets/sheet1.xml")
    assert LogEntry.objects.get(act="download payment").actor == manager


def test_a_payment_form_that_came_incomplete_pays_nothing(
    project: Project, client: Client, annotator: Membership
) -> None:
    earn(annotator, 5, is_approved=True)
    address = url(project, "payment-make")
    assert "nothing was recorded" in client.post(address, {}, follow=True).content.decode()
    sent = {"seen_cents": "5", "seen_number": "0", "note": "x" * 501}
    assert client.post(address, sent).status_code == 422
    assert not Payment.objects.exists()


def test_a_double_click_gives_one_bonus(project: Project, client: Client, annotator: Membership) -> None:
    address = url(project, "ledger-show", annotator.pseudonym)
    page = client.get(address)
    assert page.context is not None
    sent = {"kind": "bonus", "cents": "150", "why": "Good remarks", "key": str(page.context["form"]["key"].value())}
    for facts in ("added to the ledger.", "was already in the ledger."):
        assert facts in client.post(address, sent, follow=True).content.decode()
    assert LedgerEntry.objects.get().cents == 150


def test_a_debt_is_asked_about_and_then_taken(project: Project, client: Client, annotator: Membership) -> None:
    address = url(project, "ledger-show", annotator.pseudonym)
    sent = {"kind": "adjustment", "cents": "-5", "why": "A wrong bonus", "key": str(uuid4())}
    asked = client.post(address, sent)
    assert asked.status_code == 422
    assert "This would leave -$0.05" in asked.content.decode()
    assert 'type="checkbox" name="allow_debt"' in asked.content.decode()
    assert not LedgerEntry.objects.exists()
    allowed = {**sent, "allow_debt": "on", "shown": find_seal(asked.content.decode())}
    assert client.post(address, {**allowed, "cents": "-6"}).status_code == 422
    assert client.post(address, allowed).status_code == 302
    assert LedgerEntry.objects.get().cents == -5
    earn(make_membership(project), 0, is_approved=True)
    in_debt = see(client, f"{url(project, 'payment-list')}?show=debt").rows("Annotators")
    assert [row["Annotator"] for row in in_debt] == [annotator.pseudonym, "Total"]


def test_a_debt_is_asked_about_again_if_another_deduction_comes_first(
    project: Project, client: Client, annotator: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = url(project, "ledger-show", annotator.pseudonym)
    sent = {"kind": "adjustment", "cents": "-5", "why": "A wrong bonus", "key": str(uuid4())}
    seal = find_seal(client.post(address, sent).content.decode())
    lock = paying._lock_members

    def wait_for_another_deduction(*members: Membership) -> None:
        LedgerEntry.objects.create(project=project, annotator=annotator, kind="adjustment", cents=-3, key="other")
        lock(*members)

    with monkeypatch.context() as patched:
        patched.setattr(paying, "_lock_members", wait_for_another_deduction)
        # The deduction is rolled back with the refusal, which here stands for one that another request has committed.
        asked = client.post(address, {**sent, "allow_debt": "on", "shown": seal})
    assert asked.status_code == 422
    assert "has -$0.03 unpaid. This would leave -$0.08" in asked.content.decode()
    assert not LedgerEntry.objects.exists()
    LedgerEntry.objects.create(project=project, annotator=annotator, kind="adjustment", cents=-3, key="other")
    allowed = {**sent, "allow_debt": "on", "shown": find_seal(asked.content.decode())}
    assert client.post(address, allowed).status_code == 302
    assert paying.sum_unpaid(annotator) == -8


@pytest.mark.parametrize(
    "over",
    [
        {"cents": ""},
        {"cents": "1.5"},
        {"cents": "99999999"},
        {"why": " "},
        {"key": "x"},
        {"key": ""},
        {"kind": "hit"},
        {"cents": "-1"},
        {"kind": "adjustment", "cents": "0"},
    ],
)
def test_a_wrong_entry_is_shown_again(
    project: Project, client: Client, annotator: Membership, over: dict[str, str]
) -> None:
    sent = {"kind": "bonus", "cents": "5", "why": "Yes", "key": str(uuid4()), **over}
    response = client.post(url(project, "ledger-show", annotator.pseudonym), sent)
    assert response.status_code == 422
    assert "errorlist" in response.content.decode()
    assert response.context is not None
    assert response.context["form"]["key"].value() not in ("", "x")
    assert not LedgerEntry.objects.exists()


def test_what_waits_is_approved_by_a_button(project: Project, client: Client, annotator: Membership) -> None:
    earn(annotator, 25)
    address = url(project, "payment-approve")
    page = url(project, "payment-list")
    assert "1 entry approved, $0.25 in total." in confirm(client, page, at=address, follow=True).content.decode()
    assert "Nothing was awaiting approval any more." in client.post(address, follow=True).content.decode()
    assert ledger.sum_by_annotator([annotator])[annotator.pk].approved == 25


def test_annotators_see_their_own_and_nobody_elses(
    project: Project, client_of: SignIn, manager: Membership, annotator: Membership, other_annotator: Membership
) -> None:
    submitted(annotator, paid_batch(project))
    earn(other_annotator, 999)
    key: dict[str, Any] = {"actor": manager, "annotator": annotator, "kind": "bonus"}
    paying.add_entry(**key, cents=75, why="For remarks", key=uuid4())
    address = url(project, "earnings")
    page = see(client_of(annotator), address)
    assert page.facts["Awaiting approval"].startswith("$0.40")
    assert page.facts["Approved"].startswith("$0.75")
    assert [row["Amount"] for row in page.rows("Earnings")] == ["$0.75", "$0.40"]
    assert [row["Amount"] for row in see(client_of(annotator), f"{address}?state=approved").rows("Earnings")] == [
        "$0.75"
    ]
    content = client_of(annotator).get(address).content.decode()
    assert manager.pseudonym not in content
    assert other_annotator.pseudonym not in content
    assert see(client_of(other_annotator), address).facts["Awaiting approval"].startswith("$9.99")


def test_researchers_see_no_pay_and_no_tab(project: Project, client_of: SignIn, researcher: Membership) -> None:
    client = client_of(researcher)
    for name in ("payment-list", "payment-make", "payment-approve"):
        assert client.post(url(project, name)).status_code == 403
    assert b"Payments" not in client.get(project.get_absolute_url()).content


def test_lists_ask_as_few_queries_for_many_as_for_few(
    project: Project,
    client: Client,
    annotator: Membership,
    manager: Membership,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    batch = paid_batch(project, n_hits=20)
    for n in range(1, 21):
        submitted(annotator, batch, n)
        earn(make_membership(project), 5, is_approved=True)
        paying.make_payment(project=project, actor=manager)
    for name, arguments in (("payment-list", ()), ("ledger-show", (annotator.pseudonym,)), ("payment-show", (1,))):
        with django_assert_max_num_queries(16):
            assert client.get(url(project, name, *arguments)).status_code == 200


def test_pay_for_a_hit_of_controls_leads_to_its_assignment(
    project: Project, client: Client, annotator: Membership
) -> None:
    work = make_reserved(paid_batch(project), annotator)
    assert isinstance(work, Assignment)
    send(work)
    page = client.get(url(project, "ledger-show", annotator.pseudonym)).content.decode()
    assert f"Batch {work.hit.batch.number}, gold HIT" in condense(page)
    assert f'href="{url(project, "assignment-show", work.uuid)}"' in page
    assert "HIT 0" not in condense(page)
    assert "/hits/0/" not in page
