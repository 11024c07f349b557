"""Controls enter no result: agreement, gold scores, exports, progress, plans and stuck places are those of the work."""

import io

import pytest

from annotate.batches.control_plan import ControlPlan
from annotate.batches.progress import fetch_progress, find_stuck_places, measure_speed
from annotate.frames.criteria_in_use import Scope, criteria_in_use
from annotate.frames.rating_patterns import fetch_rating_patterns
from annotate.frames.stages import Stage
from annotate.integrity.verifying import verify
from annotate.models import Batch, Hit, Item, Judgment
from projects.models import Membership, Project
from results.exports.formats import FORMATS, Choices, make_statement
from results.exports.streaming import stream
from results.scope.excluded import count_judgments
from tests.annotate.controls.controlled_batches import make_controlled, make_places, take, work
from tests.annotate.open_batches import assert_equation
from tests.factories import make_batch, make_membership, make_project, make_user

# The batch is made once, in one process.
pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("control results")]
PLAN = ControlPlan(known_per_hit=1, known_hit_every=3, degraded_per_hit=1, repeats=2, repeats_every=3, distance=1)
FAR_OFF = 1.0


@pytest.fixture(scope="module")
def rated(module_transaction: None) -> Batch:
    """Two annotators who rate all work 4 and every control 1."""
    project = make_project("bridges", name="Bridges")
    people = [make_membership(project, make_user(name)) for name in ("anna", "otto")]
    make_places(project, n_passages=6, name="known")
    make_batch(project, datasets=("known",), judgments=2)
    for _ in range(2):
        work(make_membership(project))
    make_places(project, n_passages=8, n_questions=2, n_candidates=4, name="new")
    batch = make_controlled(project, PLAN, datasets=("new",), judgments=3, hit_size=8)
    for person in people:
        work(person, answer=lambda item: 4 if item.control == "none" else FAR_OFF)
    kinds = set(Judgment.objects.values_list("item__control", flat=True))
    assert kinds >= {"none", "known_answer", "degraded", "repeat"}
    assert set(Hit.objects.values_list("purpose", flat=True)) == {"work", "gold", "personal"}
    return batch


@pytest.fixture
def batch(rated: Batch, db: None) -> Batch:
    return Batch.objects.get(pk=rated.pk)


@pytest.fixture
def project(batch: Batch) -> Project:
    return batch.project


@pytest.fixture
def annotator(project: Project) -> Membership:
    return project.memberships.get(user__username="anna")


def test_agreement_and_gold_see_the_work_only(project: Project, batch: Batch) -> None:
    ratings = fetch_rating_patterns(Scope(project=project, criterion=criteria_in_use(project)[0]))
    assert {value for unit in ratings.units for value in unit.ratings} == {4.0}
    n = sum(len(unit.ratings) * unit.n_units for unit in ratings.units)
    assert n == Judgment.objects.filter(item__control="none", is_counted=True).count()


@pytest.mark.parametrize("form", list(FORMATS))
def test_no_export_holds_a_control(project: Project, batch: Batch, form: str) -> None:
    statement = make_statement(form, Choices(project=project, with_texts=True))
    text = b"".join(stream(statement)).decode()
    assert text
    controls = Item.objects.exclude(control="none").filter(shown_text__isnull=False)
    for shown in {item.shown_text or "" for item in controls.filter(control="degraded")}:
        assert shown not in text
    if form == "long":
        lines = io.StringIO(text).readlines()[1:]
        assert len(lines) == Judgment.objects.filter(item__control="none").count()


def test_counts_progress_and_stuck_places_are_of_the_work(
    project: Project, batch: Batch, annotator: Membership
) -> None:
    progress = fetch_progress([batch])[batch.pk]
    hits = Hit.objects.filter(batch=batch, purpose=Hit.Purpose.WORK)
    assert (progress.n_hits, progress.n_wanted, progress.n_done) == (hits.count(), 3 * hits.count(), 2 * hits.count())
    assert measure_speed(batch, progress).n_recent == progress.n_done
    n_counted = count_judgments(project, Stage.ALL).n_counted
    assert n_counted == Judgment.objects.filter(item__control="none", is_counted=True).count()
    stuck = find_stuck_places(batch)
    assert stuck.n_open_hits == hits.count()
    assert_equation()


def test_every_rule_holds(project: Project, batch: Batch) -> None:
    assert verify() == []


def test_a_person_who_has_left_leaves_no_open_reserved_place(
    project: Project, batch: Batch, annotator: Membership
) -> None:
    assert take(annotator) is None
    assert not Hit.objects.exclude(purpose=Hit.Purpose.WORK).filter(places_open__gt=0).exists()
