"""The log refuses to be emptied as a whole, as it refuses changes of its lines."""

from django.db import migrations

GUARD = """
CREATE TRIGGER projects_log_is_not_emptied BEFORE TRUNCATE ON projects_logentry
    FOR EACH STATEMENT EXECUTE FUNCTION projects_log_is_append_only();
"""
UNGUARD = "DROP TRIGGER projects_log_is_not_emptied ON projects_logentry;"


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_withdrawal_reasons_and_terms_of_pay")]

    operations = [migrations.RunSQL(GUARD, UNGUARD)]
