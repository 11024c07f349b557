"""A site where there is no network: run by `unshare --net`, in a namespace with nothing but an empty loopback.

`python -m tests.config.without_network PORT` starts `manage.py serve` in its environment, asks for a page with all that
it loads, and for the site's readiness, and ends it.
"""

import errno
import fcntl
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request

from config import env

PATIENCE = 180.0
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
ELSEWHERE = ("192.0.2.1", 443)
"""An address of documentation, which nobody has."""


def main(port: int) -> None:
    raise_loopback()
    with socket.socket() as probe:
        assert probe.connect_ex(ELSEWHERE) == errno.ENETUNREACH, "There is a network."
    command = [sys.executable, "manage.py", "serve", "--workers", "1", "--port", str(port)]
    site = subprocess.Popen(command, cwd=env.BASE_DIR)
    try:
        until = time.monotonic() + PATIENCE
        while not is_ready(port):
            assert site.poll() is None, f"serve ended with {site.returncode}."
            assert time.monotonic() < until, "The site does not become ready."
            time.sleep(0.2)
        page = fetch(port, "/sign-in/").decode()
        parts = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
        assert parts
        for path in parts:
            assert fetch(port, path)
    finally:
        site.send_signal(signal.SIGINT)
        code = site.wait(PATIENCE)
    assert code == 0
    print(f"{len(parts) + 1} files")


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, SET_FLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))


def is_ready(port: int) -> bool:
    """Return whether database, broker and worker are all there."""
    try:
        checks = json.loads(fetch(port, "/health/ready"))["checks"]
    except OSError:
        return False
    return bool(checks["worker"] == "ok")


def fetch(port: int, path: str) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        content: bytes = answer.read()
        return content


if __name__ == "__main__":
    main(int(sys.argv[1]))
