"""A HIT submitted a second time with other content: both versions are shown, the first stays."""

import re
import uuid

import pytest

from annotate.models import Assignment, Draft, Judgment, Remark
from annotate.work import serving, submitting
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import fetch, open_batch
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
FIRST = {"a0-correctness": "4", "a1-correctness": "2", "comment1": "half right", "flag1": "on", "cannot2": "cut off"}
LINE = re.compile(r'<th scope="row">(.*?)</th><td dir="auto">(.*?)</td><td dir="auto">(.*?)</td>')


@pytest.fixture
def assignment(project: Project, annotator: Membership) -> Assignment:
    open_batch(project, n_hits=2)
    return claimed(annotator)


def claimed(annotator: Membership) -> Assignment:
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return fetch(found)


def shown(text: str) -> list[list[tuple[str, str, str]]]:
    """By item: name of the line, stored, sent."""
    return [LINE.findall(part) for part in condense(text).split("<article")[1:]]


def test_both_versions_are_shown_side_by_side_with_comments(assignment: Assignment, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    url = f"/p/bridges/work/{assignment.uuid}/"
    client.post(url, FIRST)
    other = {"a0-correctness": "4", "cannot1": "no <b>sense</b>", "comment2": "after all", "a2-correctness": "5"}
    page = client.post(url, other)
    assert page.status_code == 409
    assert shown(condense(page.content.decode())) == [
        [("Correctness", "4", "4")],
        [
            ("Correctness", "2", "–"),
            ("Can&#x27;t be judged", "–", "no &lt;b&gt;sense&lt;/b&gt;"),
            ("Problem", "flagged", "–"),
            ("Comment", "half right", "–"),
        ],
        [("Correctness", "–", "5"), ("Can&#x27;t be judged", "cut off", "–"), ("Comment", "–", "after all")],
    ]
    assert "2 of 3 differ." in page.content.decode()
    assert sorted(Judgment.objects.values_list("value", flat=True), key=str) == [2, 4, None]
    assert Remark.objects.count() == 2


def test_a_comment_alone_is_a_difference(assignment: Assignment, client_of: SignIn) -> None:
    client = client_of(assignment.annotator)
    url = f"/p/bridges/work/{assignment.uuid}/"
    client.post(url, FIRST)
    page = client.post(url, FIRST | {"comment1": "wholly right"})
    assert page.status_code == 409
    text = condense(page.content.decode())
    assert "One of 3 differs." in text
    assert text.count('<tr class="differs">') == 1
    assert ("Comment", "half right", "wholly right") in shown(text)[1]


def test_close_answers_on_a_long_scale_are_distinguished(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    hundred = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100)
    spec = CriterionSpec(key="overall", name="Overall", statement="", scale=hundred, level=Level.INTERVAL)
    create_rubric(project, name="Hundred", preset="custom", criteria=[spec])
    open_batch(project, n_hits=1, n_items=2)
    url = f"/p/bridges/work/{claimed(annotator).uuid}/"
    client = client_of(annotator)
    client.post(url, {"a0-overall": "33.331", "a1-overall": "0"})
    page = client.post(url, {"a0-overall": "33.332", "a1-overall": "<i>"})
    assert shown(condense(page.content.decode())) == [
        [("Overall", "33.331", "33.332")],
        [("Overall", "0", "&lt;i&gt;")],
    ]


def test_a_hit_that_was_returned_shows_what_was_sent(assignment: Assignment, client_of: SignIn) -> None:
    submitting.return_hit(annotator=assignment.annotator, assignment_uuid=assignment.uuid, reason="")
    page = client_of(assignment.annotator).post(f"/p/bridges/work/{assignment.uuid}/", FIRST)
    text = condense(page.content.decode())
    assert page.status_code == 409
    assert "You returned this HIT" in text
    assert "half right" in text
    assert "saved. It's shown below" in text
    assert not Draft.objects.exists()
