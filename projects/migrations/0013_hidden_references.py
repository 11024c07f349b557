"""A setting that hides references from annotators."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0012_keys_of_the_rating_page"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="hides_references",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
