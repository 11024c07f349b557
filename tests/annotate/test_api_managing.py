"""People, qualification, plans and pay by the API: the acts of the pages, under pseudonyms."""

import uuid

import pytest
from django.urls import reverse

from annotate.models import Grant, OverlapPlan
from annotate.payments import paying
from projects.models import Invitation, LogEntry, Membership, Project, Rubric
from projects.people import invitations
from tests.annotate.payments.paid_work import earn
from tests.annotate.qualification.factories import make_test
from tests.factories import make_corpus, make_instructions, make_membership, make_project, make_rubric
from tests.projects.api.client import Script, wrong_fields

pytestmark = pytest.mark.django_db


@pytest.fixture
def script(manager: Membership) -> Script:
    return Script(manager, can_write=True)


@pytest.fixture
def data(project: Project) -> Project:
    make_corpus(project, n_passages=3, n_candidates=4, name="main")
    make_rubric(project)
    make_instructions(project)
    return project


def test_people_are_listed_without_their_names(script: Script, annotator: Membership, researcher: Membership) -> None:
    assert annotator.user
    annotator.user.first_name = "Anna"
    annotator.user.save()
    answer = script.get(f"{script.root}people/", {"role": "annotator"})
    assert [row["pseudonym"] for row in answer.json()["results"]] == [annotator.pseudonym]
    assert "Anna" not in answer.content.decode()
    assert annotator.user.username not in answer.content.decode()
    assert script.read("people/", pseudonym=researcher.pseudonym)["count"] == 1
    assert Script(researcher).get(f"{script.root}people/").status_code == 403


def test_the_link_of_an_invitation_is_in_the_creating_answer_alone(script: Script, manager: Membership) -> None:
    sent = {"role": "annotator", "max_uses": 20, "note": "pilot"}
    answer = script.send("invitations/", sent)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    token = made["link"].rstrip("/").rpartition("/")[2]
    found = invitations.find_invitation(token)
    assert found == Invitation.objects.get()
    assert made["link"].endswith(reverse("projects:join", args=[token]))
    assert (found.max_uses, found.note, found.created_by) == (20, "pilot", manager)
    listed = script.get(f"{script.root}invitations/")
    assert token not in listed.content.decode()
    assert found.token_sha256 not in listed.content.decode()
    assert listed.json()["results"][0]["state"] == "active"
    assert script.send(f"invitations/{found.pk}/revoke/", {}).json()["state"] == "revoked"
    assert not invitations.is_usable(found)
    assert list(LogEntry.objects.filter(object_type="invitation").values_list("actor", flat=True)) == [manager.pk] * 2
    refused = script.send("invitations/", {"role": "manager"})
    assert (refused.status_code, refused.json()["detail"]) == (409, "You can't invite people to this role.")
    assert wrong_fields(script.send("invitations/", {"role": "owner"})) == {"role"}


def test_a_plan_is_created_priced_changed_and_started_once(data: Project, script: Script) -> None:
    rules = [{"kind": "*", "split": "*", "judgments": 2}]
    answer = script.send("plans/", {"name": "Main", "rules": rules})
    assert answer.status_code == 201, answer.content
    assert answer["Location"] == f"{script.root}plans/1/"
    assert (answer.json()["missing"]["n_judgments"], answer.json()["missing"]["n_batches"]) == (24, 1)
    rules[0]["judgments"] = 1
    path = f"{script.root}plans/1/"
    changed = script.put(path, {"name": "Main", "rules": rules}, content_type="application/json").json()
    assert (changed["rules"], changed["missing"]["n_judgments"]) == (rules, 12)
    assert script.send("plans/1/start/", {}).json() == {"batches": [1], "n_places": 0}
    assert script.send("plans/1/start/", {}).json() == {"batches": [], "n_places": 0}
    read = script.read("plans/1/")
    assert (read["batches"], read["missing"]["n_judgments"]) == ([1], 0)
    assert script.read("batches/1/")["state"] == "draft"
    assert script.read("plans/")["count"] == 1
    assert script.send("plans/", {"name": "None", "rules": [{**rules[0], "judgments": 0}]}).status_code == 409
    assert wrong_fields(script.send("plans/", {"name": "x", "rules": [{"kind": "*"}]})) == {
        "rules.0.split",
        "rules.0.judgments",
    }
    assert OverlapPlan.objects.count() == 1


def test_a_plan_without_a_rubric_says_why_it_has_no_figures(project: Project, script: Script) -> None:
    Rubric.objects.filter(project=project).delete()
    made = script.send("plans/", {"name": "Early", "rules": [{"kind": "*", "split": "*", "judgments": 2}]}).json()
    assert made["missing"] is None
    assert "no rubric" in made["refusal"]


def test_the_qualification_test_is_created_filled_and_opened(data: Project, script: Script) -> None:
    assert script.get(f"{script.root}qualification/").status_code == 404
    assert script.send("qualification/", {}).json()["why_not_open"] == ["The test has no items yet."]
    item = {"question": "Who?", "answer": "Ann", "passage": "Ann came.", "expected": {"correctness": [4, 5]}}
    wrong = script.send("qualification/items/", {"items": [{**item, "expected": {}}]})
    assert wrong.status_code == 409
    added = script.send("qualification/items/", {"items": [item, {**item, "answer": "Bob"}]})
    assert added.status_code == 201, added.content
    assert script.read("qualification/items/")["count"] == 2
    assert script.send("qualification/state/", {"act": "open"}).json()["state"] == "open"
    assert script.read("qualification/attempts/") == {"count": 0, "next": None, "previous": None, "results": []}


def test_a_qualification_is_granted_and_revoked(data: Project, script: Script, annotator: Membership) -> None:
    make_test(data)
    decision = {"annotator": annotator.pseudonym, "kind": "granted", "why": "Pilot"}
    assert script.send("qualification/decisions/", decision).status_code == 201
    assert script.read("qualification/")["n_qualified"] == 1
    assert script.send("qualification/decisions/", {**decision, "kind": "revoked"}).json()["kind"] == "revoked"
    assert script.read("qualification/")["n_qualified"] == 0
    stranger = make_membership(make_project("elsewhere"))
    assert script.send("qualification/decisions/", {**decision, "annotator": stranger.pseudonym}).status_code == 404
    assert script.read("qualification/decisions/", annotator=annotator.pseudonym)["count"] == Grant.objects.count() == 2


def test_pay_is_added_once_and_paid_as_it_was_seen(data: Project, script: Script, annotator: Membership) -> None:
    earn(annotator, 500, is_approved=True)
    bonus = {"annotator": annotator.pseudonym, "kind": "bonus", "cents": 50, "why": "Care", "key": str(uuid.uuid4())}
    assert [script.send("ledger/", bonus).status_code for _ in range(2)] == [201, 200]
    balances = script.read("balances/")
    assert (balances["count"], balances["due"]) == (1, {"cents": 550, "n_annotators": 1})
    debt = {**bonus, "kind": "adjustment", "cents": -900, "key": str(uuid.uuid4())}
    assert script.send("ledger/", debt).status_code == 409
    assert script.send("payments/", {"cents": 500}).status_code == 409, "The sum has changed since."
    paid = script.send("payments/", {"cents": 550, "note": "May"})
    assert paid.status_code == 201, paid.content
    assert paid.json()["lines"] == [{"annotator": annotator.pseudonym, "kind": "person", "n_hits": 0, "cents": 550}]
    assert annotator.user is not None
    assert annotator.user.username not in paid.content.decode()
    assert script.send("payments/", {"cents": 550}).status_code == 409
    assert script.read("payments/1/")["cents"] == 550
    assert script.read("ledger/", state="paid")["count"] == 2
    assert paying.sum_unpaid(annotator) == 0
