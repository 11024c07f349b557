"""The language that a page is given in: what somebody chose, the project's, or what the browser asks for."""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from projects.language import languages, ui_strings
from projects.models import Membership, Project, User
from projects.people import invitations
from tests.page_reader import condense
from tests.people import SignIn

# Without an account, the site first asks for one.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("owner")]


def read_language(client: Client, path: str, **headers: str) -> tuple[str, str]:
    """The language of a page by its first tag, and its direction."""
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    found = re.search(r'<html lang="([a-z-]+)"(?: dir="(rtl)")?', condense(response.content.decode()))
    assert found is not None
    assert response["Content-Language"] == found[1]
    return found[1], found[2] or "ltr"


def choose(client: Client, language: str, **data: str) -> int:
    return client.post(reverse("projects:language"), {"language": language, **data}).status_code


def test_without_a_choice_the_browser_is_asked(client: Client) -> None:
    sign_in = reverse("projects:sign-in")
    assert read_language(client, sign_in) == ("en", "ltr")
    assert read_language(client, sign_in, accept_language="de-AT,de;q=0.9") == ("de", "ltr")
    assert read_language(client, sign_in, accept_language="ar") == ("ar", "rtl")
    assert read_language(client, sign_in, accept_language="es-MX") == ("es", "ltr")
    assert read_language(client, sign_in, accept_language="fr-CA,en;q=0.5") == ("fr", "ltr")
    assert read_language(client, sign_in, accept_language="zh-CN,zh;q=0.9") == ("zh-hans", "ltr")
    assert read_language(client, sign_in, accept_language="pt, tlh;q=0.5") == ("en", "ltr")


def test_the_menu_gives_each_language_in_its_own_words(client: Client) -> None:
    page = condense(client.get(reverse("projects:sign-in")).content.decode())
    names = re.findall(r'<button name="language" value="([a-z-]+)" lang="([a-z-]+)"[^>]*> ?([^<]+?) ?</button>', page)
    assert names == [
        ("en", "en", "English"),
        ("de", "de", "Deutsch"),
        ("es", "es", "Español"),
        ("fr", "fr", "Français"),
        ("ar", "ar", "العربية"),
        ("zh-hans", "zh-hans", "简体中文"),
    ]


def test_a_project_has_a_language_and_an_annotator_chooses_another(annotator: Membership, client_of: SignIn) -> None:
    client, project = client_of(annotator), annotator.project
    desk = reverse("annotate:project-desk", args=[project.slug])
    assert read_language(client, desk, accept_language="de") == ("en", "ltr")
    project.language = "ar"
    project.save(update_fields=["language"])
    assert read_language(client, desk) == ("ar", "rtl")
    assert choose(client, "de") == 302
    assert read_language(client, desk) == ("de", "ltr")
    assert User.objects.get(memberships=annotator).language == "de"


def test_the_choice_stays_on_the_device_after_signing_out(annotator: Membership, client_of: SignIn) -> None:
    client = client_of(annotator)
    choose(client, "ar")
    client.post(reverse("projects:sign-out"))
    assert read_language(client, reverse("projects:sign-in")) == ("ar", "rtl")


def test_an_invitation_is_in_the_language_of_its_project(
    manager: Membership, stranger: User, client: Client, client_of: SignIn
) -> None:
    Project.objects.filter(pk=manager.project_id).update(language="ar")
    _, token = invitations.create_invitation(actor=manager, role=Membership.Role.ANNOTATOR)
    page = reverse("projects:join", args=[token])
    for visitor in (client, client_of(stranger)):
        assert read_language(visitor, page, accept_language="de") == ("ar", "rtl")
        choose(visitor, "fr")
        assert read_language(visitor, page, accept_language="de") == ("fr", "ltr")


def test_pages_of_researchers_and_managers_are_in_english(owner: Membership, client_of: SignIn) -> None:
    client = client_of(owner)
    choose(client, "ar")
    slug = owner.project.slug
    assert read_language(client, reverse("projects:project-settings", args=[slug])) == ("en", "ltr")
    assert read_language(client, reverse("annotate:desk")) == ("ar", "rtl")
    assert read_language(client, reverse("projects:project-settings", args=[slug])) == ("en", "ltr")


@pytest.mark.parametrize("wrong", ["", "pt", "de-DE", "zh", "../de", "x" * 10_000])
def test_a_language_that_is_not_offered_is_refused(annotator: Membership, client_of: SignIn, wrong: str) -> None:
    assert choose(client_of(annotator), wrong) == 400
    assert User.objects.get(memberships=annotator).language == ""


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "\\evil", "/%0d%0aevil"])
def test_the_way_back_stays_on_this_site(client: Client, target: str) -> None:
    response = client.post(reverse("projects:language"), {"language": "de", "next": target})
    assert response.headers["Location"] == reverse("annotate:desk")


def test_a_refusal_is_in_the_language_of_the_project(annotator: Membership, client_of: SignIn) -> None:
    Project.objects.filter(pk=annotator.project_id).update(language="ar")
    Membership.objects.filter(pk=annotator.pk).update(standing=Membership.Standing.SUSPENDED)
    response = client_of(annotator).get(reverse("annotate:qualification", args=[annotator.project.slug]))
    assert (response.status_code, response["Content-Language"]) == (403, "ar")


def test_one_request_leaves_no_language_to_the_next(client: Client) -> None:
    before = translation.get_language()
    client.get(reverse("projects:sign-in"), headers={"accept-language": "ar"})
    assert translation.get_language() == before


def test_a_sentence_with_a_number_comes_in_each_form_of_the_language() -> None:
    with translation.override("en"):
        assert languages.plural_forms("One HIT", "{n} HITs") == {"one": "One HIT", "other": "{n} HITs"}
    with translation.override("ar"):
        assert set(languages.plural_forms("One HIT", "{n} HITs")) == {"zero", "one", "two", "few", "many", "other"}
    with translation.override("zh-hans"):
        assert languages.plural_forms("One HIT", "{n} HITs") == {"other": "{n} HITs"}


def test_every_page_has_the_words_of_its_scripts(client: Client) -> None:
    page = client.get(reverse("projects:sign-in")).content.decode()
    found = re.search(r'<script id="site-words" type="application/json">(.+?)</script>', page)
    assert found is not None
    assert json.loads(found[1]) == ui_strings.site_strings()


def test_a_language_that_is_no_longer_offered_is_passed_over(annotator: Membership, client_of: SignIn) -> None:
    User.objects.filter(memberships=annotator).update(language="tlh")
    Project.objects.filter(pk=annotator.project_id).update(language="de")
    desk = reverse("annotate:project-desk", args=[annotator.project.slug])
    assert read_language(client_of(annotator), desk) == ("de", "ltr")
    Project.objects.filter(pk=annotator.project_id).update(language="tlh")
    assert read_language(client_of(annotator), desk) == ("en", "ltr")
