"""Reads pages for assertions: numbers by their labels, tables by their headings."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

BLOCKS = (
    r"(?:article|body|dd|details|div|dl|dt|fieldset|figure|footer|form|h[1-6]|head|header|html|legend|li|main|nav|ol|option|"
    r"p|section|select|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)\b"
)
BESIDE_BLOCKS = re.compile(rf"\s*(</{BLOCKS}>)\s*|(<{BLOCKS}[^>]*>)\s*|(?<=>)\s+(?=<{BLOCKS})")

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Screen:
    """What a page says: tiles and lists of facts by label, tables by name, how many rows its list has."""

    facts: dict[str, str]
    tables: dict[str, Rows]
    n_listed: int | None

    def number(self, label: str) -> int:
        return number(self.facts[label])

    def rows(self, name: str) -> Rows:
        return self.tables.get(name, [])

    def count_listed(self, name: str) -> int | None:
        """How many rows a list has on all its pages; one row has no pager that would say it."""
        return len(self.rows(name)) if self.n_listed is None and len(self.rows(name)) < 2 else self.n_listed


@dataclass(frozen=True)
class Form:
    """A form of a page, with the values that it is sent with if nobody changes it."""

    method: str
    action: str
    values: list[tuple[str, str]]
    names: list[str]
    """Of all its fields, those that send nothing yet too."""


def read_forms(html: str) -> Iterator[Form]:
    for form in _Reader.read(html).iter("form"):
        fields = [
            (name, *_values(field))
            for field in form.iter()
            if field.tag in ("input", "select", "textarea") and (name := field.get("name"))
        ]
        yield Form(
            (form.get("method") or "get").upper(),
            form.get("action") or "",
            [(name, value) for name, *values in fields for value in values],
            list(dict.fromkeys(name for name, *_values in fields)),
        )


def list_links(html: str) -> list[str]:
    return [link.get("href") or "" for link in _Reader.read(html).iter("a")]


def _values(field: Element) -> list[str]:
    if field.tag == "textarea":
        return [field.text or ""]
    if field.tag == "select":
        options = list(field.iter("option"))
        chosen = [each for each in options if each.get("selected") is not None]
        if not chosen and field.get("multiple") is None:
            chosen = options[:1]
        return [value if (value := each.get("value")) is not None else each.text or "" for each in chosen]
    if field.get("type") in ("checkbox", "radio"):
        return [field.get("value") or "on"] if field.get("checked") is not None else []
    return [] if field.get("type") in ("file", "submit") else [field.get("value") or ""]


def condense(html: str) -> str:
    """The source of a page without the white space that nobody sees, however its templates are laid out."""
    return BESIDE_BLOCKS.sub(r"\1\2", re.sub(r"\s+", " ", html).replace(" >", ">"))


def number(text: str) -> int:
    """The first whole number of a text: 1,200 of “1,200 of 3,000”."""
    found = re.search(r"\d[\d,]*", text)
    assert found is not None, f"no number in “{text}”"
    return int(found[0].replace(",", ""))


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


def read(html: str) -> Screen:
    tree = _Reader.read(html)
    facts = {}
    for tile in _find_by_class(tree, "stat"):
        parts = {str(part.get("class")): _text(part) for part in tile}
        facts[parts["stat-label"]] = f"{parts['stat-value']} {parts.get('stat-note', '')}".strip()
    for pairs in tree.iter("dl"):
        terms = [part for part in pairs.iter() if part.tag in ("dt", "dd")]
        facts |= {_text(term): _text(fact) for term, fact in zip(terms[::2], terms[1::2], strict=True)}
    tables = {str(around.get("aria-label")): _rows(around) for around in _find_by_class(tree, "table-wrap")}
    listed = [numbers(_text(pager[0])) for pager in _find_by_class(tree, "pager")]
    return Screen(facts, tables, listed[0][2] if listed else None)


def list_texts(html: str) -> set[str]:
    """What a page itself says: texts, labels and the words of its scripts, outside of what people wrote."""
    texts = " · ".join(text for text in _own_texts(_Reader.read(html)) if not text.isspace())
    return {text.strip() for text in " ".join(texts.split()).split("·")} - {""}


OTHERS = {"style", "noscript", "svg", "kbd", "code", "bdi", "textarea"}
LABELS = ("aria-label", "title", "placeholder", "data-confirm", "data-confirm-text", "data-confirm-label")


def _own_texts(element: Element) -> Iterator[str]:
    yield element.get("data-empty") or ""
    is_foreign = element.tag != "html" and element.get("lang") is not None
    if element.tag in OTHERS or element.get("dir") == "auto" or is_foreign:
        return
    if element.tag == "script":
        if (element.get("id") or "").endswith("-words"):
            yield from _strings(json.loads(element.text or "{}"))
        return
    yield from (element.get(name) or "" for name in LABELS)
    yield element.text or ""
    for part in element:
        yield from _own_texts(part)
        yield part.tail or ""


def _strings(words: dict[str, Any]) -> Iterator[str]:
    for value in words.values():
        yield from _strings(value) if isinstance(value, dict) else [value]


def _rows(around: Element) -> Rows:
    """Cells by heading, counted from the right: a heading of several rows is on the left."""
    lines = [[cell for cell in line if cell.tag in ("th", "td")] for line in around.iter("tr")]
    names = [_text(cell) for cell in lines[0]]
    rows = []
    for line in lines[1:]:
        cells = [text for cell in line for text in [_text(cell)] * int(cell.get("colspan") or 1)]
        rows.append(dict(zip(reversed(names), reversed(cells), strict=False)))
    return rows


def _find_by_class(tree: Element, name: str) -> list[Element]:
    return [element for element in tree.iter() if name in (element.get("class") or "").split()]


def _text(element: Element) -> str:
    """What an element says, without the explanations behind a “?”."""
    return " ".join("".join(_visible_text(element)).split())


def _visible_text(element: Element) -> Iterator[str]:
    if not (element.get("class") or "").startswith("hint"):
        yield element.text or ""
        for part in element:
            yield from _visible_text(part)
            yield part.tail or ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()

    @classmethod
    def read(cls, html: str) -> Element:
        reader = cls()
        reader.feed(html)
        return reader.tree.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.tree.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)
