import pytest
from pytest_django import Settings

from config.checks import check_settings

KEY = "correct-horse-battery-staple-and-fifty-more-characters"


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ({}, []),
        ({"ALLOWED_HOSTS": ["*"]}, ["concord.E001"]),
        ({"ALLOWED_HOSTS": ["concord.example.org"]}, []),
        ({"ALLOWED_HOSTS": ["concord.example.org"], "DEBUG": True}, ["concord.E002"]),
        ({"DEBUG": True}, []),
        ({"SECRET_KEY": "short"}, ["concord.E003"]),
        ({"SECRET_KEY": "a" * 60}, ["concord.E003"]),
    ],
)
def test_settings_that_must_not_go_public_are_named(
    settings: Settings, over: dict[str, object], expected: list[str]
) -> None:
    for name, value in {"ALLOWED_HOSTS": ["localhost"], "DEBUG": False, "SECRET_KEY": KEY, **over}.items():
        setattr(settings, name, value)
    assert [error.id for error in check_settings()] == expected
