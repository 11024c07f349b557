"""A batch says whether a long answer must be read to its end before it is rated; every batch so far does."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0008_plain_labels_of_choices")]

    operations = [
        migrations.AddField(
            model_name="batch",
            name="must_read_to_end",
            field=models.BooleanField(default=True),
        ),
    ]
