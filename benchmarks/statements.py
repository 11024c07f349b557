"""How many statements each request of the hot path sends to the database, once the caches of its process are warm.

    python -m benchmarks.statements

Counted are the statements of Django's cursors: neither the beginning and end of a transaction, nor what is prepared
once for each connection.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks import ground, seeds

GOALS = {"next": 4, "submit": 8, "draft": 2}
TIMES = "[1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]"
FIELD = re.compile(r'name="(a(\d+)-correctness)"')


def main() -> None:
    show()


def show() -> dict[str, int]:
    found = {act: len(sent) for act, sent in measure().items()}
    print(", ".join(f"{act} {n} (goal {GOALS[act]})" for act, n in found.items()), "statements", flush=True)
    return found


def measure() -> dict[str, list[str]]:
    """Return what was sent for the next page, a draft and a submit, each the last of several."""
    with ground.concord("bench_statements"):
        return _measure()


def _measure() -> dict[str, list[str]]:
    from django.conf import settings
    from django.test import Client

    from config import assets

    assets.collect()
    (key,) = seeds.concord(20, 1)
    client = Client(headers={"Host": "127.0.0.1"})
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    address = client.post("/p/bench/work/").url  # type: ignore[attr-defined]
    found: dict[str, list[str]] = {}
    for _ in range(3):
        with counted() as found["next"]:
            page = client.get(address).content.decode()
        fields = FIELD.findall(page)
        for _name, position in fields:
            draft = {"answers": {position: {"correctness": [4, int(time.time() * 1000)]}}}
            with counted() as found["draft"]:
                saved = client.post(f"{address}draft/", draft, content_type="application/json")
            assert saved.status_code in (200, 204), saved
        with counted() as found["submit"]:
            address = client.post(address, {**{name: "4" for name, _ in fields}, "seconds": TIMES}).url  # type: ignore[attr-defined]
    return found


@contextmanager
def counted() -> Iterator[list[str]]:
    """Yield a list of the statements that are sent within the block."""
    from django.db import connection

    sent: list[str] = []

    def note(execute: Callable[..., object], sql: str, params: object, many: bool, context: object) -> object:
        sent.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield sent


if __name__ == "__main__":
    main()
