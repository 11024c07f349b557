"""Judged projects that tests of several packages use."""

import pytest
from django.core.cache import cache

from annotate.models import Batch
from projects.models import Candidate, Project
from tests.factories import make_corpus, make_membership
from tests.results.judged_batches import VALUES, Ratings, judge


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


@pytest.fixture
def rated(project: Project) -> list[Candidate]:
    make_corpus(project, name="one", n_candidates=4)
    people = [make_membership(project) for _ in range(3)]
    candidates = list(Candidate.objects.in_project(project).order_by("pk"))
    ratings: Ratings = {
        candidate: dict(zip(people, given, strict=True)) for candidate, given in zip(candidates, VALUES, strict=True)
    }
    judge(project, ratings)
    return candidates


@pytest.fixture
def trial(project: Project) -> Batch:
    """Four items by three annotators: equal, one apart, the whole scale apart, and rated only once."""
    make_corpus(project, name="one", n_candidates=4)
    people = [make_membership(project) for _ in range(3)]
    values = ((3, 3, 3), (3, 4, 3), (1, 5, 1), (2, None, None))
    candidates = Candidate.objects.in_project(project).order_by("pk")
    ratings: Ratings = {
        candidate: dict(zip(people, given, strict=True)) for candidate, given in zip(candidates, values, strict=True)
    }
    return judge(project, ratings, kind="trial")
