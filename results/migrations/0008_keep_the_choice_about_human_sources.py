"""The choice about human sources was that of the newest evaluation; from now on it is kept with the project."""

from django.db import migrations

FILL = """
UPDATE projects_project p SET human_sources = newest.humans
FROM (
    SELECT DISTINCT ON (project_id) project_id, settings ->> 'humans' AS humans
    FROM results_study WHERE settings ->> 'humans' IN ('leave_out', 'apart', 'in') ORDER BY project_id, number DESC
) newest
WHERE newest.project_id = p.id AND p.human_sources = ''
"""


class Migration(migrations.Migration):
    dependencies = [("results", "0007_doi_of_sets"), ("projects", "0017_choice_about_human_sources")]

    # Evaluations keep their settings, so there is nothing to undo: the column goes with its own migration.
    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
