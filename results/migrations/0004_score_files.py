"""Files of scores from outside, and the runs that came of them."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0006_api_tokens"),
        ("results", "0003_metrics_and_studies"),
    ]

    operations = [
        migrations.CreateModel(
            name="ScoreFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("interrupted", "interrupted"),
                            ("cancelled", "cancelled"),
                        ],
                        default="queued",
                        max_length=12,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("n_interruptions", models.PositiveSmallIntegerField(default=0)),
                ("done", models.PositiveBigIntegerField(default=0)),
                ("total", models.PositiveBigIntegerField(default=0)),
                ("message", models.CharField(blank=True, max_length=200)),
                ("error", models.TextField(blank=True)),
                ("cancel_requested_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("queued_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("beat_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("number", models.PositiveIntegerField()),
                (
                    "step",
                    models.CharField(choices=[("check", "check"), ("take", "take")], default="check", max_length=5),
                ),
                ("file_name", models.CharField(max_length=300)),
                ("stored_name", models.CharField(blank=True, max_length=80)),
                ("n_bytes", models.PositiveBigIntegerField(default=0)),
                ("sha256", models.CharField(max_length=64)),
                ("options", models.JSONField(default=dict)),
                ("report", models.JSONField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="score_files",
                        to="projects.project",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="projects.membership"
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
            },
        ),
        migrations.AddField(
            model_name="metricrun",
            name="file",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="results.scorefile",
            ),
        ),
        migrations.AddConstraint(
            model_name="scorefile",
            constraint=models.UniqueConstraint(fields=("project", "number"), name="score_file_number"),
        ),
    ]
