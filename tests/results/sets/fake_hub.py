"""A Hugging Face Hub on this machine: what a push asks of it, kept in memory, and made to fail where a test wants."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_for_tests"


@dataclass
class Hub:
    """The repositories by name, each with its files, and the paths that were asked for."""

    address: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    visibility: dict[str, str] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    fails_at: str = ""
    """A part of the path at which the Hub answers that it is forbidden."""


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

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Stay quiet."""

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, content = 401, {"error": "Invalid username or password."}
            elif hub.fails_at and hub.fails_at in path:
                status, content = 403, {"error": "You have exceeded your storage limit."}
            else:
                status, content = _handle(hub, path, body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
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
    name, _, rest = path.removeprefix("/api/datasets/").partition("/main")[0].rpartition("/")
    files = hub.repositories.get(name)
    if files is None:
        return 404, {"error": f"Nothing at {path}."}
    if rest == "tree":
        return 200, [{"type": "file", "path": each, "size": len(files[each]), "oid": "0" * 40} for each in files]
    if rest == "preupload":
        asked = json.loads(body)["files"]
        return 200, {
            "files": [{"path": each["path"], "uploadMode": "regular", "shouldIgnore": False} for each in asked]
        }
    if rest == "commit":
        return 200, _commit(hub, name, [json.loads(line) for line in body.splitlines() if line])
    if rest == "revision":
        return 200, {"id": name, "sha": "0" * 40, "siblings": [{"rfilename": each} for each in files]}
    return 404, {"error": f"Nothing at {path}."}


def _commit(hub: Hub, name: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
    files = hub.repositories[name]
    for each in operations:
        value = each["value"]
        if each["key"] == "header":
            hub.commits.append(value["summary"])
        elif each["key"] == "deletedFile":
            del files[value["path"]]
        elif each["key"] == "file":
            files[value["path"]] = base64.b64decode(value["content"])
    place = f"{hub.address}/datasets/{name}/commit/1"
    return {"success": True, "commitOid": "1" * 40, "commitUrl": place, "hookOutput": ""}
