"""Generate the controls of a batch by a job, one row for each batch."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0011_short_hits_can_be_paid_by_item"),
        ("projects", "0013_hidden_references"),
    ]

    operations = [
        migrations.CreateModel(
            name="ControlJob",
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
                ("report", models.JSONField(blank=True, null=True)),
                (
                    "batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="control_job", to="annotate.batch"
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
                "abstract": False,
            },
        ),
    ]
