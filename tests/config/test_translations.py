"""The catalogues: up to date, and complete for every sentence that annotators read."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from gettext import GNUTranslations
from io import StringIO
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import translation
from django.utils.translation import gettext, ngettext

from config import catalogues, translating
from projects.accounts.forms import AccountForm
from projects.language import languages

LANGUAGES = ("de", "es", "fr", "ar", "zh-hans")
THE_SAME = {
    "de": {"Code", "Enter", "Esc", "HIT", "Name", "Passkeys", "Status", "Test", "Text %(number)s"},
    "es": {"Ctrl", "Error %(code)s", "Esc", "HIT"},
    "fr": {
        "Ctrl",
        "HIT",
        *("%(n)s document", "%(n)s documents", "%(n)s minute", "%(n)s minutes", "{n} minute", "{n} minutes"),
        *(
            "Code",
            "Date",
            "Document %(n)s",
            "Documents",
            "Guides",
            "Passage",
            "Qualification",
            "Question",
            "Test",
            "test",
        ),
    },
    "ar": {"Ctrl", "Enter", "Esc"},
    "zh-hans": {"Ctrl", "Enter", "Esc", "HIT"},
}
"""Sentences that read the same in another language: words that it shares with English."""

PLACES = re.compile(r"%\(\w+\)[sd]|%%|\{\w*\}|</?[a-z]+[^>]*>")
EXACT_FORMS = {"de": (0,), "es": (0,), "fr": (), "ar": (0, 1, 2), "zh-hans": ()}
"""Forms of one number alone, which may be a word in them: “one”, “both”.

French says 0 and 1 in one form.
"""

# One process reads the sentences of all files once.
pytestmark = pytest.mark.xdist_group("translations")

WORDS = re.compile(r"[A-Za-z]{2,}")
NAMES = {"Concord", "UTC", "Pearson", "Spearman"}


@pytest.fixture(scope="module")
def sources() -> Catalog:
    return translating.read_sources()


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_language_of_the_site_is_looked_at() -> None:
    assert set(LANGUAGES) == set(translating.list_languages()) == set(EXACT_FORMS)


def test_a_sentence_is_counted_everywhere_or_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gettext finds a sentence that has forms in the catalogue by its number only, and would show it in English."""
    for name, text in (("a", 'ngettext("HIT", "HITs", 2)'), ("b", '_("HIT")')):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(settings, "BASE_DIR", tmp_path)
    for order in ("ab", "ba"):
        monkeypatch.setattr(translating, "_annotators_files", lambda order=order: [tmp_path / f"{n}.py" for n in order])
        with pytest.raises(ValueError, match="“HIT” is counted in one place and not in another"):
            translating.read_sources()


def test_the_catalogues_are_up_to_date(sources: Catalog, language: str) -> None:
    assert translating.is_up_to_date(language, sources), "Run manage.py translations."


def test_the_command_says_when_they_are_not(tmp_path: Path, settings: object) -> None:
    settings.LOCALE_PATHS = [tmp_path]  # type: ignore[attr-defined]
    with pytest.raises(CommandError, match=r"de is out of date.*\nes is out of date"):
        call_command("translations", check=True)
    call_command("translations", stdout=StringIO())
    with pytest.raises(CommandError, match="zh-hans lacks a translation: Sign in to Concord"):
        call_command("translations", check=True)


def test_a_catalogue_is_compiled_where_its_source_is_newer(tmp_path: Path, settings: object) -> None:
    settings.LOCALE_PATHS = [tmp_path]  # type: ignore[attr-defined]
    source = tmp_path / "de/LC_MESSAGES/django.po"
    source.parent.mkdir(parents=True)
    source.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "Yes"\nmsgstr "Ja"\n')
    compiled = source.with_suffix(".mo")
    assert catalogues.compile_catalogues() == [compiled]
    assert catalogues.compile_catalogues() == []
    os.utime(source, (compiled.stat().st_mtime + 1,) * 2)
    assert catalogues.find_outdated() == [source]
    call_command("translations", compile=True)
    with compiled.open("rb") as file:
        assert GNUTranslations(file).gettext("Yes") == "Ja"
    assert [each.name for each in source.parent.iterdir() if each not in (source, compiled)] == []


def test_a_process_that_may_not_write_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse() -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(catalogues, "compile_catalogues", refuse)
    catalogues.try_to_compile_catalogues()
    assert "read-only" in caplog.text


def test_a_catalogue_is_sorted_and_names_no_file(language: str) -> None:
    """Two lines of work that add sentences touch different lines, and moving a file touches none."""
    folder = Path(settings.LOCALE_PATHS[0]) / translation.to_locale(language)
    source = (folder / "LC_MESSAGES/django.po").read_text(encoding="utf-8")
    assert not re.search(
        r"^#[:,]? ?\S+\.(py|html)|^#, fuzzy|^#~|POT-Creation-Date: (?!2026-01-01)", source, re.MULTILINE
    )
    ids = [message.id for message in translating.read_catalogue(language)]
    assert ids == sorted(ids, key=lambda each: each if isinstance(each, str) else each[0])


def test_every_sentence_for_annotators_is_translated(language: str) -> None:
    catalog = translating.read_catalogue(language)
    assert len(catalog) > 400
    wrong = [
        f"{fault}: {message.id}" for message in catalog if message.id for fault in faults(message, language, catalog)
    ]
    assert not wrong, "\n".join(wrong)


def faults(message: Message, language: str, catalog: Catalog) -> list[str]:
    sources = [message.id] if isinstance(message.id, str) else list(message.id)
    forms = [message.string] if isinstance(message.string, str) else list(message.string or ())
    if message.pluralizable and len(forms) != catalog.num_plurals:
        return ["not every form"]
    found = ["fuzzy"] if message.fuzzy else []
    for n, form in enumerate(forms):
        if not form:
            found.append("empty")
        elif form in sources and form not in THE_SAME.get(language, ()) and WORDS.search(PLACES.sub("", form)):
            found.append("as in English")
        elif not keeps_places(form, sources, may_lack=message.pluralizable and n in EXACT_FORMS[language]):
            found.append(f"other places than the source: {form}")
    return found


def keeps_places(form: str, sources: list[str], *, may_lack: bool) -> bool:
    """Whether a form has the placeholders and tags of the source: those of the plural, or one less."""
    here, wanted = Counter(PLACES.findall(form)), Counter(PLACES.findall(sources[-1]))
    lacking, more = wanted - here, here - wanted
    return not more and lacking.total() <= (1 if may_lack else 0)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("{n} of {all} items", "as in English"),
        ("{n} Elemente", "other places"),
        ("{n} von {all} {more} Elementen", "other places"),
        ("<b>{n}</b> von {all} Elementen", "other places"),
        ("{n} von {all} Elementen", ""),
    ],
)
def test_a_wrong_translation_is_found(text: str, fault: str) -> None:
    found = faults(Message("{n} of {all} items", text), "de", Catalog(locale="de"))
    assert [each.startswith(fault) for each in found] == ([True] if fault else [])


def test_a_form_for_one_number_may_say_it_as_a_word() -> None:
    source = ("{n} item", "{n} items")
    arabic = ("{n} عنصر", "عنصر واحد", "عنصران", "{n} عناصر", "{n} عنصر", "{n} عنصرًا")
    assert faults(Message(source, arabic), "ar", Catalog(locale="ar")) == []
    assert faults(Message(source, arabic[:2]), "ar", Catalog(locale="ar")) == ["not every form"]
    assert faults(Message(source, (*arabic[:3], "عناصر", *arabic[4:])), "ar", Catalog(locale="ar")) != []


def test_compiled_catalogues_are_used() -> None:
    with translation.override("de"):
        assert gettext("Sign in to Concord") == "Bei Concord anmelden"
        assert gettext("This field is required.") != "This field is required."
    with translation.override("ar"):
        forms = {n: ngettext("{n} minute", "{n} minutes", n).format(n=n) for n in (1, 2, 5, 30, 100)}
    assert forms == {1: "دقيقة واحدة", 2: "دقيقتان", 5: "5 دقائق", 30: "30 دقيقة", 100: "100 دقيقة"}


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("es", {0: "0 minutos", 1: "1 minuto", 2: "2 minutos", 1_000_000: "1000000 minutos"}),
        ("fr", {0: "0 minute", 1: "1 minute", 2: "2 minutes", 1_000_000: "1000000 minutes"}),
        ("zh-hans", {0: "0分钟", 1: "1分钟", 2: "2分钟", 1_000_000: "1000000分钟"}),
    ],
)
def test_a_number_takes_the_form_of_the_language(language: str, forms: dict[int, str]) -> None:
    """French says 0 in the singular, and Chinese has one form. A million in digits needs no form of its own."""
    with translation.override(language):
        assert {n: ngettext("{n} minute", "{n} minutes", n).format(n=n) for n in forms} == forms


def test_arabic_counts_eleven_in_the_accusative_and_a_hundred_in_the_genitive() -> None:
    """Of the six forms the fifth is for 100 to 102, the last for 11 to 99."""
    plurals = [each for each in translating.read_catalogue("ar") if isinstance(each.string, tuple)]
    assert len(plurals) > 20
    ending = "\u064b\u0627"
    forms = {each.id[1]: list(each.string or ()) for each in plurals}
    swapped = [name for name, texts in forms.items() if texts[4].count(ending) > texts[5].count(ending)]
    assert not swapped, "\n".join(swapped)


SPACES = {
    "de": re.compile(r"[\d}] (%|MB)"),
    "fr": re.compile(r"[^\s\xa0]([:«»]\s| [;!?»:])|« |\w'\w|(?<!«)\xa0[;!?]"),
    "es": re.compile(r"\d %|[«¿¡] "),
}
"""What these languages never write: a space that breaks before a mark or a unit, or a straight apostrophe.

Before ; ! and ? French has a narrow space.
"""
HALF_WIDTH = re.compile(
    r"[\u4e00-\u9fff][,;:!?()]|[,;:!?(][\u4e00-\u9fff]|[\u4e00-\u9fff] [\u4e00-\u9fff\d{%A-Za-z⌘]"
    r"|[A-Za-z] [\u4e00-\u9fff]"
)
"""A mark of half the width beside a Chinese character, or a space between one and a number or a Latin letter."""


def test_marks_and_spaces_are_those_of_the_language(language: str) -> None:
    pattern = {**SPACES, "zh-hans": HALF_WIDTH}.get(language)
    wrong = [
        form
        for message in translating.read_catalogue(language)
        if message.id and pattern
        for form in ([message.string] if isinstance(message.string, str) else message.string or ())
        if pattern.search(re.sub(r"<[^>]*>", "", form))
    ]
    assert not wrong, "\n".join(wrong)


MARK_AFTER_TAG = re.compile(r"</(?:a|bdi|strong|time)>[.,;!?]")


def test_the_marks_of_a_sentence_are_translated_with_it() -> None:
    """A stop that a template sets after a time stays a stop of half the width in Chinese, and a comma in Arabic."""
    wrong = []
    for path in translating.list_templates():
        source = re.sub(r"{% blocktranslate.*?{% endblocktranslate %}", "", path.read_text(), flags=re.DOTALL)
        if translating.is_for_annotators(format_path(path)) and MARK_AFTER_TAG.search(source):
            wrong.append(format_path(path))
    assert wrong == []


def test_a_wrong_address_is_told_as_formally_as_everything_else() -> None:
    with translation.override("de"):
        assert AccountForm({"email": "nobody"}).errors["email"] == ["Geben Sie eine gültige E-Mail-Adresse ein."]


NEVER = [
    *(("de", words) for words in (". Sie werden", ". Sie zählen")),
    ("es", "unos %(time)s"),
    *(("ar", words) for words in ("إعادة المهمة", "تعيد هذه المهمة", "أعدت هذه المهمة", "منصة توظيف", "لا قيود")),
    *(("zh-hans", word) for word in ("账户", "会话")),
]
"""What is not said. In German: they, where it reads as you. In Spanish: some one minute.

In Arabic: to do a HIT again, where it is given back; a platform of employers; and that nothing is restricted, where
there are no entries. In Chinese: account and session by another word than elsewhere.
"""


@pytest.mark.parametrize(("language", "never"), NEVER)
def test_words_are_those_that_the_language_has_for_it(language: str, never: str) -> None:
    texts = [str(message.string) for message in translating.read_catalogue(language) if message.id]
    assert not [text for text in texts if never in text]


def format_path(path: Path) -> str:
    return path.relative_to(settings.BASE_DIR).as_posix()


def test_sentences_that_scripts_choose_by_number_are_read() -> None:
    """The function that hands them over is known to the reader by its name."""
    assert languages.plural_forms.__name__ in translating.KEYWORDS


def test_every_folder_of_annotators_holds_a_file() -> None:
    names = [
        format_path(path).removeprefix("templates/")
        for path in (*translating.list_templates(), *translating.list_code())
    ]
    assert [
        folder for folder in translating.READ_BY_ANNOTATORS if not any(fnmatch(name, folder) for name in names)
    ] == []


MARKED = re.compile(r"{%\s*(?:trans|blocktrans|plural|load [^%]*\bi18n\b)|\b_\([\"']")


def test_nothing_of_managers_is_marked_for_translation() -> None:
    """Their pages are given in English, so they are written in English."""
    marked = []
    for path in (*translating.list_templates(), *translating.list_code()):
        if translating.is_for_annotators(format_path(path)):
            continue
        source = path.read_text(encoding="utf-8")
        found = MARKED.findall(source) if path.suffix == ".html" else list(imported_from_gettext(source))
        marked += [f"{format_path(path)}: {each}" for each in found]
    assert not marked, "\n".join(marked)


def imported_from_gettext(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation":
            yield from (name.name for name in node.names if "gettext" in name.name)


BLOCK = re.compile(
    r"{% blocktranslate.*?{% endblocktranslate %}|{% extends .*?%}|{% querystring .*?%}"
    r"|{% block \w+_class %}.*?{% endblock %}|{% comment %}.*?{% endcomment %}"
    r"|<kbd>.*?</kbd>|<code>.*?</code>|<pre\b.*?</pre>",
    re.DOTALL,
)
"""What holds no bare sentence: what is translated, names of classes and files, addresses, keys and code."""
DRAWN = re.compile(r"{#.*?#}|{%.*?%}|{{.*?}}|<svg.*?</svg>|<!doctype html>", re.DOTALL)
SPOKEN = re.compile(r'(?:aria-label|title|placeholder|alt|data-confirm[a-z-]*)="([^"]*)"')
GIVEN = re.compile(r"""(?:default|pager_noun|empty_\w+|whose|stat_\w+|yesno)[:=]["']([^"']*)["']""")


def test_no_template_of_annotators_holds_a_bare_sentence() -> None:
    bare = [
        f"{format_path(path)}: {text}"
        for path in translating.list_templates()
        if translating.is_for_annotators(format_path(path))
        for text in bare_sentences(path.read_text(encoding="utf-8"))
    ]
    assert not bare, "\n".join(bare)


def bare_sentences(source: str) -> list[str]:
    """What a template says to people, outside of what is translated: text, labels, and words given to other parts."""
    source = BLOCK.sub("", source)
    given = GIVEN.findall(source)
    drawn = DRAWN.sub("", source)
    texts = [*given, *SPOKEN.findall(drawn), *re.sub(r"<[^>]*>", "\n", drawn).splitlines()]
    return [each.strip() for each in texts if set(WORDS.findall(re.sub(r"&\w+;", "", each))) - NAMES]


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ('<p>{% translate "Go on" %}</p>', []),
        ("<p>Go on</p>", ["Go on"]),
        ("{% blocktranslate %}Go on{% endblocktranslate %} {{ name }} UTC", []),
        ('<nav aria-label="Pages"></nav>', ["Pages"]),
        ('{{ value|default:"nothing" }}', ["nothing"]),
        ('{% include "_pager.html" with pager_noun="entries" %}', ["entries"]),
        ('{% include "_pager.html" with pager_noun=_("entries") %}', []),
    ],
)
def test_a_bare_sentence_is_found(source: str, bare: list[str]) -> None:
    assert bare_sentences(source) == bare


ALL_THEIRS = (
    *("annotate/attempts/", "annotate/desk/", "annotate/onboarding/", "annotate/rating/", "annotate/work/"),
    *("projects/accounts/forms", "projects/accounts/views", "projects/web/"),
)
"""Folders without messages for managers or commands alone."""


def test_no_refusal_to_annotators_is_a_bare_sentence() -> None:
    """Every reason why something is refused to them goes through gettext."""
    bare = [
        f"{format_path(path)}: {ast.unparse(call.args[0])}"
        for path in translating.list_code()
        if format_path(path).startswith(ALL_THEIRS)
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and call.args and _refuses(call.func) and _is_sentence(call.args[0])
    ]
    assert not bare, "\n".join(bare)


def _refuses(called: ast.expr) -> bool:
    return ast.unparse(called).rpartition(".")[2].endswith(("Refused", "PermissionDenied", "ValidationError", "Gone"))


def _is_sentence(expression: ast.expr) -> bool:
    """Words of its own; an f-string that only puts sentences together has none."""
    parts = expression.values if isinstance(expression, ast.JoinedStr) else [expression]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return any(WORDS.search(text) for text in texts)


def test_no_sentence_is_inside_an_f_string() -> None:
    """Babel reads none there, so it would stay in English."""
    hidden = [
        f"{format_path(path)}: {ast.unparse(call)}"
        for path in translating.list_code()
        for joined in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(joined, ast.JoinedStr)
        for call in ast.walk(joined)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in translating.KEYWORDS
    ]
    assert not hidden, "\n".join(hidden)
