"""A Hugging Face Hub on this machine: what a push asks of it, kept in memory, and made to fail where a test wants.

Tables go to the storage of large files, as on the Hub: by LFS, in one part or in several, or to Xet where the client
has hf_xet. Of Xet the fake keeps what the client says that it stored, not the contents.
"""

import base64
import hashlib
import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_for_tests"
TOKEN_OF_XET = "xet_for_tests"
PART_BYTES = 3_000
"""What is larger comes in several parts; some tables of the tests are."""
WITHOUT_HUB_TOKEN = ("/storage/", "/xet/", "/v1/telemetry")


@dataclass(frozen=True)
class Pointer:
    """A file whose contents are in Xet."""

    sha256: str
    size: int


@dataclass
class Hub:
    """The repositories by name, each with its files, and the paths that were asked for."""

    address: str = ""
    repositories: dict[str, dict[str, bytes | Pointer]] = field(default_factory=dict)
    visibility: dict[str, str] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    fails_at: str = ""
    """A part of the path at which the Hub answers that it is forbidden."""
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    """The parts of large files by SHA-256."""
    objects: dict[str, bytes] = field(default_factory=dict)
    """Large files by SHA-256."""
    shards: list[bytes] = field(default_factory=list)
    """Lists of files stored in Xet."""

    def holds_in_xet(self, sha256: str) -> bool:
        digest = bytes.fromhex(sha256)
        # Shards store it as four words, each with its last byte first.
        stored = b"".join(digest[start : start + 8][::-1] for start in range(0, len(digest), 8))
        return any(stored in shard for shard in self.shards)


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(hub))
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_HEAD(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Stay quiet."""

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            is_from_hub = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            etag = ""
            content: Any
            if hub.fails_at and hub.fails_at in path:
                status, content = 403, {"error": "You have exceeded your storage limit."}
            elif path.startswith(WITHOUT_HUB_TOKEN):
                assert not is_from_hub, "The token is for the Hub alone."
                status, content = _store(hub, path, body)
                etag = hashlib.md5(body, usedforsecurity=False).hexdigest()
            elif not is_from_hub:
                status, content = 401, {"error": "Invalid username or password."}
            else:
                status, content = _handle(hub, path, body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", etag or hashlib.sha1(data, usedforsecurity=False).hexdigest())
            self.send_header("X-Repo-Commit", "0" * 40)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

    return Handler


def _handle(hub: Hub, path: str, body: bytes) -> tuple[int, Any]:
    if path == "/api/repos/create":
        asked = json.loads(body)
        name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
        if name in hub.repositories:
            return 409, {"error": "You already created this dataset repo.", "url": f"{hub.address}/datasets/{name}"}
        hub.repositories[name] = {".gitattributes": b"*.parquet filter=lfs"}
        hub.visibility[name] = asked["visibility"]
        return 200, {"url": f"{hub.address}/datasets/{name}"}
    if path == "/api/validate-yaml":
        return 200, {"errors": [], "warnings": []}
    if path.endswith(".git/info/lfs/objects/batch"):
        return 200, {"objects": [_place(hub, each) for each in json.loads(body)["objects"]]}
    if path.startswith("/verify/"):
        asked = json.loads(body)
        return (200, {}) if len(hub.objects[asked["oid"]]) == asked["size"] else (422, {"error": "Wrong size."})
    if path.startswith("/datasets/") and "/resolve/main/" in path:
        name, file = path.removeprefix("/datasets/").split("/resolve/main/")
        return 200, hub.repositories[name][file]
    if path.startswith("/api/datasets/"):
        return _handle_repository(hub, path.removeprefix("/api/datasets/"), body)
    return 404, {"error": f"Nothing at {path}."}


def _handle_repository(hub: Hub, path: str, body: bytes) -> tuple[int, Any]:
    if path in hub.repositories:
        return 200, {"id": path, "sha": "0" * 40, "private": hub.visibility[path] == "private"}
    name, _, rest = path.partition("/main")[0].rpartition("/")
    files = hub.repositories.get(name)
    if files is None:
        return 404, {"error": f"Nothing at {path}."}
    if rest == "tree":
        return 200, [{"type": "file", "path": each, "size": 1, "oid": "0" * 40} for each in files]
    if rest == "preupload":
        return 200, {"files": [_choose_mode(each["path"]) for each in json.loads(body)["files"]]}
    if rest == "xet-write-token":
        return 200, {
            "casUrl": f"{hub.address}/xet",
            "exp": int(time.time()) + 3_600,
            "accessToken": TOKEN_OF_XET,
        }
    if rest == "commit":
        return _commit(hub, name, [json.loads(line) for line in body.splitlines() if line])
    if rest == "revision":
        return 200, {"id": name, "sha": "0" * 40, "siblings": [{"rfilename": each} for each in files]}
    return 404, {"error": f"Nothing at {path}."}


def _choose_mode(path: str) -> dict[str, Any]:
    return {"path": path, "uploadMode": "lfs" if path.endswith(".parquet") else "regular", "shouldIgnore": False}


def _place(hub: Hub, asked: dict[str, Any]) -> dict[str, Any]:
    """Answer where to send a large file: in one part, or in several that are joined afterwards."""
    oid, size = asked["oid"], asked["size"]
    if oid in hub.objects:
        return {"oid": oid, "size": size}
    storage = f"{hub.address}/storage/{oid}"
    parts = {str(n): f"{storage}/{n}" for n in range(1, math.ceil(size / PART_BYTES) + 1)}
    upload: dict[str, Any] = {"href": f"{storage}/1"}
    if len(parts) > 1:
        upload = {"href": f"{storage}/join", "header": {"chunk_size": str(PART_BYTES), **parts}}
    return {"oid": oid, "size": size, "actions": {"upload": upload, "verify": {"href": f"{hub.address}/verify/{oid}"}}}


def _store(hub: Hub, path: str, body: bytes) -> tuple[int, Any]:
    """Take what is sent to the storage of large files."""
    if path.startswith("/storage/"):
        oid, what = path.split("/")[-2:]
        parts = hub.parts.setdefault(oid, {})
        if what != "join":
            parts[int(what)] = body
        elif [each["partNumber"] for each in json.loads(body)["parts"]] != sorted(parts):
            return 422, {"error": "A part is missing."}
        whole = b"".join(parts[n] for n in sorted(parts))
        if hashlib.sha256(whole).hexdigest() == oid:
            hub.objects[oid] = whole
        return 200, {}
    if path.startswith("/xet/v1/shards"):
        hub.shards.append(body)
        return 200, {"result": 1}
    if path.startswith("/xet/v1/xorbs/"):
        return 200, {"was_inserted": True}
    # No chunk is known yet, and of two ways to store one the client takes the older.
    return 404, {}


def _commit(hub: Hub, name: str, operations: list[dict[str, Any]]) -> tuple[int, Any]:
    files = hub.repositories[name]
    for each in operations:
        value = each["value"]
        if each["key"] == "header":
            hub.commits.append(value["summary"])
        elif each["key"] == "deletedFile":
            del files[value["path"]]
        elif each["key"] == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif value["oid"] in hub.objects:
            files[value["path"]] = hub.objects[value["oid"]]
        elif hub.holds_in_xet(value["oid"]):
            files[value["path"]] = Pointer(value["oid"], value["size"])
        else:
            return 400, {"error": f"{value['path']} was not uploaded."}
    place = f"{hub.address}/datasets/{name}/commit/1"
    return 200, {"success": True, "commitOid": "1" * 40, "commitUrl": place, "hookOutput": ""}
