"""One person in several tabs of two projects, in random order: no answer ever lands on another HIT."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count

import pytest
from django.test import Client

from annotate.models import Assignment, Draft, Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Project, User
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import assert_equation, open_batch
from tests.factories import make_membership, make_project, make_user

pytestmark = pytest.mark.django_db
N_ITEMS = 3
N_STEPS = 40
Values = dict[int, float]


@dataclass
class Tab:
    """A page of the browser: the HIT that it shows, and those that its back button leads to."""

    project: Project
    path: str = ""
    before: list[str] = field(default_factory=list)


@dataclass
class Person:
    """One browser with its tabs, and what must be stored of all that was typed there: by path and place."""

    client: Client
    tabs: list[Tab]
    rng: random.Random
    submitted: dict[str, Values] = field(default_factory=dict)
    drafted: dict[str, Values] = field(default_factory=dict)
    fresh: Iterator[int] = field(default_factory=lambda: count(1))

    def step(self) -> None:
        tab = self.rng.choice(self.tabs)
        if not tab.path:
            self.open(tab)
            return
        self.rng.choice([self.draft, self.draft, self.submit, self.submit_again, self.go_back, self.reload])(tab)

    def open(self, tab: Tab) -> None:
        self.land(tab, self.client.post(f"/p/{tab.project.slug}/work/")["Location"])

    def land(self, tab: Tab, location: str) -> None:
        """Where a redirect leads: a HIT, or the desk once nothing is left."""
        if tab.path:
            tab.before.append(tab.path)
        tab.path = location if "/work/" in location else ""
        assert location not in self.submitted
        assert location.startswith(f"/p/{tab.project.slug}/")

    def draft(self, tab: Tab) -> None:
        """A save carries the HIT of its own tab, whatever the server served last."""
        place, value = self.rng.randrange(N_ITEMS), float(next(self.fresh))
        sent = {"answers": {place: {"overall": [value, value]}}}
        answer = self.client.post(tab.path + "draft/", json.dumps(sent), content_type="application/json")
        if tab.path in self.submitted:
            assert answer.status_code == HTTPStatus.CONFLICT
        else:
            assert answer.status_code == HTTPStatus.OK
            self.drafted.setdefault(tab.path, {})[place] = value

    def submit(self, tab: Tab) -> None:
        values = {place: float(next(self.fresh)) for place in range(N_ITEMS)}
        answer = self.client.post(tab.path, make_form(values))
        if tab.path in self.submitted:
            assert answer.status_code == HTTPStatus.CONFLICT
            assert "already submitted this HIT" in answer.content.decode()
            return
        assert answer.status_code == HTTPStatus.SEE_OTHER
        self.submitted[tab.path] = values
        self.drafted.pop(tab.path, None)
        self.land(tab, answer["Location"])

    def submit_again(self, tab: Tab) -> None:
        if tab.path in self.submitted:
            answer = self.client.post(tab.path, make_form(self.submitted[tab.path]))
            assert answer.status_code == HTTPStatus.SEE_OTHER
            self.land(tab, answer["Location"])

    def go_back(self, tab: Tab) -> None:
        if tab.before:
            tab.path = tab.before.pop()

    def reload(self, tab: Tab) -> None:
        page = self.client.get(tab.path)
        assert page.status_code == (HTTPStatus.FOUND if tab.path in self.submitted else HTTPStatus.OK)
        for value in self.drafted.get(tab.path, {}).values():
            assert f'value="{value:g}"' in page.content.decode()


def make_form(values: Values) -> dict[str, str]:
    return {f"a{place}-overall": str(value) for place, value in values.items()}


def work_in(user: User) -> Project:
    project = make_project()
    make_membership(project, user)
    scale = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100_000)
    spec = CriterionSpec(key="overall", name="Overall", statement="", scale=scale, level=Level.INTERVAL)
    create_rubric(project, name="Long", preset="custom", criteria=[spec])
    open_batch(project, n_hits=4, n_items=N_ITEMS)
    return project


def test_no_answer_crosses_over_in_any_order(scale: int) -> None:
    n_submitted = 0
    for seed in range(10 * scale):
        user = make_user()
        client = Client()
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        projects = [work_in(user), work_in(user)]
        person = Person(client, [Tab(project) for project in projects * 2], random.Random(seed))
        for _ in range(N_STEPS):
            person.step()
        stored, drafted = fetch_stored(user)
        assert (stored, drafted) == (person.submitted, person.drafted), f"seed {seed}"
        n_submitted += len(stored)
    assert n_submitted > 30 * scale
    assert_equation()


def fetch_stored(user: User) -> tuple[dict[str, Values], dict[str, Values]]:
    stored: dict[str, Values] = {}
    drafted: dict[str, Values] = {}
    for assignment in Assignment.objects.filter(annotator__user=user).select_related("annotator__project"):
        path = f"/p/{assignment.annotator.project.slug}/work/{assignment.uuid}/"
        for item, value in Judgment.objects.filter(assignment=assignment).values_list("item_id", "value"):
            assert value is not None
            stored.setdefault(path, {})[assignment.layout.index(item)] = value
        for draft in Draft.objects.filter(assignment=assignment):
            drafted[path] = {int(place): answer["overall"][0] for place, answer in draft.answers["answers"].items()}
    return stored, drafted
