import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0021_find_what_is_withdrawn")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="rates_identical_once",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="candidate",
            name="identical_to",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="projects.candidate",
            ),
        ),
    ]
