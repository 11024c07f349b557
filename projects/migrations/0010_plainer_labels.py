"""Labels of question types in plain words; no column changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0009_figure_changes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="question",
            name="type",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "not specified"),
                    ("yes-no", "yes-no"),
                    ("entity", "entity"),
                    ("description", "description"),
                    ("other", "other"),
                ],
                db_default="",
                max_length=12,
            ),
        ),
    ]
