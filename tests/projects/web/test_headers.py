"""What answers say of themselves: pages of people are kept by nobody, and use no sensors."""

import pytest
from django.test import Client

from projects.models import Membership
from tests.people import SignIn


@pytest.mark.django_db
def test_pages_of_people_and_tasks_are_kept_by_nobody(manager: Membership, client: Client, client_of: SignIn) -> None:
    signed_in = client_of(manager)
    for path in (
        "/desk/",
        "/account/",
        "/p/bridges/",
        "/p/bridges/members/",
        "/p/bridges/data/",
        "/p/none/",
        "/guides/",
    ):
        answer = signed_in.get(path)
        assert "no-store" in answer["Cache-Control"], path
        assert "camera=()" in answer["Permissions-Policy"], path
    assert "no-store" in client.get("/sign-in/")["Cache-Control"]


def test_another_host_is_refused_with_an_id(client: Client) -> None:
    answer = client.get("/sign-in/", headers={"Host": "elsewhere.example.org"})
    assert answer.status_code == 400
    assert answer["X-Request-ID"] in answer.content.decode()
