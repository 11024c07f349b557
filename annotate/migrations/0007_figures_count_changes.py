"""Figures of annotators remember how many acts had reached them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0006_gold_rule"),
    ]

    operations = [
        migrations.AddField(
            model_name="annotatorfigures",
            name="n_changes",
            field=models.IntegerField(default=-1),
        ),
    ]
