"""Copies of the largest tables that are partitioned by project, and which of their partitions statements would read."""

import json
import re
from collections.abc import Iterable

import sqlparse
from django.db import connection, transaction

N_PARTITIONS = 4
HAS_PROJECT = {"projects_logentry": True, "annotate_judgment": False, "annotate_draft": False}
"""The largest tables, and whether their rows name their project. Copies of the others have a column for it."""
_CURSOR = re.compile(r"^DECLARE .*? CURSOR .*?FOR ", re.DOTALL)


def make_copies() -> None:
    with connection.cursor() as cursor:
        for table, has_project in HAS_PROJECT.items():
            project = "" if has_project else ", project_id bigint NOT NULL"
            cursor.execute(
                f"CREATE TABLE {table}_parts (LIKE {table} INCLUDING DEFAULTS{project}) PARTITION BY HASH (project_id)"
            )
            for n in range(N_PARTITIONS):
                cursor.execute(
                    f"CREATE TABLE {table}_parts_{n} PARTITION OF {table}_parts"
                    f" FOR VALUES WITH (MODULUS {N_PARTITIONS}, REMAINDER {n})"
                )


def sort_by_pruning(statements: Iterable[str]) -> dict[str, dict[bool, list[str]]]:
    """Return for each table the statements that read one partition of its copy (True) and those that read several."""
    found: dict[str, dict[bool, list[str]]] = {table: {True: [], False: []} for table in HAS_PROJECT}
    for statement in dict.fromkeys(statements):
        # Some statements are sent together, and lists are read by cursors.
        for text in (_CURSOR.sub("", each).strip().rstrip(";") for each in sqlparse.split(statement)):
            for table in HAS_PROJECT:
                copied = re.sub(rf"\b{table}\b", f"{table}_parts", text)
                if copied != text and text.startswith(("SELECT", "WITH", "UPDATE", "DELETE", "(SELECT")):
                    found[table][len(_list_partitions(copied, table)) <= 1].append(text)
    return found


def _list_partitions(statement: str, table: str) -> set[str]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("EXPLAIN (FORMAT JSON, COSTS OFF) " + statement.replace("%", "%%"), [])
        plan = cursor.fetchone()[0]
    text = plan if isinstance(plan, str) else json.dumps(plan)
    return set(re.findall(rf"{table}_parts_\d+", re.sub(r'"Alias": "[^"]*"', "", text)))
