"""Where the project shows the candidates' opinions, no control is recognised by having one or by lacking it."""

import re
from math import sqrt
from typing import Any

import pytest
from django.db.models import F
from django.urls import reverse

from annotate.batches.control_plan import ControlPlan
from annotate.models import Batch, Item
from annotate.rating.shown import ShownItem, list_items
from projects.models import Candidate, Membership, Project, Reference
from tests.annotate.controls.controlled_batches import (
    fetch_items,
    make_controlled,
    make_places,
    submit_assignment,
    take,
    work,
)
from tests.annotate.controls.test_one_at_a_time import submit_by_steps
from tests.annotate.open_batches import open_batch
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
Control, Recipe = Item.Control, Item.Recipe
IN_PAGE: dict[str, Any] = {"known_per_hit": 1, "degraded_per_hit": 1, "repeats": 2, "repeats_every": 2, "distance": 1}
IN_ONE: dict[str, Any] = {"known_per_hit": 1, "degraded_per_hit": 1, "repeats_per_hit": 1, "item_distance": 2}


@pytest.fixture
def shown(project: Project) -> Project:
    """A project that shows what candidates were predicted to say; references say Yes, and candidates no."""
    Project.objects.filter(pk=project.pk).update(shows_candidate_opinion=True)
    project.refresh_from_db()
    make_places(project, n_passages=3, n_questions=2, n_candidates=4)
    dataset = make_dataset(project)
    for n in range(2):  # no candidate is good enough to be degraded: references are shown as sources, over two HITs
        question = make_question(make_passage(dataset), references=(f"The silver house{n} near the mill of town{n}.",))
        make_candidates(question, 12, text="Nobody knows.")
        for candidate in question.candidates.all():
            Candidate.objects.filter(pk=candidate.pk).update(text=f"Nobody knows {candidate.external_id}.")
    Reference.objects.update(opinion="Yes")
    Candidate.objects.update(opinion="no")
    return project


def controlled(project: Project, presentation: str = "page", **over: Any) -> Batch:
    plan = ControlPlan(**(IN_PAGE if presentation == "page" else IN_ONE))
    return make_controlled(project, plan, hit_size=8, presentation=presentation, **over)


def start_session(annotator: Membership) -> list[tuple[Item, ShownItem]]:
    """Every item of a whole session, with what the page shows of it."""
    found: list[tuple[Item, ShownItem]] = []
    while (assignment := take(annotator)) is not None:
        found += zip(fetch_items(assignment), list_items(assignment.layout, with_opinions=True), strict=True)
        if assignment.hit.batch.presentation == Batch.Presentation.PAGE:
            submit_assignment(annotator, assignment)
        else:
            submit_by_steps(annotator, assignment)
    return found


@pytest.mark.parametrize("presentation", ["page", "one"])
@pytest.mark.parametrize("opinion", ["no", ""])
def test_all_items_show_an_opinion_or_none_does(
    shown: Project, annotator: Membership, presentation: str, opinion: str
) -> None:
    Candidate.objects.update(opinion=opinion)
    controlled(shown, presentation)
    session = start_session(annotator)
    kinds = {item.control for item, _ in session}
    assert kinds == {*Control.values}
    assert {bool(page.opinion) for _, page in session} == {bool(opinion)}


def test_repeats_and_degraded_answers_show_what_they_were_made_from(shown: Project, annotator: Membership) -> None:
    for candidate in Candidate.objects.all():
        Candidate.objects.filter(pk=candidate.pk).update(opinion=("", "yes", "no")[candidate.pk % 3])
    batch = controlled(shown)
    session = start_session(annotator)
    opinions = {item.pk: page.opinion for item, page in session}
    made = [item for item, _ in session if item.made_from_id is not None]
    assert {item.control for item in made} == {Control.REPEAT, Control.DEGRADED}
    # Which of the pool an annotator gets is chance, so a session may lack an answer that was made from a reference.
    assert Item.objects.filter(pool_of=batch, made_from__control=Control.SOURCE).exists()
    assert {item.made_from.control for item in made if item.made_from} <= {*Control.values} - {Control.DEGRADED}
    assert [item.control for item in made if opinions[item.pk] != opinions[item.made_from_id or 0]] == []
    assert len({opinions[item.pk] for item in made}) > 1


def test_a_right_answer_shows_the_opinion_of_the_reference_and_a_wrong_one_another(shown: Project) -> None:
    batch = controlled(shown)
    first = Candidate.objects.order_by("question_id", "pk").distinct("question_id").values_list("pk", flat=True)
    Candidate.objects.filter(pk__in=list(first)).update(opinion="YES")
    pool = {item.pk: item for item in Item.objects.filter(pool_of=batch, control=Control.KNOWN_ANSWER)}
    page = {item.id: item.opinion for item in list_items(list(pool), with_opinions=True)}
    shown_verdicts = {(item.recipe == Recipe.OTHER_REFERENCE, page[pk]) for pk, item in pool.items()}
    assert shown_verdicts == {(False, "Yes"), (True, "no")}


def test_a_reference_among_several_shows_its_own_opinion(shown: Project) -> None:
    for reference in list(Reference.objects.all()):
        Reference.objects.create(question=reference.question, position=1, text="It depends.", opinion="Depends")
    batch = controlled(shown)
    right = Item.objects.filter(pool_of=batch, recipe=Recipe.REFERENCE)
    own = {item.pk: Reference.objects.get(question=item.question, text=item.shown_text).opinion for item in right}
    assert set(own.values()) == {"Yes", "Depends"}
    assert {item.id: item.opinion for item in list_items(list(own), with_opinions=True)} == own


def test_where_some_candidates_have_an_opinion_as_many_controls_do(project: Project) -> None:
    dataset = make_places(project, n_passages=30, n_questions=2, n_candidates=4)
    Reference.objects.update(opinion="Yes")
    Candidate.objects.filter(dataset=dataset).annotate(odd=F("pk") % 2).filter(odd=1).update(opinion="no")
    batch = make_controlled(project, ControlPlan(known_per_hit=4), hit_size=12)
    pool = list(Item.objects.filter(pool_of=batch).values_list("pk", flat=True))
    page = list_items(pool, with_opinions=True)
    n_with = sum(bool(item.opinion) for item in page)
    assert len(page) >= 100
    assert abs(n_with - len(page) / 2) <= 4 * sqrt(len(page)) / 2
    assert page == list_items(pool, with_opinions=True)


@pytest.mark.parametrize("shows", [True, False])
def test_a_reference_without_an_opinion_is_no_right_answer_beside_candidates_with_one(
    shown: Project, annotator: Membership, shows: bool
) -> None:
    Project.objects.update(shows_candidate_opinion=shows)
    Reference.objects.update(opinion="")
    make_controlled(shown, ControlPlan(known_per_hit=3), hit_size=8)
    drawn = [item for assignment in work(annotator) for item in fetch_items(assignment) if item.control != "none"]
    right = [item for item in drawn if item.recipe in (Recipe.REFERENCE, Recipe.EDITED_REFERENCE)]
    assert drawn
    assert bool(right) != shows


def test_the_page_says_the_same_of_every_item(shown: Project, annotator: Membership, client_of: SignIn) -> None:
    """All but the texts, the numbers and the opinion itself, which is written one way."""
    Candidate.objects.annotate(odd=F("pk") % 2).filter(odd=1).update(opinion="YES")
    controlled(shown)
    client = client_of(annotator)
    bare, opinions = set(), set()
    while (assignment := take(annotator)) is not None:
        page = condense(client.get(reverse("annotate:work-show", args=[shown.slug, assignment.uuid])).content.decode())
        items = re.findall(r'<fieldset class="item.*?</fieldset>', page, re.DOTALL)
        assert len(items) == len(assignment.layout)
        for markup in items:
            opinions |= set(re.findall(r"Opinion: <bdi>(.*?)</bdi>", markup))
            without = re.sub(r"(<bdi>|id=\"t\d+\"[^>]*>)[^<]*", r"\1", markup)
            bare.add(re.sub(r"\d+", "", without))
        submit_assignment(annotator, assignment)
    assert opinions == {"Yes", "No"}
    assert len(bare) == 1


def test_nothing_of_it_is_shown_unless_the_project_asks(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project)
    Reference.objects.update(opinion="planted-reference")
    Candidate.objects.update(opinion="planted-candidate")
    project.datasets.get().questions.update(type="yes-no", entities=["planted-entity"])
    assignment = take(annotator)
    assert assignment is not None
    url = reverse("annotate:work-show", args=[project.slug, assignment.uuid])
    words = {
        "shows_question_type": "yes-no question",
        "shows_entities": "planted-entity",
        "shows_reference_opinion": "planted-reference",
        "shows_candidate_opinion": "planted-candidate",
    }
    for shown in [None, *words]:
        Project.objects.update(**{name: name == shown for name in words})
        page = client_of(annotator).get(url).content.decode()
        assert [name for name, word in words.items() if word in page] == [shown] * (shown is not None)
