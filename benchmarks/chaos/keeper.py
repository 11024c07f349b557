"""A user of the private servers, until its standard input ends: it looks after them as `serve` does without a proxy."""

import sys
import threading

from config import embedded
from config.supervisor import Upkeep


def main() -> None:
    embedded.ensure_running()
    print("ready", flush=True)
    upkeep = Upkeep(embedded.ensure_running, embedded.find_trouble, lambda text: print(text.strip(), file=sys.stderr))
    has_ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        has_ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    while not has_ended.wait(1):
        upkeep.look()


if __name__ == "__main__":
    main()
