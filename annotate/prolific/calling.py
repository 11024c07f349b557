"""Calling the API of Prolific: token, time limits, retries where they are harmless, answers checked for shape."""

import http.client
import math
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from django.utils import timezone

from projects.errors import Refused
from projects.web import outgoing

CALL_SECONDS = 10.0
"""Of one attempt. A manager waits for many of the calls."""
MOST_BYTES = 8 * 1024 * 1024
"""Of an answer, which is read into memory."""
MOST_ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 1.0
"""Pauses double: the three of them take 7 seconds, unless the platform asks for longer ones."""
MOST_PAGES = 1_000
"""Of one list: a platform that links its pages in a circle would be asked without end."""
_ID = re.compile(r"[0-9a-f]{24}")
_PORTS = {"https": 443, "http": 80}


class PlatformError(Refused):
    """Prolific refused a call, or could not be reached. The sentence says which, and holds no ids of participants."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NoAnswer(PlatformError):
    """A call was sent and not answered, so that it may have been done."""


class Unreachable(PlatformError):
    """No call was sent, as there is no connection."""


@dataclass
class Client:
    """The API at `url` (such as https://api.prolific.com), with a token.

    `patience` is how many seconds it may wait for the platform to accept a call again: few while somebody waits for a
    page, more in a job.
    """

    url: str
    token: str = field(repr=False)
    patience: float = 5.0
    call_seconds: float = CALL_SECONDS
    sleep: Callable[[float], None] = time.sleep
    answered_at: datetime | None = field(default=None, init=False)
    """The platform's own time of the newest answer."""

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._call("GET", _add_query(path, query), repeats=True)

    def list_all(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the results of all pages, as the platform links them: it answers 404 past the last one."""
        next_path: str | None = _add_query(path, query)
        for _ in range(MOST_PAGES):
            if next_path is None:
                return
            page = self._call("GET", next_path, repeats=True)
            yield from require_list(page, "results")
            next_path = self._find_next(page)
        raise PlatformError("Prolific’s list doesn’t end.")

    def post(self, path: str, body: Mapping[str, Any], *, repeats: bool = False) -> dict[str, Any]:
        """Send a POST; `repeats` only if doing it twice does nothing more. Raises NoAnswer where it may be done."""
        return self._call("POST", path, body, repeats=repeats)

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a PATCH, which sets values and so may be repeated."""
        return self._call("PATCH", path, body, repeats=True)

    def post_for_header(self, path: str, body: Mapping[str, Any], name: str) -> tuple[dict[str, Any], str]:
        """Send a POST and return the answer with one of its headers."""
        answer = self._send("POST", path, body)
        return _read_json(answer), answer.headers.get(name.lower(), "")

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, *, repeats: bool) -> dict[str, Any]:
        waited = 0.0
        for attempt in range(MOST_ATTEMPTS):
            try:
                return _read_json(self._send(method, path, body))
            except PlatformError as error:
                pause = max(error.retry_after, FIRST_PAUSE_SECONDS * 2**attempt)
                # What the platform turned away was not done. What failed within it, or was not answered, may be.
                is_harmless = error.status == HTTPStatus.TOO_MANY_REQUESTS or isinstance(error, Unreachable)
                has_failed = isinstance(error, NoAnswer) or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
                may_repeat = is_harmless or (has_failed and repeats)
                if not may_repeat or attempt == MOST_ATTEMPTS - 1 or waited + pause > self.patience:
                    raise
                self.sleep(pause)
                waited += pause
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> outgoing.Response:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        port = parts.port or _PORTS[parts.scheme]
        try:
            address = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
        except (OSError, UnicodeError) as unknown:
            raise Unreachable(f"{host} can’t be found. Check the network.") from unknown
        headers = {
            "Authorization": f"Token {self.token}",
            "Accept": "application/json",
            "User-Agent": "Concord",
            **({"Content-Type": "application/json"} if body is not None else {}),
        }
        try:
            answer = outgoing.exchange(
                method,
                host=host,
                port=port,
                path=f"{parts.path.rstrip('/')}{path}",
                is_https=parts.scheme == "https",
                address=address,
                headers=headers,
                body=orjson.dumps(body) if body is not None else None,
                seconds=self.call_seconds,
                most_bytes=MOST_BYTES,
            )
        except (ConnectionRefusedError, ssl.SSLCertVerificationError) as error:
            raise Unreachable("Prolific can’t be reached.") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswer("Prolific didn’t answer.") from error
        self.answered_at = _read_time(answer)
        _check(answer)
        return answer

    def _find_next(self, page: Mapping[str, Any]) -> str | None:
        """Return the path of the next page. Raises PlatformError for another host, which would learn the token."""
        links = page.get("_links") or {}
        link = links.get("next") if isinstance(links, Mapping) else None
        href = link.get("href") if isinstance(link, Mapping) else link
        if not href:
            return None
        base, found = urlsplit(self.url), urlsplit(str(href))
        if found.netloc and (found.scheme, found.netloc) != (base.scheme, base.netloc):
            raise PlatformError("Prolific’s list goes on at another host.")
        path = found.path.removeprefix(base.path.rstrip("/"))
        return f"{path}?{found.query}" if found.query else path


def require_text(row: Mapping[str, Any], name: str) -> str:
    """Return a text of an answer. Raises PlatformError where it is missing: the platform has changed its API."""
    value = row.get(name)
    if not isinstance(value, str):
        raise PlatformError(f"Prolific’s answer has no “{name}”. Its API may have changed.")
    return value


def require_number(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PlatformError(f"Prolific’s answer has no “{name}”. Its API may have changed.")
    return value


def require_list(row: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise PlatformError(f"Prolific’s answer has no “{name}”. Its API may have changed.")
    return value


def _add_query(path: str, query: Mapping[str, Any] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _read_time(answer: outgoing.Response) -> datetime | None:
    try:
        found = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read_json(answer: outgoing.Response) -> dict[str, Any]:
    """Return the object of an answer; an empty one for no body, or for a sentence, which says what is done later."""
    if not answer.body:
        return {}
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise PlatformError("Prolific’s answer is not JSON.", status=answer.status) from error
    if isinstance(found, str):
        return {}
    if not isinstance(found, dict):
        raise PlatformError("Prolific’s answer is not an object. Its API may have changed.", status=answer.status)
    return found


def _check(answer: outgoing.Response) -> None:
    status = answer.status
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait = _read_retry_after(answer)
        raise PlatformError("Prolific asks to wait before the next call.", status=status, retry_after=wait)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise PlatformError("Prolific doesn’t accept the API token. Enter it again.", status=status)
    if status == HTTPStatus.NOT_FOUND:
        raise PlatformError("Prolific doesn’t know this study or submission.", status=status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise PlatformError(f"Prolific has a problem (status {status}). Try again later.", status=status)
    if status < HTTPStatus.BAD_REQUEST:
        raise PlatformError("Prolific’s API is at another address. Check PROLIFIC_API_URL.", status=status)
    raise PlatformError(f"Prolific refused: {_describe(answer)}", status=status)


def _read_retry_after(answer: outgoing.Response) -> float:
    """Return the seconds of Retry-After, which may be a number or a time."""
    text = answer.headers.get("retry-after", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return FIRST_PAUSE_SECONDS
    return max(FIRST_PAUSE_SECONDS, (until - timezone.now()).total_seconds())


def _describe(answer: outgoing.Response) -> str:
    """Return what the platform says is wrong, shortened and without ids."""
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return f"status {answer.status}"
    error = found.get("error", found) if isinstance(found, dict) else found
    detail = error.get("detail", error) if isinstance(error, dict) else error
    text = detail if isinstance(detail, str) else orjson.dumps(detail).decode()
    return _ID.sub("…", " ".join(text.split()))[:300]
