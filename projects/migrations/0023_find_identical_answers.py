from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Candidates are written while the index is built, which no transaction allows.
    atomic = False

    dependencies = [("projects", "0022_identical_answers_rated_once")]

    operations = [
        # An attempt that was cut off leaves an index that nothing uses, and the next one could not create it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS candidate_identical", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="candidate",
            index=models.Index(
                condition=models.Q(("identical_to__isnull", False)), fields=["dataset"], name="candidate_identical"
            ),
        ),
    ]
