from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Passages and candidates are written while the indexes are built, which no transaction allows.
    atomic = False

    dependencies = [("projects", "0020_participants_of_panels")]

    operations = [
        # An attempt that was cut off leaves an index that nothing uses, and the next one could not create it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS passage_withdrawn", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="passage",
            index=models.Index(
                condition=models.Q(("withdrawn_at__isnull", False)), fields=["dataset"], name="passage_withdrawn"
            ),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS candidate_withdrawn", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="candidate",
            index=models.Index(
                condition=models.Q(("withdrawn_at__isnull", False)), fields=["dataset"], name="candidate_withdrawn"
            ),
        ),
    ]
