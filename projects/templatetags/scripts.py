"""The tags of a page's scripts, each with the modules that it imports."""

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from django import template
from django.conf import settings
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

# A call of import() is not among them: such a module is fetched when it is wanted.
IMPORT = re.compile(r'^import\s(?:[^"]*\sfrom\s)?"(\.[^"]+)";', re.MULTILINE)
NAMED = "modules named in the page"


@register.simple_tag(takes_context=True)
def module(context: template.Context, name: str) -> SafeString:
    """Return the tag of a script that is a module, after those of the modules that it imports, directly or not.

    Without them a browser finds each module only when it has read the one that imports it, one round trip after
    another; until then a press does what it does without scripts. It fetches a few files at a time, in this order.
    """
    *imported, itself = list_modules(name)
    return _name_modules(context, imported) + format_html('<script type="module" src="{}"></script>\n', static(itself))


@register.simple_tag(takes_context=True)
def preload(context: template.Context, name: str) -> SafeString:
    """Return the tags of a module that a script imports later, and of the modules that it imports."""
    return _name_modules(context, list_modules(name))


def _name_modules(context: template.Context, names: Sequence[str]) -> SafeString:
    """Return the tags of those that the page has not named yet."""
    kept: Any = context.render_context
    named: set[str] = kept.setdefault(NAMED, set())
    new = [name for name in names if name not in named]
    named.update(new)
    return _render_links(tuple(new))


@lru_cache
def _render_links(names: tuple[str, ...]) -> SafeString:
    return format_html_join("", '<link rel="modulepreload" href="{}">\n', ((static(name),) for name in names))


def list_modules(name: str) -> tuple[str, ...]:
    """Return a script and the modules that it imports, directly or not, each after those that it imports itself."""
    # While scripts are being written, what they import changes without a restart.
    return _find_modules.__wrapped__(name) if settings.DEBUG else _find_modules(name)


@lru_cache
def _find_modules(name: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    _collect(name, found, {name})
    return tuple(found)


def _collect(name: str, found: dict[str, None], visited: set[str]) -> None:
    path = finders.find(name)
    if path is None:
        raise LookupError(f"no script is called {name}")
    for imported in IMPORT.findall(Path(path).read_text(encoding="utf-8")):
        each = posixpath.normpath(f"{posixpath.dirname(name)}/{imported}")
        if each not in visited:
            visited.add(each)
            _collect(each, found, visited)
    found[name] = None
