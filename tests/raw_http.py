"""A signed-in visitor without a browser: raw HTTP on a running site, with a connection of its own for each request."""

import http.client
import re
import socket
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Self
from urllib.parse import urlencode, urlsplit

from django.conf import settings

from projects.models import Membership
from tests.people import start_session

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
RADIO = re.compile(r'name="(a\d+-[\w-]+)"')


@dataclass(frozen=True)
class Reply:
    """What came back: status, where it leads, the page."""

    status: int
    location: str
    text: str


@dataclass
class Visitor:
    """One signed-in person; can go to another process, as it holds no socket."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, member: Membership, url: str) -> Self:
        assert member.user is not None
        return cls(url, {settings.SESSION_COOKIE_NAME: start_session(member.user)})

    def get(self, path: str) -> Reply:
        return self._exchange("GET", path, None)

    def post(self, path: str, form: dict[str, str]) -> Reply:
        return self._exchange("POST", path, form)

    def start(self, project: str) -> str:
        """Claim a HIT by the button; where that leads."""
        self.get(f"/p/{project}/desk/")
        reply = self.post(f"/p/{project}/work/", {"csrfmiddlewaretoken": self.token()})
        assert reply.status == HTTPStatus.SEE_OTHER, reply
        return reply.location

    def fill(self, path: str, value: str = "4") -> dict[str, str]:
        """The rating page's form with one value everywhere; empty where the page asks nothing."""
        page = self.get(path)
        assert page.status == HTTPStatus.OK, page
        names = RADIO.findall(page.text)
        return {"csrfmiddlewaretoken": self.token(), **dict.fromkeys(names, value)} if names else {}

    def token(self) -> str:
        if settings.CSRF_COOKIE_NAME not in self.cookies:
            found = TOKEN.search(self.get("/desk/").text)
            assert found is not None
        return self.cookies[settings.CSRF_COOKIE_NAME]

    def post_and_hang_up(self, path: str, form: dict[str, str]) -> None:
        """Send the whole request and close the connection without reading the reply."""
        at = urlsplit(self.url)
        body = urlencode(form)
        head = f"POST {path} HTTP/1.1\r\nHost: {at.netloc}\r\nCookie: {self._cookie()}\r\nConnection: close\r\n"
        head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((at.hostname or "", at.port or 80), timeout=60) as plug:
            plug.sendall((head + body).encode())

    def _cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _exchange(self, method: str, path: str, form: dict[str, str] | None) -> Reply:
        at = urlsplit(self.url)
        wire = http.client.HTTPConnection(at.hostname or "", at.port, timeout=120)
        headers = {"Cookie": self._cookie(), "Connection": "close"}
        body = None
        if form is not None:
            body, headers["Content-Type"] = urlencode(form), "application/x-www-form-urlencoded"
        try:
            wire.request(method, path, body, headers)
            response = wire.getresponse()
            text = response.read().decode()
        finally:
            wire.close()
        for header in response.headers.get_all("Set-Cookie") or []:
            name, _, value = header.split(";", 1)[0].partition("=")
            self.cookies[name] = value
        return Reply(response.status, response.headers.get("Location", ""), text)
