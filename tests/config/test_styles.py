"""Stylesheets hold nothing that no page uses, and name no token that does not exist."""

import re
from functools import cache
from itertools import chain
from pathlib import Path

from django.conf import settings

ROOMS = ("annotate", "config", "demo", "projects", "results")
LIGHT_HALF = r"\1"
OPEN_PROPS = "vendor/open-props/open-props.css"


@cache
def read_styles() -> str:
    sheets = (settings.BASE_DIR / "static/css").glob("*.css")
    return re.sub(r"/\*.*?\*/", "", "".join(path.read_text(encoding="utf-8") for path in sheets), flags=re.DOTALL)


@cache
def read_users() -> str:
    """Templates, scripts and code: whatever can give an element a class."""
    base: Path = settings.BASE_DIR
    folders = ((base / "templates", "*.html"), (base / "static/js", "*.js"), *((base / room, "*.py") for room in ROOMS))
    return "\n".join(
        path.read_text(encoding="utf-8") for path in chain.from_iterable(folder.rglob(kind) for folder, kind in folders)
    )


def test_each_class_is_used() -> None:
    words = set(re.findall(r"[\w-]+", read_users()))
    endings_vary = tuple(set(re.findall(r"[\w-]+--(?=\{)", read_users())))
    selectors = re.sub(r"\{[^{}]*\}", " ", read_styles())
    classes = set(re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r'"[^"]*"|url\([^)]*\)', "", selectors)))
    assert len(classes) > 200
    assert sorted(name for name in classes - words if not name.startswith(endings_vary)) == []


def test_each_token_exists() -> None:
    vendored = (settings.BASE_DIR / "static" / OPEN_PROPS).read_text(encoding="utf-8")
    set_somewhere = set(re.findall(r"(--[\w-]+)[\"']?\s*[:,]", read_styles() + vendored + read_users()))
    assert sorted(set(re.findall(r"var\((--[\w-]+)", read_styles())) - set_somewhere) == []


def test_each_colour_has_its_light_value_where_browsers_do_not_know_both() -> None:
    pair = r"light-dark\(((?:[^(),]|\([^()]*\))+), (?:[^()]|\([^()]*\))+\)"
    both, _, light = read_styles().partition("@supports not (color: light-dark(#000, #fff))")
    tokens = re.findall(r"(--[\w-]+): ([^;]*light-dark[^;]*);", both.partition("@media (prefers-contrast: more)")[0])
    assert len(tokens) > 30
    wanted = [f"{name}: {re.sub(pair, LIGHT_HALF, value)};" for name, value in tokens]
    assert [each for each in wanted if each not in light.partition("@layer base")[0]] == []


def test_no_legend_floats() -> None:
    """In Safari one in a grid or a column doesn't, and lies on the border of its fieldset."""
    assert re.findall(r"[^{}]*\blegend\b[^{}]*\{[^{}]*\bfloat\b[^{}]*\}", read_styles()) == []


def test_what_a_pointer_is_over_looks_different_only_where_there_is_a_pointer() -> None:
    """After a tap a phone would go on showing it."""
    with_pointer = r"@media \(hover: hover\) \{(?:[^{}]*\{[^{}]*\})* *\}"
    assert re.findall(r"[^{}]*:hover[^{}]*", re.sub(with_pointer, "", read_styles())) == []
