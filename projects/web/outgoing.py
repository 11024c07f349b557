"""Requests that this site sends: to one address, within one time limit, without following redirects."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

HTTPS_PORT = 443

Result = TypeVar("Result")


@dataclass(frozen=True)
class Response:
    """What the other side answered; the names of `headers` are lowercase."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class TooLarge(ValueError):
    """The answer is longer than asked for."""


def run_within(seconds: float, act: Callable[[], Result]) -> Result:
    """Return what `act` returns, or raise what it raises. Raises TimeoutError when the time is over.

    For what has no time limit of its own. Its thread is then left to itself, and may still wait for long.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(act())
        except BaseException as error:  # noqa: BLE001
            answer.set_exception(error)

    threading.Thread(target=run, name="outgoing", daemon=True).start()
    return answer.result(timeout=seconds)


def exchange(
    method: str,
    *,
    host: str,
    port: int,
    path: str,
    is_https: bool,
    address: str,
    headers: Mapping[str, str],
    body: bytes | None,
    seconds: float,
    most_bytes: int = 0,
) -> Response:
    """Send one request to `address` and return the answer, whose body is read up to `most_bytes`.

    Raises TimeoutError when `seconds` are over, however slowly the other side sends, and TooLarge for a longer body;
    OSError and HTTPException as they come.
    """
    began = time.monotonic()
    sock = socket.create_connection((address, port), timeout=seconds)
    is_late = threading.Event()

    def cut() -> None:
        is_late.set()
        # Wakes a read that a slow sender keeps alive byte by byte, which no timeout of single reads would end. Not by
        # the method of a TLS socket: it forgets the key first, and what is sent at this moment would go out readable.
        try:
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        except OSError:
            sock.close()

    timer = threading.Timer(max(0.0, began + seconds - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        if is_https:
            # The handshake comes after the assignment, so that it is cut off as well.
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
            sock.do_handshake()
        connection = http.client.HTTPConnection(host, port, timeout=seconds)
        if is_https:
            connection.default_port = HTTPS_PORT  # so that the Host header names no port
        connection.sock = sock
        connection.request(method, path, body=body, headers=dict(headers))
        return _read(connection.getresponse(), most_bytes)
    except (OSError, http.client.HTTPException, ValueError) as failure:
        if is_late.is_set() and not isinstance(failure, TooLarge):
            raise TimeoutError from failure
        raise
    finally:
        timer.cancel()
        sock.close()


def _read(response: http.client.HTTPResponse, most_bytes: int) -> Response:
    headers = {name.lower(): value for name, value in response.getheaders()}
    body = response.read(most_bytes + 1) if most_bytes else b""
    if len(body) > most_bytes:
        raise TooLarge
    return Response(response.status, headers, body)
