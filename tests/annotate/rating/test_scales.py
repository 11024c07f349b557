"""How scales are shown: as buttons, as one grid or as a slider; which digits rate; the description of a point."""

import re
from typing import Any

import pytest
from django.utils import translation

from annotate.rating.form_parts import Prefill, build_form, build_item
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership, Project
from projects.rubric.rubrics import CriterionOnPage, create_rubric, read_criteria, share_columns
from tests.annotate.open_batches import open_batch
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def made(project: Project, *scales: tuple[int, int], anchors: dict[int, str] | None = None) -> Any:
    specs = [
        CriterionSpec(
            key=f"c{n}",
            name=f"Criterion {n}",
            statement="",
            scale=Scale(kind=ScaleKind.ORDINAL, low=low, high=high),
            anchors=anchors or {},
            level=Level.ORDINAL,
        )
        for n, (low, high) in enumerate(scales)
    ]
    return read_criteria(create_rubric(project, name="Scales", preset="custom", criteria=specs))


@pytest.mark.parametrize(
    ("scale", "points", "nth", "ten"),
    [
        ((1, 5), [1, 5], False, False),
        ((1, 7), [1, 7], False, False),
        ((1, 10), [1, 0], False, True),
        ((0, 10), [0, 9], False, False),
        ((-3, 3), [1, 7], True, False),
        ((20, 24), [1, 5], True, False),
    ],
)
def test_the_keys_that_rate(project: Project, scale: tuple[int, int], points: list[int], nth: bool, ten: bool) -> None:
    keys = build_form([], made(project, scale), None)["keys"]
    assert (keys["points"], keys["nth"], keys["ten"], keys["has_sliders"]) == (points, nth, ten, False)
    assert keys["ten_by_two"] == (scale == (0, 10))


def test_a_scale_of_many_points_is_a_slider(project: Project) -> None:
    eleven, twelve = made(project, (0, 10), (0, 11))
    assert eleven.has_buttons
    assert not twelve.has_buttons
    keys = build_form([], (twelve,), None)["keys"]
    assert (keys["points"], keys["has_sliders"]) == ([], True)


def test_criteria_with_the_same_points_and_words_are_one_grid(project: Project) -> None:
    assert share_columns(made(project, (1, 5), (1, 5)))
    assert not share_columns(made(project, (1, 5)))
    assert not share_columns(made(project, (1, 5), (1, 7)))
    assert not share_columns(made(project, (0, 50), (0, 50)))
    one, other = made(project, (1, 5), anchors={1: "Bad"})[0], made(project, (1, 5), anchors={1: "Poor"})[0]
    assert not share_columns((one, other))


def test_only_points_with_a_description_are_listed(project: Project) -> None:
    (criterion,) = made(project, (0, 100), anchors={0: "Nothing: at all", 100: "Everything"})
    assert [mark["value"] for mark in criterion.marks] == [0, 100]
    assert (criterion.low_mark["label"], criterion.high_mark["label"]) == ("Nothing", "Everything")
    (bare,) = made(project, (1, 5))
    assert bare.marks == ()
    assert bare.low_mark["label"] == ""


@pytest.mark.parametrize("high", [5, 100], ids=["buttons", "slider"])
@pytest.mark.parametrize(
    ("anchors", "language", "ends"),
    [
        ({}, "en", ("1 lowest", "highest {high}")),
        ({}, "de", ("1 niedrigster Wert", "höchster Wert {high}")),
        (
            {1: "It says <b>nothing</b> at all of it"},
            "en",
            ("1 It says &lt;b&gt;nothing&lt;/b&gt; at all of it", "highest {high}"),
        ),
    ],
)
def test_a_bare_number_at_the_end_of_a_scale_says_what_it_means(
    project: Project, high: int, anchors: dict[int, str], language: str, ends: tuple[str, str]
) -> None:
    (criterion,) = made(project, (1, high), anchors=anchors)
    with translation.override(language):
        widget = build_item(0, "", (criterion,), Prefill(), {})["answers"][0].widget
    _, said = widget.split("ends", 1)
    words = re.findall(r"<span[^>]*>(.*?)</span>", said)
    assert tuple(re.sub(r"</?b>", "", each).strip() for each in words) == (ends[0], ends[1].format(high=high))


def test_the_page_names_what_is_missing_and_keeps_what_was_given(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    criteria: tuple[CriterionOnPage, ...] = made(project, (1, 5), (0, 100))
    assert len(criteria) == 2
    open_batch(project, n_hits=1, n_items=2)
    client = client_of(annotator)
    address = client.post("/p/bridges/work/").headers["Location"]
    response = client.post(address, {"a0-c0": "4", "a0-c1": "<b>"})
    assert response.status_code == 422
    page = condense(response.content.decode())
    assert '<a href="#a0-c1">Criterion 1</a>' in page
    assert re.search(r'<a href="#item1">\s*Answer 2\s*</a>', page)
    assert 'value="4" checked' in page
    assert 'value="&lt;b&gt;"' in page
    assert page.count(">Not rated yet.<") == 1
