"""What the tests of qualification share: a test with items, an attempt, answers to it."""

from typing import Any

from annotate.attempts import attempts
from annotate.attempts.gradable_items import ItemSpec
from annotate.attempts.item_pages import list_pages
from annotate.models import Attempt, QualificationItem, QualificationTest
from annotate.qualification import design, items
from annotate.rating.sent import SentAnswers
from projects.models import Membership, Project
from tests.routes import all_routes

SECRET = "zebra-explanation"
"""In every explanation: no annotator may read it before the feedback."""


def make_test(
    project: Project, *, n_items: int = 4, n_passages: int = 2, is_open: bool = True, n_practice: int = 0, **over: Any
) -> QualificationTest:
    """A test whose right answer is 4 for every item."""
    test = design.make_test(project=project, actor=None)
    specs = [spec(n, n_passages) for n in range(n_items)]
    specs += [spec(100 + n, n_passages, purpose="practice") for n in range(n_practice)]
    items.add_items(test=test, actor=None, specs=specs, how="typed")
    design.change_settings(test=test, actor=None, values={"seed": 7, **over})
    if is_open:
        design.open_test(test=test, actor=None)
    test.refresh_from_db()
    return test


def spec(n: int, n_passages: int = 2, **over: Any) -> ItemSpec:
    return ItemSpec(
        **{
            "question": f"Question {n}?",
            "answer": f"Answer {n}.",
            "expected": {"correctness": (4, 4)},
            "passage_title": f"Text {n % n_passages}",
            "passage_text": f"The text number {n % n_passages}.",
            "references": ({"text": f"Reference {n}.", "opinion": ""},),
            "explanation": f"{SECRET} {n}",
            **over,
        }
    )


def answer(annotator: Membership, attempt: Attempt, *, n_right: int | None = None) -> None:
    """Answer every item and keep the pages; so many are right, all by default."""
    n_left = len(attempt.layout) if n_right is None else n_right
    for sheet in list_pages(attempt):
        values: dict[int, dict[str, float | str]] = {}
        for place in range(len(sheet.items)):
            values[place] = {"correctness": 4.0 if n_left > 0 else 1.0}
            n_left -= 1
        attempts.save_page(
            annotator=annotator, attempt_uuid=attempt.uuid, page=sheet.number, sent=SentAnswers(values=values)
        )


def take(annotator: Membership, *, n_right: int | None = None) -> Attempt:
    """Start, answer, submit."""
    attempt = attempts.begin(annotator=annotator)
    answer(annotator, attempt, n_right=n_right)
    return attempts.submit_attempt(annotator=annotator, attempt_uuid=attempt.uuid)


def first_item(test: QualificationTest) -> QualificationItem:
    item = test.items.filter(retired_at=None).first()
    assert item is not None
    return item


def path_samples(annotator: Membership) -> dict[str, Any]:
    """Values for the parameters of the routes of qualification: an open attempt of the annotator's and an item."""
    project = annotator.project
    test = design.find_test(project) or make_test(project, n_practice=1)
    if test.state != test.State.OPEN:
        design.open_test(test=test, actor=None)
    found: dict[str, Any] = {"attempt_uuid": attempts.begin(annotator=annotator).uuid, "page": 1}
    found["item_id"] = first_item(test).pk
    for route in all_routes():
        if route.name.startswith("annotate:qualification-item"):
            found[f"{route.name} pk"] = first_item(test).pk
    return found
