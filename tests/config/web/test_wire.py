"""Slow and hostile clients at the real server."""

import http.client
import socket
from asyncio import Transport
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest
from gunicorn.config import Config
from pytest_django import Settings

from config.web import options
from config.web.gunicorn_worker import Connection, Worker
from tests.conftest import Site

N_SLOW = 30
"""More than the site has threads; `benchmarks.slow_sockets` has hundreds."""


class Plugs:
    """Connections to the site that are closed with the test."""

    def __init__(self, site: Site, stack: ExitStack) -> None:
        self.at = urlsplit(site.url)
        self.stack = stack

    def open(self, sent: bytes = b"") -> socket.socket:
        plug = socket.create_connection((self.at.hostname or "", self.at.port or 80), timeout=60)
        self.stack.enter_context(plug)
        plug.sendall(sent.replace(b"\n", b"\r\n"))
        return plug

    def head(self, line: str, *headers: str) -> bytes:
        return "\n".join([f"{line} HTTP/1.1", f"Host: {self.at.netloc}", *headers, "", ""]).encode()


@pytest.fixture
def plugs(live_site: Site) -> Iterator[Plugs]:
    with ExitStack() as stack:
        yield Plugs(live_site, stack)


def test_slow_clients_hold_up_nobody(plugs: Plugs) -> None:
    get = plugs.head("GET /accessibility/")
    post = plugs.head("POST /sign-in/", "Content-Length: 1000", "Content-Type: application/x-www-form-urlencoded")
    for _ in range(N_SLOW):
        plugs.open()
        plugs.open(get[:-3])
        plugs.open(post + b"username=")
        plugs.open(get * 20)  # asks for much and reads nothing
    wire = http.client.HTTPConnection(plugs.at.netloc, timeout=60)
    first = sock = None
    for _ in range(2):
        wire.request("GET", "/accessibility/")
        first, sock = first or wire.sock, wire.sock
        answer = wire.getresponse()
        assert (answer.status, b"</html>" in answer.read()) == (200, True)
    assert sock is first, "the connection is kept alive"
    assert options.keepalive > 60, "and through the pauses of a person who thinks"
    wire.close()


def test_who_sends_no_more_still_gets_an_answer(plugs: Plugs) -> None:
    plug = plugs.open(plugs.head("GET /accessibility/"))
    plug.shutdown(socket.SHUT_WR)
    answer = b"".join(iter(lambda: plug.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"</html>" in answer


def test_endless_headers_are_refused(plugs: Plugs) -> None:
    for sent, status in (
        (b"GET /" + b"a" * 9_000, b"414"),
        (plugs.head("GET /", f"X-Long: {'a' * 9_000}"), b"431"),
        (plugs.head("GET /", *(f"X-{n}: 1" for n in range(200))), b"431"),
        (plugs.head("GET /", "Content-Length: 1", "Transfer-Encoding: chunked"), b"400"),
    ):
        assert plugs.open(sent).recv(12)[-3:] == status


def test_a_request_names_one_host_and_its_body_is_chunked_at_most(plugs: Plugs) -> None:
    for sent, status in (
        (b"GET /accessibility/ HTTP/1.1\n\n", b"400"),
        (plugs.head("GET /accessibility/", "Host: elsewhere.example"), b"400"),
        (plugs.head("POST /sign-in/", "Transfer-Encoding: gzip, chunked"), b"501"),
        (plugs.head("POST /sign-in/", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), b"501"),
        (b"GET /healthz HTTP/1.0\n\n", b"200"),
    ):
        assert plugs.open(sent).recv(12)[-3:] == status, sent


def test_a_websocket_is_refused_without_an_error(plugs: Plugs, capfd: pytest.CaptureFixture[str]) -> None:
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    plug = plugs.open(plugs.head("GET /", *upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    assert plug.recv(12)[-3:] == b"403"
    assert "ERROR" not in capfd.readouterr().err


CHUNKED = ("Transfer-Encoding: chunked", "Content-Type: application/x-www-form-urlencoded")


def test_a_body_in_countless_tiny_chunks_is_refused(plugs: Plugs) -> None:
    """One byte in each costs the server hundreds of times what a usual body of this size does."""
    head = plugs.head("POST /sign-in/", *CHUNKED)
    few = plugs.open(head + b"1\nx\n" * 3_000 + b"0\n\n")
    assert few.recv(12)[-3:] == b"403", "the site has seen it"
    plug = plugs.open(head)
    with suppress(OSError):  # it is closed while this is sent
        plug.sendall(b"1\r\nx\r\n" * 300_000)
    with suppress(ConnectionResetError):
        assert plug.recv(12)[-3:] == b"400"


def test_the_chunks_that_arrive_together_are_one_piece() -> None:
    worker = make_worker(5)
    worker.asgi = None
    connection = Connection(worker)
    connection.transport = Mock(Transport)
    connection.transport.get_extra_info.return_value = ("192.0.2.1", 1)
    connection.transport.get_write_buffer_size.return_value = 0
    connection._setup_callback_parser()
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert connection._feed_callback_parser(head + b"1\r\nx\r\n" * 1_000)
    assert connection._feed_callback_parser(b"2\r\nyz\r\n0\r\n\r\n")
    receiver = connection._body_receiver
    assert list(receiver._chunks) == [b"x" * 1_000, b"yz"]
    assert receiver._complete

    connection._callback_parser.reset()
    assert connection._feed_callback_parser(head + (b"20\r\n" + b"x" * 32 + b"\r\n") * 10_000), "lines of a file"
    assert not connection._feed_callback_parser(b"1\r\nx\r\n" * 5_000)


class Plug:
    """What a worker knows of a connection."""

    def __init__(self, worker: Worker, address: str) -> None:
        self.worker, self.address, self.is_open = worker, address, True
        worker.nr_conns += 1
        worker.admit(self)  # type: ignore[arg-type]

    def abort(self) -> None:
        self.is_open = False
        self.worker.nr_conns -= 1
        self.worker.dismiss(self)  # type: ignore[arg-type]


def make_worker(most: int) -> Worker:
    cfg = Config()
    cfg.set("worker_connections", most)
    return Worker(0, 0, [], None, 30, cfg, None)


def test_connections_are_bounded_by_address_and_in_all(settings: Settings) -> None:
    settings.MAX_CONNECTIONS_PER_ADDRESS = 3
    worker = make_worker(5)
    many = [Plug(worker, "192.0.2.1") for _ in range(5)]
    assert [plug.is_open for plug in many] == [False] * 2 + [True] * 3, "who has waited longest has to go"
    others = [Plug(worker, f"2001:db8::{n}") for n in range(4)]
    assert [plug.is_open for plug in many] == [False] * 4 + [True]
    assert all(plug.is_open for plug in others)
    assert worker.nr_conns == 5

    busy = [Plug(worker, "192.0.2.9") for _ in range(3)]
    worker.waiting.clear()  # each of them has a request under way
    assert not Plug(worker, "192.0.2.9").is_open
    assert all(plug.is_open for plug in busy)

    settings.N_PROXIES = 1  # then this is the proxy's address
    worker = make_worker(50)
    assert {Plug(worker, "192.0.2.1").is_open for _ in range(9)} == {True}
