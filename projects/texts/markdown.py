"""Markdown as safe HTML: rendered without raw HTML, then reduced to an allow-list."""

from collections.abc import MutableMapping, Sequence
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

TAGS = {
    "a", "blockquote", "br", "code", "dd", "del", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "kbd",
    "li", "ol", "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href", "title"},
    "ol": {"start"},
    "th": {"align", "scope"},
    "td": {"align"},
}
DROPPED_WITH_CONTENT = {
    "iframe", "math", "noscript", "object", "script", "style", "svg", "template", "textarea", "title",
}  # fmt: skip
SCHEMES = {"http", "https", "mailto"}
REL = "noopener noreferrer nofollow"


def render(text: str) -> SafeString:
    """Return a Markdown text as HTML without raw HTML and images, with links to http, https and mailto only."""
    parser = make_parser()
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.add_render_rule("image", _render_image)
    return SafeString(clean(parser.render(text)))


def make_parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables and strikethrough, which shows HTML as text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.push("mark_cells", _mark_cells)
    return parser


def clean(html: str) -> str:
    """Return the HTML reduced to the tags and attributes that a text needs.

    The parser's output is safe by itself; this second barrier holds if a later version of it is not.
    """
    return nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=DROPPED_WITH_CONTENT,
        attributes=ATTRIBUTES,
        attribute_filter=_keep_attribute,
        url_schemes=SCHEMES,
        link_rel=REL,
        strip_comments=True,
    )


def _keep_attribute(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "href" and value.partition(":")[0].strip().lower() not in SCHEMES:
        return None  # a link without a scheme is refused as well: it would lead to a page of this site
    if attribute == "align" and value not in {"left", "center", "right"}:
        return None
    if attribute == "scope" and value != "col":
        return None
    return value


def _mark_cells(state: StateCore) -> None:
    """Name the headings of columns, and align columns by an attribute: the Content-Security-Policy allows no style."""
    for token in state.tokens:
        style = token.attrs.pop("style", "") if token.type in {"th_open", "td_open"} else ""
        if style:
            token.attrs["align"] = str(style).partition(":")[2]
        if token.type == "th_open":
            token.attrs["scope"] = "col"


def _lower_headings(state: StateCore) -> None:
    """Set headings a level lower, as the page that shows the text has a first heading of its own."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _render_image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: Any,
    env: MutableMapping[str, Any],
) -> str:
    """Return only the text of an image: loading it from another host would tell that host who reads."""
    token = tokens[index]
    return escape(renderer.renderInlineAsText(token.children or [], options, env))
