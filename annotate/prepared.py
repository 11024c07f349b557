"""Statements that the database plans once for each connection: on the hot path planning costs more than running.

They need a connection of one's own for as long as it lasts, as Django's are; a pooler that hands out another
connection for each transaction would not know them.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import WeakSet

from django.db.backends.utils import CursorWrapper

_PARAMETER = re.compile(r"%\((\w+)\)s")


class Prepared:
    """One statement with named parameters; those whose type the database cannot tell carry a cast."""

    def __init__(self, sql: str) -> None:
        self.names = list(dict.fromkeys(_PARAMETER.findall(sql)))
        numbers = {name: f"${n}" for n, name in enumerate(self.names, start=1)}
        self.sql = _PARAMETER.sub(lambda found: numbers[found[1]], sql)
        self.name = "concord_" + hashlib.sha256(sql.encode()).hexdigest()[:16]
        self._call = f"EXECUTE {self.name} ({', '.join(['%s'] * len(self.names))})"
        self._known: WeakSet[Any] = WeakSet()

    def execute(self, cursor: CursorWrapper, parameters: Mapping[str, Any]) -> None:
        if cursor.connection not in self._known:
            cursor.execute(f"PREPARE {self.name} AS {self.sql}")  # outlives the transaction, even one rolled back
            self._known.add(cursor.connection)
        cursor.execute(self._call, [parameters[name] for name in self.names])


@cache
def prepared(sql: str) -> Prepared:
    return Prepared(sql)
