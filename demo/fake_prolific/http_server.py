"""Serving the fake over HTTP on this machine, and sending its webhooks."""

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import orjson

from demo.fake_prolific.api import Api
from demo.fake_prolific.platform import Event

WEBHOOK_SECONDS = 10


@contextmanager
def serve(api: Api, *, port: int = 0) -> Iterator[str]:
    """Serve the API on this machine, and give its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            path, _, query = self.path.partition("?")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = api.handle(self.command, path, query, dict(self.headers), body)
            if reply.seconds:
                time.sleep(reply.seconds)
            if reply.is_lost:
                self.close_connection = True
                return
            raw = orjson.dumps(reply.body, default=sorted)
            # Not `send_response`, which adds a date of its own.
            self.send_response_only(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            try:
                self.wfile.write(raw)
            except OSError:  # the client gave up
                self.close_connection = True

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api.url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(event: Event) -> int:
    """Send one message; return the status of the answer."""
    parts = urlsplit(event.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    wire = kind(parts.hostname or "", parts.port, timeout=WEBHOOK_SECONDS)
    try:
        wire.request("POST", parts.path, body=event.body, headers=dict(event.headers))
        return wire.getresponse().status
    finally:
        wire.close()
