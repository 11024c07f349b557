"""Counting the statements of a request or a job."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection


class StatementCount:
    """How many statements this thread has sent to the database."""

    n = 0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.n += 1
        return execute(*arguments)


@contextmanager
def count_statements() -> Iterator[StatementCount]:
    """Count the statements of the block."""
    count = StatementCount()
    with connection.execute_wrapper(count):
        yield count
