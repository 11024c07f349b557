"""Let a batch pay short HITs in proportion to their items; existing batches keep paying every HIT the same."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0010_practice_has_a_page_for_each_answer")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="is_pay_prorated",
            field=models.BooleanField(db_default=False, default=False),
        )
    ]
