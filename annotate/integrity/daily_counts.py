"""Daily counts of judgments, by which a loss is noticed: the number must never fall."""

from django.db import connection, transaction


@transaction.atomic
def count_day() -> None:
    """Store today's number of judgments of each project, keeping the highest of the day."""
    # Projects without a judgment get a row as well, hence the LEFT JOINs. The highest number is kept when it is counted
    # twice a day: a lower one would hide a loss in between from `verify`.
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO annotate_dailycount (project_id, day_on, n_judgments)
               SELECT p.id, (now() AT TIME ZONE 'UTC')::date, count(j.id)
               FROM projects_project p LEFT JOIN projects_membership m ON m.project_id = p.id
               LEFT JOIN annotate_judgment j ON j.annotator_id = m.id GROUP BY p.id
               ON CONFLICT (project_id, day_on) DO UPDATE
               SET n_judgments = greatest(annotate_dailycount.n_judgments, excluded.n_judgments)"""
        )
