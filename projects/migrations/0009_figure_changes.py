"""What acts did to figures, a row for each act that makes some stale."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0008_number_counters"),
    ]

    operations = [
        migrations.CreateModel(
            name="FigureChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reach",
                    models.CharField(
                        choices=[
                            ("results", "results"),
                            ("work", "results, and figures of those who share one HIT"),
                            ("annotators", "results, and figures of every annotator"),
                        ],
                        max_length=10,
                    ),
                ),
                ("assignment_id", models.BigIntegerField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="projects.project"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("assignment_id__isnull", False), ("reach", "work")),
                            models.Q(models.Q(("reach", "work"), _negated=True), ("assignment_id__isnull", True)),
                            _connector="OR",
                        ),
                        name="figure_change_names_work",
                    )
                ],
            },
        ),
    ]
