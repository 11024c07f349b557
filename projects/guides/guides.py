"""Rendering the guides in docs/: links lead to the other guides on this site, pictures come from the static files."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path

import nh3
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString
from markdown_it.token import Token

from projects.texts import markdown

ANNOTATORS = "annotators"
"""The guide that everybody may read; the others explain how annotators' work is checked."""
GUIDES = (ANNOTATORS, "managers", "importing", "quality", "researchers", "metrics", "operations")
"""The files of docs/ that are guides, in the order in which they are listed."""

PNG_START = b"\x89PNG\r\n\x1a\n"
_TABLE = '<div class="help-table" tabindex="0" role="region" aria-label="Table {}"><table>'
"""Each table is a region that scrolls, and the regions of a page need different names."""
_LINK = re.compile(r"(?P<guide>[a-z-]+)\.md(?P<anchor>#.*)?")


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Guide:
    """A rendered guide."""

    name: str
    title: str
    html: SafeString
    headings: tuple[Heading, ...]

    @property
    def sections(self) -> list[Heading]:
        """The headings of the table of contents."""
        return [heading for heading in self.headings if heading.level in (2, 3)]

    @property
    def anchors(self) -> set[str]:
        return {heading.anchor for heading in self.headings}


def read_guide(name: str) -> Guide:
    """Return a rendered guide, from the cache unless its file has changed. Raises LookupError for an unknown name."""
    if name not in GUIDES:
        raise LookupError(name)
    path = settings.GUIDES_DIR / f"{name}.md"
    return _render(name, path, path.stat().st_mtime_ns)


# Twice the guides: after an upgrade the old entries are still there, as the time of the file is part of the key.
@lru_cache(maxsize=2 * len(GUIDES))
def _render(name: str, path: Path, _changed_at: int) -> Guide:
    parser = markdown.make_parser()
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    headings = tuple(_add_anchors(tokens))
    for token in tokens:
        if token.children:
            token.children = list(_lead_within_site(token.children))
    html = _clean(parser.renderer.render(tokens, parser.options, {}))
    # Wide tables and code blocks scroll inside the page; with a tabindex they do so by keyboard as well.
    numbers = count(1)
    html = re.sub("<table>", lambda _: _TABLE.format(next(numbers)), html)
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    title = next((heading.text for heading in headings if heading.level == 1), name)
    return Guide(name, title, SafeString(html), headings)


def _add_anchors(tokens: list[Token]) -> Iterator[Heading]:
    """Yield the headings, and give each the id that repository hosts give it, so that a link works in both places."""
    taken: dict[str, int] = {}
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in content.children or [])
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            n_before = taken.get(anchor, 0)
            taken[anchor] = n_before + 1
            anchor = f"{anchor}-{n_before}" if n_before else anchor
            opening.attrs["id"] = anchor
            yield Heading(int(opening.tag[1]), text, anchor)


def _lead_within_site(tokens: list[Token]) -> Iterator[Token]:
    """Yield the tokens with links and pictures of this site; a link to anything but a guide becomes its text."""
    is_dropping = False
    for token in tokens:
        if token.type == "link_open":
            url = _find_address(str(token.attrs.get("href", "")))
            is_dropping = not url
            token.attrs["href"] = url
        elif token.type == "image":
            _point_to_static(token)
        if not (is_dropping and token.type in ("link_open", "link_close")):
            yield token
        if token.type == "link_close":
            is_dropping = False


def _find_address(href: str) -> str:
    """Return the address on this site for a link of the docs; empty if the site has no such page."""
    if href.startswith(("#", "http://", "https://", "mailto:")):
        return href
    found = _LINK.fullmatch(href)
    if found is None or found["guide"] not in GUIDES:
        return ""
    return reverse("projects:guide", args=[found["guide"]]) + (found["anchor"] or "")


def _point_to_static(token: Token) -> None:
    """Point a picture of docs/img to its static file, with width and height, so that the page does not jump."""
    source = str(token.attrs.get("src", ""))
    path = settings.GUIDES_DIR / source
    # A picture that is missing or lies elsewhere becomes an empty one; a test finds it.
    if not source.startswith("img/") or ".." in source or not path.is_file():
        token.attrs["src"] = ""
        return
    token.attrs["src"] = static(f"guides/{source.removeprefix('img/')}")
    token.attrs["loading"] = "lazy"
    start = path.read_bytes()[:24]
    if start.startswith(PNG_START):
        # The first chunk of a PNG is its header, which begins with width and height.
        width, height = struct.unpack(">II", start[16:24])
        token.attrs |= {"width": str(width), "height": str(height)}


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=markdown.TAGS | {"img"},
        clean_content_tags=markdown.DROPPED_WITH_CONTENT,
        attributes={
            **markdown.ATTRIBUTES,
            "img": {"src", "alt", "width", "height", "loading"},
            **{f"h{level}": {"id"} for level in range(1, 7)},
        },
        url_schemes=markdown.SCHEMES,
        link_rel="noopener noreferrer",
        strip_comments=True,
    )
