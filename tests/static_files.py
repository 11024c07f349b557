"""Static files in tests: looked for once in each process, not again for every client.

Django's test client builds its own chain of middleware, in which WhiteNoise reads some 400 files and their headers:
25 ms of work before a first answer that takes two.
"""

from copy import copy
from typing import Any

from whitenoise.base import WhiteNoise

_find_files = WhiteNoise.update_files_dictionary
_found: dict[tuple[str, str], dict[str, Any]] = {}


def find_once() -> None:
    """From now on WhiteNoise looks into a folder at the first client alone."""
    WhiteNoise.update_files_dictionary = _find_files_once


def _find_files_once(self: Any, root: str, prefix: str) -> None:
    if (root, prefix) not in _found:
        before = copy(self.files)
        _find_files(self, root, prefix)
        _found[root, prefix] = {url: file for url, file in self.files.items() if before.get(url) is not file}
    self.files.update(_found[root, prefix])
