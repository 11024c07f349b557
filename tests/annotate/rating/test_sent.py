"""The rating form as it is read, before it is held against the rubric."""

import json
from urllib.parse import urlencode

import pytest
from django.core.validators import MaxValueValidator
from django.test import RequestFactory

from annotate.rating.sent import read_rating
from projects.models import Project
from projects.rubric.forms import MOST_CRITERIA

HIT_SIZE = Project._meta.get_field("hit_size")
MOST_ITEMS = min(each.limit_value for each in HIT_SIZE.validators if isinstance(each, MaxValueValidator))


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=xx"])
def test_the_largest_hit_can_be_sent(content_type: str) -> None:
    fields = {"csrfmiddlewaretoken": "x" * 64, "seconds": json.dumps([12.5] * MOST_ITEMS), "next": "1"}
    for place in range(MOST_ITEMS):
        fields |= {f"a{place}-criterion_{n}": "5" for n in range(MOST_CRITERIA)}
        fields |= {f"cannot{place}": "cut off", f"flag{place}": "on", f"comment{place}": "It says so."}
    if content_type.startswith("multipart"):
        part = '--xx\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
        body = "".join(part.format(*pair) for pair in fields.items()) + "--xx--\r\n"
    else:
        body = urlencode(fields)
    request = RequestFactory().post("/", body, content_type=content_type)
    sent = read_rating(request.POST.dict())
    assert sum(len(values) for values in sent.values.values()) == MOST_ITEMS * MOST_CRITERIA == 2_000
    assert len(sent.cannot) == len(sent.flags) == len(sent.comments) == len(sent.seconds or []) == MOST_ITEMS


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("7,5", 7.5),
        ("7.5", 7.5),
        ("\u0667\u066b\u0665", 7.5),  # Arabic digits and decimal separator
        ("\u2212,5", -0.5),
        ("\uff17", 7.0),
        ("1.234,5", "1.234,5"),
        ("1 000", "1 000"),
        ("7;5", "7;5"),
    ],
)
def test_numbers_are_read_as_people_type_them(typed: str, value: float | str) -> None:
    assert read_rating({"a0-c": typed}).values == {0: {"c": value}}
