import pytest

from annotate.templatetags.amounts import hours


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0, "0 minutes"),
        (0.001, "1 minute"),
        (0.5, "30 minutes"),
        (1.0, "1.0 hours"),
        (47.96, "48.0 hours"),
        (60.0, "2.5 days"),
    ],
)
def test_hours_are_said_as_people_say_them(value: float | None, said: str) -> None:
    assert hours(value) == said
