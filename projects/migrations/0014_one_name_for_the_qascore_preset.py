"""The preset of QAScore has one name; no column changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0013_hidden_references"),
    ]

    operations = [
        migrations.AlterField(
            model_name="rubric",
            name="preset",
            field=models.CharField(
                choices=[
                    ("mocha", "Correctness (MOCHA)"),
                    ("yang", "Answer quality (Yang)"),
                    ("qascore", "Generated questions (QAScore)"),
                    ("custom", "Custom"),
                ],
                max_length=20,
            ),
        ),
    ]
