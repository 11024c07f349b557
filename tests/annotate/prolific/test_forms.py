import pytest

from annotate.prolific.forms import StudyForm


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("estimated_minutes", value) for value in ("0", "601")),
        *(("places", value) for value in ("0", "10001")),
        *(("most_places", value) for value in ("-1", "2000000000")),
        *(("reward", value) for value in ("0", "1001", "0.001")),
        *(("filters", value) for value in ("{", '{"a": 1}', "[1]")),
        ("title", ""),
    ],
)
def test_what_no_study_can_have_is_refused(name: str, value: str) -> None:
    fine = {"title": "x", "description": "y", "reward": "1.50", "estimated_minutes": "10"}
    fine |= {"places": "5", "most_places": "50", "filters": ""}
    assert StudyForm(fine).is_valid()
    assert list(StudyForm({**fine, name: value}).errors) == [name]
