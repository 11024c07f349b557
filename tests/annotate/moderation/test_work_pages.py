"""The pages of submitted work: the list, a decision on many, one assignment, and the annotator's answer."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from annotate.data import withdrawing
from annotate.models import Assignment, Batch, Item
from annotate.moderation import decisions, members
from annotate.moderation.forms import DecisionForm
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.moderation.work_filter import WorkFilter
from projects.access import lock_actor
from projects.models import Candidate, Membership, Project, User
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import assert_sound, claim, make_reserved, rate, send
from tests.concurrency import start_beside
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.previews import confirm

pytestmark = pytest.mark.django_db
LIST = "/p/bridges/submitted/"


@pytest.fixture
def batch(project: Project) -> Batch:
    return open_batch(project, n_hits=4, judgments=1, cents_per_hit=40)


def body(response: Any) -> str:
    return condense(response.content.decode())


def test_the_list_filters_sorts_and_pages_by_url(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 3)
    rate(other_annotator)
    client = client_of(manager)

    def listed(**query: str) -> list[str]:
        return [row["Annotator"] for row in read(body(client.get(LIST, query))).rows("Submissions")]

    names = sorted([annotator.pseudonym] * 3 + [other_annotator.pseudonym])
    assert sorted(listed()) == names
    assert listed(sort="annotator") == names
    assert listed(sort="-annotator") == names[::-1]
    assert listed(annotator=other_annotator.pseudonym) == [other_annotator.pseudonym]
    assert listed(state="rejected") == listed(mark="surplus") == listed(batch="99999") == listed(answered="1") == []
    assert len(listed(batch=str(batch.number), state="submitted", mark="counted")) == 4
    assert client.get(LIST, {"state": "x", "batch": "x", "sort": "password", "page": "z"}).status_code == 200


def test_an_empty_project_says_so(project: Project, manager: Membership, client_of: SignIn) -> None:
    assert "No submissions yet" in body(client_of(manager).get(LIST))


def test_the_list_takes_few_queries(
    project: Project, manager: Membership, client_of: SignIn, django_assert_max_num_queries: Any
) -> None:
    from tests.factories import make_membership

    open_batch(project, n_hits=5, judgments=4)
    for _ in range(4):
        rate(make_membership(project), 5)
    client = client_of(manager)
    client.get(LIST)
    with django_assert_max_num_queries(15):
        page = client.get(LIST)
    assert page.content.count(b"<tr") > 20


def test_a_decision_leads_back_to_the_list_as_it_was_filtered(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work, _other = rate(annotator, 2)
    client, filters = client_of(manager), {"annotator": annotator.pseudonym, "state": "submitted", "mark": ""}
    filtered = f"{LIST}?annotator={annotator.pseudonym}&state=submitted"
    sent = {"act": "approve", **filters}
    assert client.get(f"{LIST}decide/", sent)["Location"] == filtered, "nothing is selected"
    wrong = {"act": "approve", "annotator": annotator.pseudonym, "state": "//evil.example", "batch": "x"}
    assert client.get(f"{LIST}decide/", wrong)["Location"] == f"{LIST}?annotator={annotator.pseudonym}"
    assert confirm(client, f"{LIST}decide/", {**sent, "work": [str(work.uuid)]})["Location"] == filtered


def test_the_ticked_are_approved_after_a_look(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    first, second = rate(annotator, 2)
    client, query = client_of(manager), {"act": "approve", "work": [str(first.uuid)]}
    screen = read(body(client.get(f"{LIST}decide/", query)))
    assert (screen.number("Judgments"), screen.facts["Pay"].split()[0]) == (3, "$0.40")
    assert "1 assignment approved." in body(confirm(client, f"{LIST}decide/", query, follow=True))
    assert [Assignment.objects.get(pk=each.pk).state for each in (first, second)] == ["approved", "submitted"]


def test_all_of_a_filter_are_rejected_and_what_came_in_later_is_not(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    early, late = rate(annotator, 2)
    Assignment.objects.filter(pk=late.pk).update(submitted_at=timezone.now() + timedelta(minutes=1))
    client = client_of(manager)
    query = {"act": "reject", "all": "1", "annotator": annotator.pseudonym, "until": timezone.now().isoformat()}
    screen = read(body(client.get(f"{LIST}decide/", query)))
    assert (screen.number("Judgments"), screen.number("Reassigned")) == (3, 1)
    assert client.post(f"{LIST}decide/", query).status_code == 422
    done = confirm(client, f"{LIST}decide/", query, follow=True, reason="All alike.")
    assert "1 assignment rejected, 1 reassigned." in body(done)
    assert [Assignment.objects.get(pk=each.pk).state for each in (early, late)] == ["rejected", "submitted"]
    assert_sound()


def test_a_decision_on_all_keeps_to_every_filter_of_the_list() -> None:
    sent = {
        "act": "reject",
        "batch": "3",
        "annotator": "a-pia",
        "state": "approved",
        "mark": "surplus",
        "answered": "on",
        "inactive": "on",
        "until": "2026-03-01T10:00:00+00:00",
    }
    until = datetime(2026, 3, 1, 10, tzinfo=UTC)
    chosen, whole = DecisionForm(sent), DecisionForm({**sent, "all": "1"})
    assert chosen.is_valid()
    assert whole.is_valid()
    assert chosen.work_filter(["x"]) == WorkFilter(uuids=("x",), until=until)
    assert whole.work_filter(["x"]) == WorkFilter(
        batch=3, annotator="a-pia", state="approved", mark="surplus", is_answered=True, only_absent=True, until=until
    )


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"act": "approve"},
        {"act": "explode", "all": "1"},
        {"act": "approve", "work": "nobody"},
        {"act": "approve", "all": "1", "until": "soon"},
    ],
)
def test_a_decision_on_nothing_leads_back(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn, query: dict[str, str]
) -> None:
    rate(annotator)
    client = client_of(manager)
    for send_it in (client.get, client.post):
        answer = send_it(f"{LIST}decide/", query, follow=True)
        assert "Select the assignments" in body(answer)
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_work_of_another_project_is_not_decided_on(
    project: Project, batch: Batch, annotator: Membership, client_of: SignIn
) -> None:
    from tests.factories import make_membership, make_project

    (work,) = rate(annotator)
    boss = make_membership(make_project("other"), role="manager")
    client_of(boss).post("/p/other/submitted/decide/", {"act": "approve", "work": [str(work.uuid)]})
    assert client_of(boss).get(f"/p/other/submitted/{work.uuid}/").status_code == 404
    work.refresh_from_db()
    assert work.state == "submitted"


def test_one_assignment_is_shown_with_all_comments(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work = send(claim(annotator), cannot={1: "No sense <i>"}, flags=frozenset({0}), comments={0: "Odd & old"})
    rows = read(body(client_of(manager).get(f"{LIST}{work.uuid}/"))).rows("Items")
    assert [row["Correctness"] for row in rows] == ["4", "–", "4"]
    assert "Odd & old" in rows[0]["Comments & flags"]
    assert "No sense <i>" in rows[1]["Comments & flags"]
    assert [row["Counted"].split()[0] for row in rows] == ["yes"] * 3
    shown = Item.objects.in_bulk(work.layout)
    for row, pk in zip(rows, work.layout, strict=True):
        assert shown[pk].candidate is not None
        assert shown[pk].candidate.text in row["Question and candidate"]  # type: ignore[union-attr]


def test_a_control_is_named_and_cannot_be_set_aside(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work = make_reserved(batch, annotator)
    assert isinstance(work, Assignment)
    send(work)
    client = client_of(manager)
    assert "control: known answer" in body(client.get(f"{LIST}{work.uuid}/"))
    answer = client.post(f"{LIST}{work.uuid}/items/0/", {"why": "Odd."}, follow=True)
    assert "so it never counts in results" in body(answer)


def test_a_hit_of_controls_is_not_called_counted(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    controls = make_reserved(batch, annotator)
    assert isinstance(controls, Assignment)
    send(controls)
    ordinary = send(claim(annotator))
    client = client_of(manager)

    def listed(**query: str) -> dict[str, str]:
        rows = read(body(client.get(LIST, query))).rows("Submissions")
        return {row["Batch and HIT"].split(", ")[1]: row["Counted"] for row in rows}

    assert listed() == {"gold HIT": "control HIT", str(ordinary.hit): "counted"}
    assert listed(mark="counted") == {str(ordinary.hit): "counted"}
    assert listed(mark="control") == {"gold HIT": "control HIT"}
    assert "control HIT" in body(client.get(f"{LIST}{controls.uuid}/"))
    # The filter goes with a decision on all in the list.
    confirm(client, f"{LIST}decide/", {"act": "approve", "all": "1", "mark": "control"})
    assert list(Assignment.objects.filter(state="approved")) == [controls]
    Assignment.objects.filter(pk=controls.pk).update(state="submitted", mark="surplus", holds_place=False)
    assert listed(mark="surplus") == {"gold HIT": "surplus, not counted"}


@pytest.mark.django_db(transaction=True)
def test_a_decision_on_several_is_in_the_log_of_each_and_in_no_other(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    """Of two by one manager, the second one waits for the first."""
    rate(annotator, 4)
    works = list(Assignment.objects.order_by("pk"))
    first, second = (WorkFilter(uuids=tuple(str(each.uuid) for each in half)) for half in (works[:2], works[2:]))

    def reject() -> None:
        decisions.reject(project=batch.project, actor=manager, chosen=second, reason="Too fast")

    with transaction.atomic():
        lock_actor(manager)
        finish = start_beside(reject)
        decisions.approve(project=batch.project, actor=manager, chosen=first)
    assert finish() is None
    pages = [body(client_of(manager).get(f"{LIST}{each.uuid}/")) for each in works]
    texts = ("approved this work, one of 2 decided together", "rejected this work, one of 2 decided together")
    assert [[text in page for text in texts] for page in pages] == [[True, False]] * 2 + [[False, True]] * 2


def test_a_decision_that_an_earlier_version_logged_is_not_called_none(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator, 2)
    undecided, decided = Assignment.objects.order_by("pk")
    Assignment.objects.filter(pk=decided.pk).update(decided_at=timezone.now(), decided_by=manager)
    pages = [body(client_of(manager).get(f"{LIST}{each.uuid}/")) for each in (undecided, decided)]
    assert ["No decisions yet." in page for page in pages] == [True, False]
    assert "Decided with others: see the audit log." in pages[1]


def test_one_assignment_is_rejected_answered_and_accepted_after_all(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    (work,) = rate(annotator)
    page, ours, theirs = f"{LIST}{work.uuid}/", client_of(manager), client_of(annotator)
    assert ours.post(f"{page}decide/", {"act": "reject", "reason": ""}).status_code == 422
    assert ours.post(f"{page}decide/", {"act": "explode"}).status_code in {200, 422}
    ours.post(f"{page}decide/", {"act": "reject", "reason": "All <alike>."})
    history = body(theirs.get("/p/bridges/history/"))
    assert "All &lt;alike&gt;." in history
    assert "Reply (once only)" in history
    answer = theirs.post(f"/p/bridges/history/{work.uuid}/reply/", {"text": "They are alike."}, follow=True)
    assert "Reply sent" in body(answer)
    assert "Reply (once only)" not in body(answer)
    again = theirs.post(f"/p/bridges/history/{work.uuid}/reply/", {"text": "And more."}, follow=True)
    assert "already replied" in body(again)
    assert "They are alike." in body(ours.get(page))
    assert len(read(body(ours.get(LIST, {"answered": "1"}))).rows("Submissions")) == 1
    done = ours.post(f"{page}decide/", {"act": "accept", "why": "Well explained."}, follow=True)
    assert "Accepted after all. It counts." in body(done)
    assert_sound()


def test_excluded_work_that_is_accepted_after_all_is_restored_from_its_page(
    batch: Batch, project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    (work,) = rate(annotator)
    page, client = f"{LIST}{work.uuid}/", client_of(manager)
    members.remove(target=annotator, actor=manager, why="Careless.", exclusion=Exclusion(scope=ExclusionScope.ALL))
    decisions.reject(project=project, actor=manager, chosen=WorkFilter(), reason="Poor.")
    members.restore(target=annotator, actor=manager, why="A mistake.")
    assert "Accept it first, then" in body(client.get(page))
    done = client.post(f"{page}decide/", {"act": "accept", "why": "Well explained."}, follow=True)
    assert "Accepted after all. It doesn’t count" in body(done)
    restore = f"/p/bridges/people/{annotator.pseudonym}/restore/"
    assert f'<a href="{restore}">Restore excluded work</a>' in body(done)
    answer = confirm(client, restore, why="A mistake.", with_work="on", follow=True)
    assert "1 assignment counts again; 0 are surplus." in body(answer)
    assert_sound()


def test_nobody_answers_for_somebody_else(
    batch: Batch, project: Project, annotator: Membership, other_annotator: Membership, client_of: SignIn
) -> None:
    (work,) = rate(annotator)
    decisions.reject(project=project, actor=None, chosen=WorkFilter(), reason="Poor.")
    url = f"/p/bridges/history/{work.uuid}/reply/"
    assert client_of(other_annotator).post(url, {"text": "Mine"}).status_code == 404
    work.refresh_from_db()
    assert work.reply == ""


def test_a_single_judgment_is_set_aside_on_the_page(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    (work,) = rate(annotator)
    page, client = f"{LIST}{work.uuid}/", client_of(manager)
    assert "Give a reason" in body(client.post(f"{page}items/1/", {}, follow=True))
    shown = body(client.post(f"{page}items/1/", {"why": "A slip."}, follow=True))
    assert [row["Counted"].split()[0] for row in read(shown).rows("Items")] == ["yes", "set", "yes"]
    assert "set aside a judgment in this work, item 2" in shown
    shown = body(client.post(f"{page}items/1/", {"why": "No slip.", "again": "1"}, follow=True))
    assert "The judgment counts again." in shown
    assert client.post(f"{page}items/3/", {"why": "x"}).status_code == 404
    assert_sound()


@pytest.mark.parametrize("path", ["", "decide/", "{uuid}/"])
def test_only_managers_see_submitted_work(
    batch: Batch, annotator: Membership, researcher: Membership, stranger: User, client_of: SignIn, path: str
) -> None:
    (work,) = rate(annotator)
    url = LIST + path.format(uuid=work.uuid)
    assert client_of(annotator).get(url).status_code == 403
    assert client_of(researcher).get(url).status_code == 403
    assert client_of(stranger).get(url).status_code == 404


def test_a_project_without_pay_shows_no_money(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    Project.objects.filter(pk=project.pk).update(cents_per_hit=0)
    open_batch(project, n_hits=2)
    (work,) = rate(annotator)
    client = client_of(manager)
    for url in (LIST, f"{LIST}{work.uuid}/", f"{LIST}decide/?act=reject&all=1", f"{LIST}decide/?act=approve&all=1"):
        page = body(client.get(url))
        assert "$" not in page
        assert "npaid" not in page


def test_work_of_people_who_are_no_longer_active_is_named_and_left_out_until_it_is_included(
    batch: Batch, annotator: Membership, other_annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    rate(annotator)
    rate(other_annotator, 2)
    Membership.objects.filter(pk=other_annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    client = client_of(manager)
    chosen = {"act": "approve", "all": "1"}
    page = body(client.get(f"{LIST}decide/", chosen))
    assert "Approve 1 assignment" in page
    assert "Left out, because their annotators are no longer active:" in page
    assert f'2 assignments of <a href="/p/bridges/people/{other_annotator.pseudonym}/">' in page
    assert confirm(client, f"{LIST}decide/", chosen).status_code == 302
    assert list(Assignment.objects.filter(state="approved").values_list("annotator", flat=True)) == [annotator.pk]
    page = body(client.get(f"{LIST}decide/", chosen))
    assert "Nothing else is left to approve." in page
    # On the page of one assignment its annotator's status is in sight.
    shown = Assignment.objects.filter(annotator=other_annotator).earliest("pk")
    client.post(f"{LIST}{shown.uuid}/decide/", {"act": "approve"})
    assert Assignment.objects.get(pk=shown.pk).state == "approved"
    page = body(client.get(f"{LIST}decide/", {**chosen, "absent": "1"}))
    assert "Approve 1 assignment" in page
    assert "Includes work of annotators who are no longer active:" in page
    assert confirm(client, f"{LIST}decide/", {**chosen, "absent": "1"}).status_code == 302
    assert Assignment.objects.filter(state="approved").count() == 3


def test_a_hit_whose_candidates_are_all_withdrawn_is_not_called_counted(
    batch: Batch, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    work, other = rate(annotator, 2)
    first, *rest = Candidate.objects.filter(items__hit=work.hit)
    withdrawing.withdraw_candidate(project=batch.project, actor=manager, candidate=first, why="Cut off.")
    client = client_of(manager)

    def listed(**query: str) -> dict[str, str]:
        rows = read(body(client.get(LIST, query))).rows("Submissions")
        return {row["Batch and HIT"].split(", ")[1]: row["Counted"] for row in rows}

    assert listed() == {str(work.hit): "counted", str(other.hit): "counted"}, "its other candidates count"
    for candidate in rest:
        withdrawing.withdraw_candidate(project=batch.project, actor=manager, candidate=candidate, why="Cut off.")
    withdrawn = "no, all candidates withdrawn"
    assert listed() == {str(work.hit): withdrawn, str(other.hit): "counted"}
    assert listed(mark="counted") == {str(other.hit): "counted"}
    assert listed(mark="emptied") == {str(work.hit): withdrawn}
    assert "all candidates withdrawn" in body(client.get(f"{LIST}{work.uuid}/"))
    assert "all candidates withdrawn" not in body(client.get(f"{LIST}{other.uuid}/"))
    assert_sound()
