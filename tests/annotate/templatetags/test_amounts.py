from datetime import UTC, datetime

import pytest
from django.utils import translation

from annotate.templatetags.amounts import day, hours, moment, money, near_moment, number, percent, rating


@pytest.mark.parametrize(
    ("value", "text"),
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
def test_hours_are_written_as_people_say_them(value: float | None, text: str) -> None:
    assert hours(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (5.0, "5"), (100.0, "100"), (59.4, "59.4"), (77.12499999999999, "77.12"), (-0.5, "−0.5"), (0.0, "0")],
)
def test_ratings_have_the_decimals_that_they_need(value: float | None, text: str) -> None:
    assert rating(value) == text


MOMENT = datetime(2026, 11, 2, 9, 5, tzinfo=UTC)
WRITTEN = {
    "en": {
        "number": ("12,480", "12,480.5", "–"),
        "money": ("$6.55", "-$1,234.50", "–"),
        "percent": ("42 %", "<1 %", "99 %"),
        "at": ("2 Nov 2026", "2 Nov 2026, 09:05", "2 Nov, 09:05"),
    },
    "de": {
        "number": ("12.480", "12.480,5", "–"),
        "money": ("6,55\xa0$", "-1.234,50\xa0$", "–"),
        "percent": ("42\xa0%", "<1\xa0%", "99\xa0%"),
        "at": ("2. Nov. 2026", "2. Nov. 2026, 09:05", "2. Nov., 09:05"),
    },
    "es": {
        "number": ("12.480", "12.480,5", "–"),
        "money": ("6,55\xa0US$", "-1.234,50\xa0US$", "–"),
        "percent": ("42\xa0%", "<1\xa0%", "99\xa0%"),
        "at": ("2 nov 2026", "2 nov 2026, 09:05", "2 nov, 09:05"),
    },
    "fr": {
        "number": ("12\u202f480", "12\u202f480,5", "–"),
        "money": ("6,55\xa0$US", "-1\u202f234,50\xa0$US", "–"),
        "percent": ("42\xa0%", "<1\xa0%", "99\xa0%"),
        "at": ("2 nov. 2026", "2 nov. 2026, 09:05", "2 nov., 09:05"),
    },
    "zh-hans": {
        "number": ("12,480", "12,480.5", "–"),
        "money": ("US$6.55", "-US$1,234.50", "–"),
        "percent": ("42%", "<1%", "99%"),
        "at": ("2026年11月2日", "2026年11月2日 09:05", "11月2日 09:05"),
    },
    "ar": {
        "number": ("12,480", "12,480.5", "–"),
        "money": ("\u2066US$\xa06.55\u2069", "\u2066\u200e-US$\xa01,234.50\u2069", "–"),
        "percent": ("42%", "<1%", "99%"),
        "at": ("2 نوفمبر 2026", "2 نوفمبر 2026، 09:05", "2 نوفمبر، 09:05"),
    },
}


@pytest.mark.parametrize("language", WRITTEN)
def test_amounts_are_written_as_the_language_does(language: str) -> None:
    with translation.override(language):
        written = {
            "number": (number(12480), number(12480.5), number(None)),
            "money": (money(655), money(-123450), money(None)),
            "percent": (percent(0.42), percent(0.001), percent(0.999)),
            "at": (day(MOMENT), moment(MOMENT), near_moment(MOMENT)),
        }
    for kind, wanted in WRITTEN[language].items():
        assert tuple(map(visible, written[kind])) == tuple(map(visible, wanted)), kind


def visible(text: str) -> str:
    """Without the marks of direction, which differ from one edition of the conventions to the next."""
    return text.replace("\u200e", "").replace("\u200f", "")
