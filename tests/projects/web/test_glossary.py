"""The explanations behind a “?”: one sentence each, every one in use, every one that is used there."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import RequestFactory

from projects.web.glossary import GLOSSARY, Entry
from results.studies import kinds

USED = re.compile(r"""{% hint "([^"]+)" |(?<!\w)hint="([^"]+)\"""")
STUDY = "study-"


def read_templates() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (settings.BASE_DIR / "templates").rglob("*.html"))


@pytest.mark.parametrize(("key", "entry"), GLOSSARY.items())
def test_an_entry_is_one_sentence(key: str, entry: Entry) -> None:
    assert entry.sentence[0].isupper() or entry.sentence.startswith("p-value")
    assert entry.sentence.endswith((".", "?"))
    assert not re.search(r"[.?!] [A-Z]", entry.sentence), "one sentence is enough here; the guides say the rest"
    assert len(entry.sentence) <= 140
    assert entry.term


def test_two_kinds_of_exact_agreement_have_two_names() -> None:
    assert len({entry.term for entry in GLOSSARY.values() if "xact agreement" in entry.term}) == 2


def test_templates_use_every_entry_and_no_other() -> None:
    # Columns of tables name their entries in the code.
    code = "\n".join(path.read_text(encoding="utf-8") for path in (settings.BASE_DIR / "results").rglob("*.py"))
    used = {first or second for first, second in USED.findall(read_templates() + code)} - {STUDY}
    in_studies = {key for key in GLOSSARY if key.startswith(STUDY)}
    assert used <= GLOSSARY.keys()
    assert used | in_studies == GLOSSARY.keys()


def test_the_columns_of_evaluations_that_are_explained_are_there() -> None:
    folder = Path(kinds.__file__).parent
    code = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    columns = set(re.findall(r'Column\(\s*"(\w+)"', code)) | {"pearson", "spearman", "kendall"}
    assert {key.removeprefix(STUDY) for key in GLOSSARY if key.startswith(STUDY)} <= columns


def draw(source: str, *, headers: dict[str, str] | None = None, **context: str) -> str:
    request = RequestFactory().get("/", headers=headers)
    return Template("{% load parts %}" + source).render(Context({"request": request, **context}))


def test_a_hint_is_a_button_that_opens_its_sentence() -> None:
    html = draw('{% hint "alpha" %}{% hint "alpha" %}')
    targets = re.findall(r'popovertarget="([^"]+)"', html)
    assert len(set(targets)) == 2
    for target in targets:
        assert f'aria-describedby="{target}"' in html
        assert f'id="{target}" popover>{GLOSSARY["alpha"].sentence}'.replace("'", "&#x27;") in html
    assert "About Krippendorff&#x27;s alpha" in html


def test_a_part_that_is_fetched_later_has_ids_of_its_own() -> None:
    assert 'id="hint-1"' in draw('{% hint "alpha" %}')
    assert 'id="hint-part-1"' in draw('{% hint "alpha" %}', headers={"HX-Request": "true"})


def test_a_sentence_may_be_given() -> None:
    html = draw("{% hint term sentence %}", term="s/word", sentence="Seconds & words.")
    assert "About s/word" in html
    assert "Seconds &amp; words." in html


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        draw('{% hint "no-such-thing" %}')
