"""Numbers within a project: of batches, plans, imports, payments, score files, metric evaluations, judgment sets."""

from django.db import connection, models

from projects.models import NumberCounter, Project


def next_number(project: Project, model: type[models.Model]) -> int:
    """Return the project's next number for this model; the next caller waits until this transaction ends.

    The row of the counter is the lock, so an upload need not wait for a long import, which locks the project. A number
    is never used again, even after its row is deleted.
    """
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(_NEXT.format(table=table), {"project": project.pk, "table": table})
        number: int = cursor.fetchone()[0]
    return number


# The statement also reads the highest number of the table itself: projects older than the counter already have
# numbers, and so may rows that were not created through it (a restored dump, a test factory).
_NEXT = f"""
INSERT INTO {NumberCounter._meta.db_table} AS counter (project_id, "table", newest)
VALUES (%(project)s, %(table)s, (SELECT coalesce(max(number), 0) + 1 FROM {{table}} WHERE project_id = %(project)s))
ON CONFLICT (project_id, "table") DO UPDATE SET newest = greatest(counter.newest + 1, excluded.newest)
RETURNING newest
"""
