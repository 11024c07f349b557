"""Numbers of things in a project: batches, plans, imports, payments, files of scores, studies, judgment sets."""

from django.db import connection, models

from projects.models import NumberCounter, Project


def next_number(project: Project, model: type[models.Model]) -> int:
    """Take the next number that the project gives to this model; nobody else gets one until the transaction ends.

    The row of the counter is the lock, so a long import, which locks the project, does not hold up an upload. A number
    is never given twice, even after its row is deleted.
    """
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(_NEXT.format(table=table), {"project": project.pk, "table": table})
        number: int = cursor.fetchone()[0]
    return number


# The rows themselves are asked as well: projects older than the counter have numbers already, and a row that came by
# another way (a restored dump, a factory) must not be met a second time.
_NEXT = f"""
INSERT INTO {NumberCounter._meta.db_table} AS counter (project_id, "table", newest)
VALUES (%(project)s, %(table)s, (SELECT coalesce(max(number), 0) + 1 FROM {{table}} WHERE project_id = %(project)s))
ON CONFLICT (project_id, "table") DO UPDATE SET newest = greatest(counter.newest + 1, excluded.newest)
RETURNING newest
"""
