"""What a page says where an act refuses."""

import pytest
from django import forms
from django.contrib import messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest
from django.test import RequestFactory

from projects.errors import Refused
from projects.web.refusals import refusals


class CapForm(forms.Form):
    most = forms.IntegerField()


@pytest.fixture
def request_(rf: RequestFactory) -> HttpRequest:
    request = rf.post("/")
    request._messages = CookieStorage(request)  # type: ignore[attr-defined]
    return request


def read_messages(request: HttpRequest) -> list[tuple[str, str]]:
    return [(message.level_tag, str(message)) for message in messages.get_messages(request)]


def refuse(**over: object) -> None:
    raise Refused("Not now.", **over)  # type: ignore[arg-type]


def test_a_refusal_becomes_a_message_and_ends_the_block(request_: HttpRequest) -> None:
    with refusals(request_):
        refuse(details=["One HIT is open."])
        messages.success(request_, "Done.")
    assert read_messages(request_) == [("error", "Not now.")]


def test_details_are_shown_where_the_page_asks_for_them(request_: HttpRequest) -> None:
    with refusals(request_, with_details=True):
        refuse(details=["One HIT is open.", "Another is late."])
    assert read_messages(request_) == [("error", "Not now. One HIT is open. Another is late.")]


@pytest.mark.parametrize(
    ("named", "default", "error_at"),
    [("", "", "__all__"), ("most", "", "most"), ("other", "", "__all__"), ("", "most", "most")],
)
def test_a_refusal_is_an_error_of_its_field_or_of_the_whole_form(
    request_: HttpRequest, named: str, default: str, error_at: str
) -> None:
    form = CapForm({"most": "3"})
    assert form.is_valid()
    with refusals(request_, form, field=default):
        refuse(field=named)
    assert form.errors == {error_at: ["Not now."]}
    assert read_messages(request_) == []


def test_a_block_that_succeeds_says_what_it_says_itself(request_: HttpRequest) -> None:
    with refusals(request_):
        messages.success(request_, "Done.")
    assert read_messages(request_) == [("success", "Done.")]


def test_no_other_error_is_swallowed(request_: HttpRequest) -> None:
    with pytest.raises(ValueError, match="broken"), refusals(request_):
        raise ValueError("broken")
