"""Every rule of `verify` names the row that breaks it; most rows cannot be broken until a constraint is taken away."""

import json
from datetime import date, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from annotate import tasks
from annotate.batches import lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.integrity import daily_counts, verifying
from annotate.models import Assignment, Batch, DailyCount, Hit, Item, Judgment
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.models import Candidate, Criterion, Membership, Project
from tests.annotate.open_batches import answered
from tests.factories import make_corpus, make_identical_answers, make_membership, make_rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(project: Project, annotator: Membership, other_annotator: Membership) -> Batch:
    """Two submitted HITs, one open, one expired, one returned."""
    make_corpus(project, n_passages=4, n_candidates=3)
    batch = create_batch(project=project, actor=None, terms=Terms(judgments=2))
    lifecycle.open_batch(batch=batch, actor=None)
    cannot = SentAnswers(values={0: {"correctness": 1}, 1: {"correctness": 5}}, cannot={2: "No sense"})
    for person, sent in ((annotator, answered()), (other_annotator, cannot)):
        submitting.submit(annotator=person, assignment_uuid=claim(person), sent=sent)
    claim(annotator)
    submitting.return_hit(annotator=other_annotator, assignment_uuid=claim(other_annotator), reason="")
    expired = claim(make_membership(project))
    Assignment.objects.filter(uuid=expired).update(due_at=timezone.now() - timedelta(hours=1))
    tasks.sweep()
    return batch


def claim(person: Membership) -> UUID:
    found = serving.claim(person)
    assert not isinstance(found, serving.NoWork)
    return found


def broken() -> dict[str, list[str]]:
    return {breach.rule: breach.ids for breach in verifying.verify()}


def run(statement: str, *arguments: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)


def drop(table: str, *constraints: str) -> None:
    """Take constraints away for this test; its transaction is rolled back."""
    run("SET CONSTRAINTS ALL IMMEDIATE")
    for name in constraints:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_constraint WHERE conname = %s", [name])
            if cursor.fetchone():
                run(f"ALTER TABLE annotate_{table} DROP CONSTRAINT {name}")
            else:
                run(f"DROP INDEX {name}")


def test_sound_rows_break_no_rule(batch: Batch) -> None:
    assert Judgment.objects.count() == 6
    assert set(Assignment.objects.values_list("state", flat=True)) == {"submitted", "open", "returned", "expired"}
    assert broken() == {}


def test_an_empty_database_breaks_no_rule() -> None:
    assert broken() == {}


@pytest.mark.parametrize(
    ("field", "rules"),
    [
        ("places_wanted = places_wanted + 1", ["places_held"]),
        ("places_open = places_open - 1", ["places_held"]),
        ("places_done = places_done - 1", ["places_done"]),
        ("places_open = places_open + 5", ["places_held", "places_within_wanted"]),
    ],
)
def test_a_counter_that_drifted(batch: Batch, field: str, rules: list[str]) -> None:
    drop("hit", "hit_places")
    hit = Hit.objects.filter(places_done__gt=0, places_open__gt=0).first()
    assert hit is not None
    run(f"UPDATE annotate_hit SET {field} WHERE id = %s", hit.pk)
    assert broken() == {rule: [str(hit.pk)] for rule in rules}


def test_an_open_assignment_without_a_place(batch: Batch) -> None:
    drop("assignment", "assignment_state_holds")
    work = Assignment.objects.get(state="open")
    run("UPDATE annotate_assignment SET holds_place = false WHERE id = %s", work.pk)
    assert broken() == {"places_held": [str(work.hit_id)], "state_holds": [str(work.pk)]}


@pytest.mark.parametrize("mark", ["", "surplus"])
def test_a_mark_that_disagrees_with_the_place(batch: Batch, mark: str) -> None:
    work = Assignment.objects.filter(state="submitted").earliest("pk")
    run("UPDATE annotate_assignment SET mark = %s WHERE id = %s", mark, work.pk)
    found = broken()
    assert found["mark_follows_state"] == [str(work.pk)]
    assert found["counted_follows_mark"] == [str(pk) for pk in work.judgments.values_list("pk", flat=True)]


@pytest.mark.parametrize(
    "change", ["state = 'rejected', holds_place = false", "mark = 'excluded'", "mark = 'excluded', holds_place = false"]
)
def test_work_left_out_without_a_reason(batch: Batch, change: str) -> None:
    work = Assignment.objects.filter(state="submitted").earliest("pk")
    run(f"UPDATE annotate_assignment SET {change} WHERE id = %s", work.pk)
    assert broken()["rejected_has_reason"] == [str(work.pk)]


def test_a_free_place_on_a_hit_with_nothing_left_to_rate(batch: Batch) -> None:
    hit = Hit.objects.filter(places_open__gt=0, places_done=0).earliest("pk")
    run("UPDATE annotate_item SET retired_at = now() WHERE hit_id = %s", hit.pk)
    assert broken() == {"free_place_can_be_taken": [str(hit.pk)]}


def test_a_counted_judgment_of_a_withdrawn_item(batch: Batch) -> None:
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_item SET retired_at = now() WHERE id = %s", judgment.item_id)
    counted = Judgment.objects.filter(item=judgment.item_id).order_by("pk").values_list("pk", flat=True)
    assert broken() == {"withdrawn_not_counted": [str(pk) for pk in counted]}


def test_a_layout_may_lack_what_was_withdrawn_and_hold_controls_of_the_pool(batch: Batch) -> None:
    work = Assignment.objects.get(state="open")
    first = Item.objects.get(pk=work.layout[0])
    control = Item.objects.create(
        pool_of=batch,
        question=first.question,
        position=0,
        control="known_answer",
        shown_text="x",
        accepted_at=timezone.now(),
    )
    run("UPDATE annotate_item SET retired_at = now() WHERE id = %s", first.pk)
    run("UPDATE annotate_assignment SET layout = layout[2:3] || %s::bigint WHERE id = %s", control.pk, work.pk)
    assert broken() == {}


def test_two_open_assignments_of_one_annotator(batch: Batch, annotator: Membership) -> None:
    drop("assignment", "assignment_one_open")
    expired = Assignment.objects.get(state="expired")
    run(
        "UPDATE annotate_assignment SET annotator_id = %s, state = 'open', holds_place = true WHERE id = %s",
        annotator.pk,
        expired.pk,
    )
    assert broken()["one_open"] == [str(annotator.pk)]


def test_two_assignments_of_one_annotator_on_a_hit(batch: Batch, annotator: Membership) -> None:
    drop("assignment", "assignment_once_per_hit")
    first = Assignment.objects.filter(annotator=annotator).earliest("pk")
    last = Assignment.objects.get(state="expired")
    run(
        "UPDATE annotate_assignment SET annotator_id = %s, hit_id = %s, layout = %s WHERE id = %s",
        annotator.pk,
        first.hit_id,
        first.layout,
        last.pk,
    )
    found = broken()
    assert found["once_per_hit"] == [str(first.hit_id)]
    assert found["judged_once"][0] == str(last.pk)


def test_a_judgment_counted_against_its_mark(batch: Batch) -> None:
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_judgment SET is_counted = false, not_counted_reason = 'surplus' WHERE id = %s", judgment.pk)
    assert broken() == {"counted_follows_mark": [str(judgment.pk)]}


def test_a_judgment_left_out_without_a_reason(batch: Batch) -> None:
    drop("judgment", "judgment_reason_when_not_counted")
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_judgment SET not_counted_reason = 'surplus' WHERE id = %s", judgment.pk)
    assert broken() == {"reason_when_not_counted": [str(judgment.pk)]}


def test_a_judgment_stored_twice(batch: Batch) -> None:
    drop("judgment", "judgment_once", "judgment_counted_once")
    judgment = Judgment.objects.earliest("pk")
    doubled = Judgment.objects.get(pk=judgment.pk)
    doubled.pk = None
    doubled.save()
    assert broken() == {
        "counted_once": [str(doubled.pk)],
        "once_per_item": [str(doubled.pk)],
        "judgments_complete": [str(judgment.assignment_id)],
    }


def test_a_judgment_that_is_missing(batch: Batch) -> None:
    judgment = Judgment.objects.earliest("pk")
    run("DELETE FROM annotate_judgment WHERE id = %s", judgment.pk)
    assert broken() == {"judgments_complete": [str(judgment.assignment_id)]}


def test_judgments_of_work_that_was_never_sent(batch: Batch) -> None:
    drop("assignment", "assignment_state_holds")
    work = Assignment.objects.filter(state="submitted").earliest("pk")
    run("UPDATE annotate_assignment SET state = 'returned', holds_place = false WHERE id = %s", work.pk)
    assert broken()["unsent_has_no_judgments"] == [str(work.pk)]


def test_a_judgment_of_an_item_that_was_not_shown(batch: Batch) -> None:
    first, last = Judgment.objects.earliest("pk"), Judgment.objects.latest("pk")
    run("UPDATE annotate_judgment SET item_id = %s WHERE id = %s", last.item_id, first.pk)
    assert broken() == {"judgment_of_layout": [str(first.pk)], "judgment_follows_rows": [str(first.pk)]}


def test_a_judgment_in_another_name(batch: Batch, manager: Membership) -> None:
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_judgment SET annotator_id = %s WHERE id = %s", manager.pk, judgment.pk)
    assert broken() == {"judgment_follows_rows": [str(judgment.pk)]}


def test_a_judgment_on_another_rubrics_criterion(batch: Batch, project: Project) -> None:
    other = Criterion.objects.filter(rubric=make_rubric(project)).first()
    assert other is not None
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_judgment SET criterion_id = %s WHERE id = %s", other.pk, judgment.pk)
    assert broken() == {"criterion_of_rubric": [str(judgment.pk)]}


@pytest.mark.parametrize("value", [0, 6, 3.5])
def test_a_value_off_the_scale(batch: Batch, value: float) -> None:
    judgment = Judgment.objects.filter(value__isnull=False).earliest("pk")
    run("UPDATE annotate_judgment SET value = %s WHERE id = %s", value, judgment.pk)
    assert broken() == {"value_on_scale": [str(judgment.pk)]}


def test_no_value_and_no_reason(batch: Batch) -> None:
    judgment = Judgment.objects.filter(value__isnull=False).earliest("pk")
    run("UPDATE annotate_judgment SET value = NULL WHERE id = %s", judgment.pk)
    assert broken() == {"no_value_has_reason": [str(judgment.pk)]}


@pytest.mark.parametrize("change", ["layout[1:2]", "layout || layout[1]", "layout || 9999999"])
def test_a_layout_that_is_not_its_hit(batch: Batch, change: str) -> None:
    work = Assignment.objects.get(state="open")
    run(f"UPDATE annotate_assignment SET layout = {change} WHERE id = %s", work.pk)
    assert broken() == {"layout_is_hit": [str(work.pk)]}


def test_a_candidate_served_to_one_annotator_in_two_hits(batch: Batch, annotator: Membership) -> None:
    served = Assignment.objects.filter(annotator=annotator, state="submitted").earliest("pk")
    other = Assignment.objects.get(annotator=annotator, state="open")
    candidate = Item.objects.filter(hit=served.hit_id).values_list("candidate_id", flat=True)[0]
    item = Item.objects.filter(hit=other.hit_id)[0]
    run("UPDATE annotate_item SET candidate_id = %s WHERE id = %s", candidate, item.pk)
    found = broken()
    assert found["judged_once"] == [str(other.pk)]
    assert found["hit_of_one_passage"] == [str(other.hit_id)]


def test_an_annotator_of_another_project(batch: Batch) -> None:
    from tests.factories import make_project

    work = Assignment.objects.get(state="expired")
    stranger = make_membership(make_project("other"))
    run("UPDATE annotate_assignment SET annotator_id = %s WHERE id = %s", stranger.pk, work.pk)
    assert broken() == {"one_project": [str(work.pk)]}


def test_a_hit_in_progress_in_an_archived_batch(batch: Batch) -> None:
    run("UPDATE annotate_batch SET state = 'archived' WHERE id = %s", batch.pk)
    assert broken() == {"archived_is_over": [str(Assignment.objects.get(state="open").pk)]}


def test_an_open_batch_whose_rubric_is_not_frozen(batch: Batch) -> None:
    run("UPDATE projects_rubric SET frozen_at = NULL WHERE id = %s", batch.rubric_id)
    assert broken() == {"frozen_rubric": [str(batch.pk)]}


def test_a_judgment_whose_candidate_is_gone(batch: Batch) -> None:
    judgment = Judgment.objects.earliest("pk")
    run("UPDATE annotate_judgment SET candidate_id = 999999999 WHERE id = %s", judgment.pk)
    assert broken()["no_orphan"] == [str(judgment.pk)]


def test_fewer_judgments_than_yesterday(batch: Batch, project: Project) -> None:
    daily_counts.count_day()
    today = DailyCount.objects.get(project=project)
    assert (today.n_judgments, today.day_on) == (6, timezone.now().date())
    assert broken() == {}
    DailyCount.objects.update(day_on=timezone.now().date() - timedelta(days=1))
    assert broken() == {}
    DailyCount.objects.update(n_judgments=7)
    assert broken() == {"not_fewer_judgments": [str(project.pk)]}
    DailyCount.objects.create(project=project, day_on=date(2020, 2, 29), n_judgments=99)
    DailyCount.objects.filter(day_on__gt=date(2021, 1, 1)).update(n_judgments=6)
    assert broken() == {}


def test_every_rule_has_been_seen_broken_here() -> None:
    from pathlib import Path

    names = (
        *("integrity/test_rules.py", "integrity/test_pay_rules.py", "integrity/test_revision_rules.py"),
        *("controls/test_rules.py", "onboarding/test_withdrawing.py", "batches/test_pairs_apart.py"),
        "imports/test_importing_again.py",
    )
    source = "".join((Path(__file__).parents[1] / name).read_text() for name in names)
    assert [rule.name for rule in verifying.RULES if f'"{rule.name}"' not in source] == []


def test_the_command_says_that_all_rules_hold(batch: Batch) -> None:
    out = StringIO()
    call_command("verify", "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"rules": len(verifying.RULES), "breaches": [], "files": []}
    assert DailyCount.objects.get().n_judgments == 6


def test_the_command_names_each_breach_and_exits_one(batch: Batch) -> None:
    judgment = Judgment.objects.filter(value__isnull=False).earliest("pk")
    run("UPDATE annotate_judgment SET value = 9 WHERE id = %s", judgment.pk)
    out = StringIO()
    with pytest.raises(CommandError, match=f"value_on_scale.*judgment {judgment.pk}") as refusal:
        call_command("verify", "--json", stdout=out)
    assert refusal.value.returncode == 1
    assert json.loads(out.getvalue())["breaches"][0]["ids"] == [str(judgment.pk)]


def test_the_nightly_task_logs_breaches_and_counts_the_day(batch: Batch, caplog: pytest.LogCaptureFixture) -> None:
    run(
        "UPDATE annotate_judgment SET value = 9 WHERE id = %s",
        Judgment.objects.filter(value__isnull=False).earliest("pk").pk,
    )
    tasks.verify()
    assert "value_on_scale" in caplog.text
    assert DailyCount.objects.get().n_judgments == 6


def test_a_candidate_has_the_ratings_of_an_identical_one_alone(project: Project) -> None:
    make_identical_answers(project)
    marked = Candidate.objects.exclude(identical_to=None)
    key = str(marked.get().pk)
    assert broken() == {}
    Candidate.objects.filter(external_id="same-gpt").update(text="On the mat.")
    assert broken() == {"identical_answers": [key]}
    Candidate.objects.filter(external_id="same-gpt").update(text="On the mat", withdrawn_at=timezone.now())
    assert broken() == {"identical_answers": [key]}
    marked.update(identical_to=-1)
    assert broken() == {"identical_answers": [key]}
    marked.update(identical_to=Candidate.objects.get(external_id="other-gpt"))
    assert broken() == {"identical_answers": [key]}, "an answer to another question"
