"""A project in a language starts with its scale, instructions and worked examples in that language."""

import re

import orjson
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.urls import reverse

from measures.rubric_presets import PRESETS
from projects.errors import Refused
from projects.models import Project
from projects.rubric import rubrics, versions
from projects.rubric.presets import find_preset
from projects.settings import lifecycle
from projects.texts import markdown, starting_texts
from projects.texts.examples import Example, find_faults
from tests.factories import make_user
from tests.people import SignIn

pytestmark = pytest.mark.django_db

LANGUAGES = [code for code, _name in settings.LANGUAGES]
OTHERS = [code for code in LANGUAGES if code != "en"]
SCRIPTS = {"ar": r"[\u0600-\u06ff]", "zh-hans": r"[\u4e00-\u9fff]"}


def make(language: str) -> Project:
    return lifecycle.create_project(slug="fresh", name="Fresh", owner=make_user(), language=language)


def is_in(language: str, text: str) -> bool:
    """Whether most letters are of the language's script, where it has one of its own."""
    letters = re.findall(r"[^\W\d_]", text)
    return language not in SCRIPTS or len(re.findall(SCRIPTS[language], text)) > 0.9 * len(letters)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_texts_of_a_new_project_are_in_its_language(language: str) -> None:
    project = make(language)
    assert project.language == language
    instructions = project.instructions.get()
    assert instructions.text == (starting_texts.TEXTS / f"{language}.md").read_text(encoding="utf-8")
    html = markdown.render(instructions.text)
    assert html.count("<tr>") == 6
    assert html.count("<li>") == 8
    rubric = rubrics.current_rubric(project)
    assert rubric is not None
    criteria = rubrics.read_criteria(rubric)
    examples = Example.read_all(instructions.examples)
    assert [dict(example.ratings) for example in examples] == [{"correctness": n} for n in (5, 4, 3, 1)]
    assert not any(find_faults(example, criteria) for example in examples)
    texts = [criteria[0].name, criteria[0].statement, *(str(point["label"]) for point in criteria[0].points)]
    texts += [getattr(example, name) for example in examples for name in ("question", "candidate", "why")]
    assert all(texts)
    assert [text for text in texts if not is_in(language, text)] == []


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_differs_from_the_english_one_in_its_words_alone(language: str, key: str) -> None:
    there, here = find_preset(key, language), PRESETS[key]
    assert [(each.key, each.scale, each.level, set(each.anchors)) for each in there.criteria] == [
        (each.key, each.scale, each.level, set(each.anchors)) for each in here.criteria
    ]
    for translated, original in zip(there.criteria, here.criteria, strict=True):
        assert translated.statement != original.statement
        for value, text in translated.anchors.items():
            label, colon, explanation = text.partition(": ")
            assert bool(colon) == (": " in original.anchors[value])
            assert label
            assert label == label.strip()
            assert len(label) <= 24
            assert is_in(language, label + explanation)


def test_each_language_is_whole() -> None:
    """A language that is added needs its files: nothing falls back to English unseen."""
    for language in OTHERS:
        stored = orjson.loads((starting_texts.TEXTS / f"{language}.json").read_bytes())
        assert len(stored) == len(starting_texts.read_examples("en"))
        assert starting_texts.read_instructions(language) != starting_texts.read_instructions("en")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(Refused, match="Choose one of these: en, "):
        make("tlh")
    assert not Project.objects.exists()


def test_the_command_takes_a_language() -> None:
    make_user("olga")
    call_command("create_project", "deutsch", owner="olga", language="de")
    project = Project.objects.get(slug="deutsch")
    assert project.language == "de"
    assert project.rubrics.get().criteria.get().name == "Richtigkeit"
    with pytest.raises(CommandError, match="is not available"):
        call_command("create_project", "klingon", owner="olga", language="tlh")
    assert not Project.objects.filter(slug="klingon").exists()


def test_the_form_takes_a_language(client_of: SignIn) -> None:
    url, client = reverse("projects:project-new"), client_of(make_user("olga", can_create_projects=True))
    assert '<option value="ar"' in client.get(url).content.decode()
    client.post(url, {"name": "A", "slug": "arabic", "language": "ar"})
    assert Project.objects.get(slug="arabic").rubrics.get().criteria.get().name == "الصحة"
    answer = client.post(url, {"name": "B", "slug": "bad", "language": "tlh"})
    assert answer.status_code == 200
    assert not Project.objects.filter(slug="bad").exists()


def test_a_preset_is_offered_again_after_the_language_changed() -> None:
    project = make("en")
    owner = project.memberships.get()
    with pytest.raises(Refused, match="already the current rubric"):
        versions.revise_to_preset(project=project, actor=owner, preset="mocha")
    lifecycle.change_settings(project=project, actor=owner, values={"language": "de"})
    project.refresh_from_db()
    rubric = versions.revise_to_preset(project=project, actor=owner, preset="mocha")
    assert rubric.criteria.get().name == "Richtigkeit"
