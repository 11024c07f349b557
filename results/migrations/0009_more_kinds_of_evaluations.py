"""Evaluations by pairs of answers and of systems, within groups, of ranked answers and of repetition."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("results", "0008_keep_the_choice_about_human_sources")]

    operations = [
        migrations.AlterField(
            model_name="study",
            name="kind",
            field=models.CharField(
                choices=[
                    ("correlation", "Segment-level correlation"),
                    ("groups", "Within-group correlation"),
                    ("pairwise", "Pairwise accuracy"),
                    ("systems", "System-level correlation"),
                    ("soft", "Soft pairwise accuracy"),
                    ("significance", "Metric comparison (significance)"),
                    ("sweep", "Bonus-weight sweep"),
                    ("pairs", "Minimal pairs"),
                    ("top_n", "Top-N accuracy"),
                    ("redundancy", "Redundancy"),
                    ("errors", "Largest errors"),
                ],
                max_length=20,
            ),
        )
    ]
