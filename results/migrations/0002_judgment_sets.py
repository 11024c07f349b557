"""Judgment sets, and a trigger that keeps a frozen one as it is."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

GUARD = """
CREATE FUNCTION results_frozen_set_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    retirement CONSTANT text[] := ARRAY['retired_at', 'retired_by_id', 'retired_why', 'successor_id'];
BEGIN
    IF TG_OP = 'DELETE' AND (OLD.frozen_at IS NULL OR current_setting('concord.purging', true) = 'on') THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.frozen_at IS NULL OR to_jsonb(OLD) - retirement = to_jsonb(NEW) - retirement) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'A frozen judgment set is immutable.';
END $$;
CREATE TRIGGER results_frozen_set_is_immutable BEFORE UPDATE OR DELETE ON results_judgmentset
    FOR EACH ROW EXECUTE FUNCTION results_frozen_set_is_immutable();
CREATE TRIGGER results_frozen_sets_are_not_emptied BEFORE TRUNCATE ON results_judgmentset
    FOR EACH STATEMENT EXECUTE FUNCTION results_frozen_set_is_immutable();
"""
UNGUARD = """
DROP TRIGGER results_frozen_sets_are_not_emptied ON results_judgmentset;
DROP TRIGGER results_frozen_set_is_immutable ON results_judgmentset;
DROP FUNCTION results_frozen_set_is_immutable();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0005_consent_reading_and_what_is_shown"),
        ("results", "0001_reports"),
    ]

    operations = [
        migrations.CreateModel(
            name="JudgmentSet",
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
                ("name", models.CharField(max_length=120)),
                ("settings", models.JSONField(default=dict)),
                ("facts", models.JSONField(blank=True, default=dict)),
                ("files", models.JSONField(blank=True, default=list)),
                ("stored_name", models.CharField(blank=True, max_length=80)),
                ("n_bytes", models.PositiveBigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                ("retired_at", models.DateTimeField(blank=True, null=True)),
                ("retired_why", models.TextField(blank=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgment_sets",
                        to="projects.project",
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="projects.membership"
                    ),
                ),
                (
                    "retired_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="projects.membership",
                    ),
                ),
                (
                    "successor",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="predecessors",
                        to="results.judgmentset",
                    ),
                ),
            ],
            options={
                "ordering": ("-number",),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "number"), name="judgment_set_number"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            models.Q(("frozen_at__isnull", False), ("sha256__gt", ""), ("stored_name__gt", "")),
                            _connector="OR",
                        ),
                        name="judgment_set_frozen_when_done",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("retired_at", None),
                            models.Q(("frozen_at__isnull", False), models.Q(("retired_why", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="judgment_set_retired_with_reason",
                    ),
                ],
            },
        ),
        migrations.RunSQL(GUARD, UNGUARD),
    ]
