"""The addresses of a site that answer, found as people find them: by the links of pages, from each one's desk on.

Routes that no link leads to are tried with every value that a link to another route had in the same place.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from django.test import Client
from django.urls import Resolver404, resolve

from projects.models import User
from tests.routes import all_routes

STARTS = ("/", "/desk/", "/account/", "/accessibility/", "/sign-in/", "/reset/", "/admin/")
MOST_TIMES = {"owner": (12, 3), "script": (3, 3)}
"""How many addresses of a route each asks for at most, of things in all their states and of anything else."""
REDIRECTS = (301, 302, 303, 307, 308)
NOBODY, SCRIPT = "nobody", "script"
"""Who is not signed in, and who asks the API with a token."""


class Address(NamedTuple):
    """An address as somebody asks for it, and what they get."""

    who: str
    status: int
    path: str

    def __str__(self) -> str:
        return f"{self.who} {self.status} {self.path}"

    @classmethod
    def read(cls, line: str) -> "Address":
        who, status, path = line.split(maxsplit=2)
        return cls(who, int(status), path)


def client_of(who: str, token: str = "") -> Client:
    """Somebody's browser; the script's is the token that it sends."""
    client = Client(raise_request_exception=False)
    if who == SCRIPT:
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    elif who != NOBODY:
        client.force_login(User.objects.get(username=who), backend="django.contrib.auth.backends.ModelBackend")
    return client


def ask(client: Client, path: str) -> tuple[int, str, bytes]:
    """Status, kind of content, content."""
    response: Any = client.get(path)
    content = b"".join(response) if response.streaming else response.content
    response.close()
    location = response.headers.get("Location", "")
    return response.status_code, location or response.headers.get("Content-Type", ""), content


def status_in_the_end(client: Client, path: str) -> int:
    """The status after as many redirects as a browser follows; 0 where there is no end of them."""
    for _ in range(10):
        status, location, _content = ask(client, path)
        if status not in REDIRECTS:
            return status
        path = urljoin(path, location)
    return 0


def walk(people: Iterable[str], token: str, more: Iterable[str] = ()) -> Iterator[Address]:
    """Every address that answers these people, nobody, and the script, at most so many of a route for each."""
    known: dict[str, set[str]] = {}
    for who in (*people, NOBODY):
        yield from _crawl(who, client_of(who), [*STARTS, *more], known)
    yield from _crawl(SCRIPT, client_of(SCRIPT, token), _filled(known, is_api=True), known)


def _crawl(who: str, client: Client, starts: Iterable[str], known: dict[str, set[str]]) -> Iterator[Address]:
    todo, seen, counts = deque(starts), set(starts), Counter[tuple[str, bool]]()
    is_filled = who in (NOBODY, SCRIPT)
    while todo:
        path = todo.popleft()
        if (route := _find_route(path)) is None:
            continue
        kind = (route, "?" in path)
        if counts[kind] >= _most_times(who, *kind):
            continue
        status, content_type, content = ask(client, path)
        if status != 200 and (status not in REDIRECTS or status_in_the_end(client, path) != 200):
            continue
        counts[kind] += 1
        yield Address(who, status, path)
        found = _links(path, content.decode()) if content_type.startswith("text/html") else ()
        fresh = [each for each in dict.fromkeys(found) if each not in seen]
        for each in fresh:
            _remember(each, known)
        todo.extend(fresh)
        seen.update(fresh)
        if not todo and not is_filled:
            is_filled = True
            fresh = [each for each in _filled(known, but={name for name, _ in counts}) if each not in seen]
            todo.extend(fresh)
            seen.update(fresh)


def _most_times(who: str, route: str, has_query: bool) -> int:
    of_things, of_others = MOST_TIMES.get(who, (1, 1))
    if has_query or route.startswith("admin:"):
        return 1
    return of_things if route.endswith("-show") else of_others


def _find_route(path: str) -> str | None:
    try:
        return resolve(urlsplit(path).path).view_name
    except Resolver404:
        return None


def _remember(path: str, known: dict[str, set[str]]) -> None:
    """What an address has for each parameter of its route."""
    try:
        match = resolve(urlsplit(path).path)
    except Resolver404:
        return
    for name, value in match.kwargs.items():
        known.setdefault(f"{match.view_name} {name}", set()).add(str(value))
        known.setdefault(name, set()).add(str(value))


def _filled(known: dict[str, set[str]], *, but: Iterable[str] = (), is_api: bool = False) -> list[str]:
    """The addresses of these routes in the first project, by the values that others have in the same place."""
    found = []
    for route in all_routes():
        if route.is_admin or route.is_api != is_api or route.name in but or len(route.parameters) > 3:
            continue
        paths = [route.path]
        for name in route.parameters:
            there = known.get(f"{route.name} {name}") or known.get(name) or set()
            values = sorted(there, key=_by_length)
            if name == "slug":
                values = ["bay"]
            paths = [re.sub(rf"<(\w+:)?{name}>", value, path) for path in paths for value in values[:20]]
        found += paths
    return found


def _by_length(value: str) -> tuple[int, str]:
    return len(value), value


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.found.append(str(given["href"]))
        for name in ("hx-get", "data-href"):
            if given.get(name):
                self.found.append(str(given[name]))


def _links(base: str, content: str) -> list[str]:
    parser = _Links()
    parser.feed(content)
    joined = [urlsplit(urljoin(base, each)) for each in parser.found]
    ours = [each for each in joined if each.netloc in ("", "testserver") and not each.path.startswith("/static/")]
    return [each.path + (f"?{each.query}" if each.query else "") for each in ours]
