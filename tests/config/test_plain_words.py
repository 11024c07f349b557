"""Idioms that a native reader stumbles over are on no page, in no message, guide, command or test."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

# One process reads every file once for all idioms.
pytestmark = pytest.mark.xdist_group("plain_words")

APPS = ("annotate", "config", "demo", "measures", "projects", "results")
BANNED = [
    r"hand(s|ed|ing)? in\b",
    r"\breckon",
    r"\bmade anew\b|\bmake(s)? anew\b",
    r"\bcome(s)? to nothing\b|what .{0,40}\bcome(s)? to\b",
    r"\bmend(s|ed|ing)?\b",
    r"what becomes of|what is to become of",
    r"what it rests on",
    r"as it is set up",
    r"speak(s)? against",
    r"brought in\b|bring(s|ing)? in\b",
    r"take(s|n)? up again|took up again|take it up",
    r"\bgiv(e|es|en|ing) out\b",
    r"\bremark(s)?\b",
    r"nobody is given",
    r"the same again\b",
    r"hold(s)? from now on",
    r"small letters",
    r"\bstands? (above|after|among|before|below|beside|first|last|once|together|in (memory|one)|on one)\b",
]
"""Left-hand words of the list of house style; more are added as they are met."""

ROOT = Path(settings.BASE_DIR)
TAGS = re.compile(r"{%.*?%}|{#.*?#}|{{.*?}}|{% comment %}.*?{% endcomment %}|<[^>]*>", re.DOTALL)


def _read_templates() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        # Attributes that people read stay; tags, names of variables and classes go.
        text = re.sub(r"{#.*?#}|{% comment %}.*?{% endcomment %}", "", path.read_text(), flags=re.DOTALL)
        attributes = re.findall(r'(?:aria-label|title|placeholder|data-confirm[\w-]*)="([^"]*)"', text)
        attributes += re.findall(r'{% translate "([^"]*)"', text) + re.findall(
            r'\w+_(?:title|text|action|label)="([^"]*)"', text
        )
        yield path.relative_to(ROOT).as_posix(), " ".join([TAGS.sub(" ", text), *attributes])


def _read_code() -> Iterator[tuple[str, str]]:
    """Strings of the code that are sentences; docstrings are read as well."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            strings = (
                node.value
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
            )
            yield path.relative_to(ROOT).as_posix(), "\n".join(each for each in strings if not _is_stored(each))


def _is_stored(text: str) -> bool:
    """Values of the log, and SQL, are names of columns and rows, not sentences."""
    return bool(re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|CREATE|JOIN|FROM|CASE)\b", text)) or text in STORED


def _read_tests() -> Iterator[tuple[str, str]]:
    """Names and docstrings; other strings of tests are data, such as what people write."""
    for path in sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        # Remark is a model; its pages say comments and flags.
        names = [re.sub("remarks?", "", node.name.replace("_", " "), flags=re.IGNORECASE) for node in defined]
        texts = [ast.get_docstring(node) or "" for node in (tree, *defined)]
        yield path.relative_to(ROOT).as_posix(), "\n".join([*names, *texts])


def _read_guides() -> Iterator[tuple[str, str]]:
    for path in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        yield path.relative_to(ROOT).as_posix(), path.read_text()


STORED = {"resolve remark", "take up remark again", "minimal pair remark"}


@cache
def _read_all() -> list[tuple[str, str]]:
    return [*_read_templates(), *_read_code(), *_read_tests(), *_read_guides()]


def find(banned: str) -> list[str]:
    """Return where a banned idiom is used, with the words around it."""
    pattern = re.compile(banned, re.IGNORECASE)
    return [
        f"{name}: …{text[max(0, match.start() - 40) : match.end() + 40]}…".replace("\n", " ")
        for name, text in _read_all()
        for match in pattern.finditer(text)
    ]


@pytest.mark.parametrize("banned", BANNED)
def test_no_one_reads(banned: str) -> None:
    assert find(banned) == []


def test_a_banned_idiom_would_be_found() -> None:
    assert find(r"Krippendorff") != []
