"""The forms of instructions and consent: which field is named as wrong, before the act refuses the whole."""

from typing import Any

import pytest

from projects.models import Project
from projects.rubric.rubrics import CriterionOnPage, current_rubric, read_criteria
from projects.texts.examples import LONGEST, NEEDED
from projects.texts.forms import ConsentForm, ExampleForm

SENT: dict[str, Any] = {**dict.fromkeys(LONGEST, "Some words."), "rating0": "4"}


@pytest.fixture
def criteria(project: Project) -> tuple[CriterionOnPage, ...]:
    rubric = current_rubric(project)
    assert rubric is not None
    return read_criteria(rubric)


@pytest.mark.django_db
def test_each_wrong_field_of_an_example_is_named(criteria: tuple[CriterionOnPage, ...]) -> None:
    assert ExampleForm(SENT, criteria=criteria).is_valid()
    for name, most in LONGEST.items():
        assert ExampleForm({**SENT, name: "x" * most}, criteria=criteria).is_valid()
        assert list(ExampleForm({**SENT, name: "x" * (most + 1)}, criteria=criteria).errors) == [name]
        assert list(ExampleForm({**SENT, name: ""}, criteria=criteria).errors) == [name] * (name in NEEDED)
    for rating in ("", "x", "6", "0", "2.5", "nan"):
        form = ExampleForm({**SENT, "rating0": rating}, criteria=criteria)
        assert {name: len(errors) for name, errors in form.errors.items()} == {"rating0": 1}


@pytest.mark.django_db
def test_ratings_come_after_the_answer_and_are_named_where_there_are_several(
    criteria: tuple[CriterionOnPage, ...],
) -> None:
    (one,) = criteria
    assert list(ExampleForm(criteria=criteria).fields)[-3:] == ["candidate", "rating0", "why"]
    assert ExampleForm(criteria=criteria)["rating0"].label == "Correct rating (1 to 5)"
    assert ExampleForm(criteria=(one, one))["rating1"].label == f"{one.name} (1 to 5)"


def test_a_text_keeps_its_space_and_its_version_is_one_that_can_be_stored() -> None:
    form = ConsentForm({"text": "  # Taking part\r\n\n", "based_on": "0"})
    assert form.is_valid()
    assert form.cleaned_data["text"] == "  # Taking part\n\n"
    assert ConsentForm({"text": "x", "based_on": str(2**31 - 1)}).is_valid()
    assert all(list(ConsentForm({"text": "x", "based_on": n}).errors) == ["based_on"] for n in ("-1", str(2**31), ""))
