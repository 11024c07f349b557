import pytest

from annotate.models import ProlificStudy
from annotate.prolific import submissions
from annotate.prolific.forms import LimitForm, RejectForm, StudyForm


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("estimated_minutes", value) for value in ("0", "601")),
        *(("places", value) for value in ("0", "10001")),
        *(("most_places", value) for value in ("-1", "2000000000")),
        *(("reward", value) for value in ("0", "1001", "0.001")),
        *(("filters", value) for value in ("{", '{"a": 1}', "[1]")),
        *(("filters", f'[{{"filter_id": "a", "x": {value}}}]') for value in ("NaN", "1e999", "9" * 19)),
        *(("filters", f'[{{"filter_id": "a", "x": "a{value}"}}]') for value in ("\\u0000", "\\ud800", "\\u0001", "\0")),
        ("filters", '[{"filter_id": "a", "a\\u0000": 1}]'),
        ("filters", '[{"filter_id": "a", "filter_id": "b"}]'),
        pytest.param("filters", f'[{{"filter_id": "a", "x": {"9" * 5_000}}}]', id="huge"),
        *(
            pytest.param("filters", f'[{{"filter_id": "a", "x": {"[" * n}{"]" * n}}}]', id=f"{n} deep")
            for n in (300, 9_000, 20_000)
        ),
        ("title", ""),
    ],
)
def test_what_no_study_can_have_is_refused(name: str, value: str) -> None:
    fine = {"title": "x", "description": "y", "reward": "1.50", "estimated_minutes": "10"}
    fine |= {"places": "5", "most_places": "50", "filters": ""}
    assert StudyForm(fine).is_valid()
    form = StudyForm({**fine, name: value})
    assert list(form.errors) == [name]
    assert form.as_p()


def test_filters_are_shown_as_they_were_typed_or_stored() -> None:
    typed = '[\n{"filter_id": "ü", "x": ["1"]}]'
    form = StudyForm({"filters": typed})
    form.errors  # noqa: B018 - reading them cleans the form
    assert form.cleaned_data["filters"] == [{"filter_id": "ü", "x": ["1"]}]
    assert form["filters"].value() == typed
    assert StudyForm()["filters"].value() == "[]"
    stored = ProlificStudy(pk=1, reward_cents=100, filters=[{"filter_id": "ü"}])
    assert StudyForm(instance=stored)["filters"].value() == '[{"filter_id": "ü"}]'


def test_a_limit_and_a_rejection_are_within_what_the_platform_takes() -> None:
    assert all(LimitForm({"most_places": n}).is_valid() for n in (1, 10_000))
    assert all(list(LimitForm({"most_places": n}).errors) == ["most_places"] for n in (0, 10_001, ""))
    category, message = next(iter(submissions.CATEGORIES)), "x" * submissions.MOST_MESSAGE
    assert RejectForm({"category": category, "message": message}).is_valid()
    assert list(RejectForm({"category": "", "message": message}).errors) == ["category"]
    assert list(RejectForm({"category": category, "message": f"{message}x"}).errors) == ["message"]
