"""The read-only pages of the operator: what is wrong in an address is answered, and fails nothing."""

from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from projects.models import Project
from tests.factories import make_project, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(
        make_user("operator", is_staff=True, is_superuser=True), backend="django.contrib.auth.backends.ModelBackend"
    )
    return client


@pytest.mark.parametrize(
    "sent",
    [
        {"slug": "a\0"},
        {"slug__contains": "\0"},
        {"id__contains": "\0"},
        {"slug__regex": "("},
        {"created_at__year": "99999999"},
        {"q": "a\0"},
    ],
)
def test_a_lookup_that_the_database_cannot_take_is_a_bad_request(operator: Client, sent: dict[str, str]) -> None:
    make_project()
    response = operator.get(f"{reverse('admin:projects_project_changelist')}?{urlencode(sent)}")
    if "q" in sent:
        assert response.status_code == 200, "Django's own form refuses it"
    else:
        assert response.status_code == 400
        assert "We couldn't understand that request" in response.content.decode()


def test_a_fault_of_a_page_itself_is_no_bad_request(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> str:
        raise ValueError("a fault")

    make_project()
    monkeypatch.setattr(Project, "__str__", fail)
    monkeypatch.setattr(admin.site._registry[Project], "list_display", ["__str__"])
    with pytest.raises(ValueError, match="a fault"):
        operator.get(reverse("admin:projects_project_changelist"))


def test_no_field_that_an_address_names_fails_a_page(operator: Client) -> None:
    project = make_project()
    for model in admin.site._registry:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for field in model._meta.get_fields(include_hidden=True):
            status = operator.get(address, {"_to_field": field.name}).status_code
            assert status in (200, 302, 400), f"{address} {field.name}: {status}"
    address = reverse("admin:projects_project_change", args=[project.pk])
    assert operator.get(address, {"_to_field": "memberships"}).status_code == 400
    assert operator.get(address, {"_to_field": "id"}).status_code == 200
