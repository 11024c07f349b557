"""Pages name kinds of evaluations and steps of score files in the field's words; the stored values stay."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("results", "0005_number_studies_by_the_counter")]

    operations = [
        migrations.AlterField(
            model_name="study",
            name="kind",
            field=models.CharField(
                choices=[
                    ("correlation", "Segment-level correlation"),
                    ("systems", "System-level correlation"),
                    ("significance", "Metric comparison (significance)"),
                    ("sweep", "Bonus-weight sweep"),
                    ("pairs", "Minimal pairs"),
                    ("errors", "Largest errors"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="scorefile",
            name="step",
            field=models.CharField(choices=[("check", "check"), ("take", "import")], default="check", max_length=5),
        ),
    ]
