"""A listener on this machine: answers as it is told to, keeps what it got."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Listener:
    """What came, and the statuses to answer with, in order; the last one is repeated."""

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    drip_seconds: float = 0.0
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def listen() -> Iterator[Listener]:
    kept = Listener()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.got.append((dict(self.headers), body))
            if kept.drip_seconds:
                self._drip()
                return
            self.send_response(kept.statuses.pop(0) if len(kept.statuses) > 1 else kept.statuses[0])
            self.send_header("Location", f"{kept.url}elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _drip(self) -> None:
            """One byte of the head at a time, each well within the timeout of a single read."""
            try:
                for _ in range(1000):
                    self.wfile.write(b"H")
                    time.sleep(kept.drip_seconds)
            except OSError:
                return

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    kept.url = f"http://127.0.0.1:{http.server_port}/"
    try:
        yield kept
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
