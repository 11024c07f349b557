"""A judged project: two datasets, two systems, ten passages, two people."""

import numpy as np
import pytest

from projects.models import Membership, Project
from results.models import MetricRun
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.results.judged_batches import judge
from tests.results.studies.factories import give_scores, list_candidates


@pytest.fixture
def judged(project: Project) -> Project:
    rng, ratings = np.random.default_rng(3), {}
    people = [make_membership(project) for _ in range(2)]
    for name in ("news", "stories"):
        dataset = make_dataset(project, name)
        for n in range(5):
            question = make_question(make_passage(dataset, f"{name}-{n}"), type="entity" if n % 2 else "yes-no")
            for source, height in (("weak", 2), ("strong", 4)):
                (candidate,) = make_candidates(question, source=source)
                ratings[candidate] = {each: float(np.clip(height + rng.integers(-1, 2), 1, 5)) for each in people}
    judge(project, ratings)
    return project


@pytest.fixture
def runs(judged: Project, owner: Membership) -> list[MetricRun]:
    """A metric that follows people, one that does not, and one that gives one score to all."""
    rng, candidates = np.random.default_rng(4), list_candidates(judged)
    near = {each.pk: (each.source == "strong") + float(rng.normal(0, 0.3)) for each in candidates}
    far = {each.pk: float(rng.normal()) for each in candidates}
    return [
        give_scores(judged, owner, "Near", near),
        give_scores(judged, owner, "Far & <b>away</b>", far),
        give_scores(judged, owner, "Constant", dict.fromkeys(near, 0.5)),
    ]
