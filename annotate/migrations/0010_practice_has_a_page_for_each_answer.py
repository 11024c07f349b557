"""Empty the drafts of open practice: its pages have one answer each now, and drafts are stored by page."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotate", "0009_long_answers_are_read_to_the_end")]

    operations = [
        migrations.RunSQL(
            "UPDATE annotate_attempt SET draft = '{}' WHERE purpose = 'practice' AND state = 'open'",
            migrations.RunSQL.noop,
        )
    ]
