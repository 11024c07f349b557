"""The keys of the rating page that a user has changed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0011_session_goal_and_break_hints"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="rating_keys",
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
    ]
