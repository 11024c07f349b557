"""A column for what a project does with sources of candidates that people wrote."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0016_email_notices"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="human_sources",
            field=models.CharField(
                blank=True,
                choices=[
                    ("leave_out", "leave them out"),
                    ("apart", "apart: leave them out, and show their own figures"),
                    ("in", "count them as systems"),
                ],
                db_default="",
                default="",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("human_sources__in", ["", "leave_out", "apart", "in"])),
                name="project_human_sources",
            ),
        ),
    ]
