"""A new project: its address made from the name, a template, or the set-up of a project that the person manages."""

import re

import pytest
from django.conf import settings
from django.test import Client

from annotate.attempts.gradable_items import ItemSpec
from annotate.models import QualificationTest
from annotate.qualification.items import add_items
from measures.rubric_presets import PRESETS
from projects.errors import Refused
from projects.models import Membership, Project, User
from projects.rubric import rubrics
from projects.settings import lifecycle
from projects.settings.forms import NewProjectForm
from tests.factories import make_consent, make_membership, make_project, make_rubric, make_user
from tests.people import SignIn

pytestmark = pytest.mark.django_db
PAGE = "/projects/new/"


@pytest.fixture
def creator() -> User:
    return make_user("carla", can_create_projects=True)


@pytest.fixture
def client(creator: User, client_of: SignIn) -> Client:
    return client_of(creator)


def create(client: Client, **sent: str) -> Project:
    answer = client.post(PAGE, {"name": "Narrative QA", **sent})
    assert answer.status_code == 302, answer.context["form"].errors
    return Project.objects.latest("pk")


def test_the_page_spells_names_as_the_server_does() -> None:
    script = (settings.BASE_DIR / "static" / "js" / "project_new.js").read_text()
    assert dict(re.findall(r'(\w): "(\w+)"', script)) == lifecycle.LETTERS


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Narrative QA", "narrative-qa"),
        ("  Über größe_1 / zwei!  ", "ueber-groesse-1-zwei"),
        ("Bru\u0308cken – STRAẞE", "bruecken-strasse"),
        ("Łódź, Çanakkale Ísland Þór", "lodz-canakkale-island-thor"),
        ("Smørrebrød på Ærø; cœur İıñ", "smoerrebroed-paa-aeroe-coeur-iin"),
        ("阅读理解", "project"),
        ("X", "project"),
        ("a" * 120, "a" * 50),
    ],
)
def test_an_empty_address_is_made_from_the_name(client: Client, name: str, slug: str) -> None:
    assert create(client, name=name).slug == slug
    # The same name again gets the next free address, also one that a deleted project keeps.
    Project.objects.filter(slug=slug).update(deleted_at="2026-01-01T00:00:00Z")
    assert create(client, name=name).slug == f"{slug}-2"


def test_a_wrong_address_is_marked_and_nobody_is_offered_a_copy_of_nothing(creator: User) -> None:
    fine = {"name": "Narrative QA", "slug": "narrative"}
    assert NewProjectForm(creator, fine).is_valid()
    assert all(list(NewProjectForm(creator, {**fine, "slug": slug}).errors) == ["slug"] for slug in ("x", "A b", "-qa"))
    assert list(NewProjectForm(creator, {**fine, "name": "x" * 121}).errors) == ["name"]
    assert [group for group, _choices in NewProjectForm(creator).fields["start"].choices] == ["Templates"]  # type: ignore[attr-defined]


def test_a_template_brings_its_rubric_and_instructions(client: Client) -> None:
    for key, preset in PRESETS.items():
        project = create(client, start=f"preset:{key}", language="de")
        rubric = rubrics.current_rubric(project)
        assert rubric is not None
        assert (rubric.preset, rubric.name) == (key, preset.name)
        assert project.instructions.get().text.startswith("# So bewerten Sie")
    blank = create(client, start="blank")
    assert rubrics.current_rubric(blank) is None
    assert not blank.instructions.exists()
    assert client.get(f"/p/{blank.slug}/rubric/").content.decode().count('name="preset"') == len(PRESETS)
    assert client.get(blank.get_absolute_url()).status_code == 200


def test_a_copy_has_the_set_up_and_neither_data_nor_people(client: Client, creator: User) -> None:
    source = make_project("bridges", name="Bridges", language="fr", hit_size=7, cents_per_hit=55)
    actor = make_membership(source, creator, role=Membership.Role.MANAGER)
    make_membership(source)
    rubric = make_rubric(source, "yang")
    make_consent(source)
    test = QualificationTest.objects.create(project=source, rubric=rubric, pass_share=0.6, state="open")
    spec = ItemSpec(question="Why?", answer="Because.", expected={"quality": (2, 3)}, explanation="It is.")
    add_items(test=test, actor=actor, specs=[spec], how="typed")
    project = create(client, start="copy:bridges", description="Again")
    assert (project.name, project.language, project.hit_size, project.cents_per_hit) == ("Narrative QA", "fr", 7, 55)
    copied = rubrics.current_rubric(project)
    assert copied is not None
    specs = [rubrics.describe_criterion(each) for each in copied.criteria.all()]
    assert specs == [rubrics.describe_criterion(each) for each in rubric.criteria.all()]
    assert project.instructions.count() == source.instructions.count()
    assert project.consents.get().text == source.consents.get().text
    made = QualificationTest.objects.get(project=project)
    assert (made.state, made.pass_share, made.rubric) == ("draft", 0.6, copied)
    assert made.items.get().expected == {"quality": [2, 3]}
    assert [member.user for member in project.memberships.all()] == [creator]
    assert not project.datasets.exists()


def test_only_projects_that_the_person_manages_are_copied(client: Client, creator: User) -> None:
    make_project("strange", name="Strange <i>")
    make_membership(make_project("read"), creator, role=Membership.Role.RESEARCHER)
    make_membership(make_project("left"), creator, role=Membership.Role.OWNER, standing="removed")
    gone = make_project("gone", deleted_at="2026-01-01T00:00:00Z")
    make_membership(gone, creator, role=Membership.Role.OWNER)
    assert "copy:" not in client.get(PAGE).content.decode()
    for slug in ("strange", "read", "left", "gone", "none"):
        assert client.post(PAGE, {"name": "Mine", "start": f"copy:{slug}"}).status_code in (200, 422)
    assert not Project.objects.filter(name="Mine").exists()


def test_an_unknown_preset_is_refused(creator: User) -> None:
    with pytest.raises(Refused, match="does not exist"):
        lifecycle.create_project(slug="fresh", name="Fresh", owner=creator, preset="none")
