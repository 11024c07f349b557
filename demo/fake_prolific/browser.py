"""Pages as a simulated participant reads them: their forms and the code, with a browser that has no scripts."""

import http.cookiejar
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol
from urllib.parse import urlencode, urljoin

PAGE_SECONDS = 30
ANSWER = "Nothing to add."
"""What they write where something must be written."""
_CHOICES = ("radio", "checkbox")
Attributes = dict[str, str]


@dataclass
class Form:
    action: str
    method: str
    id: str = ""
    fields: list[Attributes] = field(default_factory=list)


@dataclass
class Page:
    """A page, its address after redirects, and what is on it."""

    url: str
    forms: list[Form] = field(default_factory=list)
    code: str = ""
    """The completion code, if the page shows one."""


class Browser(Protocol):
    def open(self, url: str, data: list[tuple[str, str]] | None = None) -> Page: ...


class PlainBrowser:
    """A browser with cookies of its own, over HTTP."""

    def __init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def open(self, url: str, data: list[tuple[str, str]] | None = None) -> Page:
        body = urlencode(data).encode() if data is not None else None
        request = urllib.request.Request(url, data=body, headers={"Referer": url})  # noqa: S310 - of a study
        try:
            with self._opener.open(request, timeout=PAGE_SECONDS) as answer:
                return read_page(answer.url, answer.read().decode())
        except urllib.error.HTTPError as error:
            return read_page(url, error.read().decode(errors="replace"))


def read_page(url: str, html: str) -> Page:
    reader = _Reader(url)
    reader.feed(html)
    return reader.finish()


class _Reader(HTMLParser):
    """Collects forms with their fields, also those that belong to a form by its id."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.page = Page(url)
        self._open: Form | None = None
        self._loose: list[tuple[str, Attributes]] = []
        self._text_of: str | None = None
        self._select: Attributes | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            action = urljoin(self.page.url, found.get("action", "") or self.page.url)
            self._open = Form(action, found.get("method", "get"), found.get("id", ""))
            self.page.forms.append(self._open)
        elif tag in ("input", "button", "select", "textarea"):
            found["type"] = found.get("type", "submit") if tag == "button" else found.get("type", tag)
            if tag == "textarea" and found.get("id") == "code":
                self._text_of = "code"
            self._select = found if tag == "select" else self._select
            if "form" in found:
                self._loose.append((found["form"], found))
            elif self._open is not None:
                self._open.fields.append(found)

        elif tag == "option" and self._select is not None and found.get("value"):
            # As choices of one name, as those of radio buttons are.
            self._select["options"] = f"{self._select.get('options', '')}\n{found['value']}".strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        elif tag == "textarea":
            self._text_of = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._text_of == "code":
            self.page.code += data.strip()

    def finish(self) -> Page:
        for pk, found in self._loose:
            for form in self.page.forms:
                if form.id == pk:
                    form.fields.append(found)
        return self.page


def fill(form: Form, choose: "Chooser", press: str = "") -> list[tuple[str, str]]:
    """Return what a form sends: hidden fields as they are, one of each group of choices, the button with this value."""
    data: list[tuple[str, str]] = []
    groups: dict[str, list[str]] = {}
    for each in form.fields:
        name, kind = each.get("name", ""), each["type"]
        if not name or "disabled" in each:
            continue
        if kind == "radio":
            groups.setdefault(name, []).append(each.get("value", "on"))
        elif kind in ("submit", "image"):
            if press and each.get("value") == press:
                data.append((name, press))
        elif kind == "select":
            groups[name] = each.get("options", "").split("\n")
        elif kind in ("range", "number"):
            groups.setdefault(name, []).append(each.get("value") or each.get("min", "1"))
        elif kind not in _CHOICES:
            must_say = "required" in each and not each.get("value")
            data.append((name, ANSWER if must_say else each.get("value", "")))
    return [*data, *((name, choose(values)) for name, values in groups.items())]


class Chooser(Protocol):
    def __call__(self, seq: list[str], /) -> str: ...
