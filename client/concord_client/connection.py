"""Requests to one site: the token in a header, pages followed, reads repeated while the site is busy."""

import hashlib
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import requests
from requests.auth import AuthBase

from .errors import ConcordError, ConnectionFailed
from .multipart import FileForm

API = "/api/v1/"
PAGE_SIZE = 1_000
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECT_SECONDS, READ_SECONDS = 10, 120
TRIES = 5
"""Attempts of a read that is answered by one of `BUSY`."""
LONGEST_WAIT = 120.0
BUSY = (429, 502, 503, 504)
"""Too many requests, or a site that starts again, whose proxy answers for it meanwhile."""
IS_CHANGED = "arrived damaged or changed: its hash isn't the frozen one. Download it again."
CHUNK = 1 << 16

Query = Mapping[str, Any]


class Connection:
    """The requests of one token to one site."""

    def __init__(self, url: str, token: str, *, allow_http: bool = False) -> None:
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("Give the address of the site, such as https://rate.example.org.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("The address of the site has no user, query or fragment.")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not allow_http:
            raise ValueError(
                "Everybody on the way could read the token. Use https://, or allow_http=True on a network you trust."
            )
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("Set CONCORD_TOKEN, or give a token of the project: Client(url, token=…).")
        self.url = url.rstrip("/").removesuffix(API.rstrip("/"))
        self._session = requests.Session()
        # An object rather than a header: otherwise a password in ~/.netrc would replace the token.
        self._session.auth = _Bearer(token)

    def get(self, path: str, query: Query | None = None) -> Any:
        """Return the JSON of a path."""
        return _read_json(self._send("GET", path, query))

    def get_text(self, path: str) -> str:
        response = self._send("GET", path)
        response.encoding = "utf-8"
        return response.text

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send JSON once, and return the answer, or None if there is none to a deletion.

        A request that changes something is never repeated.
        """
        response = self._send(method, path, body={} if body is None else body)
        return _read_json(response) if response.content else None

    def upload(self, path: str, file: Path, fields: Mapping[str, Any]) -> Any:
        """Send a file with the fields of its form, piece by piece."""
        form = FileForm(file, {name: _as_texts(fields[name]) for name in fields})
        return _read_json(self._send("POST", path, form=form))

    def download(self, path: str, to: Path, *, sha256: str = "") -> Path:
        """Write a file piece by piece; what was there before is replaced only by a whole file.

        Raises ConcordError if a hash is given and what has come has another one.
        """
        response = self._send("GET", path, is_streamed=True)
        part = to.with_name(f"{to.name}.part")
        with response, part.open("wb") as file:
            for chunk in self._receive(response):
                file.write(chunk)
        if sha256 and read_sha256(part) != sha256:
            part.unlink()
            raise ConcordError(f"{to.name} {IS_CHANGED}")
        return part.replace(to)

    def download_rest(self, path: str, to: Path, n_bytes: int) -> None:
        """Write to a file what it lacks of so many bytes, and go on where a connection broke off.

        Raises ConnectionFailed if the connection breaks off again and again, and ConcordError if answers are too short.
        What has come is kept.
        """
        error: Exception | None = None
        for attempt in range(TRIES):
            if (n_there := _read_size(to)) >= n_bytes:
                return
            if attempt:
                time.sleep(2.0 ** (attempt - 1))
            try:
                response = self._send("GET", path, is_streamed=True, start=n_there)
                # A site that sends no part of a file sends all of it.
                with response, to.open("ab" if response.status_code == HTTPStatus.PARTIAL_CONTENT else "wb") as file:
                    for chunk in self._receive(response):
                        file.write(chunk)
                error = None
            except ConnectionFailed as broken:
                error = broken
        if (n_there := _read_size(to)) < n_bytes:
            raise error or ConcordError(f"Only {n_there:,} of {n_bytes:,} bytes have come. Download the file again.")

    def list_rows(self, path: str, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of all pages of a list."""
        asked = {"page_size": PAGE_SIZE, **_as_query(query)}
        while True:
            page = self.get(path, asked)
            yield from page["results"]
            following = page.get("next")
            if not following:
                return
            # Only the query is taken: the token is never sent to an address that an answer names.
            asked = dict(parse_qsl(urlsplit(following).query, keep_blank_values=True))

    def _send(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: Mapping[str, Any] | None = None,
        form: FileForm | None = None,
        is_streamed: bool = False,
        start: int = 0,
    ) -> requests.Response:
        for attempt in range(1, TRIES + 1):
            try:
                response = self._session.request(
                    method,
                    f"{self.url}{API}{path}",
                    params=_as_query(query),
                    json=body,
                    data=form,
                    headers={
                        **({"Content-Type": form.content_type} if form else {}),
                        # Of a compressed answer no part can be asked for.
                        **({"Range": f"bytes={start}-", "Accept-Encoding": "identity"} if start else {}),
                    },
                    timeout=(CONNECT_SECONDS, READ_SECONDS),
                    # A redirect could lead elsewhere with the token, or turn a POST into a GET.
                    allow_redirects=False,
                    stream=is_streamed,
                )
            except requests.RequestException as error:
                if form and form.error:
                    raise ConcordError(form.error) from error
                raise ConnectionFailed(_explain_failure(self.url, method, error)) from error
            if method != "GET" or response.status_code not in BUSY or attempt == TRIES:
                break
            response.close()
            time.sleep(_read_wait(response, attempt))
        if not 200 <= response.status_code < 300 or _is_page(response):
            raise _read_error(response)
        return response

    def _receive(self, response: requests.Response) -> Iterator[bytes]:
        """Yield the pieces of an answer. Raises ConnectionFailed if the connection breaks off."""
        try:
            yield from response.iter_content(CHUNK)
        except requests.RequestException as error:
            raise ConnectionFailed(_explain_failure(self.url, "GET", error)) from error


class _Bearer(AuthBase):
    """The token as requests need it; its text never shows it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def __repr__(self) -> str:
        return "<token>"


def read_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def quote_path(part: str) -> str:
    """Return a name as one part of a path."""
    return quote(part, safe="")


def _as_query(query: Query | None) -> dict[str, Any]:
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}


def _as_texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values if each is not None]


def _read_wait(response: requests.Response, attempt: int) -> float:
    """Return the seconds to wait: as many as the site says, otherwise 1, 2, 4 and so on."""
    said = response.headers.get("Retry-After", "")
    return min(float(said) if said.isdigit() else 2.0 ** (attempt - 1), LONGEST_WAIT)


def _read_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _is_page(response: requests.Response) -> bool:
    """Return whether a page for people has come, such as the sign-in of a network: the API has none for a client."""
    return bool(response.headers.get("Content-Type", "").startswith("text/html"))


def _read_json(response: requests.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise _read_error(response) from None


def _explain_failure(url: str, method: str, error: requests.RequestException) -> str:
    """Return what happened to a request without an answer, in a sentence."""
    if isinstance(error, requests.exceptions.SSLError):
        return (
            f"The certificate of {url} was not accepted. If it is of your own authority, set REQUESTS_CA_BUNDLE to the "
            "file of that authority."
        )
    if isinstance(error, requests.Timeout):
        found = f"{url} did not answer in time."
    else:
        found = f"{url} could not be reached, or the connection broke off. Check the address, and that the site runs."
    if method == "GET" or isinstance(error, requests.ConnectTimeout):
        return found
    return f"{found} The request may have been done all the same: look before you send it again."


def _read_error(response: requests.Response) -> ConcordError:
    status = response.status_code
    if 300 <= status < 400:
        where = response.headers.get("Location", "another address")
        return ConcordError(f"The site sends on to {where}. Give that site's address instead.", status=status)
    try:
        problem = response.json()
        message = str(problem["detail"])
        errors = [(str(each["field"]), str(each["detail"])) for each in problem.get("errors", ())]
    except (ValueError, KeyError, TypeError, AttributeError):
        site = str(response.url).partition(API)[0]
        what = "a page instead of data" if _is_page(response) else "no explanation"
        return ConcordError(
            f"{site} answered with status {status} and {what}. Check that this is the address of the site, and that it "
            "opens in a browser.",
            status=status,
        )
    return ConcordError(message, status=status, errors=errors)
