import json
import uuid
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotate import places
from annotate.batches import judgments_wanted, lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.batches.creating import create_batch
from annotate.batches.progress import fetch_progress, find_stuck_places, measure_speed
from annotate.batches.terms import Terms
from annotate.controls.making import make_pool
from annotate.models import Assignment, Batch, BatchAnnotator, Hit, Item
from annotate.models.batch import count_wanted_assignments, find_batch_ids, find_batch_kinds
from annotate.work import serving, submitting
from projects.errors import Refused
from projects.models import Candidate, Instructions, InstructionsReading, LogEntry, Membership, Project
from tests.annotate.controls.controlled_batches import make_places
from tests.annotate.open_batches import answered, assert_equation
from tests.factories import make_batch, make_corpus, make_instructions, make_membership, make_project, make_rubric
from tests.people import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project, manager: Membership) -> Batch:
    make_corpus(project, n_passages=3, n_candidates=3)
    return create_batch(project=project, actor=manager, terms=Terms(judgments=2))


@pytest.fixture
def open_batch(batch: Batch) -> Batch:
    lifecycle.open_batch(batch=batch, actor=None)
    return batch


def claim(annotator: Membership) -> uuid.UUID:
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID), found
    return found


def rate(annotator: Membership) -> None:
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=answered())


def progress(batch: Batch) -> tuple[int, int, int, int]:
    found = fetch_progress([batch])[batch.pk]
    return found.n_wanted, found.n_open, found.n_held, found.n_done


def test_what_pages_read_of_all_batches_is_of_one_project(batch: Batch) -> None:
    other = make_project()
    make_corpus(other)
    theirs = make_batch(other, judgments=5)
    for project, own in ((batch.project, batch), (other, theirs)):
        assert find_batch_ids(project) == [own.pk]
        assert find_batch_kinds(project) == {("full", own.state)}
        assert count_wanted_assignments(project) == own.n_hits * own.judgments


def test_a_batch_that_is_deleted_meanwhile_is_refused_in_words(batch: Batch, manager: Membership) -> None:
    lifecycle.delete_draft(batch=Batch.objects.get(pk=batch.pk), actor=manager)
    with pytest.raises(Refused, match="has been deleted"):
        lifecycle.open_batch(batch=batch, actor=manager)


def test_a_draft_is_opened_paused_closed_reopened_and_archived(batch: Batch, manager: Membership) -> None:
    for act, state in (
        (lifecycle.open_batch, "open"),
        (lifecycle.pause, "paused"),
        (lifecycle.open_batch, "open"),
        (lifecycle.close, "closed"),
    ):
        act(batch=batch, actor=manager)
        batch.refresh_from_db()
        assert batch.state == state
    lifecycle.reopen(batch=batch, actor=manager, why="Two more people came.")
    lifecycle.close(batch=batch, actor=manager)
    lifecycle.archive(batch=batch, actor=manager)
    batch.refresh_from_db()
    assert batch.state == Batch.State.ARCHIVED
    explanations = [
        (entry.act, (entry.before or {})["state"], (entry.after or {})["state"])
        for entry in reversed(LogEntry.objects.all()[:7])
    ]
    assert explanations == [
        ("open batch", "draft", "open"),
        ("pause batch", "open", "paused"),
        ("open batch", "paused", "open"),
        ("close batch", "open", "closed"),
        ("reopen batch", "closed", "open"),
        ("close batch", "open", "closed"),
        ("archive batch", "closed", "archived"),
    ]
    assert LogEntry.objects.get(act="reopen batch").why == "Two more people came."


@pytest.mark.parametrize(
    ("state", "act", "sentence"),
    [
        ("draft", "pause", "This batch is draft, so it can’t be paused."),
        ("draft", "close", "can’t be closed"),
        ("draft", "archive", "can’t be archived"),
        ("open", "open_batch", "This batch is open, so it can’t be opened."),
        ("open", "archive", "can’t be archived"),
        ("paused", "pause", "can’t be paused"),
        ("closed", "open_batch", "can’t be opened"),
        ("archived", "close", "can’t be closed"),
        ("archived", "open_batch", "can’t be opened"),
    ],
)
def test_other_moves_are_refused(batch: Batch, state: str, act: str, sentence: str) -> None:
    Batch.objects.filter(pk=batch.pk).update(state=state)
    batch.refresh_from_db()
    n_lines = LogEntry.objects.count()
    with pytest.raises(Refused, match=sentence):
        getattr(lifecycle, act)(batch=batch, actor=None)
    batch.refresh_from_db()
    assert (batch.state, LogEntry.objects.count()) == (state, n_lines)


def test_of_two_who_press_at_once_the_second_is_refused(open_batch: Batch) -> None:
    other = Batch.objects.get(pk=open_batch.pk)
    lifecycle.close(batch=other, actor=None)
    with pytest.raises(Refused, match="This batch is closed, so it can’t be paused"):
        lifecycle.pause(batch=open_batch, actor=None)
    open_batch.refresh_from_db()
    assert open_batch.state == Batch.State.CLOSED


def test_reopening_needs_a_reason(open_batch: Batch) -> None:
    lifecycle.close(batch=open_batch, actor=None)
    with pytest.raises(Refused, match="Give a reason"):
        lifecycle.reopen(batch=open_batch, actor=None, why="  ")


def test_a_project_without_instructions_opens_no_batch(batch: Batch, project: Project) -> None:
    Batch.objects.filter(pk=batch.pk).update(instructions=None)
    InstructionsReading.objects.all().delete()
    project.instructions.all().delete()
    batch.refresh_from_db()
    with pytest.raises(Refused, match=r"no instructions for annotators\. Write them under Task"):
        lifecycle.open_batch(batch=batch, actor=None)


def test_opening_freezes_the_rubric_and_needs_instructions(batch: Batch, project: Project) -> None:
    Batch.objects.filter(pk=batch.pk).update(instructions=None)
    batch.refresh_from_db()
    with pytest.raises(Refused, match=r"written after this draft was created\. Choose “Use latest versions”"):
        lifecycle.open_batch(batch=batch, actor=None)
    batch.rubric.refresh_from_db()
    assert batch.rubric.frozen_at is None
    lifecycle.adopt_newest_texts(batch=batch, actor=None)
    batch.refresh_from_db()
    lifecycle.open_batch(batch=batch, actor=None)
    batch.rubric.refresh_from_db()
    assert batch.rubric.frozen_at is not None


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [({}, True), ({"statement": "Is it right?"}, True), ({"high": 7}, False), ({"is_reversed": True}, False)],
)
def test_controls_of_a_draft_go_with_the_scale_that_they_are_for(
    project: Project, manager: Membership, client_of: SignIn, change: dict[str, Any], is_kept: bool
) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False, controls=ControlPlan(known_per_hit=1))
    make_pool(batch=batch, actor=None)
    newest = make_rubric(project)
    newest.criteria.update(**change)
    url = reverse("annotate:batch-state", args=[project.slug, batch.number])
    page = client_of(manager).post(url, {"act": "pin"}, follow=True).text
    assert ("Its controls were deleted" in page) != is_kept
    assert Item.objects.filter(pool_of=batch).exists() == is_kept
    batch.refresh_from_db()
    assert batch.rubric == newest


def test_a_draft_may_take_the_newest_versions_an_open_batch_not(batch: Batch, project: Project) -> None:
    rubric, instructions = make_rubric(project), make_instructions(project)
    lifecycle.adopt_newest_texts(batch=batch, actor=None)
    batch.refresh_from_db()
    assert (batch.rubric, batch.instructions) == (rubric, instructions)
    lifecycle.open_batch(batch=batch, actor=None)
    make_instructions(project)
    with pytest.raises(Refused, match="Only a draft"):
        lifecycle.adopt_newest_texts(batch=batch, actor=None)
    batch.refresh_from_db()
    assert batch.instructions == instructions
    assert Instructions.objects.filter(project=project).count() == 3


def test_pausing_and_closing_stop_serving_and_let_open_work_finish(open_batch: Batch, project: Project) -> None:
    first, second, third = (make_membership(project) for _ in range(3))
    one, two = claim(first), claim(second)
    lifecycle.pause(batch=open_batch, actor=None)
    assert isinstance(serving.claim(third), serving.NoWork)
    assert submitting.submit(annotator=first, assignment_uuid=one, sent=answered()).mark == "counted"
    assert isinstance(serving.claim(first), serving.NoWork)
    lifecycle.close(batch=open_batch, actor=None)
    assert submitting.submit(annotator=second, assignment_uuid=two, sent=answered()).mark == "counted"
    assert progress(open_batch) == (6, 4, 0, 2)
    assert_equation()


def test_a_batch_that_is_being_worked_on_is_not_archived(open_batch: Batch, annotator: Membership) -> None:
    work = claim(annotator)
    lifecycle.close(batch=open_batch, actor=None)
    with pytest.raises(Refused, match="in progress"):
        lifecycle.archive(batch=open_batch, actor=None)
    submitting.submit(annotator=annotator, assignment_uuid=work, sent=answered())
    lifecycle.archive(batch=open_batch, actor=None)


def test_a_draft_is_deleted_with_its_hits_and_nothing_else(batch: Batch, annotator: Membership) -> None:
    BatchAnnotator.objects.create(batch=batch, annotator=annotator)
    lifecycle.delete_draft(batch=batch, actor=None)
    assert not Batch.objects.exists()
    assert not Hit.objects.exists()
    assert not Item.objects.exists()
    assert Candidate.objects.count() == 9
    assert LogEntry.objects.filter(act="delete batch").exists()


def test_a_batch_past_its_draft_is_never_deleted(open_batch: Batch) -> None:
    with pytest.raises(Refused, match="Only a draft"):
        lifecycle.delete_draft(batch=open_batch, actor=None)
    assert Hit.objects.count() == 3


def test_imported_batches_have_no_places_to_open(batch: Batch) -> None:
    Batch.objects.filter(pk=batch.pk).update(kind="imported", state="closed")
    batch.refresh_from_db()
    assert [move.act for move in lifecycle.allowed_moves(batch)] == ["archive"]
    with pytest.raises(Refused, match="were imported"):
        lifecycle.reopen(batch=batch, actor=None, why="Why not")
    with pytest.raises(Refused, match="were imported"):
        judgments_wanted.change_wanted(batch=batch, actor=None, judgments=4)


def test_topping_up_adds_places_and_says_the_money_first(open_batch: Batch, project: Project) -> None:
    rate(make_membership(project))
    change = judgments_wanted.plan_wanted(batch=open_batch, judgments=3)
    assert (change.n_hits, change.n_added, change.n_removed, change.n_kept) == (3, 3, 0, 0)
    assert (change.cost.cents, change.saved.cents) == (3 * 40, 0)
    assert progress(open_batch) == (6, 5, 0, 1)
    assert judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=3) == (3, 0)
    assert progress(open_batch) == (9, 8, 0, 1)
    open_batch.refresh_from_db()
    assert open_batch.judgments == 3
    assert_equation()


def test_lowering_keeps_what_somebody_has(open_batch: Batch, project: Project) -> None:
    people = [make_membership(project) for _ in range(5)]
    for person in people[:3]:
        rate(person)
    for person in people[3:]:
        claim(person)
    assert progress(open_batch) == (6, 1, 2, 3)
    change = judgments_wanted.plan_wanted(batch=open_batch, judgments=1)
    assert (change.n_added, change.n_removed, change.n_kept) == (0, 1, 2)
    assert change.saved.cents == 40
    assert judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=1) == (0, 1)
    assert progress(open_batch) == (5, 0, 2, 3)
    assert_equation()


def test_chosen_hits_are_topped_up_alone(open_batch: Batch) -> None:
    assert judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=5, hit_numbers=[1, 3]) == (6, 0)
    assert list(open_batch.hits.values_list("places_wanted", flat=True)) == [5, 2, 5]
    open_batch.refresh_from_db()
    assert open_batch.judgments == 2
    with pytest.raises(Refused, match="no HIT 9"):
        judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=5, hit_numbers=[1, 9])


def test_a_change_that_cannot_be_is_refused(open_batch: Batch, annotator: Membership) -> None:
    for judgments in (0, 1_001):
        with pytest.raises(Refused, match="1 to 1,000"):
            judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=judgments)
    BatchAnnotator.objects.create(batch=open_batch, annotator=annotator)
    Batch.objects.filter(pk=open_batch.pk).update(has_named_annotators=True)
    with pytest.raises(Refused, match="chosen annotators"):
        judgments_wanted.change_wanted(batch=Batch.objects.get(), actor=None, judgments=3)


def reasons(batch: Batch) -> list[tuple[str, int, list[int]]]:
    return [(part.reason[:34], part.n_places, part.hit_numbers) for part in find_stuck_places(batch).by_reason]


def test_places_are_stuck_without_annotators(open_batch: Batch, researcher: Membership) -> None:
    assert reasons(open_batch) == [("The project has no active annotato", 6, [1, 2, 3])]
    make_membership(open_batch.project, standing=Membership.Standing.SUSPENDED)
    make_membership(open_batch.project, kind=Membership.Kind.IMPORTED, imported_name="Ada")
    assert find_stuck_places(open_batch).n_places == 6


def test_places_are_stuck_when_everybody_was_served(open_batch: Batch, project: Project) -> None:
    people = [make_membership(project) for _ in range(2)]
    assert find_stuck_places(open_batch).n_places == 0
    for person in people:
        for _ in range(3):
            rate(person)
    assert find_stuck_places(open_batch).n_places == 0
    judgments_wanted.change_wanted(batch=open_batch, actor=None, judgments=4, hit_numbers=[2])
    assert reasons(open_batch) == [("All active annotators have already", 2, [2])]
    make_membership(project)
    assert reasons(open_batch) == [("Too few active annotators are left", 1, [2])]


def test_a_candidate_served_in_another_batch_counts_as_served(open_batch: Batch, annotator: Membership) -> None:
    for _ in range(3):
        rate(annotator)
    lifecycle.close(batch=open_batch, actor=None)
    again = create_batch(project=open_batch.project, actor=None, terms=Terms(judgments=1))
    lifecycle.open_batch(batch=again, actor=None)
    assert isinstance(serving.claim(annotator), serving.NoWork)
    assert reasons(again) == [("All active annotators have already", 3, [1, 2, 3])]


def test_a_returned_hit_sticks_and_an_expired_one_does_not(
    open_batch: Batch, annotator: Membership, other_annotator: Membership
) -> None:
    work = claim(annotator)
    assert find_stuck_places(open_batch).n_places == 0
    Assignment.objects.filter(uuid=work).update(due_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        places.sweep(now=timezone.now())
    assert find_stuck_places(open_batch).n_places == 0
    submitting.reopen(annotator=annotator, assignment_uuid=work)
    submitting.return_hit(annotator=annotator, assignment_uuid=work, reason="")
    assert find_stuck_places(open_batch).n_places == 1


def test_places_are_stuck_for_named_annotators_who_left(
    project: Project, annotator: Membership, other_annotator: Membership
) -> None:
    make_corpus(project, n_passages=2, n_candidates=1)
    batch = create_batch(project=project, actor=None, terms=Terms(annotators=(annotator,)))
    lifecycle.open_batch(batch=batch, actor=None)
    assert find_stuck_places(batch).n_places == 0
    Membership.objects.filter(pk=annotator.pk).update(standing="suspended")
    assert reasons(batch) == [("Only chosen annotators may take th", 2, [1, 2])]
    assert "none of those is active" in find_stuck_places(batch).by_reason[0].reason


def test_places_are_stuck_by_caps(open_batch: Batch, annotator: Membership, other_annotator: Membership) -> None:
    rate(annotator)
    Batch.objects.update(max_hits_per_annotator=1)
    assert reasons(open_batch) == [("The remaining annotators have reac", 2, reasons(open_batch)[0][2])]
    Batch.objects.update(max_hits_per_annotator=None, max_share=0.4)
    assert find_stuck_places(open_batch).n_places == 2
    Batch.objects.update(max_share=None, max_hits_per_day=1)
    assert find_stuck_places(open_batch).n_places == 0


def test_the_search_for_stuck_places_is_bounded(open_batch: Batch) -> None:
    found = find_stuck_places(open_batch, limit=2)
    assert (found.n_looked_at, found.n_open_hits, found.n_places) == (2, 3, 4)
    assert not found.is_all_looked_at


def test_the_pace_says_how_long_the_rest_takes(open_batch: Batch, annotator: Membership) -> None:
    found = fetch_progress([open_batch])[open_batch.pk]
    assert measure_speed(open_batch, found).hours_left is None
    rate(annotator)
    Assignment.objects.update(opened_at=timezone.now() - timedelta(hours=2))
    speed = measure_speed(open_batch, fetch_progress([open_batch])[open_batch.pk])
    assert speed.per_hour == pytest.approx(0.5, rel=0.01)
    assert speed.hours_left == pytest.approx(10, rel=0.01)


def test_the_pace_of_finished_work_stays(project: Project, annotator: Membership) -> None:
    make_corpus(project, n_passages=1, n_candidates=2)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=1))
    lifecycle.open_batch(batch=batch, actor=None)
    rate(annotator)
    now = timezone.now()
    Assignment.objects.update(opened_at=now - timedelta(hours=12), submitted_at=now - timedelta(hours=10))
    speed = measure_speed(batch, fetch_progress([batch])[batch.pk])
    assert speed.per_hour == pytest.approx(0.5, rel=0.01)
    assert speed.hours_left is None


def run(*arguments: str) -> dict[str, object]:
    out = StringIO()
    call_command("batch", "--project", "bridges", *arguments, "--json", stdout=out)
    answer: dict[str, object] = json.loads(out.getvalue())
    return answer


def test_the_command_does_what_the_buttons_do(batch: Batch) -> None:
    assert run("1")["state"] == "draft"
    assert run("1", "open")["state"] == "open"
    assert run("1", "judgments", "--judgments", "3", "--dry-run")["places_added"] == 3
    answer = run("1", "judgments", "--judgments", "3", "--hits", "1-2")
    assert (answer["places_added"], answer["places_wanted"], answer["cents_added"]) == (2, 8, 80)
    assert answer["places_stuck"] == 8
    assert run("1", "close")["state"] == "closed"
    with pytest.raises(CommandError, match="Give a reason") as refusal:
        run("1", "reopen")
    assert refusal.value.returncode == 1
    assert run("1", "reopen", "--why", "More people")["state"] == "open"
    with pytest.raises(CommandError, match="no batch 7"):
        run("7")


def test_the_command_deletes_a_draft(batch: Batch) -> None:
    assert run("1", "delete")["state"] == "deleted"
    assert not Batch.objects.exists()


@pytest.mark.parametrize("act", ["delete", "open"])
def test_a_dry_run_of_the_command_changes_nothing_and_says_so(batch: Batch, act: str) -> None:
    answer = run("1", act, "--judgments", "3", "--short-hits", "item", "--dry-run")
    assert (answer["state"], answer["judgments_per_candidate"], answer["places_added"]) == ("draft", 2, 3)
    batch.refresh_from_db()
    assert (batch.state, batch.judgments, batch.is_pay_prorated) == ("draft", 2, False)


def test_the_command_reopens_a_batch_that_gets_more_judgments(batch: Batch) -> None:
    run("1", "open")
    run("1", "close")
    assert run("1", "judgments", "--judgments", "3", "--why", "Too few")["state"] == "closed"
    assert run("1", "judgments", "--judgments", "4", "--reopen", "--why", "Too few")["state"] == "open"


@pytest.mark.parametrize(
    "arguments",
    [("judgments",), ("delete", "--dry-run"), ("--reopen",), ("--hits", "1-2"), ("--short-hits", "item", "--dry-run")],
)
def test_what_the_command_would_pass_over_is_wrong_use(batch: Batch, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="requires --judgments K") as wrong:
        run("1", *arguments)
    assert wrong.value.returncode == 2
    assert Batch.objects.get().state == "draft"
