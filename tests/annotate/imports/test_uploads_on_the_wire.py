"""Uploads as hostile or unlucky clients send them, over the wire to the real server."""

import gzip
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from annotate.models import Import
from config.management.commands.serve import web_command
from projects.api import tokens
from projects.models import Membership, Project
from projects.web import uploads
from tests.annotate.imports.import_steps import rows, write_csv
from tests.conftest import Site
from tests.factories import make_membership, make_project
from tests.processes import PATIENCE, free_port, process, wait_for_port, wait_until
from tests.raw_http import Visitor

pytestmark = pytest.mark.xdist_group("uploads")
"""One after another: what is on its way into the folder of uploads is counted."""

MARK = "by wire"
"""In every file that is sent here: the folders of uploads are those of all test processes."""

BOUNDARY = "the-boundary-of-this-test"
N_SLOW = 20
"""More than the site has threads."""


class Sender:
    """A manager's client that writes its own requests."""

    def __init__(self, site: Site, manager: Membership, project: Project) -> None:
        self.visitor = Visitor.of(manager, site.url)
        self.path = f"/p/{project.slug}/data/imports/new/"
        self.at = urlsplit(site.url)
        self.token = self.visitor.token()

    def body(self, content: bytes) -> bytes:
        fields = {"csrfmiddlewaretoken": self.token, "kind": "candidates"}
        parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
        parts.append('Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n')
        head = "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in parts)
        return head.removesuffix("\r\n").encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()

    @contextmanager
    def sending(self, body: bytes, *, announced: int, encoding: str = "") -> Iterator[socket.socket]:
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {self.at.netloc}",
            f"Cookie: {'; '.join(f'{name}={value}' for name, value in self.visitor.cookies.items())}",
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
            f"Content-Length: {announced}",
            "Connection: close",
            *([f"Content-Encoding: {encoding}"] if encoding else []),
        ]
        with socket.create_connection((self.at.hostname or "", self.at.port or 80), timeout=PATIENCE) as plug:
            plug.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            yield plug

    def status(self, body: bytes, *, announced: int, encoding: str = "") -> int:
        """Send, say that no more will come, and read what is answered."""
        with self.sending(body, announced=announced, encoding=encoding) as plug:
            plug.shutdown(socket.SHUT_WR)
            return read_status(plug)

    def status_for_headers(self, *, announced: int | None, path: str = "", **headers: str) -> int:
        """Send only the headers, or also a large piece of a body of unknown length, and read what is answered."""
        lengths = {"Transfer-Encoding": "chunked"} if announced is None else {"Content-Length": str(announced)}
        cookies = "; ".join(f"{name}={value}" for name, value in self.visitor.cookies.items())
        sent = {"Host": self.at.netloc, "Cookie": cookies, "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        lines = [f"{name}: {value}" for name, value in (sent | lengths | headers).items() if value]
        with socket.create_connection((self.at.hostname or "", self.at.port or 80), timeout=PATIENCE) as plug:
            plug.sendall("\r\n".join([f"POST {path or self.path} HTTP/1.1", *lines, "", ""]).encode())
            if announced is None:
                piece = b"0" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
                plug.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            return read_status(plug)


def read_status(plug: socket.socket) -> int:
    answer = b""
    while b"\r\n" not in answer and (more := plug.recv(4096)):
        answer += more
    return int(answer.split(b" ", 2)[1])


def content_of(n: int = 6) -> bytes:
    return write_csv([{**row, "source": MARK} for row in rows(n)])


def is_ours(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:  # another process's, which has just gone
        return False
    return MARK.encode() in content or content.startswith(b"0000")


def on_their_way() -> list[Path]:
    return list(filter(is_ours, Path(settings.FILE_UPLOAD_TEMP_DIR).glob("*.upload*")))


def find_kept() -> set[Path]:
    return {path for path in uploads.folder().iterdir() if path.suffix != ".preview" and is_ours(path)}


@pytest.fixture
def sender(live_site: Site, manager: Membership, project: Project) -> Sender:
    return Sender(live_site, manager, project)


@pytest.fixture
def kept(sender: Sender) -> set[Path]:
    """What is kept before the test."""
    return find_kept()


def test_a_whole_body_is_taken(sender: Sender, kept: set[Path]) -> None:
    body = sender.body(content_of())
    assert sender.status(body, announced=len(body)) == 302
    (made,) = find_kept() - kept
    assert made.read_bytes() == content_of()
    assert on_their_way() == []


@pytest.mark.parametrize(
    ("lie", "status"), [("longer than it is", 400), ("shorter by a mark", 422), ("shorter by half", 422)]
)
def test_a_body_of_another_length_than_announced_is_refused(
    sender: Sender, kept: set[Path], lie: str, status: int
) -> None:
    body = sender.body(content_of(2_000))
    announced = {"longer than it is": len(body) + 1_000, "shorter by a mark": len(body) - 8}.get(lie, len(body) // 2)
    sent = body[: len(body) // 2] if announced > len(body) else body
    assert sender.status(sent, announced=announced) == status
    assert not Import.objects.exists()
    assert find_kept() == kept
    wait_until(lambda: not on_their_way(), "A temporary file is left.")
    assert sender.visitor.get(sender.path).status == 200


def test_slow_bodies_hold_up_nobody_and_leave_nothing(sender: Sender, kept: set[Path], annotator: Membership) -> None:
    body = sender.body(content_of(2_000))
    other = Visitor.of(annotator, sender.visitor.url)
    with ExitStack() as slow:
        for _ in range(N_SLOW - 1):
            slow.enter_context(sender.sending(body[: len(body) // 2], announced=len(body)))
        last = slow.enter_context(sender.sending(body[:-500], announced=len(body)))
        assert other.get("/desk/").status == 200
        assert sender.visitor.get(sender.path).status == 200
        last.sendall(body[-500:])
        assert read_status(last) == 302
    assert Import.objects.count() == 1
    wait_until(lambda: not on_their_way(), "A temporary file is left.")
    assert len(find_kept() - kept) == 1


def test_who_may_not_upload_is_refused_by_the_headers_alone(
    sender: Sender, project: Project, manager: Membership, annotator: Membership
) -> None:
    """No byte of these bodies is sent, but for the one of unknown length: the answer can only rest on the headers."""
    large = 300_000_000
    api = f"/api/v1/projects/{project.slug}/imports/"
    nobody = {"Cookie": ""}
    _, secret = tokens.make_token(membership=manager, name="writes", can_write=True)
    _, reader = tokens.make_token(membership=manager, name="reads")
    token, read_only = ({"Cookie": "", "Authorization": f"Bearer {each}"} for each in (secret, reader))
    assert sender.status_for_headers(announced=large, **nobody) == 302
    assert sender.status_for_headers(announced=None, **nobody) == 302
    assert sender.status_for_headers(announced=large, path=api, **nobody) == 401
    assert sender.status_for_headers(announced=large, path=api, **read_only) == 403
    assert sender.status_for_headers(announced=large, path="/sign-in/", **nobody) == 413
    assert sender.status_for_headers(announced=None, path="/sign-in/", **nobody) == 413
    for member, status in ((annotator, 403), (make_membership(make_project("elsewhere")), 404)):
        sender.visitor = Visitor.of(member, sender.visitor.url)
        assert sender.status_for_headers(announced=large) == status
    sender.visitor = Visitor.of(manager, sender.visitor.url)
    assert sender.status_for_headers(announced=settings.MAX_UPLOAD_BYTES * 2) == 413
    assert sender.status_for_headers(announced=large, Expect="100-continue") == 100, "who may upload is asked to"
    assert sender.status_for_headers(announced=large, path=api, Expect="100-continue", **token) == 100
    assert not Import.objects.exists()


def test_a_client_that_stops_in_the_middle_holds_no_thread_for_ever(
    live_site: Site, manager: Membership, project: Project
) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    _python, _m, *command = web_command(address, workers=1)
    with process(*command, STALL_SECONDS="1") as child:
        wait_for_port(port, child)
        sender = Sender(Site(url=f"http://{address}"), manager, project)
        body = sender.body(content_of(2_000))
        with ExitStack() as stalled:
            half = body[: len(body) // 2]
            plugs = [stalled.enter_context(sender.sending(half, announced=len(body))) for _ in range(3)]
            assert sender.visitor.get(sender.path).status == 200, "more clients stall than there are threads"
            assert [read_status(plug) // 100 for plug in plugs] == [4, 4, 4]
        assert sender.status(body, announced=len(body)) == 302
    assert Import.objects.count() == 1
    assert on_their_way() == []


def test_a_packed_body_is_refused_before_it_is_unpacked(sender: Sender, kept: set[Path]) -> None:
    bomb = gzip.compress(sender.body(b"0" * 50_000_000))
    assert len(bomb) < 100_000
    assert sender.status(bomb, announced=len(bomb), encoding="gzip") == 415
    assert not Import.objects.exists()
    assert find_kept() == kept
    assert on_their_way() == []
