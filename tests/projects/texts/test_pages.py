"""Writing the consent and the worked examples: versions, previews, rows added and removed without JavaScript."""

from typing import Any

import orjson
import pytest
from django.test import Client

from demo import making
from projects.errors import Refused
from projects.models import Consent, ConsentAcceptance, Instructions, LogEntry, Membership, Project
from projects.rubric import rubrics
from projects.settings import lifecycle
from projects.texts import examples, starting_texts, versions
from projects.texts import versions as texts_versions
from projects.texts.examples import MOST_EXAMPLES, Example
from projects.texts.versions import Counts, count_uses
from tests.factories import make_consent, make_membership, make_rubric, make_user
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db
CONSENT = "/p/bridges/consent/edit/"
INSTRUCTIONS = "/p/bridges/instructions/edit/"
NASTY = "<script>alert(1)</script> \u202eabc {{ 7 }}"
EXAMPLE = {
    "passage": "The cat sat on the mat.",
    "question": "Where did it sit?",
    "reference": "On the mat.",
    "candidate": "On a mat.",
    "why": "The same place.",
}


def form(*rows: dict[str, Any], text: str = "New words.", based_on: int = 1, **over: Any) -> dict[str, Any]:
    """What the page of the instructions sends."""
    data: dict[str, Any] = {"text": text, "based_on": based_on, "examples-INITIAL_FORMS": 0, **over}
    data["examples-TOTAL_FORMS"] = len(rows)
    return data | {f"examples-{n}-{name}": value for n, row in enumerate(rows) for name, value in row.items()}


def row(**over: Any) -> dict[str, Any]:
    return {**EXAMPLE, "rating0": "5", **over}


@pytest.fixture
def client(manager: Membership, client_of: SignIn) -> Client:
    return client_of(manager)


def newest(project: Project) -> Instructions:
    return project.instructions.latest("version")


# --- the consent


def test_each_save_is_a_new_version(client: Client, project: Project) -> None:
    assert "Without a text, nobody is asked" in client.get(CONSENT).content.decode()
    for n in (1, 2):
        client.post(CONSENT, {"text": f"Words {n}.", "based_on": n - 1})
    assert list(project.consents.values_list("version", "text")) == [(2, "Words 2."), (1, "Words 1.")]
    assert "Words 1." in client.get("/p/bridges/consent/1/").content.decode()
    assert [entry.after for entry in LogEntry.objects.filter(act="change consent").order_by("pk")] == [
        {"version": 1},
        {"version": 2},
    ]


def test_a_preview_stores_nothing(client: Client) -> None:
    page = client.post(CONSENT, {"text": "Some *words*.", "based_on": 0, "preview": "1"}).content.decode()
    assert "Some <em>words</em>." in page
    assert not Consent.objects.exists()


def test_what_somebody_else_saved_meanwhile_is_not_overwritten(client: Client, project: Project) -> None:
    make_consent(project, "Theirs.")
    page = client.post(CONSENT, {"text": "Mine.", "based_on": 0}).content.decode()
    assert "Version 1 was saved while you were editing" in page
    assert "Mine." in page
    client.post(CONSENT, {"text": "Mine.", "based_on": 1})
    assert project.consents.latest("version").text == "Mine."


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 30_001])
def test_an_impossible_text_is_refused(client: Client, text: str) -> None:
    assert "errorlist" in client.post(CONSENT, {"text": text, "based_on": 0}).content.decode()
    assert not Consent.objects.exists()


def test_nasty_words_are_words(client: Client, annotator: Membership, client_of: SignIn) -> None:
    client.post(CONSENT, {"text": NASTY, "based_on": 0})
    for page in (client.get("/p/bridges/consent/1/"), client_of(annotator).get("/p/bridges/consent/")):
        text = page.content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text
        assert "{{ 7 }}" in text


def test_the_settings_count_who_agreed_and_who_withdrew(client: Client, project: Project) -> None:
    assert "not asked for consent" in client.get("/p/bridges/settings/").content.decode()
    older, newer = make_consent(project), make_consent(project)
    people = [make_membership(project) for _ in range(4)]
    accept = ConsentAcceptance.objects.create
    for person in people[:2]:
        accept(membership=person, consent=older)
        accept(membership=person, consent=newer)
    accept(membership=people[2], consent=older)
    accept(membership=people[3], consent=newer, withdrawn_at="2026-01-01T00:00Z")
    assert count_uses(project) == Counts(n_agreed=2, n_earlier=1, n_withdrawn=1)
    page = " ".join(client.get("/p/bridges/settings/").content.decode().split())
    assert "2 people, and 1 to an earlier version only" in page
    assert "1 person" in page


def test_the_member_page_says_what_was_agreed_to(client: Client, project: Project, annotator: Membership) -> None:
    consent = make_consent(project)
    ConsentAcceptance.objects.create(
        membership=annotator, consent=consent, withdrawn_at="2026-01-01T00:00Z", is_taken_out=True
    )
    for path in (f"people/{annotator.pseudonym}/", f"quality/{annotator.pseudonym}/"):
        page = client.get(f"/p/bridges/{path}")
        assert page.status_code == 200
        assert "judgments removed" in page.content.decode()


# --- worked examples


def test_an_example_is_added_and_saved_without_javascript(client: Client, project: Project) -> None:
    page = client.post(INSTRUCTIONS, form(add="1")).content.decode()
    assert 'name="examples-0-question"' in page
    assert "New words." in page, "what was typed is still there"
    assert newest(project).version == 1
    client.post(INSTRUCTIONS, form(row()))
    (stored,) = Example.read_all(newest(project).examples)
    assert stored == Example(**EXAMPLE, ratings={"correctness": 5})


def test_an_example_is_removed(client: Client, project: Project) -> None:
    client.post(INSTRUCTIONS, form(row(), row(question="And then?")))
    kept = form(row(DELETE="on"), row(question="And then?"), based_on=2, text="Other words.")
    client.post(INSTRUCTIONS, {**kept, "examples-INITIAL_FORMS": 2})
    assert [each["question"] for each in newest(project).examples] == ["And then?"]


def test_an_empty_row_is_no_example(client: Client, project: Project) -> None:
    client.post(INSTRUCTIONS, form(row(), dict.fromkeys(row(), "")))
    assert len(newest(project).examples) == 1


def test_examples_alone_make_a_new_version(client: Client, project: Project) -> None:
    text = newest(project).text
    client.post(INSTRUCTIONS, form(row(), text=text))
    assert (newest(project).version, newest(project).text) == (2, text)
    page = client.post(INSTRUCTIONS, form(row(), text=text, based_on=2)).content.decode()
    assert "has not changed" in page


@pytest.mark.parametrize(
    ("over", "text"),
    [
        ({"rating0": "6"}, "6"),
        ({"rating0": "2.5"}, "errorlist"),
        ({"rating0": "nan"}, "errorlist"),
        ({"rating0": ""}, "errorlist"),
        ({"question": ""}, "errorlist"),
        ({"why": ""}, "errorlist"),
        ({"candidate": "x" * 1_001}, "errorlist"),
    ],
)
def test_an_example_that_cannot_be_is_sent_back(client: Client, project: Project, over: Any, text: str) -> None:
    page = client.post(INSTRUCTIONS, form(row(**over)))
    assert text in page.content.decode()
    assert newest(project).version == 1


def test_the_text_is_previewed_beside_an_example_that_lacks_a_rating(client: Client, project: Project) -> None:
    answer = client.post(INSTRUCTIONS, form(row(rating0=""), text="Some *words*.", preview="1"))
    assert answer.status_code == 422
    assert "Some <em>words</em>." in answer.text
    assert "errorlist" in answer.text
    assert newest(project).version == 1


def test_there_are_so_many_and_no_more(client: Client, project: Project) -> None:
    client.post(INSTRUCTIONS, form(*[row(question=f"Question {n}?") for n in range(MOST_EXAMPLES + 1)]))
    assert newest(project).version == 1
    client.post(INSTRUCTIONS, form(*[row(question=f"Question {n}?") for n in range(MOST_EXAMPLES)]))
    assert len(newest(project).examples) == MOST_EXAMPLES


def test_the_act_holds_examples_against_the_rubric_itself(project: Project, manager: Membership) -> None:
    revise = {"project": project, "actor": manager, "text": "x", "based_on": 1}
    for wrong in ({"correctness": 9}, {}, {"correctness": 4, "style": 2}):
        with pytest.raises(Refused, match="Example 1"):
            versions.revise_instructions(**revise, examples=[Example(**EXAMPLE, ratings=wrong)])  # type: ignore[arg-type]
    many = [Example(**EXAMPLE, ratings={"correctness": 4})] * (MOST_EXAMPLES + 1)
    with pytest.raises(Refused, match="at most"):
        versions.revise_instructions(**revise, examples=many)  # type: ignore[arg-type]


def test_annotators_see_the_examples_beside_the_rubric(
    client: Client, annotator: Membership, client_of: SignIn
) -> None:
    client.post(INSTRUCTIONS, form(row(why=NASTY)))
    page = client_of(annotator).get("/p/bridges/instructions/").content.decode()
    for text in ("Worked examples", "Where did it sit?", "On a mat.", "Same meaning", "&lt;script&gt;"):
        assert text in page
    assert "<script>alert" not in page


def test_a_rating_that_is_not_on_the_newer_rubrics_scale_is_left_out(project: Project) -> None:
    made = Example(**EXAMPLE, ratings={"correctness": 5})
    newer = rubrics.read_criteria(make_rubric(project, "qascore"))
    assert made.rated(newer) == []
    (first,) = made.rated(rubrics.read_criteria(project.rubrics.earliest("version")))
    assert first[1:] == ("5", "Same meaning")


def test_who_adds_an_example_or_a_criterion_has_not_tried_to_save(client: Client) -> None:
    added = client.post(INSTRUCTIONS, form({"question": "Half typed"}, add="1"))
    assert (added.status_code, "Nothing was saved" in added.text) == (200, False)
    assert "Nothing was saved" in client.post(INSTRUCTIONS, form({"question": "Half typed"})).text
    rubric = {"name": "Mine", "based_on": 1, "criteria-TOTAL_FORMS": 1, "criteria-INITIAL_FORMS": 0}
    rubric["criteria-0-name"] = "Half typed"
    new = "/p/bridges/rubric/new/"
    assert "Nothing was saved" not in client.post(new, {**rubric, "add": "1"}).text
    assert "Nothing was saved" in client.post(new, rubric).text


def test_a_rubric_says_which_examples_it_has_outgrown(client: Client, project: Project) -> None:
    address = "/p/bridges/rubric/"
    client.post(INSTRUCTIONS, form(row(), row(question="And then?")))
    first = project.rubrics.earliest("version")
    assert "worked example" not in client.get(address).text
    make_rubric(project, "qascore")
    assert "2 worked examples of the instructions do not have the ratings" in condense(client.get(address).text)
    old = condense(client.get(f"/p/bridges/rubric/{first.version}/").text)
    assert "worked example" not in old


@pytest.mark.parametrize("path", [starting_texts.TEXTS / "en.json", making.EXAMPLES], ids=["new project", "demo"])
def test_the_examples_that_come_with_the_app_fit_its_rubric(path: Any) -> None:
    project = lifecycle.create_project(slug="fresh", name="Fresh", owner=make_user())
    rubric = rubrics.current_rubric(project)
    assert rubric is not None
    shipped = Example.read_all(orjson.loads(path.read_bytes()))
    assert 3 <= len(shipped) <= 4
    assert [examples.find_faults(each, rubrics.read_criteria(rubric)) for each in shipped] == [{}] * len(shipped)
    assert len({each.ratings["correctness"] for each in shipped}) == len(shipped)


# --- what changed


def test_only_changed_lines_and_those_around_them_are_shown() -> None:
    before = [f"Line {n}." for n in range(9)]
    after = [*before[:4], "Another line.", *before[5:]]
    changes = [(line.kind, line.text) for line in texts_versions.compare(before, after)]
    assert changes == [
        ("same", "Line 3."),
        ("removed", "Line 4."),
        ("added", "Another line."),
        ("same", "Line 5."),
    ]


def test_space_is_no_change() -> None:
    assert texts_versions.compare(["a", "", " b "], ["a", "b"]) == []
