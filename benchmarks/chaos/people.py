"""Those who work while everything fails: annotators, a manager who imports and exports, and a visitor with a watch."""

import csv
import http.client
import io
import json
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.load import LOST, MOVED, POSITION, Rater, Record, read_uuid, write_candidates

PAGE_SECONDS = 20.0
"""How long the page's script waits for an answer before it sends again."""
ROWS = 40
BOUNDARY = "chaos-boundary"


class Worker(Rater):
    """An annotator who changes answers, clicks twice, closes the page in the middle, and sends again what was lost."""

    tries = 400

    def __init__(self, port: int, session: str, think: float, seed: int) -> None:
        super().__init__(port, session, think, seed)
        self.connection.timeout = PAGE_SECONDS
        self.told: dict[str, dict[int, int]] = {}
        """Ratings by position of each submission that was acknowledged."""
        self.drafts: dict[str, dict[int, int]] = {}
        """Ratings by position that were acknowledged as saved."""

    def live(self, record: Record, stop: threading.Event) -> None:
        """Work until told to stop, and start again where the site has led elsewhere."""
        while not stop.is_set():
            form = self.answers()
            if not form:
                self.arrive(record)
                stop.wait(0 if self.answers() else 1)
                continue
            self.rate_all(record, form, stop)
            if not stop.is_set():
                self.submit(record, form)

    def answers(self) -> dict[str, str]:
        return {
            name: str(self.random.randint(1, 5)) if POSITION.match(name) else value
            for name, value in super().answers().items()
        }

    def rate_all(self, record: Record, form: dict[str, str], stop: threading.Event) -> None:
        saved = self.drafts.setdefault(read_uuid(self.url), {})
        for name, value in form.items():
            if not (found := POSITION.match(name)):
                continue
            first = str(self.random.randint(1, 5))
            for each in (first, value) if self.random.random() < 0.3 else (value,):
                if stop.wait(min(self.random.expovariate(1 / self.think), 5 * self.think)):
                    return
                if self.save(record, found[1], each):
                    saved[int(found[1])] = int(each)

    def submit(self, record: Record, form: dict[str, str]) -> bool:
        url, uuid = self.url, read_uuid(self.url)
        if self.random.random() < 0.1:
            self.hang_up(url, form)
        if not super().submit(record, form):
            time.sleep(1)
            self.page = self.ask(record, "", "GET", url)[2]
            return False
        self.told[uuid] = {int(found[1]): int(value) for name, value in form.items() if (found := POSITION.match(name))}
        if self.random.random() < 0.2:
            status, location, _ = self.ask(record, "", "POST", url, form)
            if status not in MOVED:
                record.faults.append(f"a second click answered {status}")
            elif read_path(location) != read_path(self.url):
                self.url, self.page = location, self.ask(record, "", "GET", location)[2]
        return True

    def hang_up(self, url: str, form: dict[str, str]) -> None:
        """Send the form and close the connection without waiting for the answer."""
        twin = self.twin()
        try:
            twin.send("POST", url, form)
        except LOST:
            pass
        finally:
            twin.connection.close()


def read_path(url: str) -> str:
    return url.partition("?")[0]


@dataclass
class Manager:
    """Imports files by the API, and exports every judgment: each again until it is done."""

    port: int
    session: str
    token: str
    imported: list[str] = field(default_factory=list)
    """Prefix of the rows of each import that was acknowledged as done."""
    began_at: float = 0.0
    """When the last import began that is done."""
    n_exports: int = 0
    n_missing: int = 0
    faults: list[str] = field(default_factory=list)

    def import_all(self, stop: threading.Event) -> None:
        n = 0
        while not stop.is_set():
            n += 1
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"rows-{n}.csv"
                write_candidates(path, ROWS, prefix=f"i{n}x")
                self._import(path, f"i{n}x", stop)

    def export_all(self, people: list[Worker], stop: threading.Event) -> None:
        """Export again and again; what was acknowledged before one began is in it."""
        while not stop.wait(1):
            told = {uuid for worker in people for uuid in list(worker.told)}
            status, text = self._ask("GET", "/p/bench/export/long.csv", {"Cookie": f"session={self.session}"})
            if status != 200:
                continue
            exported = {row["assignment"] for row in csv.DictReader(io.StringIO(text.decode()))}
            self.n_missing += len(told - exported)
            self.n_exports += 1

    def _import(self, path: Path, prefix: str, stop: threading.Event) -> None:
        """Take a file through upload, validation and import; after each failure look at what has become of it."""
        number, began = 0, time.monotonic()
        while not stop.is_set():
            if not number:
                number = self._upload(path)
            job = self._api("GET", f"imports/{number}/") if number else {}
            state = (job.get("step"), job.get("state"))
            if state == ("write", "done"):
                self.imported.append(prefix)
                self.began_at = began
                return
            if job.get("state") in {"failed", "interrupted"} and not job["is_live"]:
                self.faults.append(f"import {state[0]} {state[1]}: {str(job['error'])[:120]}")
                return
            if state == ("uploaded", "done"):  # the request to validate was lost after the upload
                self._api("POST", f"imports/{number}/check/", b'{"dataset": "beside"}')
            elif state == ("check", "done"):
                self._api("POST", f"imports/{number}/write/")
            stop.wait(0.2)

    def _upload(self, path: Path) -> int:
        """Upload a file, unless a lost answer was to that: then its import is in the list."""
        page = self._api("GET", "imports/?page_size=5")
        known = [each["number"] for each in page.get("results", ()) if each["file_name"] == path.name]
        if known or not page:
            return int(known[0]) if known else 0
        body, kind = write_form(path, kind="candidates", dataset="beside")
        return int(self._api("POST", "imports/", body, kind).get("number", 0))

    def _api(self, method: str, path: str, body: bytes = b"{}", kind: str = "application/json") -> dict[str, Any]:
        """Return the answer of the API; empty if there was none or it says that something was in the way."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        status, text = self._ask(method, f"/api/v1/projects/bench/{path}", headers, body if method == "POST" else None)
        if status >= 500 and status != 503:
            self.faults.append(f"{method} {path.partition('?')[0]} answered {status}")
        return json.loads(text) if 200 <= status < 300 else {}

    def _ask(self, method: str, url: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, bytes]:
        wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PAGE_SECONDS)
        try:
            wire.request(method, url, body, {**headers, "Host": f"127.0.0.1:{self.port}"})
            response = wire.getresponse()
            return response.status, response.read()
        except LOST:
            time.sleep(0.3)
            return 0, b""
        finally:
            wire.close()


def write_form(path: Path, **fields: str) -> tuple[bytes, str]:
    """Return the body of a form with a file, and its type."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    parts.append(
        f'Content-Disposition: form-data; name="file"; filename="{path.name}"\r\n\r\n' + path.read_bytes().decode()
    )
    body = "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in parts) + f"--{BOUNDARY}--\r\n"
    return body.encode(), f"multipart/form-data; boundary={BOUNDARY}"


class Watch:
    """A visitor who asks again and again for a page that needs the database, and notes when it was last there."""

    def __init__(self, port: int, session: str) -> None:
        self.port, self.session = port, session
        self.asked_at = 0.0
        """When the last request was sent that was answered."""

    def look(self, stop: threading.Event) -> None:
        while not stop.wait(0.1):
            began = time.monotonic()
            wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                wire.request("GET", "/p/bench/desk/", headers={"Cookie": f"session={self.session}"})
                response = wire.getresponse()
                response.read()
                if response.status == 200:
                    self.asked_at = began
            except LOST:
                continue
            finally:
                wire.close()
