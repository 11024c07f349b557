"""Work that its annotator takes out: in no later set, and an earlier one that holds it is retired."""

from pathlib import Path

import pytest
from pytest_django import Settings

from annotate.onboarding import consent, erasing
from projects.models import LogEntry, Membership, Project
from results import tasks
from results.sets import retiring
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import rate
from tests.factories import make_consent
from tests.people import SignIn
from tests.results.sets.frozen_sets import freeze, lines, list_names, read

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _rated(project: Project, annotator: Membership, other_annotator: Membership) -> None:
    open_batch(project, n_hits=3, judgments=2, consent=make_consent(project))
    for person in (annotator, other_annotator):
        consent.agree(annotator=person, version=1)
        rate(person, 2)


def test_taking_out_retires_the_sets_that_hold_it(
    project: Project, manager: Membership, annotator: Membership, client_of: SignIn
) -> None:
    made = freeze(project, manager)
    assert retiring.retire_taken_out() == 0
    consent.withdraw(annotator=annotator, removes_work=True)
    page = client_of(manager).get("/p/bridges/sets/1/").content.decode()
    assert retiring.TAKEN_OUT in page, "The page says so before the beat has come round."
    tasks.retire_sets()
    made.refresh_from_db()
    assert made.retired_why == retiring.TAKEN_OUT
    assert made.retired_by is None
    assert LogEntry.objects.get(act="retire judgment set").actor is None
    assert annotator.pseudonym not in made.retired_why
    successor = retiring.request_successor(judgment_set=made, actor=manager)
    assert retiring.retire_taken_out() == 0
    assert successor.settings == made.settings
    later = freeze(project, manager, "Later")
    assert not [name for name in list_names(later) if annotator.pseudonym.encode() in read(later, name)]
    assert {row["annotator"] for row in lines(later, "long.jsonl")} != set()
    assert later.facts["left_out"]["consent withdrawn"] == 6
    assert later.facts["n_included"] + sum(later.facts["left_out"].values()) == later.facts["n_total"]


def test_keeping_what_was_given_retires_nothing(project: Project, manager: Membership, annotator: Membership) -> None:
    freeze(project, manager)
    consent.withdraw(annotator=annotator, removes_work=False)
    assert retiring.find_taken_out() == []


def test_a_set_without_their_work_stays(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership
) -> None:
    made = freeze(project, manager)
    consent.withdraw(annotator=annotator, removes_work=True)
    later = freeze(project, manager, "Without it")
    assert retiring.find_taken_out() == [made.pk]
    assert list(retiring.find_replacements(later)) == [], "What is about to be retired replaces nothing."
    assert list(retiring.find_replacements(made)) == [later]
    consent.withdraw(annotator=other_annotator, removes_work=True)
    assert retiring.find_taken_out(project) == [made.pk, later.pk]


def test_deleting_the_account_with_the_work_retires_them_too(
    project: Project, manager: Membership, annotator: Membership, settings: Settings, tmp_path: Path
) -> None:
    settings.SHARED_DIR = tmp_path
    made = freeze(project, manager)
    assert annotator.user is not None
    erasing.erase(user=annotator.user, removes_work=True)
    tasks.retire_sets()
    made.refresh_from_db()
    assert made.retired_why == retiring.TAKEN_OUT
