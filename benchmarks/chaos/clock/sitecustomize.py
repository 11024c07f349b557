"""Loaded by every Python of the site: libfaketime 0.9.10 refuses to sleep until a time of the monotonic clock.

That is how `time.sleep` waits since Python 3.11.
"""

import select
import time
from typing import Any


def sleep(seconds: Any) -> None:
    select.select([], [], [], seconds)


time.sleep = sleep
