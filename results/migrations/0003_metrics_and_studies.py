"""Scores by metrics, and the studies that compare them with people."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0006_api_tokens"),
        ("results", "0002_judgment_sets"),
    ]

    operations = [
        migrations.CreateModel(
            name="MetricRun",
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
                (
                    "origin",
                    models.CharField(
                        choices=[("computed", "computed here"), ("uploaded", "from a file")], max_length=10
                    ),
                ),
                ("metric", models.CharField(max_length=60)),
                ("title", models.CharField(max_length=80)),
                ("settings", models.JSONField(default=dict)),
                ("subject", models.CharField(max_length=64)),
                ("n_scored", models.PositiveIntegerField(default=0)),
                ("n_refused", models.PositiveIntegerField(default=0)),
                ("report", models.JSONField(default=dict)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metric_runs",
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
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="MetricScore",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("value", models.FloatField(blank=True, null=True)),
                ("reason", models.CharField(blank=True, db_default="", max_length=200)),
                (
                    "counts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), blank=True, null=True, size=None
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metric_scores",
                        to="projects.candidate",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="results.metricrun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Study",
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
                    "kind",
                    models.CharField(
                        choices=[
                            ("correlation", "correlation per question"),
                            ("systems", "correlation per system"),
                            ("significance", "metric against metric"),
                            ("sweep", "weight of the bonus"),
                            ("pairs", "minimal pairs"),
                            ("errors", "largest errors"),
                        ],
                        max_length=20,
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("settings", models.JSONField(default=dict)),
                ("seed", models.BigIntegerField()),
                ("result", models.JSONField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="studies",
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
        migrations.CreateModel(
            name="ErrorCause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("compared", models.CharField(max_length=130)),
                ("cause", models.CharField(max_length=60)),
                ("at", models.DateTimeField(auto_now=True)),
                (
                    "by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="projects.membership",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="error_causes",
                        to="projects.candidate",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="error_causes",
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "candidate", "compared"), name="error_cause_once"),
                    models.CheckConstraint(condition=models.Q(("cause", ""), _negated=True), name="error_cause_said"),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="metricrun",
            index=models.Index(fields=["project", "subject", "-id"], name="metric_run_newest"),
        ),
        migrations.AddConstraint(
            model_name="metricrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", ("queued", "running"))),
                fields=("project", "subject"),
                name="metric_run_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="metricscore",
            constraint=models.UniqueConstraint(fields=("run", "candidate"), name="metric_score_once"),
        ),
        migrations.AddConstraint(
            model_name="metricscore",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("reason", ""), ("value__isnull", False)),
                    models.Q(("value", None), models.Q(("reason", ""), _negated=True)),
                    _connector="OR",
                ),
                name="metric_score_or_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="metricscore",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("value", None), models.Q(("value__gt", -1e300), ("value__lt", 1e300)), _connector="OR"
                ),
                name="metric_score_finite",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.UniqueConstraint(fields=("project", "number"), name="study_number"),
        ),
    ]
