"""Generating controls holds no lock, and adds nothing to a batch that has changed meanwhile."""

from collections.abc import Callable
from threading import Thread
from unittest import mock

import pytest
from django.db import connection

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.controls import control_jobs, making
from annotate.controls.known_answers import Known, drop_taken, find_control_criteria
from annotate.models import Batch, ControlJob, Item
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import make_places
from tests.factories import make_batch

PLAN = ControlPlan(known_per_hit=1, degraded_per_hit=1, known_hit_every=2)


def act_elsewhere(act: Callable[[], object]) -> None:
    """Act on another connection, which waits for no lock."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
            act()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test
            errors.append(error)
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


@pytest.mark.django_db(transaction=True)
def test_others_act_on_the_batch_meanwhile(project: Project, manager: Membership) -> None:
    make_places(project)
    batch = make_batch(project, is_open=False, controls=PLAN)

    def generate_while(act: Callable[[], object]) -> ControlJob:
        job = control_jobs.start(batch=batch, actor=manager)
        with mock.patch.object(making, "find_control_criteria") as found:

            def act_in_the_middle(batch: Batch) -> object:
                # Once: another process that generates controls as well does not come here.
                found.side_effect = find_control_criteria
                act_elsewhere(act)
                return find_control_criteria(batch)

            found.side_effect = act_in_the_middle
            control_jobs.run(job.pk)
        job.refresh_from_db()
        return job

    def change_plan() -> None:
        Batch.objects.filter(pk=batch.pk).update(control_plan={**PLAN.as_json(), "known_per_hit": 2})

    def lose_an_item() -> None:
        item = Item.objects.filter(hit__batch=batch).earliest("pk")
        Item.objects.filter(pk=item.pk).update(retired_at="2026-11-01T00:00Z")

    def generate_elsewhere() -> None:
        assert making.make_pool(batch=batch, actor=None).n

    for change, reason in (
        (change_plan, "The plan was changed while the controls were being generated, so none were added."),
        (lose_an_item, "The items of the batch changed while"),
    ):
        job = generate_while(change)
        assert job.state == ControlJob.State.FAILED
        assert reason in job.error
        assert "Generate them again." in job.error
        assert not Item.objects.filter(pool_of=batch).exists()
    # What does not concern the controls changes nothing.
    job = generate_while(lambda: lifecycle.open_batch(batch=batch, actor=manager))
    assert (job.state, job.error) == (ControlJob.State.DONE, "")
    n = Item.objects.filter(pool_of=batch).count()
    assert job.report is not None
    assert job.report["n"] == n > 0
    Item.objects.filter(pool_of=batch).delete()
    assert "Other controls were generated" in generate_while(generate_elsewhere).error
    assert Item.objects.filter(pool_of=batch).count() == n
    assert "closed" in generate_while(lambda: lifecycle.close(batch=batch, actor=manager)).error
    assert Item.objects.filter(pool_of=batch).count() == n


@pytest.mark.django_db
def test_a_rated_candidate_taken_meanwhile_is_no_control(project: Project) -> None:
    make_places(project, n_passages=1)
    batch = make_batch(project, controls=PLAN)
    item = Item.objects.filter(hit__batch=batch).select_related("candidate").earliest("pk")
    elsewhere = make_places(project, n_passages=1, name="elsewhere")
    free, withdrawn = elsewhere.candidates.order_by("pk")[:2]
    known = [
        Known(candidate.question_id, Item.Recipe.KNOWN_CANDIDATE, candidate.text, {}, candidate.pk)
        for candidate in (free, withdrawn, item.candidate)
        if candidate is not None
    ]
    withdrawn.withdrawn_at = "2026-11-01T00:00Z"
    withdrawn.save(update_fields=["withdrawn_at"])
    assert [each.candidate_id for each in drop_taken(batch, known)] == [free.pk]
