"""New versions of the rubric and of the instructions."""

import pytest
from django.urls import reverse

from measures.rubric_presets import CORRECTNESS
from projects.errors import Refused
from projects.models import Act, LogEntry, Membership, Project
from projects.rubric import rubrics
from projects.rubric import versions as rubric_versions
from projects.texts import versions
from tests.concurrency import all_at_once
from tests.page_reader import condense
from tests.people import SignIn

pytestmark = pytest.mark.django_db

FLUENCY = {
    "name": "Fluency",
    "key": "",
    "statement": "How well does it read?",
    "kind": "ordinal",
    "low": "1",
    "high": "7",
    "anchors": "7: Like a good writer\n1 = Hardly readable\n\n",
    "level": "ordinal",
    "used_for_quality": "on",
}
SLIDER = {
    "name": "Usefulness",
    "key": "useful",
    "statement": "",
    "kind": "continuous",
    "low": "",
    "high": "",
    "anchors": "0: none\n100: all",
    "level": "interval",
    "is_reversed": "on",
}


def rubric_form(*criteria: dict[str, str], name: str = "Two sides", based_on: int = 1, **over: str) -> dict[str, str]:
    counts = {"criteria-TOTAL_FORMS": str(len(criteria)), "criteria-INITIAL_FORMS": "0"}
    data = {"name": name, "based_on": str(based_on), **counts, **over}
    for n, criterion in enumerate(criteria):
        data |= {f"criteria-{n}-{field}": value for field, value in criterion.items()}
    return data


def new_url(project: Project) -> str:
    return reverse("projects:rubric-new", args=[project.slug])


def test_a_rubric_of_ones_own_becomes_the_next_version(manager: Membership, client_of: SignIn) -> None:
    client, project = client_of(manager), manager.project
    assert CORRECTNESS.criteria[0].anchors[5] in client.get(new_url(project)).content.decode()
    assert client.post(new_url(project), rubric_form(FLUENCY, SLIDER)).status_code == 302
    rubric = rubrics.current_rubric(project)
    assert rubric is not None
    assert (rubric.version, rubric.name, rubric.preset) == (2, "Two sides", "custom")
    fluency, useful = rubric.criteria.all()
    assert (fluency.key, fluency.kind, fluency.low, fluency.high, fluency.level) == (
        "fluency",
        "ordinal",
        1,
        7,
        "ordinal",
    )
    assert fluency.anchors == [{"value": 1, "text": "Hardly readable"}, {"value": 7, "text": "Like a good writer"}]
    assert (useful.key, useful.kind, useful.low, useful.high) == ("useful", "continuous", 0, 100)
    assert (useful.is_reversed, useful.used_for_quality, fluency.used_for_quality) == (True, False, True)
    assert LogEntry.objects.get(act="change rubric").after == {
        "version": 2,
        "name": "Two sides",
        "criteria": ["fluency", "useful"],
    }
    page = client.get(reverse("projects:rubric-show", args=[project.slug])).content.decode()
    assert "Like a good writer" in page
    earlier = client.get(reverse("projects:rubric-version", args=[project.slug, 1])).content.decode()
    assert CORRECTNESS.criteria[0].anchors[5].partition(": ")[2] in earlier
    again = client.get(new_url(project)).content.decode()
    assert "7: Like a good writer" in again


@pytest.mark.parametrize(
    ("criteria", "over"),
    [
        ([], {}),
        ([FLUENCY, FLUENCY], {}),
        ([{**FLUENCY, "name": ""}], {}),
        ([{**FLUENCY, "name": "???"}], {}),
        ([{**FLUENCY, "key": "Not a key"}], {}),
        ([{**FLUENCY, "low": "5", "high": "5"}], {}),
        ([{**FLUENCY, "low": "9", "high": "5"}], {}),
        ([{**FLUENCY, "low": "1", "high": "500"}], {}),
        ([{**FLUENCY, "low": "", "high": "5"}], {}),
        ([{**FLUENCY, "low": "-9999999999999999999", "high": "5"}], {}),
        ([{**FLUENCY, "low": "99999998", "high": "99999999"}], {}),
        ([{**FLUENCY, "low": "1.5"}], {}),
        ([{**FLUENCY, "anchors": "8: too far"}], {}),
        ([{**FLUENCY, "anchors": "one: x"}], {}),
        ([{**FLUENCY, "anchors": "1: x\n1: y"}], {}),
        ([{**FLUENCY, "level": "best"}], {}),
        ([{**FLUENCY, "kind": "stars"}], {}),
        ([{**SLIDER, "level": "nominal"}], {}),
        ([{**FLUENCY, "DELETE": "on"}], {}),
        ([FLUENCY], {"name": ""}),
        ([FLUENCY], {"criteria-TOTAL_FORMS": "x"}),
        ([FLUENCY], {"criteria-TOTAL_FORMS": "5000"}),
    ],
)
def test_what_does_not_make_a_rubric_is_shown_back(
    manager: Membership, criteria: list[dict[str, str]], over: dict[str, str], client_of: SignIn
) -> None:
    response = client_of(manager).post(new_url(manager.project), {**rubric_form(*criteria), **over})
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert manager.project.rubrics.count() == 1


def test_adding_a_criterion_keeps_what_is_typed_and_stores_nothing(manager: Membership, client_of: SignIn) -> None:
    page = client_of(manager).post(new_url(manager.project), rubric_form(FLUENCY, add="1")).content.decode()
    assert "Like a good writer" in page
    assert 'name="criteria-1-name"' in page
    assert 'name="criteria-2-name"' not in page
    assert manager.project.rubrics.count() == 1


def test_a_removed_criterion_is_left_out(manager: Membership, client_of: SignIn) -> None:
    client_of(manager).post(new_url(manager.project), rubric_form({**FLUENCY, "DELETE": "on"}, SLIDER))
    rubric = rubrics.current_rubric(manager.project)
    assert rubric is not None
    assert [criterion.key for criterion in rubric.criteria.all()] == ["useful"]


def test_presets_replace_one_another_and_never_mix(manager: Membership, client_of: SignIn) -> None:
    client, url = client_of(manager), reverse("projects:rubric-preset", args=[manager.project.slug])
    for preset, keys in (
        ("mocha", ["correctness"]),
        ("yang", ["quality"]),
        ("yang", ["quality"]),
        ("god", ["quality"]),
    ):
        client.post(url, {"preset": preset})
        rubric = rubrics.current_rubric(manager.project)
        assert rubric is not None
        assert [criterion.key for criterion in rubric.criteria.all()] == keys
    assert manager.project.rubrics.count() == 2


def test_two_who_write_a_rubric_at_once_do_not_overwrite_each_other(manager: Membership, client_of: SignIn) -> None:
    client, url = client_of(manager), new_url(manager.project)
    assert 'name="based_on" value="1"' in client.get(url).content.decode()
    client.post(url, rubric_form(FLUENCY, name="The first"))
    page = client.post(url, rubric_form(SLIDER, name="The second")).content.decode()
    assert "Version 2 was saved while you were editing" in page
    assert "The second" in page
    assert 'name="based_on" value="2"' in page
    assert manager.project.rubrics.count() == 2
    # A version that an import makes for its own scales is nobody's edit.
    rubrics.create_rubric(
        manager.project, name="Of a file", preset="custom", criteria=CORRECTNESS.criteria, is_imported=True
    )
    assert client.post(url, rubric_form(SLIDER, name="The second", based_on=2)).status_code == 302
    current = rubrics.current_rubric(manager.project)
    assert current is not None
    assert (current.version, current.name) == (4, "The second")


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_of_rubrics_saved_at_once_one_is_stored(manager: Membership) -> None:
    def write(n: int) -> bool:
        try:
            rubric_versions.revise_rubric(
                project=manager.project, actor=manager, name=f"Rubric {n}", criteria=CORRECTNESS.criteria, based_on=1
            )
        except Refused:
            return False
        return True

    assert sum(all_at_once(write, range(10))) == 1
    assert manager.project.rubrics.count() == 2


def test_a_preset_that_was_changed_can_be_restored(manager: Membership, client_of: SignIn) -> None:
    client, url = client_of(manager), reverse("projects:rubric-preset", args=[manager.project.slug])
    rubric_versions.revise_rubric(
        project=manager.project,
        actor=manager,
        name="Mine",
        criteria=CORRECTNESS.criteria,
        not_for_quality=["correctness"],
        based_on=1,
    )
    for _ in range(2):
        client.post(url, {"preset": "mocha"})
    current = rubrics.current_rubric(manager.project)
    assert current is not None
    assert (current.version, current.preset, current.criteria.get().used_for_quality) == (3, "mocha", True)


def test_a_frozen_version_stays_as_it_was(manager: Membership, client_of: SignIn) -> None:
    first = manager.project.rubrics.get()
    rubrics.freeze(first)
    before = list(first.criteria.values())
    client_of(manager).post(new_url(manager.project), rubric_form(FLUENCY))
    assert list(first.criteria.values()) == before
    assert manager.project.rubrics.count() == 2


def text_form(text: str, based_on: int = 1, **over: str) -> dict[str, str]:
    return {"text": text, "based_on": str(based_on), **over}


def test_instructions_are_saved_as_versions(manager: Membership, client_of: SignIn) -> None:
    client, project = client_of(manager), manager.project
    url = reverse("projects:instructions-edit", args=[project.slug])
    assert client.post(url, text_form("# Anew\r\n\r\nRate.")).status_code == 302
    assert [made.version for made in project.instructions.all()] == [2, 1]
    assert project.instructions.get(version=2).text == "# Anew\n\nRate."
    assert LogEntry.objects.get(act="change instructions").after == {"version": 2, "examples": 0}
    old = client.get(reverse("projects:instructions-version", args=[project.slug, 1])).content.decode()
    assert "<h2>How to rate</h2>" in old
    assert client.post(url, text_form("# Anew\n\nRate.", 2)).status_code == 422
    assert client.post(url, text_form("  \n", 2)).status_code == 422
    assert client.post(url, text_form("x" * (versions.MOST_CHARACTERS + 1), 2)).status_code == 422
    assert project.instructions.count() == 2


def test_a_preview_shows_safe_html_and_saves_nothing(manager: Membership, client_of: SignIn) -> None:
    url = reverse("projects:instructions-edit", args=[manager.project.slug])
    page = client_of(manager).post(url, text_form("**bold** <script>alert(1)</script>", preview="1")).content.decode()
    assert "<strong>bold</strong>" in page
    assert "<script>alert" not in page
    assert manager.project.instructions.count() == 1


def test_two_who_write_at_once_do_not_overwrite_each_other(manager: Membership, client_of: SignIn) -> None:
    url, client = reverse("projects:instructions-edit", args=[manager.project.slug]), client_of(manager)
    client.post(url, text_form("The first"))
    page = client.post(url, text_form("The second")).content.decode()
    assert "Version 2 was saved while you were editing" in page
    assert "The second" in page
    assert 'value="2"' in page
    assert manager.project.instructions.count() == 2
    assert client.post(url, text_form("The second", 2)).status_code == 302


@pytest.mark.django_db(transaction=True)
@pytest.mark.race
def test_versions_have_numbers_of_their_own_under_a_race(manager: Membership) -> None:
    def write(n: int) -> bool:
        try:
            versions.revise_instructions(project=manager.project, actor=manager, text=f"Text {n}", based_on=1)
        except Refused:
            return False
        return True

    assert sum(all_at_once(write, range(10))) == 1
    assert sorted(manager.project.instructions.values_list("version", flat=True)) == [1, 2]


def test_the_log_pages_and_filters_by_url(manager: Membership, owner: Membership, client_of: SignIn) -> None:
    from projects import log

    for n in range(55):
        log.record(manager.project, manager, Act.CHANGE_CAPS, manager, after={"n": n, "items": [n, n + 1]})
    log.record(manager.project, None, Act.FIND, why="<script>alert(1)</script>")
    log.record(manager.project, owner, Act.CHANGE_CAPS, owner, before=3)
    client, url = client_of(manager), reverse("projects:log-list", args=[manager.project.slug])

    def body(**query: str) -> str:
        return condense(client.get(url, query).content.decode())

    assert "n:</span> <bdi>54</bdi>" in body()
    assert "n:</span> <bdi>0</bdi>" not in body()
    assert "n:</span> <bdi>0</bdi>" in body(page="2")
    assert "<script>alert" not in body(act=Act.FIND.value)
    assert "n:</span> <bdi>" not in body(actor="system")
    assert "n:</span> <bdi>" not in body(actor=owner.pseudonym)
    assert "No entries" in body(act="nothing")
    assert "items:</span> <bdi>54, 55</bdi>" in body()
    assert client.get(url, {"act": "x" * 500, "page": "-3"}).status_code == 200


def test_the_log_shows_values_in_words(manager: Membership, client_of: SignIn) -> None:
    from projects import log

    selection = {"seed": 7, "sample": None, "splits": ["dev", "test"], "sources": [], "with_pairs": False}
    after = {
        "selection": selection,
        "is_annotator": True,
        "expires_at": "2026-11-22T03:31:09.352936+00:00",
        "why": None,
    }
    log.record(manager.project, manager, Act.MAKE_PLAN, manager, after=after)
    page = condense(client_of(manager).get(reverse("projects:log-list", args=[manager.project.slug])).content.decode())
    for text in (
        "selection seed:</span> <bdi>7</bdi>",
        "selection splits:</span> <bdi>dev, test</bdi>",
        "is annotator:</span> <bdi>yes</bdi>",
        "expires at:</span> <bdi>22 Nov 2026, 03:31 UTC</bdi>",
        "why:</span> <bdi>none</bdi>",
    ):
        assert text in page
    assert "selection sources" not in page
    assert "{" not in page.split("<tbody>")[1].split("</tbody>")[0]
