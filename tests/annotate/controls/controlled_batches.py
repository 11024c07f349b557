"""What the tests of controls share: a batch with a pool, and an annotator who works through it by the real acts."""

from collections.abc import Callable
from typing import Any

from annotate.batches.control_plan import ControlPlan
from annotate.controls.making import make_pool
from annotate.controls.pool import accept
from annotate.models import Assignment, Batch, Item
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.models import Dataset, Membership, Project
from tests.factories import make_batch, make_candidates, make_dataset, make_passage, make_question

PLACES = [
    "bridge",
    "river",
    "valley",
    "castle",
    "harbour",
    "forest",
    "village",
    "market",
    "chapel",
    "meadow",
    "orchard",
]
COLOURS = ["red", "green", "blue", "white", "black", "yellow", "brown", "grey", "golden", "silver"]

Answer = Callable[[Item], float]


def make_places(
    project: Project, *, n_passages: int = 3, n_questions: int = 2, n_candidates: int = 4, name: str = ""
) -> Dataset:
    """Passages whose candidates are near their references, so that they can be degraded."""
    dataset = make_dataset(project, name=name)
    for p in range(n_passages):
        passage = make_passage(dataset)
        for q in range(n_questions):
            number = p * n_questions + q
            place, colour = PLACES[number % len(PLACES)], COLOURS[number % len(COLOURS)]
            tail = f"near the {place} of town{number}"
            question = make_question(passage, references=(f"The {colour} house{number} {tail}.",))
            for n in range(n_candidates):
                make_candidates(question, 1, text=f"A {colour} house{number} {tail}, says{n} one{n}.")
    return dataset


def make_controlled(project: Project, plan: ControlPlan, *, is_accepted: bool = True, **over: Any) -> Batch:
    """An open batch with this plan and an accepted pool."""
    batch = make_batch(project, controls=plan, **over)
    make_pool(batch=batch, actor=None)
    if is_accepted:
        accept(batch=batch, actor=None)
    return batch


def take(annotator: Membership) -> Assignment | None:
    found = serving.claim(annotator)
    if isinstance(found, serving.NoWork):
        return None
    return Assignment.objects.select_related("hit").get(uuid=found)


def fetch_items(assignment: Assignment) -> list[Item]:
    """The items shown, in shown order."""
    by_id = Item.objects.select_related("made_from").in_bulk(assignment.layout)
    return [by_id[pk] for pk in assignment.layout]


def submit_assignment(annotator: Membership, assignment: Assignment, answer: Answer = lambda item: 4) -> None:
    keys = list(assignment.hit.batch.rubric.criteria.values_list("key", flat=True))
    values: dict[int, dict[str, float | str]] = {
        place: dict.fromkeys(keys, answer(item)) for place, item in enumerate(fetch_items(assignment))
    }
    submitting.submit(annotator=annotator, assignment_uuid=assignment.uuid, sent=SentAnswers(values=values))


def work(annotator: Membership, *, most: int = 1_000, answer: Answer = lambda item: 4) -> list[Assignment]:
    """Take and submit HIT after HIT until none is left. Return the assignments in order."""
    done: list[Assignment] = []
    while len(done) < most and (assignment := take(annotator)) is not None:
        submit_assignment(annotator, assignment, answer)
        done.append(assignment)
    return done
