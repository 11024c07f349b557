"""The guides of docs/ as pages: whole, with links and pictures of this site; annotators read theirs alone."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from projects.guides.guides import ANNOTATORS, GUIDES, Guide, read_guide
from projects.models import Membership
from tests.people import SignIn

WriteGuide = Callable[[str], Guide]

LINK = re.compile(r'<a href="([^"]*)"')
PICTURE = re.compile(r"<img ([^>]*)>")


def address(name: str) -> str:
    return reverse("projects:guide", args=[name])


@pytest.fixture
def write_guide(tmp_path: Path, settings: Settings) -> WriteGuide:
    """`write_guide(text)` is the guide for annotators with this text."""

    def write(text: str) -> Guide:
        (tmp_path / f"{ANNOTATORS}.md").write_text(text, encoding="utf-8")
        settings.GUIDES_DIR = tmp_path
        return read_guide(ANNOTATORS)

    return write


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_has_a_title_and_sections(name: str) -> None:
    guide = read_guide(name)
    assert [heading.text for heading in guide.headings if heading.level == 1] == [guide.title]
    assert guide.sections
    for section in guide.sections:
        assert guide.html.count(f'id="{section.anchor}"') == 1


@pytest.mark.parametrize("name", GUIDES)
def test_its_links_and_pictures_lead_to_what_there_is(name: str) -> None:
    guide = read_guide(name)
    for href in LINK.findall(guide.html):
        if href.startswith("#"):
            assert href[1:] in guide.anchors
        elif not href.startswith(("http://", "https://", "mailto:")):
            path, _hash, anchor = href.partition("#")
            other = next(each for each in GUIDES if address(each) == path)
            assert not anchor or anchor in read_guide(other).anchors, href
    for attributes in PICTURE.findall(guide.html):
        found = dict(re.findall(r'(\w+)="([^"]*)"', attributes))
        assert found["alt"]
        assert int(found["width"]) > 100
        assert re.match(r"/?static/guides/.+\.png", found["src"])
        name_of_file = re.sub(r"\.[0-9a-f]{12}\.png$", ".png", found["src"].partition("static/")[2])
        assert finders.find(name_of_file)


def test_the_guide_for_annotators_leads_to_no_other() -> None:
    assert not any(href.startswith("/help/") for href in LINK.findall(read_guide(ANNOTATORS).html))


def test_headings_get_the_ids_of_repositories(write_guide: WriteGuide) -> None:
    guide = write_guide("# The Guide\n\n## 3. Data\n\n## What is *it*?\n\n### Data\n\n### Data\n")
    assert [heading.anchor for heading in guide.headings] == [
        "the-guide",
        "3-data",
        "what-is-it",
        "data",
        "data-1",
    ]


def test_html_and_foreign_pictures_are_left_out(write_guide: WriteGuide) -> None:
    html = write_guide(
        "# A\n\n<script>alert(1)</script>\n\n![b](https://elsewhere.example/x.png) ![c](../x.png)\n\n"
        "[d](javascript:alert) [e](decisions/0001-x.md) [f](managers.md#2-people) [g](https://example.org)\n"
    ).html
    assert "<script" not in html
    assert "elsewhere" not in html
    assert "../x.png" not in html
    assert "javascript:" not in LINK.findall(html)
    assert LINK.findall(html) == ["/help/managers/#2-people", "https://example.org"]
    assert " e " in html


@pytest.mark.django_db
@pytest.mark.parametrize("name", GUIDES)
def test_whoever_reads_a_project_reads_every_guide(name: str, owner: Membership, client_of: SignIn) -> None:
    html = client_of(owner).get(address(name)).content.decode()
    assert read_guide(name).html in html
    assert f'<a href="{address(name)}" aria-current="page">' in html
    assert all(f'href="{address(each)}"' in html for each in GUIDES)


@pytest.mark.django_db
def test_annotators_read_their_guide_alone(annotator: Membership, client_of: SignIn) -> None:
    for client in (Client(), client_of(annotator)):
        html = client.get(address(ANNOTATORS)).content.decode()
        assert read_guide(ANNOTATORS).html in html
        assert not any(f'href="{address(each)}"' in html for each in GUIDES if each != ANNOTATORS)
    assert client_of(annotator).get(address("quality")).status_code == 403
    assert Client().get(address("quality")).status_code == 302


@pytest.mark.django_db
def test_there_is_no_other_guide(owner: Membership, client_of: SignIn) -> None:
    for name in ("architecture", "none-such"):
        assert client_of(owner).get(address(name)).status_code == 404
