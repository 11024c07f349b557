"""A project in which several people have rated the same HITs, each by a rule of their own."""

import uuid
from collections.abc import Callable

import numpy as np

from annotate.models import Assignment, Batch, Item, Review
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.factories import make_membership

Rule = Callable[[int, int], float]
"""From an item's true worth (1 to 5) and its place among all items to a score."""

GOOD: Rule = lambda truth, n: truth  # noqa: E731
CONTRARY: Rule = lambda truth, n: 6 - truth  # noqa: E731
SAME: Rule = lambda truth, n: 3  # noqa: E731


def true_worth(item: Item) -> int:
    return 1 + (item.pk * 7 + item.position) % 5


def work(annotator: Membership, rule: Rule, *, n_hits: int = 100, seconds: float = 4.0) -> int:
    """Rate HITs until so many are done or none is left; how many were."""
    for done in range(n_hits):
        claimed = serving.claim(annotator)
        if not isinstance(claimed, uuid.UUID):
            return done
        layout = Assignment.objects.values_list("layout", flat=True).get(uuid=claimed)
        items = Item.objects.in_bulk(layout)
        values: dict[int, dict[str, float | str]] = {
            place: {"correctness": rule(true_worth(items[pk]), items[pk].position)} for place, pk in enumerate(layout)
        }
        sent = SentAnswers(values=values, seconds=[seconds] * len(layout))
        submitting.submit(annotator=annotator, assignment_uuid=claimed, sent=sent)
    return n_hits


def noisy(seed: int) -> Rule:
    rng = np.random.default_rng(seed)
    return lambda truth, n: float(np.clip(truth + rng.choice([-1, 0, 0, 0, 1]), 1, 5))


def crew(project: Project, *rules: Rule, n_hits: int = 5, n_items: int = 8) -> tuple[Batch, list[Membership]]:
    """One annotator for each rule, all of whom have rated every HIT."""
    batch = open_batch(project, n_hits=n_hits, n_items=n_items, judgments=len(rules))
    annotators = [make_membership(project) for _ in rules]
    for annotator, rule in zip(annotators, rules, strict=True):
        work(annotator, rule)
    return batch, annotators


def quality_samples(project: Project) -> dict[str, int]:
    """A value for the paths of reviews: one of the project's submitted assignments, drawn for a spot check."""
    submitted = Assignment.objects.submitted().filter(hit__batch__project=project).earliest("pk")
    review, _ = Review.objects.get_or_create(assignment=submitted)
    return dict.fromkeys(("annotate:review-show pk", "annotate:review-judge pk"), review.pk)
