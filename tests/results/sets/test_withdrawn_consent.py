"""Work that its annotator takes out: in no later set, and an earlier one that holds it is retired."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotate.onboarding import consent, erasing, surveys
from projects.jobs.running import OnProgress
from projects.models import LogEntry, Membership, Project
from results import tasks
from results.models import JudgmentSet
from results.sets import freezing, retiring
from tests.annotate.open_batches import open_batch
from tests.annotate.submitted_work import rate
from tests.annotate.surveys.samples import TONGUE, make_survey
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


@pytest.mark.parametrize("leave", ["withdraw", "erase"])
def test_leaving_retires_the_sets_that_hold_answers_to_surveys(
    project: Project, manager: Membership, annotator: Membership, other_annotator: Membership, leave: str
) -> None:
    survey = make_survey(manager, TONGUE, moment="after")
    for person, may_publish in ((annotator, True), (other_annotator, False)):
        surveys.answer(annotator=person, survey=survey, answers={1: "de"}, may_publish=may_publish)
    made, without = freeze(project, manager, with_surveys=True), freeze(project, manager, "Without answers")
    assert (made.facts["surveyed"], "surveyed" in without.facts) == ([annotator.pseudonym], False)
    consent.withdraw(annotator=other_annotator, removes_work=False)
    assert retiring.find_taken_out() == [], "whose answers are in none"
    if leave == "withdraw":
        consent.withdraw(annotator=annotator, removes_work=False)
    else:
        assert annotator.user is not None
        erasing.erase(user=annotator.user, removes_work=False)
    assert retiring.find_taken_out() == [made.pk]
    later = freeze(project, manager, "Later", with_surveys=True)
    assert retiring.find_taken_out(project) == [made.pk]
    assert read(later, "survey_answers.csv").count(b"\n") == 1, "the heading"


def test_a_set_that_does_not_know_whose_answers_it_holds_is_retired_for_any(
    project: Project, manager: Membership, annotator: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As earlier versions froze them."""

    def make_as_before(judgment_set: JudgmentSet, on_progress: OnProgress) -> dict[str, Any]:
        found = make(judgment_set, on_progress)
        del found["facts"]["surveyed"]
        return found

    make = freezing.make
    monkeypatch.setattr(freezing, "make", make_as_before)
    made = freeze(project, manager, with_surveys=True)
    consent.withdraw(annotator=annotator, removes_work=False)
    assert retiring.find_taken_out() == [made.pk]
