"""What the client sends, and what it makes of the answers: a small server in this process says both."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest
import requests
from django.core.files.uploadedfile import UploadedFile
from django.http.multipartparser import MultiPartParser
from django.test import RequestFactory

from concord_client import Client, ConcordError, ConnectionFailed, JobFailed, MisleadingFigures
from concord_client import multipart as forms
from concord_client.multipart import FileForm

TOKEN = "concord_secret-of-the-test"


@dataclass
class Seen:
    """A request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """A server whose answers are given beforehand, in order; the last one is repeated."""

    url: str = ""
    answers: list[tuple[int, dict[str, str], object]] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def answer(self, *bodies: object, status: int = 200, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers += [(status, named, body) for body in bodies]


@pytest.fixture
def server() -> Iterator[Server]:
    kept = Server()

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            kept.seen.append(Seen(self.command, self.path, dict(self.headers), self.rfile.read(length)))
            status, headers, body = kept.answers.pop(0) if len(kept.answers) > 1 else kept.answers[0]
            content = body if isinstance(body, bytes) else orjson.dumps(body)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_one  # noqa: N815 - names of the library

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kept.url = f"http://127.0.0.1:{http.server_port}"
    yield kept
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, instead of making them."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made


@pytest.fixture
def concord(server: Server) -> Client:
    return Client(server.url, token=TOKEN)


def test_the_token_is_in_a_header_and_shown_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A password for the host in ~/.netrc must not replace the token.
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("CONCORD_TOKEN", TOKEN)
    server.answer({"detail": "Unknown token."}, status=401)
    concord = Client(server.url)
    with pytest.raises(ConcordError, match="Unknown token") as caught:
        concord.projects()
    assert server.seen[0].headers["Authorization"] == f"Bearer {TOKEN}"
    shown = [concord, concord.project("demo"), concord.__dict__, concord._connection.__dict__, caught.value]
    assert TOKEN not in "".join(map(repr, [*shown, concord._connection._session.__dict__]))
    assert TOKEN not in server.seen[0].path


@pytest.mark.parametrize(
    ("url", "token", "sentence"),
    [
        ("http://rate.example.org", TOKEN, "https://"),
        ("https://user:password@rate.example.org", TOKEN, "no user"),
        ("rate.example.org", TOKEN, "address of the site"),
        ("https://rate.example.org", "", "CONCORD_TOKEN"),
        ("https://rate.example.org", "concord_a\r\nX: y", "CONCORD_TOKEN"),
    ],
)
def test_what_would_expose_the_token_is_refused(
    url: str, token: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONCORD_TOKEN", raising=False)
    with pytest.raises(ValueError, match=sentence) as caught:
        Client(url, token=token)
    assert TOKEN not in str(caught.value)


def test_pages_are_followed_on_the_same_site(server: Server, concord: Client) -> None:
    # Behind a proxy the site may name another host; the token goes to none but the given one.
    following = "https://evil.example/api/v1/projects/demo/candidates/?page=2&split="
    server.answer({"count": 2, "next": following, "results": [{"candidate_id": "007", "split": ""}]})
    server.answer({"count": 2, "next": None, "results": [{"candidate_id": "8", "split": ""}]})
    frame = concord.project("demo").candidates(split="", source=None)
    assert list(frame["candidate_id"]) == ["007", "8"]
    assert [each.path.partition("?")[2] for each in server.seen] == ["page_size=1000&split=", "page=2&split="]


def test_reads_wait_as_long_as_the_site_says_and_writes_are_not_repeated(
    server: Server, concord: Client, waits: list[float]
) -> None:
    server.answer({"detail": "Too many."}, status=429, Retry_After="7")
    server.answer({"detail": "Busy."}, status=503)
    server.answer(b"<h1>Bad gateway</h1>", status=502)
    server.answer({"number": 1})
    assert concord.project("demo").batch(1) == {"number": 1}
    assert waits == [7, 2, 4]
    server.answers.clear()
    server.answer({"detail": "Too many."}, status=429, Retry_After="7")
    with pytest.raises(ConcordError, match="Too many"):
        concord.project("demo").create_batch(judgments=1)
    assert len(waits) == 3
    assert [each.method for each in server.seen].count("POST") == 1
    with pytest.raises(ConcordError) as caught:
        concord.project("demo").batch(1)
    assert (caught.value.status, len(waits)) == (429, 7), "It ends after five tries."


def test_errors_have_the_sentence_of_the_site_and_its_fields(server: Server, concord: Client) -> None:
    problem = {"detail": "judgments: Required.", "errors": [{"field": "judgments", "detail": "Required."}]}
    server.answer(problem, status=400)
    server.answer(b"<h1>Server error</h1>", status=500)
    server.answer({}, status=302, Location="https://elsewhere.example/")
    project = concord.project("demo")
    with pytest.raises(ConcordError, match=r"^judgments: Required\.$") as caught:
        project.create_batch()
    assert (caught.value.status, caught.value.errors) == (400, [("judgments", "Required.")])
    with pytest.raises(ConcordError, match="status 500 and no explanation"):
        project.batch(1)
    with pytest.raises(ConcordError, match=r"sends on to https://elsewhere\.example/"):
        project.batch(1)
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [200, 502])
def test_a_page_in_place_of_the_site_is_an_error_with_a_sentence(
    server: Server, concord: Client, tmp_path: Path, waits: list[float], status: int
) -> None:
    server.answer(b"<h1>Sign in to this network</h1>", status=status, Content_Type="text/html; charset=utf-8")
    project, kept = concord.project("demo"), tmp_path / "set.zip"
    kept.write_bytes(b"what was there")
    asks: list[Callable[[], object]] = [
        project.judgments,
        lambda: project.create_batch(judgments=3),
        lambda: project.study_table(1, "overall"),
        lambda: project.download_set(1, kept),
        lambda: project.download_tables(1, tmp_path / "set"),
    ]
    for ask in asks:
        with pytest.raises(
            ConcordError, match=rf"{server.url} answered with status {status} and a page .* the address"
        ):
            ask()
    assert kept.read_bytes() == b"what was there"


def test_an_answer_that_is_no_json_is_an_error_with_a_sentence(server: Server, concord: Client) -> None:
    server.answer(b"all is well", Content_Type="text/plain")
    with pytest.raises(ConcordError, match="status 200 and no explanation"):
        concord.projects()


def test_a_site_that_cannot_be_reached_is_an_error_with_a_sentence() -> None:
    with socket.socket() as taken:
        # Bound, but nobody listens.
        taken.bind(("127.0.0.1", 0))
        project = Client(f"http://127.0.0.1:{taken.getsockname()[1]}", token=TOKEN).project("demo")
        with pytest.raises(ConnectionFailed, match=r"could not be reached.* the site runs\.$") as read:
            project.agreement()
        with pytest.raises(ConcordError, match="look before you send it again"):
            project.create_batch(judgments=3)
    assert isinstance(read.value.__cause__, requests.ConnectionError)
    assert read.value.status == 0


def test_an_answer_that_breaks_off_is_an_error_with_a_sentence(
    server: Server, concord: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(*_: object) -> Iterator[bytes]:
        yield b"half"
        raise requests.exceptions.ChunkedEncodingError("broken off")

    server.answer(b"half and half")
    monkeypatch.setattr(requests.Response, "iter_content", break_off)
    with pytest.raises(ConnectionFailed, match="broke off"):
        concord.project("demo")._connection.download("x", tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_folder_in_place_of_a_file_is_refused_before_anything_is_sent(
    server: Server, concord: Client, tmp_path: Path
) -> None:
    with pytest.raises(IsADirectoryError, match="Give one file, not a folder"):
        concord.project("demo").import_file(tmp_path)
    assert not server.seen


def test_a_file_that_became_shorter_says_so(
    server: Server, concord: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer({"detail": "The file was cut off."}, status=400)
    path = tmp_path / "answers.csv"
    path.write_text("question,candidate\n")
    make = FileForm.__init__

    def cut(form: FileForm, *arguments: Any) -> None:
        make(form, *arguments)
        path.write_text("")

    monkeypatch.setattr(FileForm, "__init__", cut)
    with pytest.raises(ConcordError, match=r"answers\.csv became shorter while it was sent\.$"):
        concord.project("demo").import_file(path)


def test_what_a_metric_warns_of_is_a_warning_in_the_line_that_asked(server: Server, concord: Client) -> None:
    server.answer({"id": 1}, {"is_live": False, "state": "done", "warnings": ["Of Chinese."]}, b"candidate_id,score\n")
    with pytest.warns(MisleadingFigures, match="Of Chinese") as told:
        concord.project("demo").compute_metric("bleu_1")
    assert told[0].filename == __file__


def test_a_job_that_fails_says_why(server: Server, concord: Client, waits: list[float], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("question,candidate\n")
    live = {"number": 4, "is_live": True, "state": "running", "error": ""}
    server.answer(live, live, {**live, "is_live": False, "state": "failed", "error": "The file has no rows."})
    with pytest.raises(JobFailed, match=r"The file has no rows\.") as caught:
        concord.project("demo").import_file(file)
    assert caught.value.job["state"] == "failed"
    assert len(waits) == 1
    server.answers[:] = [(200, {}, live)]
    with pytest.raises(ConcordError, match="still running after 0 seconds"):
        concord.project("demo").import_file(file, timeout=0)


def test_an_upload_is_sent_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "CHUNK", 10)
    file = tmp_path / 'a "b".csv'
    content = bytes(range(256)) * 3
    file.write_bytes(content)
    form = FileForm(file, {"kind": ["candidates"], "map": ["a=question", "b=é"]})
    pieces = list(form)
    body = b"".join(pieces)
    assert max(map(len, pieces[1:-1])) == 10
    assert len(body) == len(form)
    request = RequestFactory().generic("POST", "/", body, content_type=form.content_type)
    fields, files = MultiPartParser(request.META, request, request.upload_handlers).parse()
    assert dict(fields.lists()) == {"kind": ["candidates"], "map": ["a=question", "b=é"]}
    upload = files["file"]
    assert isinstance(upload, UploadedFile)
    assert (upload.name, upload.read()) == ("a %22b%22.csv", content)
    file.write_bytes(b"short")
    with pytest.raises(OSError, match="became shorter"):
        list(form)


def test_files_keep_ids_and_answers_as_texts(server: Server, concord: Client) -> None:
    server.answer(b'candidate_id,source,candidate,score,is_counted\r\n007,1,NA,0.5,yes\r\n8,,"a\nb",,no\r\n')
    frame = concord.project("demo").metric_scores(3)
    assert list(frame["candidate_id"]) == ["007", "8"]
    assert list(frame["candidate"]) == ["NA", "a\nb"]
    assert frame["is_counted"].tolist() == [True, False]
    assert (frame["score"].isna().tolist(), frame["source"][0]) == ([False, True], "1")
