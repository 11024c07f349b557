"""The annotator cannot tell: ACCEPTANCE E5, E6, E8 and E9 on batches with every kind of control."""

import re
from collections.abc import Iterator
from random import Random
from time import perf_counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from pytest_django import Settings
from scipy.stats import ks_2samp

from annotate.batches.control_plan import ControlPlan
from annotate.models import Adjudication, Assignment, Batch, Draft, Finding, Hit, Item, Judgment, Remark, Review
from annotate.places.seeds import secret_seed
from annotate.places.taking import NEW_UUID, SHOWN_ORDER
from annotate.reviews import spot_checks
from annotate.reviews.spot_checks import ItemVerdict
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import (
    fetch_items,
    make_controlled,
    make_places,
    submit_assignment,
    take,
    work,
)
from tests.annotate.controls.markers import SEED, find_leaks, plant
from tests.annotate.controls.test_one_at_a_time import submit_by_steps
from tests.factories import make_batch, make_membership
from tests.people import SignIn

pytestmark = pytest.mark.django_db
IN_PAGE = {"known_per_hit": 1, "known_hit_every": 3, "degraded_per_hit": 1, "repeats": 2, "repeats_every": 3}
IN_ONE = {"known_per_hit": 1, "known_hit_every": 3, "degraded_per_hit": 1, "repeats_per_hit": 1, "item_distance": 2}
PLAN = ControlPlan(**IN_PAGE, distance=1, seed=SEED)
N_PAIRS = 1_000
LEAST_P = 0.01


@pytest.fixture
def known(project: Project) -> None:
    """Judged candidates, for whole HITs of known scores."""
    make_places(project, n_passages=6, name="known")
    make_batch(project, datasets=("known",), judgments=2)
    work(make_membership(project), answer=lambda item: 2)
    work(make_membership(project), answer=lambda item: 4)


@pytest.fixture
def batch(project: Project, known: None) -> Batch:
    """Work with every kind of control."""
    make_places(project, n_passages=8, n_questions=2, n_candidates=4, name="new")
    return make_controlled(project, PLAN, datasets=("new",), judgments=3, hit_size=8)


@pytest.fixture
def one(project: Project, known: None) -> Batch:
    """The same with items one at a time."""
    make_places(project, n_passages=4, n_questions=2, n_candidates=3, name="new")
    plan = ControlPlan(**IN_ONE, distance=1, seed=SEED)
    over: dict[str, Any] = {"judgments": 3, "hit_size": 9, "presentation": Batch.Presentation.ONE}
    return make_controlled(project, plan, datasets=("new",), **over)


def make_secrets(project: Project, annotator: Membership, manager: Membership) -> None:
    """Rows of everything that managers know of the work and its annotators."""
    other = make_membership(project)
    submit_any(other)
    assignment = Assignment.objects.filter(annotator=other).select_related("hit").get()
    item = Item.objects.filter(hit=assignment.hit, candidate__isnull=False).first()
    assert item is not None
    assert item.candidate is not None
    Remark.objects.create(assignment=assignment, item=item, comment="not for you")
    criterion = assignment.hit.batch.rubric.criteria.get()
    Adjudication.objects.create(
        candidate=item.candidate, criterion=criterion, adjudicator=manager, value=2, note="settled"
    )
    spot_checks.set_rules(project=project, actor=manager, share=1, least=1, thresholds={})
    spot_checks.draw_spot_checks(project=project)
    review = Review.objects.filter(assignment__annotator=other).get()
    Review.objects.filter(pk=review.pk).update(state="rated", reviewer=manager, answers={"1": {"correctness": 2}})
    verdicts = {place: ItemVerdict(is_poor=True, note="careless") for place in range(len(assignment.layout))}
    spot_checks.store_verdicts(review=review, reviewer=manager, verdicts=verdicts)
    for person in (annotator, other):
        Finding.objects.create(annotator=person, kind="straight_line", evidence={"says": "one score for all"})


def submit_any(person: Membership) -> None:
    assignment = take(person)
    assert assignment is not None
    if assignment.hit.batch.presentation == Batch.Presentation.PAGE:
        submit_assignment(person, assignment)
    else:
        submit_by_steps(person, assignment)


def work_through(client: Client, annotator: Membership, start: str) -> Iterator[Any]:
    """Every response of a whole session: pages, drafts, forms refused and taken, until nothing is left."""
    response = client.post(start)
    while "/work/" in response["Location"]:
        yield response
        url = response["Location"]
        assignment = Assignment.objects.select_related("hit__batch").get(annotator=annotator, state="open")
        places = range(len(assignment.layout))
        is_page = assignment.hit.batch.presentation == Batch.Presentation.PAGE
        for step in [places] if is_page else [range(place, place + 1) for place in places]:
            place = {} if is_page else {"place": str(step[0])}
            yield client.get(url)
            draft = {"answers": {str(n): {"correctness": [4, 1]} for n in step}, "comments": {str(step[0]): ["x", 1]}}
            yield client.post(f"{url}draft/", draft, content_type="application/json")
            yield client.post(url, place)
            response = client.post(url, {**place, **{f"a{n}-correctness": "4" for n in step}})
            yield response


@pytest.mark.parametrize("presentation", ["batch", "one"])
def test_nothing_of_a_whole_session_tells_a_control(
    client_of: SignIn,
    annotator: Membership,
    manager: Membership,
    project: Project,
    presentation: str,
    request: pytest.FixtureRequest,
) -> None:
    request.getfixturevalue(presentation)
    make_secrets(project, annotator, manager)
    planted = plant(annotator)
    assert planted >= {
        *("Candidate.source", "Candidate.metadata", "Candidate.external_id", "Candidate.opinion", "Dataset.name"),
        *("Passage.external_id", "Question.external_id", "Item.expected", "Batch.control_plan", "Remark.comment"),
        *("Finding.evidence", "Review.answers", "ReviewVerdict.note", "Adjudication.note", "QualityRules.thresholds"),
        *("User.username", "Batch.selection"),
    }
    client = client_of(annotator)
    found: list[str] = []
    for response in work_through(client, annotator, reverse("annotate:work-start", args=[project.slug])):
        found += find_leaks(response)
    for name in ("annotate:project-desk", "annotate:history", "annotate:instructions", "annotate:earnings"):
        found += find_leaks(client.get(reverse(name, args=[project.slug])))
    found += find_leaks(client.get(reverse("annotate:desk")))
    done = Assignment.objects.filter(annotator=annotator).select_related("hit")
    controls = {item.control for assignment in done for item in fetch_items(assignment)}
    assert controls >= {"none", "known_answer", "degraded", "repeat"}
    assert {assignment.hit.purpose for assignment in done} >= {Hit.Purpose.WORK, Hit.Purpose.GOLD}
    assert (presentation == "one") != ("personal" in {assignment.hit.purpose for assignment in done})
    assert found == []


def test_a_draft_of_a_control_is_answered_as_any_other(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    client = client_of(annotator)
    answers: dict[bool, set[Any]] = {True: set(), False: set()}
    for _ in range(3):
        assignment = take(annotator)
        assert assignment is not None
        url = reverse("annotate:work-draft", args=[project.slug, assignment.uuid])
        for place, item in enumerate(fetch_items(assignment)):
            Draft.objects.all().delete()
            sent = {"answers": {str(place): {"correctness": [4, 1700000000000]}}}
            response = client.post(url, sent, content_type="application/json")
            n = len(response.content) - len(response.json()["saved_at"])
            answers[item.control != "none"].add((response.status_code, n, tuple(response.json())))
        submit_assignment(annotator, assignment)
    assert answers[True] == answers[False]
    assert len(answers[True]) == 1


@pytest.mark.drill
def test_a_draft_of_a_control_takes_as_long_as_any_other(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    """Kolmogorov-Smirnov over 1,000 pairs; a p below 0.01 by chance, one time in a hundred, is measured once more."""
    client = client_of(annotator)
    assert any(_compare_times(client, annotator, project) > LEAST_P for _ in range(2))


def _compare_times(client: Client, annotator: Membership, project: Project) -> float:
    assignment = take(annotator)
    assert assignment is not None
    url = reverse("annotate:work-draft", args=[project.slug, assignment.uuid])
    sides: dict[bool, list[int]] = {False: [], True: []}
    for place, item in enumerate(fetch_items(assignment)):
        sides[item.control != Item.Control.NONE].append(place)
    rng = Random(1)
    times: dict[bool, list[float]] = {False: [], True: []}
    for n in range(N_PAIRS):
        for is_control in rng.sample([False, True], 2):
            place = rng.choice(sides[is_control])
            sent = {"answers": {str(place): {"correctness": [1 + n % 5, 1_700_000_000_000 + n]}}}
            begun = perf_counter()
            response = client.post(url, sent, content_type="application/json")
            times[is_control].append(perf_counter() - begun)
            assert response.status_code == 200
    return float(ks_2samp(times[False], times[True]).pvalue)


def shape(page: str) -> set[tuple[Any, ...]]:
    """The tags of a page with the names of their attributes and their classes."""
    return {
        (tag, *sorted(re.findall(r" ([a-z-]+)=", attributes)), *re.findall(r'class="([^"]*)', attributes))
        for tag, attributes in re.findall(r"<([a-z0-9]+)([^>]*)>", page)
    }


def test_a_hit_made_for_one_annotator_looks_and_ends_like_any_other(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    client = client_of(annotator)
    shapes: dict[str, set[tuple[Any, ...]]] = {}
    ends: dict[str, set[tuple[int, int]]] = {}
    while (assignment := take(annotator)) is not None:
        url = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
        purpose = assignment.hit.purpose
        shapes.setdefault(purpose, set()).update(shape(client.get(url).content.decode()))
        form = {f"a{place}-correctness": "4" for place in range(len(assignment.layout))}
        response = client.post(url, form)
        if "/work/" in response["Location"]:
            ends.setdefault(purpose, set()).add((response.status_code, len(response["Location"])))
    assert set(shapes) == {"work", "gold", "personal"}
    assert shapes["personal"] <= shapes["work"]
    assert shapes["gold"] <= shapes["work"]
    assert ends["personal"] == ends["gold"] == ends["work"]


def test_the_first_submitted_value_of_a_control_is_final(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    client = client_of(annotator)
    assignment = take(annotator)
    assert assignment is not None
    url = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
    n = len(assignment.layout)
    client.post(url, {f"a{place}-correctness": "2" for place in range(n)})
    assert client.post(url, {f"a{place}-correctness": "5" for place in range(n)}).status_code == 409
    draft = {"answers": {"0": {"correctness": [5, 9e15]}}}
    assert client.post(f"{url}draft/", draft, content_type="application/json").status_code == 409
    values = set(Judgment.objects.filter(assignment=assignment).values_list("value", flat=True))
    assert values == {2.0}
    assert Judgment.objects.filter(assignment=assignment, item__control="known_answer").count() == 1


def test_a_reload_shows_the_same_order_and_the_uuid_gives_it_again(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    assignment = take(annotator)
    assert assignment is not None
    url = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
    texts = [re.findall(r'id="t\d+">([^<]*)', client_of(annotator).get(url).content.decode()) for _ in range(3)]
    assert texts[0] == texts[1] == texts[2]
    again = take(annotator)
    assert again is not None
    assert (again.uuid, again.layout) == (assignment.uuid, assignment.layout)
    order = SHOWN_ORDER.format(seed="%s")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT array_agg(i.id ORDER BY {order}) FROM annotate_item i WHERE i.id = ANY(%s)",
            [secret_seed(assignment.uuid), secret_seed(assignment.uuid), sorted(assignment.layout)],
        )
        assert cursor.fetchone()[0] == assignment.layout


@pytest.mark.parametrize("presentation", Batch.Presentation.values)
def test_the_address_alone_does_not_give_the_order(
    project: Project, annotator: Membership, settings: Settings, presentation: str
) -> None:
    """Anybody can draw again what comes from the address; another secret key lays the same HIT out otherwise."""
    make_places(project, n_passages=1, n_questions=1, n_candidates=8)
    make_controlled(project, ControlPlan(known_per_hit=2), presentation=presentation, hit_size=10)
    token = NEW_UUID.set(lambda: UUID(int=7))
    layouts = []
    try:
        for key in ("one key", "another key", "one key"):
            settings.SECRET_KEY = key
            with transaction.atomic():
                assignment = take(annotator)
                assert assignment is not None
                layouts.append(assignment.layout)
                transaction.set_rollback(True)
    finally:
        NEW_UUID.reset(token)
    assert layouts[0] == layouts[2] != layouts[1]


def test_the_seed_of_a_plan_alone_does_not_give_when_controls_are_due(settings: Settings) -> None:
    """It is 0 unless somebody chooses another, and the numbers of annotators are small."""
    due = []
    for key in ("one key", "another key", "one key"):
        settings.SECRET_KEY = key
        due.append([PLAN.due_at(n, 10, who=1, what="gold") for n in range(1, 40)])
    assert due[0] == due[2] != due[1]


def test_a_control_comes_before_an_item_as_often_as_after(batch: Batch) -> None:
    """Ten thousand orders of two items of one question: within three standard deviations of a half."""
    pool = Item.objects.filter(pool_of=batch, control="known_answer").exclude(recipe="candidate")
    control = pool.order_by("pk").first()
    assert control is not None
    item = Item.objects.filter(hit__batch=batch, question=control.question).first()
    assert item is not None
    order = SHOWN_ORDER.format(seed="md5('order' || n)::uuid::text")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*) FILTER (WHERE layout[1] = %s) FROM generate_series(1, 10000) AS n, LATERAL (
                    SELECT array_agg(i.id ORDER BY {order}) AS layout
                    FROM annotate_item i WHERE i.id = ANY(%s)) shown""",
            [control.pk, [control.pk, item.pk]],
        )
        n_before = cursor.fetchone()[0]
    assert abs(n_before - 5_000) <= 3 * 50
