"""Statements that the database plans once for each connection: on the hot path planning costs more than running.

They need a connection of one's own for as long as it lasts, as Django's are; a pooler that hands out another
connection for each transaction would not know them.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model

Row = TypeVar("Row", bound=Model)
_KNOWN: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""The names of the statements that a connection knows; each connection belongs to one thread."""
_PARAMETER = re.compile(r"%\((\w+)\)s")


class Prepared:
    """One statement with named parameters; those whose type the database cannot tell carry a cast."""

    def __init__(self, sql: str) -> None:
        self.names = list(dict.fromkeys(_PARAMETER.findall(sql)))
        numbers = {name: f"${n}" for n, name in enumerate(self.names, start=1)}
        self.sql = _PARAMETER.sub(lambda found: numbers[found[1]], sql)
        self.name = "concord_" + hashlib.sha256(sql.encode()).hexdigest()[:16]
        self._call = f"EXECUTE {self.name} ({', '.join(['%s'] * len(self.names))})"

    def execute(self, cursor: CursorWrapper, parameters: Mapping[str, Any]) -> None:
        known = _KNOWN.setdefault(cursor.connection, set())
        if self.name not in known:
            cursor.execute(f"PREPARE {self.name} AS {self.sql}")  # outlives the transaction, even one rolled back
            known.add(self.name)
        cursor.execute(self._call, [parameters[name] for name in self.names])


@cache
def prepared(sql: str) -> Prepared:
    return Prepared(sql)


class Columns(Generic[Row]):
    """Columns of a model in a prepared statement, and the model's rows made of them; what is not named is deferred."""

    def __init__(self, model: type[Row], alias: str, names: Collection[str] = ()) -> None:
        fields = [f for f in model._meta.concrete_fields if not names or f.primary_key or f.attname in names]
        self.model = model
        self.sql = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self.names = [field.attname for field in fields]
        self._readers = [(n, f.from_db_value) for n, f in enumerate(fields) if hasattr(f, "from_db_value")]

    def take(self, values: list[Any]) -> Row:
        """Make a row of the first values, and leave the rest."""
        mine = values[: len(self.names)]
        del values[: len(self.names)]
        for n, read in self._readers:
            mine[n] = read(mine[n], None, connection)
        return self.model.from_db(DEFAULT_DB_ALIAS, self.names, mine)


def fetch_one(sql: str, parameters: Mapping[str, Any]) -> list[Any] | None:
    """The values of the one row that a prepared statement finds."""
    with connection.cursor() as cursor:
        prepared(sql).execute(cursor, parameters)
        row: Sequence[Any] | None = cursor.fetchone()
    return None if row is None else list(row)
