"""Prepared statements, which the database plans once for each connection.

On the rating page planning a statement takes longer than running it. A prepared statement belongs to its connection. A
pooler in transaction mode changes connections between transactions, so behind one each statement is sent as it is.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Model

Row = TypeVar("Row", bound=Model)
_KNOWN: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""The names of the statements prepared on each connection. No lock is needed: a connection belongs to one thread."""
_PARAMETER = re.compile(r"%\((\w+)\)s")
_PERCENT = re.compile(r"%(?!\(\w+\)s)")


class Prepared:
    """One statement with named parameters. Where the database cannot infer a parameter's type, the SQL casts it."""

    def __init__(self, sql: str) -> None:
        self.names = list(dict.fromkeys(_PARAMETER.findall(sql)))
        numbers = {name: f"${n}" for n, name in enumerate(self.names, start=1)}
        self.sql = _PARAMETER.sub(lambda found: numbers[found[1]], sql)
        self._plain = _PERCENT.sub("%%", sql)
        self.name = "concord_" + hashlib.sha256(sql.encode()).hexdigest()[:16]
        self._call = f"EXECUTE {self.name} ({', '.join(['%s'] * len(self.names))})"

    def execute(self, cursor: CursorWrapper, parameters: Mapping[str, Any]) -> None:
        if settings.HAS_POOLER:
            cursor.execute(self._plain, parameters)
            return
        known = _KNOWN.setdefault(cursor.connection, set())
        if self.name not in known:
            # A prepared statement outlives its transaction, even one that is rolled back, so the name stays known. It
            # is not counted among the statements of a request: only the first one of a connection has it.
            with cursor.db.wrap_database_errors:
                cursor.cursor.execute(f"PREPARE {self.name} AS {self.sql}")
            known.add(self.name)
        cursor.execute(self._call, [parameters[name] for name in self.names])


@cache
def prepared(sql: str) -> Prepared:
    return Prepared(sql)


class Columns(Generic[Row]):
    """Columns of a model in a prepared statement, and model instances from them; columns not named are deferred."""

    def __init__(self, model: type[Row], alias: str, names: Collection[str] = ()) -> None:
        fields = [f for f in model._meta.concrete_fields if not names or f.primary_key or f.attname in names]
        self.model = model
        self.sql = ", ".join(f'{alias}."{field.column}"' for field in fields)
        self.names = [field.attname for field in fields]
        self._readers = [(n, f.from_db_value) for n, f in enumerate(fields) if hasattr(f, "from_db_value")]

    def take(self, values: list[Any]) -> Row:
        """Remove this model's values from the front of the list, and return them as a model instance."""
        mine = values[: len(self.names)]
        del values[: len(self.names)]
        for n, read in self._readers:
            mine[n] = read(mine[n], None, connection)
        return self.model.from_db(DEFAULT_DB_ALIAS, self.names, mine)


def fetch_one(sql: str, parameters: Mapping[str, Any]) -> list[Any] | None:
    """Return the values of the one row that a prepared statement finds, or None."""
    with connection.cursor() as cursor:
        prepared(sql).execute(cursor, parameters)
        row: Sequence[Any] | None = cursor.fetchone()
    return None if row is None else list(row)


def run(sql: str, parameters: Mapping[str, Any]) -> None:
    """Run a prepared statement that returns nothing."""
    with connection.cursor() as cursor:
        prepared(sql).execute(cursor, parameters)
