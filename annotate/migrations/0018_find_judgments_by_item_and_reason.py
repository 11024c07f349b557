from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Judgments and items are written while the indexes are built, which no transaction allows.
    atomic = False

    dependencies = [
        ("annotate", "0017_surveys"),
        ("projects", "0020_participants_of_panels"),
    ]

    operations = [
        # An attempt that was cut off leaves an index that nothing uses, and the next one could not create it.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS judgment_not_counted", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("is_counted", False)),
                fields=["criterion", "not_counted_reason"],
                name="judgment_not_counted",
            ),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS judgment_item", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name="judgment", index=models.Index(fields=["item"], name="judgment_item")),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS item_question", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name="item", index=models.Index(fields=["question"], name="item_question")),
    ]
