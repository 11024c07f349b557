"""The numbers of deleted studies stand in the log alone: the counter starts after them."""

from django.db import migrations

FILL = """
INSERT INTO projects_numbercounter (project_id, "table", newest)
SELECT project_id, 'results_study', max((after ->> 'number')::integer)
FROM projects_logentry WHERE act = 'ask for study' AND after ? 'number' GROUP BY project_id
"""
EMPTY = "DELETE FROM projects_numbercounter WHERE \"table\" = 'results_study'"


class Migration(migrations.Migration):
    dependencies = [("results", "0004_score_files"), ("projects", "0008_number_counters")]

    operations = [migrations.RunSQL(FILL, EMPTY)]
