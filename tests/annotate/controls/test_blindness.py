"""The annotator cannot tell: ACCEPTANCE E5, E6, E8 and E9 on batches with every kind of control."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from annotate.controls.plans import ControlPlan
from annotate.models import Assignment, Batch, Draft, Hit, Item, Judgment
from annotate.places.taking import SHOWN_ORDER
from projects.models import Candidate, Membership, Passage, Project, Question
from tests.annotate.controls.crowd import hand_in, items_of, make_controlled, make_places, take, work
from tests.factories import make_batch, make_membership
from tests.people import SignIn

pytestmark = pytest.mark.django_db
MARK = "zqzmarker"
WORDS = re.compile(
    rf"{MARK}|known.?answer|degraded|personal|gold\b|reserved|made.?from|expected|recipe|pool|control_|is_control",
    re.IGNORECASE,
)
PLAN = ControlPlan(
    known_per_hit=1, known_hit_every=3, degraded_per_hit=1, repeats=2, repeats_every=3, distance=1, seed=918273645
)
HARMLESS = re.compile(r"cache-control|personal-data", re.IGNORECASE)


@pytest.fixture
def batch(project: Project) -> Batch:
    """Work with every kind of control, and a marker in everything that annotators are not to see."""
    make_places(project, n_passages=6, name="known")
    make_batch(project, datasets=("known",), judgments=2)
    work(make_membership(project, pseudonym=f"{MARK}-rater-1"), answer=lambda item: 2)
    work(make_membership(project, pseudonym=f"{MARK}-rater-2"), answer=lambda item: 4)
    make_places(project, n_passages=8, n_questions=2, n_candidates=4, name=f"{MARK}-dataset")
    batch = make_controlled(project, PLAN, datasets=(f"{MARK}-dataset",), judgments=3, hit_size=8)
    Candidate.objects.filter(dataset__project=project).update(
        source=f"{MARK}-source", metadata={f"{MARK}_key": f"{MARK}-value"}, opinion=f"{MARK}-opinion"
    )
    for model in (Candidate, Question, Passage):
        for row in model.objects.all():
            model.objects.filter(pk=row.pk).update(external_id=f"{MARK}-{row.external_id}")
    for item in Item.objects.filter(pool_of=batch):
        item.expected = {**(item.expected or {}), f"{MARK}_expected": [1, 1]}
        item.save(update_fields=["expected"])
    return batch


def leaks(value: Any, path: str = "") -> Iterator[str]:
    """Every hidden word in a text, or in the keys and values of what was read from JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaks(str(key), f"{path} key")
            yield from leaks(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaks(inner, f"{path}[{place}]")
    else:
        yield from (f"{path}: {found[0]}" for found in WORDS.finditer(HARMLESS.sub("", str(value))))


def leaks_of(response: Any) -> list[str]:
    found = [*leaks(dict(response.headers), "headers"), *leaks(response.cookies.output(), "cookies")]
    if "json" in response.headers.get("Content-Type", ""):
        return [*found, *leaks(response.json(), "json")]
    return [*found, *leaks(response.content.decode(), response.request["PATH_INFO"])]


def test_nothing_of_a_whole_session_tells_a_control(
    client_of: SignIn, annotator: Membership, project: Project, batch: Batch
) -> None:
    client = client_of(annotator)
    start = reverse("annotate:work-start", args=[project.slug])
    found: list[str] = []
    response = client.post(start)
    purposes, controls = set(), set()
    while "/work/" in response["Location"]:
        found += leaks_of(response)
        url = response["Location"]
        assignment = Assignment.objects.select_related("hit").get(annotator=annotator, state="open")
        purposes.add(assignment.hit.purpose)
        controls |= {item.control for item in items_of(assignment)}
        n = len(assignment.layout)
        found += leaks_of(client.get(url))
        draft = {"answers": {str(place): {"correctness": [4, 1]} for place in range(n)}, "comments": {"0": ["x", 1]}}
        found += leaks_of(client.post(f"{url}draft/", draft, content_type="application/json"))
        found += leaks_of(client.post(url, {"a0-correctness": "4"}))
        response = client.post(url, {f"a{place}-correctness": "4" for place in range(n)})
    for name in ("annotate:project-desk", "annotate:history", "annotate:instructions"):
        found += leaks_of(client.get(reverse(name, args=[project.slug])))
    found += leaks_of(client.get(reverse("annotate:desk")))
    assert purposes == {Hit.Purpose.WORK, Hit.Purpose.GOLD, Hit.Purpose.PERSONAL}
    assert controls >= {"none", "known_answer", "degraded", "repeat"}
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
        for place, item in enumerate(items_of(assignment)):
            Draft.objects.all().delete()
            sent = {"answers": {str(place): {"correctness": [4, 1700000000000]}}}
            response = client.post(url, sent, content_type="application/json")
            n = len(response.content) - len(response.json()["saved_at"])
            answers[item.control != "none"].add((response.status_code, n, tuple(response.json())))
        hand_in(annotator, assignment)
    assert answers[True] == answers[False]
    assert len(answers[True]) == 1


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
            [str(assignment.uuid), str(assignment.uuid), sorted(assignment.layout)],
        )
        assert cursor.fetchone()[0] == assignment.layout


def test_a_control_stands_before_an_item_as_often_as_after(batch: Batch) -> None:
    """Ten thousand orders of two items of one question: within three standard deviations of a half."""
    control = Item.objects.filter(pool_of=batch, control="known_answer").first()
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
