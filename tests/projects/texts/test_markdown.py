"""Markdown becomes HTML that holds nothing but text, structure and plain links."""

import time
from html.parser import HTMLParser

import pytest

from projects.texts import markdown
from projects.texts.versions import MOST_CHARACTERS
from tests.projects.texts.attack_vectors import HTML, MARKDOWN


class Reader(HTMLParser):
    """Collects what a browser would find."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.others: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def unknown_decl(self, data: str) -> None:
        self.others.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def assert_harmless(html: str) -> None:
    found = read(html)
    assert found.others == []
    for tag, attributes in found.tags:
        assert tag in markdown.TAGS, html
        allowed = markdown.ATTRIBUTES.get(tag, set()) | ({"rel"} if tag == "a" else set())
        assert attributes.keys() <= allowed, html
        if tag == "a":
            assert attributes["rel"] == "noopener noreferrer nofollow"
            href = attributes.get("href")
            assert href is None or href.startswith(("http://", "https://", "mailto:", "http:")), html
    assert markdown.clean(html) == html, "a second pass finds something to cut"


def test_there_are_enough_vectors() -> None:
    assert len(set(MARKDOWN) | set(HTML)) >= 150


@pytest.mark.parametrize("text", [*MARKDOWN, *HTML])
def test_nothing_harmful_comes_out_of_markdown(text: str) -> None:
    assert_harmless(markdown.render(text))
    assert_harmless(markdown.render(f"# A\n\n{text}\n\n- b\n  {text}\n\n> {text}"))


@pytest.mark.parametrize("html", [*HTML, *MARKDOWN])
def test_the_second_wall_holds_by_itself(html: str) -> None:
    assert_harmless(markdown.clean(html))
    assert_harmless(markdown.clean(markdown.clean(html)))


def test_what_people_write_comes_out_as_they_meant_it() -> None:
    html = markdown.render(
        "# Title\n\n###### Deep\n\nOne **bold** *word* and `code`.\n\n3. three\n4. four\n\n"
        "[a](https://example.org/x?a=1&b=2 'title') <mailto:a@example.org>\n\n> said\n\n~~no~~\n\n---"
    )
    for part in (
        # The page's own heading is the first.
        "<h2>Title</h2>",
        "<h6>Deep</h6>",
        "<strong>bold</strong>",
        "<em>word</em>",
        "<code>code</code>",
        '<ol start="3">',
        'href="https://example.org/x?a=1&amp;b=2"',
        'href="mailto:a@example.org"',
        "<blockquote>",
        "<s>no</s>",
        "<hr>",
    ):
        assert part in html


def test_tables_keep_their_alignment_without_inline_style_and_name_their_columns() -> None:
    html = markdown.render("| a | b |\n|:--|--:|\n| 1 | 2 |")
    assert '<th align="left" scope="col">a</th>' in html
    assert '<td align="right">2</td>' in html
    assert "style" not in html


def test_an_image_leaves_only_its_text() -> None:
    assert markdown.render("![a <b> cat](http://evil.example/x.png)") == "<p>a &lt;b&gt; cat</p>\n"


def test_html_is_shown_as_it_is_written() -> None:
    assert markdown.render("<b>x</b>") == "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"


@pytest.mark.parametrize("piece", ["[", "![", "<", "*", "_", "`", "> ", "- ", "| a ", "[a](", "&#", "\\", "**a*", "~~"])
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (MOST_CHARACTERS // len(piece))
    started = time.process_time()
    markdown.render(text)
    assert time.process_time() - started < 5
