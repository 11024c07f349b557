import uuid

import pytest

from annotate import places
from annotate.models import AnnotatorFigures, Assignment, Judgment, QualityRules, Review, ReviewVerdict
from annotate.quality import monitoring
from annotate.quality.evidence import fetch_work_records, find_quality_scale
from annotate.rating import answers
from annotate.rating.sent import SentAnswers
from annotate.reviews import spot_checks
from annotate.reviews.spot_checks import ItemVerdict, SubmittedAssignment, choose
from annotate.tasks import check
from measures.outcome import Undefined
from measures.quality.figures import unpack
from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from tests.annotate.open_batches import answered, assert_equation, open_batch
from tests.annotate.quality.scripted_annotators import GOOD, work
from tests.annotate.submitted_work import claim, make_reserved, send
from tests.concurrency import all_at_once

pytestmark = pytest.mark.django_db


def make_submitted(n: int, drawn: frozenset[int] = frozenset()) -> list[SubmittedAssignment]:
    return [SubmittedAssignment(pk, str(uuid.UUID(int=pk)), pk in drawn) for pk in range(1, n + 1)]


def store_rules(project: Project, share: float, least: int) -> None:
    QualityRules.objects.create(project=project, spot_check_share=share, spot_check_floor=least, seed=11)


@pytest.fixture
def review(project: Project, annotator: Membership) -> Review:
    open_batch(project, n_hits=3)
    work(annotator, GOOD)
    store_rules(project, 0.0, 1)
    assert spot_checks.draw_spot_checks(project=project) == 1
    return Review.objects.get()


@pytest.mark.parametrize(
    ("share", "least", "n"), [(0.0, 0, 0), (0.1, 0, 10), (0.25, 0, 25), (1.0, 0, 100), (0.0, 3, 3)]
)
def test_as_many_are_drawn_as_the_rules_say(share: float, least: int, n: int) -> None:
    assert len(choose(make_submitted(100), share=share, least=least, seed=1)) == n


def test_the_floor_takes_all_where_there_are_fewer() -> None:
    assert choose(make_submitted(2), share=0.1, least=5, seed=1) == [1, 2]


def test_checks_are_spread_over_time() -> None:
    drawn = choose(make_submitted(200), share=0.1, least=0, seed=5)
    assert [(pk - 1) // 10 for pk in drawn] == list(range(20))


def test_every_place_in_a_stretch_is_drawn_alike() -> None:
    places = [(pk - 1) % 10 for seed in range(60) for pk in choose(make_submitted(200), share=0.1, least=0, seed=seed)]
    counts = [places.count(place) for place in range(10)]
    assert min(counts) > 80
    assert max(counts) < 160  # of 1,200 drawn 120 are expected; the standard deviation is 10


def test_drawing_as_the_work_comes_in_gives_the_same_as_drawing_once() -> None:
    drawn: set[int] = set()
    for n in range(1, 61):
        drawn |= set(choose(make_submitted(n, frozenset(drawn)), share=0.2, least=0, seed=3))
    assert sorted(drawn) == choose(make_submitted(60), share=0.2, least=0, seed=3)


def test_the_same_seed_draws_the_same_and_another_seed_others() -> None:
    first = choose(make_submitted(100), share=0.1, least=0, seed=1)
    assert choose(make_submitted(100), share=0.1, least=0, seed=1) == first
    assert choose(make_submitted(100), share=0.1, least=0, seed=2) != first


def test_without_rules_nothing_is_drawn(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=2)
    work(annotator, GOOD)
    assert spot_checks.draw_spot_checks(project=project) == 0
    store_rules(project, 0.0, 0)
    assert spot_checks.draw_spot_checks(project=project) == 0
    assert not Review.objects.exists()


def test_the_beat_draws_once(project: Project, annotator: Membership) -> None:
    open_batch(project, n_hits=4)
    work(annotator, GOOD)
    store_rules(project, 0.5, 0)
    check()
    assert Review.objects.count() == 2
    assert spot_checks.draw_spot_checks(project=project) == 0
    assert LogEntry.objects.get(act="draw spot checks").after == {"drawn": 2}


def test_hits_of_controls_alone_are_never_drawn(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=1)
    controls = make_reserved(batch, annotator)
    assert isinstance(controls, Assignment)
    send(controls)
    ordinary = send(claim(annotator))
    store_rules(project, 1.0, 2)
    assert spot_checks.draw_spot_checks(project=project) == 1
    assert Review.objects.get().assignment == ordinary


def test_a_review_from_draw_to_share(project: Project, review: Review, manager: Membership) -> None:
    counted = Judgment.objects.filter(is_counted=True).count()
    spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(3, 2))
    done = spot_checks.store_verdicts(
        review=review,
        reviewer=manager,
        verdicts={0: ItemVerdict(True, "Wrong."), 1: ItemVerdict(False), 2: ItemVerdict(False)},
    )
    assert done.state == Review.State.DONE
    assert sorted(ReviewVerdict.objects.values_list("is_poor", "note")) == [(False, ""), (False, ""), (True, "Wrong.")]
    assert Judgment.objects.count() == counted
    assert_equation()
    assert [found.pk for found in monitoring.find_stale_projects()] == [project.pk]
    monitoring.refresh_figures(project=project)
    figures = unpack(AnnotatorFigures.objects.get().figures)
    assert not isinstance(figures.poor, Undefined)
    assert (figures.poor.n_yes, figures.poor.n) == (1, 3)
    assert not isinstance(figures.reviewers, Undefined)
    own = Judgment.objects.filter(assignment=review.assignment)
    assert figures.reviewers.bias == pytest.approx(sum((each.value or 0) - 2 for each in own) / 3)
    assert set(LogEntry.objects.values_list("act", flat=True)) >= {"rate for a review", "finish a review"}


def test_a_review_is_not_held_against_judgments_that_do_not_count(
    project: Project, review: Review, manager: Membership
) -> None:
    spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(3, 2))
    spot_checks.store_verdicts(
        review=review, reviewer=manager, verdicts={place: ItemVerdict(False) for place in range(3)}
    )
    places.exclude_for_good([review.assignment_id], reopens=False)
    annotator = review.assignment.annotator
    scale = find_quality_scale(project)
    assert scale is not None
    records = fetch_work_records([annotator], scale)
    assert records[annotator.pk].reviewed == []


def test_the_annotators_answers_come_second(review: Review, manager: Membership) -> None:
    with pytest.raises(Refused, match="yourself first"):
        spot_checks.store_verdicts(review=review, reviewer=manager, verdicts={})
    with pytest.raises(answers.Incomplete):
        spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(2))
    assert Review.objects.get().state == Review.State.WAITING


def test_nobody_reviews_their_own_work(review: Review, annotator: Membership) -> None:
    assert spot_checks.why_not_review(review, annotator)
    with pytest.raises(Refused, match="your own work"):
        spot_checks.store_review_ratings(review=review, reviewer=annotator, sent=answered(3))


def test_every_item_needs_a_verdict_and_only_once(review: Review, manager: Membership) -> None:
    spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(3))
    with pytest.raises(Refused, match="Still open: items 2, 3"):
        spot_checks.store_verdicts(review=review, reviewer=manager, verdicts={0: ItemVerdict(False)})
    fine = {place: ItemVerdict(False) for place in range(3)}
    spot_checks.store_verdicts(review=review, reviewer=manager, verdicts=fine)
    with pytest.raises(Refused, match="finished"):
        spot_checks.store_verdicts(review=review, reviewer=manager, verdicts=fine)
    with pytest.raises(Refused, match="already been rated"):
        spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(3))
    assert ReviewVerdict.objects.count() == 3


def test_another_manager_does_not_go_on_with_it(review: Review, manager: Membership, owner: Membership) -> None:
    spot_checks.store_review_ratings(review=review, reviewer=manager, sent=answered(3))
    review.refresh_from_db()
    assert spot_checks.why_not_review(review, owner)
    with pytest.raises(Refused, match="Another reviewer"):
        spot_checks.store_verdicts(review=review, reviewer=owner, verdicts={})


def test_cannot_be_judged_is_an_answer(review: Review, manager: Membership) -> None:
    values: dict[int, dict[str, float | str]] = {0: {"correctness": 5}, 1: {"correctness": 4}}
    done = spot_checks.store_review_ratings(
        review=review, reviewer=manager, sent=SentAnswers(values=values, cannot={2: "No sense"})
    )
    assert done.answers is not None
    assert list(done.answers.values()) == [{"correctness": 5.0}, {"correctness": 4.0}, {"correctness": None}]


def test_rules_are_logged_once_and_keep_their_seed(project: Project, manager: Membership) -> None:
    first = spot_checks.set_rules(project=project, actor=manager, share=0.1, least=2, thresholds={"chance": 0.02})
    again = spot_checks.set_rules(project=project, actor=manager, share=0.1, least=2, thresholds={"chance": 0.02})
    assert first.seed == again.seed != 0
    assert LogEntry.objects.filter(act="change quality rules").count() == 1
    assert monitoring.read_thresholds(project).chance == 0.02


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_reviewers_at_once_make_one_review(review: Review, manager: Membership, owner: Membership) -> None:
    outcomes = all_at_once(_rate, [(review.pk, each.pk) for each in (manager, owner) for _ in range(3)])
    assert sorted(outcomes) == [False] * 5 + [True]


def _rate(what: tuple[int, int]) -> bool:
    review, reviewer = Review.objects.get(pk=what[0]), Membership.objects.get(pk=what[1])
    try:
        spot_checks.store_review_ratings(review=review, reviewer=reviewer, sent=answered(3))
    except Refused:
        return False
    return True


def test_imported_and_removed_work_is_not_drawn(project: Project, annotator: Membership) -> None:
    batch = open_batch(project, n_hits=2)
    work(annotator, GOOD)
    store_rules(project, 1.0, 0)
    Membership.objects.filter(pk=annotator.pk).update(standing="removed")
    assert spot_checks.draw_spot_checks(project=project) == 0
    Membership.objects.filter(pk=annotator.pk).update(standing="active")
    type(batch).objects.filter(pk=batch.pk).update(kind="imported", state="closed")
    assert spot_checks.draw_spot_checks(project=project) == 0
    assert Assignment.objects.count() == 2
