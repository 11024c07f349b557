import json
from collections.abc import Iterator
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.batches.costs import price_batch
from annotate.batches.creating import create_batch, plan_batch
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.controls.making import make_pool
from annotate.controls.pool import accept
from annotate.data.pairs import PHENOMENA
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, Hit, Item, Judgment, LedgerEntry, Remark
from annotate.payments.ledger import sum_by_stage
from annotate.work import submitting
from annotate.work.serving import ConfirmFirst, NoWork, claim
from demo import corpus
from demo.annotators import SimulatedAnnotator, confirm_all
from demo.making import CREW, LACKING
from projects.models import (
    Candidate,
    Dataset,
    Instructions,
    LogEntry,
    Membership,
    MinimalPair,
    Project,
    User,
)
from results.models import Study
from results.studies.kinds import KINDS
from results.studies.presentation import list_sections
from tests.factories import make_membership

# One process makes the demo once for all its tests.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("demo")]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("demo", *arguments, stdout=out)
    return out.getvalue()


def run_json(*arguments: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run("--json", *arguments))
    return answer


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """The demo, made once for this module; each test undoes only what it did itself."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = run_json()
        yield made
        transaction.set_rollback(True)


@pytest.fixture
def demo(made: dict[str, Any], db: None) -> Project:
    return Project.objects.get(slug="demo")


def places(batch: Batch) -> tuple[int, int]:
    sums = batch.hits.aggregate(wanted=Sum("places_wanted"), done=Sum("places_done"))
    return sums["wanted"], sums["done"]


def test_it_makes_what_it_says(made: dict[str, Any], demo: Project) -> None:
    assert made["made"] is True
    extra = list(corpus.extra_rows())
    n_pairs = sum("candidate_1" in row for row in extra)
    n_candidates = len(corpus.true_scores()) + len(extra) + n_pairs
    assert made["candidates"] == Candidate.objects.in_project(demo).count() == n_candidates
    of_generated = {row["passage_id"] for row in extra if row["dataset"] == corpus.GENERATED}
    assert made["passages"] == len(corpus.passages()) + len(of_generated)
    assert made["judgments"] == Judgment.objects.filter(is_counted=True).count()
    assert verifying.verify() == []


def test_it_shows_every_kind_of_data_and_of_metric_evaluation(demo: Project) -> None:
    assert set(demo.datasets.values_list("kind", flat=True)) == set(Dataset.Kind.values)
    pairs = MinimalPair.objects.filter(question__dataset__project=demo)
    assert {pair.phenomenon for pair in pairs} == set(PHENOMENA)
    assert not pairs.filter(score_1__lte=F("score_2")).exists()
    assert not pairs.filter(score_1=None).exists()
    studies = {study.kind: study for study in Study.objects.filter(project=demo)}
    assert set(studies) == set(KINDS) - set(LACKING)
    for study in studies.values():
        assert (study.state, study.error) == (Study.State.DONE, "")
        assert list_sections(study)
    # Pairs and generated questions are in no batch.
    assert not Item.objects.filter(candidate__dataset__kind="question_generation").exists()


def test_everybody_can_sign_in_with_the_password_shown(made: dict[str, Any], rf: Any) -> None:
    roles = [each["role"] for each in made["sign_ins"]]
    assert roles == ["owner", "manager", "researcher", "annotator", "annotator"]
    assert len({each["password"] for each in made["sign_ins"]}) == 5
    for each in made["sign_ins"]:
        user = authenticate(rf.post("/"), username=each["username"], password=each["password"])
        assert user is not None
        assert user.memberships.get().role == each["role"]


def test_passwords_are_nowhere_in_clear(made: dict[str, Any]) -> None:
    stored = str(list(User.objects.values())) + str(list(LogEntry.objects.values()))
    assert not [each for each in made["sign_ins"] if each["password"] in stored]


def test_a_second_run_changes_nothing_and_shows_no_password(made: dict[str, Any], demo: Project) -> None:
    before = (LogEntry.objects.count(), Judgment.objects.count(), User.objects.count())
    again = run_json()
    assert again["made"] is False
    assert {each["password"] for each in again["sign_ins"]} == {None}
    assert [each["username"] for each in again["sign_ins"]] == [each["username"] for each in made["sign_ins"]]
    assert (LogEntry.objects.count(), Judgment.objects.count(), User.objects.count()) == before
    assert "--new-passwords" in run()


def test_new_passwords_replace_the_old_ones(made: dict[str, Any], rf: Any) -> None:
    renewed = run_json("--new-passwords")
    for old, new in zip(made["sign_ins"], renewed["sign_ins"], strict=True):
        assert authenticate(rf.post("/"), username=new["username"], password=new["password"]) is not None
        assert authenticate(rf.post("/"), username=old["username"], password=old["password"]) is None


def test_the_collection_is_about_seven_tenths_done_and_leaves_work_for_people(demo: Project) -> None:
    full = demo.batches.get(state=Batch.State.OPEN)
    assert full.judgments == 3
    wanted, done = places(full)
    assert 0.65 <= done / wanted <= 0.75
    for annotator in demo.memberships.filter(role="annotator", kind=Membership.Kind.PERSON):
        first = claim(annotator)
        assert isinstance(first, ConfirmFirst), "There is a HIT, once they have read the instructions."
        confirm_all(annotator)
        assert not isinstance(claim(annotator), NoWork)


def test_each_page_has_something_to_show(demo: Project) -> None:
    assert set(demo.batches.values_list("state", flat=True)) == {"closed", "open", "draft"}
    trial = demo.batches.get(kind=Batch.Kind.TRIAL)
    assert places(trial)[0] == places(trial)[1]
    states = set(Assignment.objects.values_list("state", flat=True))
    assert states == {"open", "submitted", "returned"}
    assert Remark.objects.filter(is_flagged=True).count() >= 2
    assert Remark.objects.filter(is_flagged=False).exclude(comment="").count() >= 4
    assert Judgment.objects.filter(value=None).count() >= 1
    assert Hit.objects.filter(batch__state="open", places_done=0).count() == 0
    assert Instructions.objects.filter(project=demo).count() == 2


def test_only_simulated_annotators_have_judged(demo: Project) -> None:
    kinds = set(Judgment.objects.values_list("annotator__kind", flat=True))
    assert kinds == {Membership.Kind.SIMULATED}
    assert demo.memberships.filter(kind=Membership.Kind.SIMULATED).count() >= 6


def test_the_true_scores_are_stored_nowhere(demo: Project) -> None:
    assert not [
        key for metadata in Candidate.objects.values_list("metadata", flat=True) for key in metadata if "score" in key
    ]
    assert set(Candidate.objects.values_list("metadata__domain", flat=True)) == {p.domain for p in corpus.passages()}


def test_the_same_seed_gives_the_same_judgments_and_another_seed_does_not(
    demo: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Metrics say nothing of judgments, and take seconds.
    monkeypatch.setattr("demo.making.METRICS", ())
    monkeypatch.setattr("demo.making.KINDS", {})
    first = judged(demo)
    again = judged(make_again(7))
    assert again == first
    assert judged(make_again(8)) != first


def test_it_is_refused_where_somebody_has_one_of_its_names(demo: Project) -> None:
    Project.objects.filter(pk=demo.pk).update(slug="elsewhere")
    with pytest.raises(CommandError, match="demo-owner"):
        run()
    assert not Project.objects.filter(slug="demo").exists()


def test_a_deleted_demo_is_not_made_a_second_time(demo: Project) -> None:
    Project.objects.filter(pk=demo.pk).update(deleted_at=timezone.now())
    with pytest.raises(CommandError, match="deleted"):
        run()


def judged(project: Project) -> list[tuple[Any, ...]]:
    judgments = Judgment.objects.filter(annotator__project=project)
    rows = judgments.values_list("annotator__imported_name", "candidate__external_id", "value")
    return sorted(rows, key=str)


def make_again(seed: int) -> Project:
    """Put the demo and its people out of the way and make it once more."""
    for project in Project.objects.filter(slug="demo"):
        Project.objects.filter(pk=project.pk).update(slug=f"demo-{project.pk}")
    for user in User.objects.filter(username__startswith="demo-"):
        User.objects.filter(pk=user.pk).update(username=f"was-{user.pk}")
    run("--seed", str(seed))
    return Project.objects.get(slug="demo")


def test_the_plan_of_its_collection_comes_true_within_a_tenth(demo: Project) -> None:
    """Planned as before the collection, with nothing measured but the trial; then compared with work and ledger."""
    batch = demo.batches.get(name="Collection")
    done = Assignment.objects.filter(hit__batch=batch, submitted_at__isnull=False)
    n_done, seconds = done.count(), done.aggregate(seconds=Sum("active_seconds"))["seconds"]
    stage = next(each for each in sum_by_stage(demo) if each.key == Batch.Kind.FULL)
    with transaction.atomic():
        done.update(active_seconds=None)
        selection = Selection(splits=("train", "test"), seed=7)
        cost = plan_batch(project=demo, selection=selection, terms=Terms(judgments=3)).cost
        transaction.set_rollback(True)
    share_done = n_done / cost.ordinary.n_hits
    assert 0.6 < share_done < 0.8
    assert cost.pace.is_simulated
    assert cost.pay_cents * share_done == pytest.approx(stage.sums.total, rel=0.1)
    assert cost.hours * share_done == pytest.approx(seconds / 3600, rel=0.1)
    assert cost.cents_per_hour == pytest.approx(stage.sums.hourly.cents_per_hour, rel=0.1)


def test_items_one_at_a_time_cost_within_a_tenth_of_what_was_planned(
    demo: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crew like the first one, which has seen none of it, rates it with controls inside the HITs."""
    monkeypatch.setattr(submitting, "submit", partial(submitting.submit, is_stepped=True))
    owner = Membership.objects.get(project=demo, role="owner")
    plan = ControlPlan(known_per_hit=1, repeats_per_hit=1, item_distance=3)
    terms = Terms(name="One at a time", judgments=3, presentation=Batch.Presentation.ONE, controls=plan)
    batch = create_batch(project=demo, actor=owner, selection=Selection(splits=("dev",), seed=7), terms=terms)
    make_pool(batch=batch, actor=owner)
    accept(batch=batch, actor=owner)
    demo.batches.exclude(pk=batch.pk).update(state=Batch.State.CLOSED)
    cost = price_batch(batch)
    lifecycle.open_batch(batch=batch, actor=owner)
    for number, temperament in enumerate(CREW):
        member = make_membership(demo, kind="simulated")
        confirm_all(member)
        annotator = SimulatedAnnotator(member, temperament, lambda _item: 0.7, np.random.default_rng([7, number]))
        while annotator.work_once():
            pass
    done = Assignment.objects.filter(hit__batch=batch, submitted_at__isnull=False)
    share_done = done.count() / cost.ordinary.n_hits
    n_items = sum(len(layout) for layout in done.values_list("layout", flat=True))
    seconds = done.aggregate(seconds=Sum("active_seconds"))["seconds"]
    cents = LedgerEntry.objects.filter(assignment__in=done).aggregate(cents=Sum("cents"))["cents"]
    assert cost.ordinary.n_items * share_done == pytest.approx(n_items, rel=0.1)
    assert cost.ordinary.hours * share_done == pytest.approx(seconds / 3600, rel=0.1)
    assert cost.ordinary.pay_cents * share_done == pytest.approx(cents, rel=0.1)
