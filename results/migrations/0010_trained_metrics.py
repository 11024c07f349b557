"""Metrics that are trained on a frozen judgment set."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0019_second_factors"),
        ("results", "0009_more_kinds_of_evaluations"),
    ]

    operations = [
        migrations.CreateModel(
            name="Training",
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
                ("name", models.CharField(max_length=40)),
                ("criterion", models.CharField(max_length=40)),
                (
                    "table",
                    models.CharField(
                        choices=[
                            ("all", "One model of all datasets"),
                            ("ood", "Each dataset left out in turn"),
                            ("ablations", "Ablations of the input"),
                            ("learning-curve", "Learning curve"),
                        ],
                        default="all",
                        max_length=20,
                    ),
                ),
                (
                    "step",
                    models.CharField(
                        choices=[("estimate", "estimate"), ("train", "train")], default="estimate", max_length=10
                    ),
                ),
                ("settings", models.JSONField(default=dict)),
                ("estimate", models.JSONField(blank=True, null=True)),
                ("result", models.JSONField(blank=True, null=True)),
                ("stored_name", models.CharField(blank=True, max_length=80)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("n_bytes", models.PositiveBigIntegerField(default=0)),
                (
                    "judgment_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="trainings", to="results.judgmentset"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trainings",
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
                "constraints": [
                    models.UniqueConstraint(fields=("project", "number"), name="training_number"),
                    models.UniqueConstraint(fields=("project", "name"), name="training_name"),
                    models.CheckConstraint(
                        condition=models.Q(("stored_name", ""), ("sha256__gt", ""), _connector="OR"),
                        name="training_model_with_hash",
                    ),
                ],
            },
        ),
    ]
