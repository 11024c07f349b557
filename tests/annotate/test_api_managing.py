"""People, qualification, plans and pay by the API: the acts of the pages, under pseudonyms."""

import uuid

import pytest
from django.urls import reverse

from annotate.models import Grant, Judgment, LedgerEntry, OverlapPlan
from annotate.payments import paying
from projects.models import Invitation, LogEntry, Membership, Project, Rubric
from projects.people import invitations
from tests.annotate.open_batches import open_batch
from tests.annotate.payments.paid_work import earn
from tests.annotate.qualification.factories import make_test
from tests.annotate.submitted_work import rate
from tests.factories import make_corpus, make_instructions, make_membership, make_project, make_rubric
from tests.projects.api.client import Script, wrong_fields

pytestmark = pytest.mark.django_db

JSON = "application/json"


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


def test_a_role_is_changed_within_ones_own_rights(script: Script, annotator: Membership, owner: Membership) -> None:
    path = f"{script.root}people/{annotator.pseudonym}/"
    changed = script.patch(path, {"role": "researcher", "is_annotator": False}, content_type=JSON)
    assert (changed.status_code, changed.json()["role"], changed.json()["is_annotator"]) == (200, "researcher", False)
    assert script.get(path).json() == changed.json()
    refused = script.patch(path, {"role": "manager", "is_annotator": True}, content_type=JSON)
    assert (refused.status_code, "above your own" in refused.json()["detail"]) == (409, True)
    annotator.refresh_from_db()
    assert (annotator.role, annotator.is_annotator) == ("researcher", False), "Nothing of it is done."
    assert (
        script.patch(f"{script.root}people/{owner.pseudonym}/", {"role": "annotator"}, content_type=JSON).status_code
        == 409
    )
    assert wrong_fields(script.patch(path, {"standing": "removed"}, content_type=JSON)) == {"standing"}
    stranger = make_membership(make_project("elsewhere"))
    assert script.get(f"{script.root}people/{stranger.pseudonym}/").status_code == 404


def test_a_person_is_warned_suspended_removed_as_previewed_and_restored(
    data: Project, script: Script, annotator: Membership
) -> None:
    open_batch(data, n_hits=1, n_items=3)
    rate(annotator)
    person = f"people/{annotator.pseudonym}/"
    text = {"text": "Read the passage first."}
    assert [script.send(f"{person}messages/", text).status_code for _ in range(2)] == [201, 409]
    act = {"act": "suspend", "why": "Too fast"}
    assert script.send(f"{person}standing/", act).json()["standing"] == "suspended"
    assert script.send(f"{person}standing/", act).status_code == 409
    plan = script.read(f"{person}removal/", scope="all")
    assert (plan["n_assignments"], plan["closed_batches"]) == (1, [])
    assert script.read(f"{person}removal/")["n_assignments"] == 0
    removal = {"scope": "all", "why": "At random", "n_assignments": 2}
    assert script.send(f"{person}removal/", removal).status_code == 409
    annotator.refresh_from_db()
    assert annotator.standing == "suspended", "More than was previewed: nothing is done."
    assert wrong_fields(script.send(f"{person}removal/", {**removal, "scope": "batch"})) == {"batch"}
    assert script.send(f"{person}removal/", {**removal, "n_assignments": 1}).json() == plan
    assert Judgment.objects.filter(is_counted=True).count() == 0
    restored = script.send(f"{person}standing/", {"act": "restore", "why": "By mistake"})
    assert restored.json()["standing"] == "active"
    assert Judgment.objects.filter(is_counted=True).count() == plan["n_judgments"]


def test_a_batch_is_limited_enlarged_as_previewed_and_deleted_as_a_draft(data: Project, script: Script) -> None:
    made = script.send("batches/", {"judgments": 2}).json()
    path = f"{script.root}batches/1/"
    changed = script.patch(path, {"max_hits_per_day": 5, "is_pay_prorated": True}, content_type=JSON).json()
    assert changed == {**made, "max_hits_per_day": 5, "is_pay_prorated": True}
    changed = script.patch(path, {"max_share": 0.5}, content_type=JSON).json()
    assert (changed["max_hits_per_day"], changed["max_share"]) == (5, 0.5), "What is omitted stays."
    planned = script.read("batches/1/judgments/", judgments=3)
    assert planned["n_added"] == planned["n_hits"] == made["progress"]["n_hits"]
    assert script.read("batches/1/judgments/", judgments=3, hits="1")["n_added"] == 1
    assert script.send("batches/1/judgments/", {"judgments": 3, "n_added": 99}).status_code == 409
    expected = {"judgments": 3, "n_added": planned["n_added"]}
    assert script.send("batches/1/judgments/", expected).json() == {"n_added": planned["n_added"], "n_removed": 0}
    assert script.read("batches/1/")["judgments"] == 3
    make_instructions(data)
    assert script.send("batches/1/state/", {"act": "use latest texts"}).status_code == 200
    script.send("batches/", {"judgments": 1})
    assert script.send("batches/2/state/", {"act": "open"}).status_code == 200
    assert script.delete(f"{script.root}batches/2/").status_code == 409
    assert script.delete(path).status_code == 204
    assert [batch.number for batch in data.batches.all()] == [2]


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
    settings = {"pass_share": 0.5, "n_items": 2, "time_limit_minutes": None}
    changed = script.patch(f"{script.root}qualification/", settings, content_type=JSON).json()
    assert {name: changed[name] for name in settings} == settings
    for wrong in ({"n_items": 0}, {"pass_share": True}, {"pass_share": "nan"}, {"pass_share": "0.5"}):
        assert wrong_fields(script.patch(f"{script.root}qualification/", wrong, content_type=JSON)) == set(wrong)
    assert script.send("qualification/state/", {"act": "open"}).json()["state"] == "open"
    assert script.read("qualification/attempts/") == {"count": 0, "next": None, "previous": None, "results": []}
    assert script.send("qualification/state/", {"act": "use latest rubric"}).status_code == 409
    first = f"{script.root}qualification/items/{added.json()['ids'][0]}/"
    assert script.delete(first).json()["detail"].startswith("The open test needs this item")
    script.send("qualification/state/", {"act": "close"})
    edited = script.put(first, {**item, "explanation": "It was Ann."}, content_type=JSON).json()
    assert (edited["id"], edited["explanation"]) == (added.json()["ids"][0], "It was Ann.")
    assert script.delete(first).json()["retired_at"] is not None
    assert script.get(first.replace(str(edited["id"]), str(edited["id"] + 99))).status_code == 404


@pytest.mark.parametrize("key", ["x\0", "x\ud800", "clarity", ""])
def test_an_item_names_criteria_of_its_test_only(data: Project, script: Script, key: str) -> None:
    make_test(data)
    item = {"question": "Who?", "answer": "Ann", "expected": {"correctness": [4, 5]}}
    wrong = {**item, "answer": "Bob", "expected": {"correctness": [4, 5], key: [1, 2]}}
    refused = script.send("qualification/items/", {"items": [item, wrong]})
    assert refused.status_code == 409, refused.content
    assert "which is no criterion of the test" in refused.json()["detail"]
    n_items = script.read("qualification/items/")["count"]
    added = script.send("qualification/items/", {"items": [item]}).json()["ids"][0]
    refused = script.put(f"{script.root}qualification/items/{added}/", wrong, content_type=JSON)
    assert refused.status_code == 409, refused.content
    listed = script.read("qualification/items/")
    assert listed["count"] == n_items + 1
    assert all(each["expected"].keys() == {"correctness"} for each in listed["results"])


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
    LedgerEntry.objects.create(
        project=data, annotator=annotator, kind="qualification", cents=40, key="test:of this test"
    )
    assert script.read("balances/")["waiting"] == {"n_entries": 1, "cents": 40}
    assert script.send("payments/approve/", {"cents": 30}).status_code == 409, "The sum has changed since."
    assert script.read("balances/")["waiting"]["cents"] == 40
    assert script.send("payments/approve/", {"cents": 40}).json() == {"n_entries": 1, "cents": 40}
    debt = {**bonus, "kind": "adjustment", "cents": -900, "key": str(uuid.uuid4())}
    assert script.send("ledger/", debt).status_code == 409
    assert script.send("payments/", {"cents": 500}).status_code == 409, "The sum has changed since."
    paid = script.send("payments/", {"cents": 590, "note": "May"})
    assert paid.status_code == 201, paid.content
    assert paid.json()["lines"] == [
        {"annotator": annotator.pseudonym, "kind": "person", "n_hits": 0, "n_rejected_unpaid": 0, "cents": 590}
    ]
    assert annotator.user is not None
    assert annotator.user.username not in paid.content.decode()
    assert script.send("payments/", {"cents": 590}).status_code == 409
    assert script.read("payments/1/")["cents"] == 590
    assert script.read("ledger/", state="paid")["count"] == 3
    assert paying.sum_unpaid(annotator) == 0
