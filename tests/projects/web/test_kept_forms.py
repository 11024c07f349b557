"""Which fields of a form a page keeps until it is sent again."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import RequestFactory

from projects.web.kept_forms import list_kept_fields

SENT = {"why": "Two\nlines", "a3-quality": ["1", "2"]}
FIELDS = [("why", "Two\nlines"), ("a3-quality", "1"), ("a3-quality", "2")]


def test_every_value_is_kept_but_not_the_stale_token(rf: RequestFactory) -> None:
    assert list_kept_fields(rf.post("/", {**SENT, "csrfmiddlewaretoken": "stale"})) == FIELDS


@pytest.mark.parametrize("name", ["password", "new_password1", "secret", "api_token", "code"])
def test_nothing_is_kept_beside_a_secret(rf: RequestFactory, name: str) -> None:
    assert list_kept_fields(rf.post("/", {**SENT, name: "x"})) == []


@pytest.mark.parametrize("name", ["postcode", "codes", "a12-password", "expected_secret"])
def test_a_rating_is_no_secret_whatever_its_criterion_is_called(rf: RequestFactory, name: str) -> None:
    assert list_kept_fields(rf.post("/", {**SENT, name: "5"})) == [*FIELDS, (name, "5")]


def test_nothing_is_kept_beside_a_file(rf: RequestFactory) -> None:
    assert list_kept_fields(rf.post("/", {**SENT, "file": SimpleUploadedFile("a.csv", b"a,b")})) == []
