"""Citing a set: authors, BibTeX, CITATION.cff and the DOI, in the archive, on the page, by API and command."""

import re
from html import unescape
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings as DjangoSettings

from projects.errors import Refused
from projects.models import LogEntry, Membership, Project
from results.models import JudgmentSet
from results.sets import citing, depositing, freezing
from results.sets.licences import LICENCES
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import answer, canonical
from tests.results.sets.frozen_sets import freeze, list_names, read

AUTHORS = ("Müller, Jürgen", "van der Berg, Anna", "King, Jr., Martin", "{Universität Zürich & Söhne}", "Łuk and Co, Ø")
SET = "/p/bridges/sets/1/"


@pytest.fixture
def desk(manager: Membership, client_of: SignIn) -> Client:
    return client_of(manager)


@pytest.mark.parametrize(
    ("text", "bibtex", "cff"),
    [
        (
            "Müller, Jürgen",
            r"M{\"u}ller, J{\"u}rgen",
            {"family-names": "Müller", "given-names": "Jürgen"},
        ),
        (
            "van der Berg,  Anna",
            "van der Berg, Anna",
            {"family-names": "Berg", "given-names": "Anna", "name-particle": "van der"},
        ),
        (
            "King, Jr., Martin",
            "King, Jr., Martin",
            {"family-names": "King", "given-names": "Martin", "name-suffix": "Jr."},
        ),
        ("{A & B}", r"{A \& B}", {"name": "A & B"}),
        ("hooks, bell", "hooks, bell", {"family-names": "hooks", "given-names": "bell"}),
        ("Ångström, Ít", r"{\r A}ngstr{\"o}m, {\'I}t", {"family-names": "Ångström", "given-names": "Ít"}),
        (
            "Dvořák, Đorđe ßig",
            r"Dvo{\v r}{\'a}k, Đorđe {\ss}ig",
            {"family-names": "Dvořák", "given-names": "Đorđe ßig"},
        ),
        ("Rock and Roll, Ann", "Rock {and} Roll, Ann", {"family-names": "Rock and Roll", "given-names": "Ann"}),
        ("王, 小明", "王, 小明", {"family-names": "王", "given-names": "小明"}),
    ],
)
def test_an_author_is_written_for_bibtex_and_cff(text: str, bibtex: str, cff: dict[str, str]) -> None:
    author = citing.parse_author(text)
    assert citing._format_bibtex_author(author) == bibtex
    assert citing._describe_author(author) == cff


@pytest.mark.parametrize("text", ["Anna Berg", "Berg,", ", Anna", "a, b, c, d", "{A}, B", "{}", "{A{B}}", "A}, B", ""])
def test_what_is_no_author_is_refused_with_the_form_to_use(text: str) -> None:
    with pytest.raises(Refused, match="Family, Given"):
        citing.parse_author(text)


def test_quotation_marks_open_and_close() -> None:
    assert citing.escape_bibtex('"Why" and ("how"), a 3.5" disk') == "``Why{''} and (``how{''}), a 3.5{''} disk"
    assert citing.escape_bibtex("“Why”, ‘how’ – it’s") == "``Why{''}, `how' -- it's"


@given(st.text(max_size=30))
def test_no_text_breaks_an_entry(text: str) -> None:
    escaped = citing.escape_bibtex(text)
    depth = 0
    for character in escaped:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert not re.search(r"(?<!\\)[&%$#_]|[\x00-\x1f]", escaped)


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.5281/zenodo.1234567", "10.5281/zenodo.1234567"),
        (" https://doi.org/10.1000/a(b);c ", "10.1000/a(b);c"),
        ("doi: 10.1000/x", "10.1000/x"),
        ("http://dx.doi.org/10.123456789/X_Y", "10.123456789/X_Y"),
        ("", ""),
    ],
)
def test_a_doi_is_read_in_each_of_its_forms(text: str, doi: str) -> None:
    assert citing.parse_doi(text) == doi


@pytest.mark.parametrize(
    "text",
    ["10.5281", "zenodo.1", "10.12/x", "10.1000/a b", "10.1000/<b>", "https://example.org/10.1000/x", "10.1000/x\ny"],
)
def test_what_is_no_doi_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="is not a DOI"):
        citing.parse_doi(text)


CFF_KEYS = {
    *("cff-version", "message", "type", "title", "authors", "abstract", "version", "date-released", "license", "doi"),
    *("url", "identifiers"),
}


def check_cff(text: str) -> dict[str, Any]:
    """The rules of the Citation File Format 1.2.0 for the keys that are written here."""
    content: dict[str, Any] = yaml.safe_load(text)
    assert content.keys() <= CFF_KEYS
    assert content["cff-version"] == "1.2.0"
    assert content["type"] == "dataset"
    for key in ("message", "title", "abstract", "version", "date-released"):
        assert isinstance(content[key], str), "A date or a number would be no text."
        assert content[key]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", content["date-released"])
    assert content.get("license", "MIT") in LICENCES
    assert re.fullmatch(r"10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-.()\[\]\\]+", content.get("doi", "10.1000/x"))
    assert content.get("url", "https://").startswith(("https://", "http://"))
    assert content["authors"]
    people = {"family-names", "given-names", "name-particle", "name-suffix"}
    for author in content["authors"]:
        assert author.keys() == {"name"} or author.keys() <= people
        assert all(isinstance(each, str) and each for each in author.values())
    for each in content["identifiers"]:
        assert each.keys() == {"type", "value", "description"}
        assert each["type"] == "other"
    return content


@pytest.mark.django_db
def test_a_set_has_its_reference_in_the_archive_on_its_page_by_api_and_command(
    project: Project, manager: Membership, client_of: SignIn, settings: DjangoSettings
) -> None:
    settings.SITE_URL = "https://concord.example.org"
    Project.objects.filter(pk=project.pk).update(name='Bridges & "Roads": 100 % {new}')
    project.refresh_from_db()
    canonical(project)
    made = freeze(project, manager, authors=AUTHORS, licence="CC-BY-4.0", languages=("en",))
    assert "{Universität" not in read(made, "README.md").decode(), "braces are for the form alone"
    cff, bibtex = read(made, "CITATION.cff").decode(), read(made, "citation.bib").decode()
    content = check_cff(cff)
    assert content["title"] == 'Bridges & "Roads": 100 % {new}, judgment set 1: First'
    assert (content["version"], content["license"]) == ("1", "CC-BY-4.0")
    assert content["url"] == f"https://concord.example.org{SET}"
    (sha256,) = (file["sha256"] for file in made.files if file["name"] == "long.jsonl")
    assert content["identifiers"][0]["value"] == f"sha256:{sha256}"
    assert [each.get("name") for each in content["authors"]] == [None, None, None, "Universität Zürich & Söhne", None]
    assert bibtex.splitlines()[0] == "@misc{bridges-set-1,"
    assert r"{Universit{\"a}t Z{\"u}rich \& S{\"o}hne} and {\L}uk {and} Co, {\O}}," in bibtex
    assert (
        r"title = {{Bridges \& ``Roads{''}: 100 \% \textbraceleft{}new\textbraceright{}, judgment set 1: First}}"
        in bibtex
    )
    assert sha256 in bibtex
    assert "doi" not in bibtex
    assert freezing.verify(made) == []
    sentence = made.facts["citation"]
    assert sentence.startswith(
        "Müller, Jürgen; van der Berg, Anna; King, Jr., Martin; Universität Zürich & Söhne; Łuk and Co, Ø "
        f"({made.frozen_at:%Y}). {content['title']}. 41 human judgments of answers to questions, frozen on "
    )
    assert sentence.endswith(". Licence: CC-BY-4.0.")
    readme = read(made, "README.md").decode()
    assert f"\n> {sentence}\n" in readme
    assert sha256 in readme

    client = client_of(manager)
    client.post(f"{SET}doi/", {"doi": "https://doi.org/10.5281/zenodo.7"})
    made.refresh_from_db()
    assert made.doi == "10.5281/zenodo.7"
    page = client.get(SET).content.decode()
    assert '<a href="https://doi.org/10.5281/zenodo.7" rel="noreferrer">' in page
    assert "doi = {10.5281/zenodo.7}," in page
    assert f"SHA-256 of bridges-set-1.zip: {made.sha256}." in page.replace(r"\_", "_")
    assert "data-copy-field" in page
    assert "No authors were named" not in page
    asked = client.post(f"{SET}doi/", {"doi": "nonsense"}, follow=True).content.decode()
    assert "“nonsense” is not a DOI" in asked
    assert freezing.verify(made) == [], "The DOI is in no file."
    assert b"zenodo" not in read(made, "CITATION.cff")
    entry = LogEntry.objects.get(act="change DOI")
    assert (entry.before, entry.after) == ({"doi": ""}, {"doi": "10.5281/zenodo.7"})
    told = Script(manager).read("judgment-sets/1/")
    assert told["doi"] == "10.5281/zenodo.7"
    assert told["citation"]["text"] == f"{made.facts['citation']} https://doi.org/10.5281/zenodo.7"
    assert told["citation"]["text"] in unescape(page)
    assert check_cff(told["citation"]["cff"])["doi"] == "10.5281/zenodo.7"
    assert "doi = {10.5281/zenodo.7}" in told["citation"]["bibtex"]
    assert told["signatures"] == []
    assert answer("judgment_set", "1", "--project", "bridges")["citation"] == told["citation"]["text"]
    assert answer("judgment_set", "1", "--project", "bridges", "--doi", "")["doi"] == ""
    with pytest.raises(CommandError, match="is not a DOI"):
        call_command("judgment_set", "1", "--project", "bridges", "--doi", "x")


@pytest.mark.django_db
def test_without_authors_the_project_is_cited(project: Project, manager: Membership, desk: Client) -> None:
    canonical(project)
    made = freeze(project, manager)
    content = check_cff(read(made, "CITATION.cff").decode())
    assert content["authors"] == [{"name": project.name}]
    assert made.facts["citation"].startswith(f"Bridges, judgment set 1: First ({made.frozen_at:%Y}). 41 human")
    assert "Licence" not in made.facts["citation"]
    assert "license" not in content
    assert "url" not in content
    assert "No authors were named" in desk.get(SET).content.decode()
    log = LogEntry.objects.get(act="ask for judgment set")
    assert log.after["settings"]["authors"] == 0  # type: ignore[index]


@pytest.mark.django_db
def test_terms_are_kept_for_the_next_set_and_wrong_ones_are_shown_again(
    project: Project, manager: Membership, desk: Client
) -> None:
    canonical(project)
    page = desk.get("/p/bridges/sets/new/", {"look": "1", "authors": "Anna Berg", "languages": "english"})
    assert page.status_code == 422
    assert "“Anna Berg” can&#x27;t be read as an author" in page.content.decode()
    assert "“english” is no language code" in page.content.decode()
    for known, unknown in (("nb", "zz"), ("swh", "e1")):
        citing.refuse_wrong_terms([], "", [known])
        with pytest.raises(Refused, match=f"“{unknown}” is no language code"):
            citing.refuse_wrong_terms([], "", [unknown])
    freeze(project, manager, authors=("Berg, Anna",), licence="CC0-1.0", languages=("en", "de"))
    shown = desk.get("/p/bridges/sets/new/").content.decode()
    assert ">\nBerg, Anna</textarea>" in shown
    assert '<option value="CC0-1.0" selected>' in shown
    assert 'value="en, de"' in shown
    with pytest.raises(Refused, match="no licence “GPL”"):
        freeze(project, manager, licence="GPL")
    assert {"CITATION.cff", "citation.bib"} <= set(list_names(JudgmentSet.objects.get()))


@pytest.mark.django_db
def test_a_reference_is_read_from_the_archive_alone(project: Project, manager: Membership, desk: Client) -> None:
    canonical(project)
    made = freeze(project, manager)
    freezing.find_path(made).write_bytes(b"no archive")
    assert depositing.read_reference(made) is None
    assert made.facts["citation"] in desk.get(SET).content.decode()
    freezing.find_path(made).unlink()
    assert depositing.read_reference(made) is None
    with pytest.raises(IntegrityError, match="judgment_set_doi_form"), transaction.atomic():
        JudgmentSet.objects.filter(pk=made.pk).update(doi="10.1000/x\n")
