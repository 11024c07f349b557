"""Add an annotator's own goal for a session, and whether breaks are suggested to them."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0010_plainer_labels")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="session_goal",
            field=models.PositiveSmallIntegerField(
                db_default=0, default=0, validators=[django.core.validators.MaxValueValidator(500)]
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="suggests_breaks",
            field=models.BooleanField(db_default=True, default=True),
        ),
    ]
