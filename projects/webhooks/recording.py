"""Writing messages: in the transaction of their event, one for each address that wants to know of it."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.db import connection

from projects.models import Event, Project


def insert_messages(event: Event, *, project: str, key: str, data: str, tables: str, where: str = "true") -> str:
    """Return the SQL that writes a message to each address of a project that wants this event.

    `project`, `key`, `data` and `where` are SQL over `tables`, and over the address as `w`. Where there is no such
    address, nothing is written, and nothing but one lookup in an index is done. A message with the same key is not
    written again.
    """
    return f"""INSERT INTO projects_webhookdelivery (webhook_id, uuid, event, key, data)
        SELECT w.id, gen_random_uuid(), '{event.value}', {key}, {data}
        FROM {tables} JOIN projects_webhook w ON w.project_id = {project}
        WHERE w.is_active AND '{event.value}' = ANY(w.events) AND {where}
        ON CONFLICT (webhook_id, key) DO NOTHING"""


def record_event(project: Project, event: Event, *, key: str, data: Mapping[str, Any]) -> None:
    """Write the messages of an event by one statement; `data` has ids, pseudonyms and counts, no names and no texts."""
    with connection.cursor() as cursor:
        cursor.execute(
            insert_messages(
                event,
                project="given.project",
                key="given.key",
                data="given.data",
                tables="(SELECT %s::bigint AS project, %s::text AS key, %s::jsonb AS data) given",
            ),
            [project.pk, key, orjson.dumps(data).decode()],
        )
