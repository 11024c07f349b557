"""The site under slow clients: what a visitor waits while hundreds of sockets send or read next to nothing.

    python -m benchmarks.slow_sockets [--sockets 200] [--uploads 20] [--seconds 12] [--megabytes 300]

The slow clients have no account, but for those that upload: each kind holds its sockets for the whole measurement.
Then the largest upload is sent as fast as it goes, and the memory of the web processes is read while it is received.
"""

import argparse
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg2

from benchmarks import ground
from benchmarks.rating import CONCORD, prepare

GOAL_SECONDS = 2.0
FORM = "Content-Type: application/x-www-form-urlencoded"
FILE = "Content-Type: multipart/form-data; boundary=bench"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=200)
    parser.add_argument("--uploads", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--megabytes", type=int, default=300)
    options = parser.parse_args()
    with ground.fresh_database("bench_concord") as url:
        environment, sessions = prepare(CONCORD, url, ["concord", "10", "1"])
        with psycopg2.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("UPDATE projects_membership SET role = 'manager'")  # who may upload
        connection.close()
        environment["MAX_CONNECTIONS_PER_ADDRESS"] = "0"  # all of them come from here
        with ground.gunicorn(environment, CONCORD["application"]) as site:
            visit(site, 4)  # every thread has its connection to the database, and its caches are warm
            cookie = f"Cookie: session={sessions[0]}"
            get = head(site, "GET /accessibility/")
            kinds: dict[str, tuple[int, bytes, bytes]] = {
                "nobody else": (0, b"", b""),
                "sockets that send nothing": (options.sockets, b"", b""),
                "slow headers": (options.sockets, get[:-2], b"X-A: b\r\n"),
                "slow forms": (options.sockets, head(site, "POST /sign-in/", "Content-Length: 5000", FORM), b"a"),
                "slow readers": (options.sockets, get * 50, b""),
                "trickling uploads": (
                    options.uploads,
                    head(site, "POST /p/bench/data/imports/new/", "Content-Length: 300000000", FILE, cookie),
                    b"x" * 1000,
                ),
            }
            for name, (n, first, then) in kinds.items():
                with slow_clients(site, n, first, then) as count_open:
                    time.sleep(1)
                    show(f"{n:>4} × {name}" if n else name, visit(site, options.seconds), count_open())
            with ExitStack() as stack:
                for n, first, then in kinds.values():
                    stack.enter_context(slow_clients(site, n, first, then))
                time.sleep(1)
                show("all of these at once", visit(site, options.seconds), None)
            upload(site, cookie, options.megabytes)


def head(site: ground.Site, line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{site.port}", *headers, "", ""]).encode()


@contextmanager
def slow_clients(site: ground.Site, n: int, first: bytes, then: bytes) -> Iterator[Callable[[], int]]:
    """Hold connections that send a first part, then a little each second, and read nothing.

    A connection that the site gives up is opened again, as an attacker would. The block gets the number of those.
    """
    stop, counts = threading.Event(), {"given up": 0}

    def hold() -> None:
        plugs = [plug_in(site, first) for _ in range(n)]
        while not stop.wait(1):
            for i, plug in enumerate(plugs):
                try:
                    plug.send(then or b"", socket.MSG_NOSIGNAL)
                    if not then and is_closed(plug):
                        raise ConnectionError
                except OSError:
                    counts["given up"] += 1
                    plug.close()
                    plugs[i] = plug_in(site, first)
        for plug in plugs:
            plug.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield lambda: counts["given up"]
    finally:
        stop.set()
        thread.join()


def plug_in(site: ground.Site, first: bytes) -> socket.socket:
    plug = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    plug.sendall(first)
    plug.setblocking(False)
    return plug


def is_closed(plug: socket.socket) -> bool:
    try:
        return not plug.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False


def visit(site: ground.Site, seconds: float) -> list[float]:
    """Open a page again and again, each time on a new connection; return the seconds of each visit, in order."""
    took, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        wire = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        wire.request("GET", "/sign-in/")
        response = wire.getresponse()
        response.read()
        wire.close()
        assert response.status in (200, 302), response.status
        took.append(time.monotonic() - began)
        time.sleep(0.1)
    return sorted(took)


def show(name: str, took: list[float], n_given_up: int | None) -> None:
    ended = "" if n_given_up is None else f", {n_given_up} slow clients given up"
    print(
        f"{name:<34} {len(took)} visits: p50 {1000 * took[len(took) // 2]:.0f} ms, longest {1000 * took[-1]:.0f} ms"
        f" (goal {GOAL_SECONDS:.0f} s){ended}",
        flush=True,
    )


def upload(site: ground.Site, cookie: str, megabytes: int) -> None:
    """Send a large file with a wrong token, and read how much memory the web processes take meanwhile."""
    n_bytes, piece = megabytes * 10**6, b"0" * 10**6
    before, most, began = ground.memory(site.pid), 0.0, time.monotonic()
    with socket.create_connection(("127.0.0.1", site.port), timeout=120) as plug:
        path = "POST /p/bench/data/imports/new/"
        plug.sendall(head(site, path, f"Content-Length: {n_bytes}", FILE, cookie, "Connection: close"))
        for _ in range(megabytes):
            plug.sendall(piece)
            most = max(most, ground.memory(site.pid))
        status = plug.recv(12)[-3:].decode()
    took = time.monotonic() - began
    print(f"upload of {megabytes} MB: {took:.1f} s, answered {status}; memory {before:.0f} MB, at most {most:.0f} MB")


if __name__ == "__main__":
    main()
