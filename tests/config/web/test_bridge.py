"""The bridge between the wire and the site's threads, with sites of a few lines."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from config.web import bridge, spills
from config.web.bridge import Bridge
from config.web.environ import Environ, FileBody, make_environ
from config.web.replies import MEMORY_BYTES
from projects.web.body_questions import QUESTION

Start = Callable[..., Any]
LARGE = b"0123456789abcdef" * (MEMORY_BYTES // 8)


class Client:
    """One request, and what is answered."""

    def __init__(self, body: list[bytes] | None = None, *, method: str = "POST", **headers: str) -> None:
        named = [(name.replace("__", "-").encode(), value.encode()) for name, value in headers.items()]
        self.scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "raw_path": b"/caf%C3%A9/%ff",
            "query_string": b"a=%20",
            "headers": named,
            "server": ("127.0.0.1", 8000),
            "client": ("::1", 4711),
        }
        self.pieces = list(body or [])
        self.sent: list[Any] = []
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def receive(self) -> dict[str, Any]:
        if not self.pieces:
            return {"type": "http.disconnect"}
        piece = self.pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self.pieces)}

    async def send(self, message: Any) -> None:
        await self.may_read.wait()
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def content(self) -> bytes:
        return b"".join(each["body"] for each in self.sent[1:])

    @property
    def is_complete(self) -> bool:
        return not self.sent[-1].get("more_body", True)


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., None]:
    def answer(
        site: Any, *clients: Client, threads: int = 2, stall_seconds: float = 20.0, apart: Iterable[str] = ()
    ) -> None:
        async def run() -> None:
            application = Bridge(
                site, threads=threads, free_bytes=100, stall_seconds=stall_seconds, folder=str(tmp_path), apart=apart
            )
            await asyncio.gather(*(application(each.scope, each.receive, each.send) for each in clients))

        # In a thread of its own: where Playwright ran before, this one has a loop already.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, run()).result()
        assert list(tmp_path.iterdir()) == []

    return answer


def echo(environ: Environ, start: Start) -> list[bytes]:
    start("200 OK", [("X-Length", environ.get("CONTENT_LENGTH", ""))])
    return [environ["wsgi.input"].read()]


def test_a_body_arrives_whole_with_its_length(serve: Callable[..., None]) -> None:
    announced = Client([b"ab", b"cd"], **{"content-length": "4"})
    unknown = Client([b"ab", b"", b"cde"], **{"transfer-encoding": "chunked"})
    without = Client()
    serve(echo, announced, unknown, without)
    assert [each.content for each in (announced, unknown, without)] == [b"abcd", b"abcde", b""]
    assert unknown.sent[0]["headers"] == [(b"x-length", b"5")]


def test_what_stands_apart_is_answered_while_every_thread_is_busy(serve: Callable[..., None]) -> None:
    answered = threading.Event()

    def answer(environ: Environ, start: Start) -> list[bytes]:
        start("200 OK", [])
        if environ["PATH_INFO"] == "/ready":
            return [b"late" if answered.wait(10) else b"never"]  # one of its own, as slow as the database
        if environ["PATH_INFO"] == "/live":
            answered.set()
            return [b"live"]
        return [b"late" if answered.wait(10) else b"never"]

    busy = [Client() for _ in range(3)]
    ready, live = Client(), Client()
    ready.scope["raw_path"], live.scope["raw_path"] = b"/ready", b"/live"
    serve(answer, *busy, ready, live, threads=2, apart=["/live", "/ready"])
    assert live.content == b"live"
    assert [each.content for each in (*busy, ready)] == [b"late"] * 4


def test_a_large_body_waits_for_the_site(serve: Callable[..., None]) -> None:
    def ask(environ: Environ, start: Start) -> list[bytes]:
        if question := environ.get(QUESTION):
            assert environ["wsgi.input"].read() == b""
            question.most_bytes = {"yes": 1_000, "no": None, "all": MEMORY_BYTES + 5}[environ["HTTP_ANSWER"]]
            start("403 Forbidden", [])
            return [b"no"]
        return echo(environ, start)

    body = [b"x" * 60] * 10
    welcome = Client(list(body), answer="yes", **{"content-length": "600"})
    refused = Client(list(body), answer="no", **{"content-length": "600"})
    unknown = Client(list(body), answer="no", **{"transfer-encoding": "chunked"})
    endless = Client([b"x" * 60] * 50, answer="yes", **{"transfer-encoding": "chunked"})
    long = [b"x" * MEMORY_BYTES, b"y" * 5]
    spilled = Client(long, answer="all", **{"content-length": str(MEMORY_BYTES + 5)})
    serve(ask, welcome, refused, unknown, endless, spilled)
    assert spilled.content == b"".join(long)
    assert welcome.content == b"".join(body)
    assert [(each.status, each.content) for each in (refused, unknown)] == [(403, b"no")] * 2
    assert (b"connection", b"close") in refused.sent[0]["headers"]
    assert endless.status == 413


def test_an_interrupted_and_a_stalled_body_reach_no_site(
    serve: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "LINGER_SECONDS", 0.05)

    class Stalls(Client):
        async def receive(self) -> dict[str, Any]:
            return await super().receive() if self.pieces else await asyncio.Event().wait()  # type: ignore[return-value]

    def fail(environ: Environ, start: Start) -> list[bytes]:
        raise AssertionError

    interrupted = Client([b"a"], **{"content-length": "4"})
    interrupted.scope["headers"] = [(b"content-length", b"4")]
    interrupted.receive = lambda: asyncio.sleep(0, {"type": "http.disconnect"})  # type: ignore[method-assign]
    stalled = Stalls([b"a", b"b"], **{"content-length": "4"})
    stalled.pieces = []
    serve(fail, interrupted, stalled, stall_seconds=0.05)
    assert (interrupted.status, stalled.status) == (400, 408)


def test_a_body_for_which_the_disk_has_no_room_is_refused_in_words(
    serve: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(environ: Environ, start: Start) -> list[bytes]:
        environ[QUESTION].most_bytes = 10 * MEMORY_BYTES
        start("200 OK", [])
        return []

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_options: Path("/dev/full").open("w+b"))  # noqa: SIM115
    client = Client([bytes(MEMORY_BYTES // 2)] * 4, **{"content-length": f"{2 * MEMORY_BYTES}"})
    serve(fail, client)
    assert (client.status, client.is_complete) == (503, True)
    assert client.content == b"The site can't store the upload at the moment. Try again later.\n"
    assert "No space left on device" in caplog.text


def test_slow_readers_hold_no_thread(serve: Callable[..., None]) -> None:
    """The only thread answers the last client while the first two have read nothing."""

    def stream(environ: Environ, start: Start) -> Iterable[bytes]:
        start("200 OK", [])
        if environ["HTTP_KIND"] == "file":
            return environ["wsgi.file_wrapper"](BytesIO(LARGE))  # type: ignore[no-any-return]
        return iter([LARGE[:1000], LARGE[1000:]]) if environ["HTTP_KIND"] == "large" else [b"quick"]

    large, file, quick = (Client(method="GET", kind=kind) for kind in ("large", "file", "small"))
    large.may_read, file.may_read = asyncio.Event(), asyncio.Event()

    async def release(message: Any) -> None:
        quick.sent.append(message)
        large.may_read.set()
        file.may_read.set()

    quick.send = release  # type: ignore[method-assign]
    serve(stream, large, file, quick, threads=1)
    assert quick.content == b"quick"
    assert large.content == file.content == LARGE
    assert large.is_complete
    assert file.is_complete


def test_what_fails_is_never_taken_for_whole(serve: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    def fail(environ: Environ, start: Start) -> Iterator[bytes]:
        start("200 OK", [("Content-Type", "text/csv")])
        if environ["HTTP_WHEN"] == "late":
            yield LARGE
        raise RuntimeError("broken")

    early, late = Client(method="GET", when="early"), Client(method="GET", when="late")
    serve(fail, early, late)
    assert (early.status, early.content) == (500, b"")
    assert not late.is_complete
    assert caplog.text.count("RuntimeError: broken") == 2


def test_a_reader_who_goes_ends_the_production(serve: Callable[..., None]) -> None:
    stopped = threading.Event()

    def endless(environ: Environ, start: Start) -> Iterator[bytes]:
        start("200 OK", [])
        try:
            while True:
                yield LARGE
        finally:
            stopped.set()

    client = Client(method="GET")
    client.may_read.clear()
    serve(endless, client, stall_seconds=0.05)
    assert stopped.wait(20)


def stream_much(environ: Environ, start: Start) -> Iterator[bytes]:
    """As many pieces as asked for; the first line of each says how many came before."""
    start("200 OK", [])
    for n in range(int(environ["HTTP_N"])):
        yield b"%d\n" % n + LARGE


@pytest.fixture
def small_spills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spills, "FILE_BYTES", 3 * len(LARGE))
    monkeypatch.setattr(spills, "ALL_FILES_BYTES", 8 * len(LARGE))


@pytest.mark.usefixtures("small_spills")
def test_a_slow_reader_of_much_gets_all_of_it_from_a_small_file(serve: Callable[..., None], tmp_path: Path) -> None:
    sizes = []

    class Slow(Client):
        async def send(self, message: Any) -> None:
            await asyncio.sleep(0.002)
            await super().send(message)

    def watch(environ: Environ, start: Start) -> Iterator[bytes]:
        for piece in stream_much(environ, start):
            yield piece
            sizes.append(measure_open_files(tmp_path))

    few = [Slow(method="GET", n="30") for _ in range(2)]
    serve(watch, *few, threads=4)
    expected = b"".join(b"%d\n" % n + LARGE for n in range(30))
    assert all(each.content == expected and each.is_complete for each in few)
    assert 2 * len(LARGE) < max(sizes) <= 2 * spills.FILE_BYTES


@pytest.mark.usefixtures("small_spills")
def test_who_reads_nothing_frees_the_disk_and_the_thread(serve: Callable[..., None], tmp_path: Path) -> None:
    """Six read nothing of what is endless; the site still answers others, and each thread is free in the end."""
    ended = []

    def endless(environ: Environ, start: Start) -> Iterator[bytes]:
        try:
            yield from stream_much(environ, start)
        finally:
            ended.append(environ["HTTP_N"])

    greedy = [Client(method="GET", n="100000") for _ in range(6)]
    for each in greedy:
        each.may_read.clear()
    sizes = []

    class Late(Client):
        async def send(self, message: Any) -> None:
            await super().send(message)
            sizes.append(measure_open_files(tmp_path))

    fine = Late(method="GET", n="20")
    serve(endless, *greedy, fine, threads=4, stall_seconds=3.0)
    assert fine.is_complete
    assert len(fine.content) > 20 * len(LARGE)
    assert not any(each.sent and each.is_complete for each in greedy)
    assert ended.count("100000") == 6
    assert 0 < max(sizes) <= spills.ALL_FILES_BYTES + 7 * MEMORY_BYTES


def test_a_running_download_ends_when_its_reader_loses_access(
    serve: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge, "ASK_AGAIN_SECONDS", 0.0)
    asked = []

    def download(environ: Environ, start: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "HEAD":
            asked.append(environ["HTTP_WHO"])
            start("404 Not Found" if environ["HTTP_WHO"] == "removed" else "200 OK", [])
            return []
        start("200 OK", [])
        return environ["wsgi.file_wrapper"](BytesIO(LARGE)) if environ["HTTP_FORM"] == "file" else iter([LARGE] * 2)

    forms = ("file", "stream")
    member = [Client(method="GET", who="member", form=form) for form in forms]
    removed = [Client(method="GET", who="removed", form=form) for form in forms]
    serve(download, *member, *removed)
    assert [each.content for each in member] == [LARGE, LARGE * 2]
    assert all(each.status == 200 and each.content == b"" and not each.is_complete for each in removed)
    assert asked.count("removed") == 2, "each is cut at the first answer"
    asked.clear()
    posted = Client(method="POST", who="removed", form="stream")
    small = Client(method="GET", who="removed", form="none")
    serve(
        lambda environ, start: download(environ, start) if environ["HTTP_FORM"] != "none" else echo(environ, start),
        posted,
        small,
    )
    assert (posted.is_complete, small.is_complete, asked) == (True, True, []), (
        "a form is sent once, and pages are short"
    )


def measure_open_files(folder: Path) -> int:
    """The bytes of temporary files: they have no names, but this process has them open, and closes some meanwhile."""
    n_bytes = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if str(file.readlink()).startswith(str(folder)):
                n_bytes += file.stat().st_size
    return n_bytes


def test_no_body_where_none_belongs(serve: Callable[..., None]) -> None:
    def answer(environ: Environ, start: Start) -> list[bytes]:
        start("304 Not Modified" if environ["REQUEST_METHOD"] == "GET" else "200 OK", [])
        return [b"body"]

    clients = Client(method="HEAD"), Client(method="GET")
    serve(answer, *clients)
    assert [each.content for each in clients] == [b"", b""]


def test_the_environ_is_that_of_wsgi() -> None:
    twice = [(b"cookie", b"a=1"), (b"cookie", b"b=2"), (b"accept", b"text/html"), (b"accept", b"text/csv")]
    scope = {**Client().scope, "headers": [*twice, (b"x_forwarded_for", b"forged")]}
    environ = make_environ(scope)
    assert environ["PATH_INFO"].encode("latin-1") == "/café/".encode() + b"\xff"
    assert environ["QUERY_STRING"] == "a=%20"
    assert (environ["HTTP_COOKIE"], environ["HTTP_ACCEPT"]) == ("a=1;b=2", "text/html,text/csv")
    assert "HTTP_X_FORWARDED_FOR" not in environ
    assert (environ["REMOTE_ADDR"], environ["SERVER_PORT"], environ["wsgi.url_scheme"]) == ("::1", "8000", "http")
    assert make_environ({**scope, "client": None, "server": ("/run/concord.sock", None)})["REMOTE_ADDR"] == ""
    bare = {name: value for name, value in scope.items() if name not in {"raw_path", "server", "client"}}
    plain = make_environ({**bare, "path": "/café/"})
    assert plain["PATH_INFO"].encode("latin-1") == "/café/".encode()
    assert (plain["REMOTE_ADDR"], plain["SERVER_NAME"], plain["SERVER_PORT"]) == ("", "localhost", "0")
    flags = [plain[f"wsgi.{name}"] for name in ("version", "multithread", "multiprocess", "run_once")]
    assert flags == [(1, 0), True, True, False]
    assert make_environ(scope, "/caf")["PATH_INFO"] == environ["PATH_INFO"]
    assert make_environ({**scope, "raw_path": b"/concord/desk/"}, "/concord")["PATH_INFO"] == "/desk/"
    assert make_environ({**scope, "raw_path": b"/concord"}, "/concord")["PATH_INFO"] == "/"


def test_the_body_of_a_file_ends_with_it_and_closes_it() -> None:
    file = BytesIO(LARGE)
    body = FileBody(file, 1_000)
    assert body.read(3) == LARGE[:3]
    pieces = list(body)
    assert (b"".join(pieces), {len(each) for each in pieces[:-1]}) == (LARGE[3:], {1_000})
    body.close()
    assert file.closed
    FileBody(iter([])).close()  # not everything that is read can be closed
