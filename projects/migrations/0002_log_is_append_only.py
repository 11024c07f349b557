"""The log refuses changes: the database itself holds it."""

from django.db import migrations

GUARD = """
CREATE FUNCTION projects_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('concord.purging', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'The log is append-only.';
END $$;
CREATE TRIGGER projects_log_is_append_only BEFORE UPDATE OR DELETE ON projects_logentry
    FOR EACH ROW EXECUTE FUNCTION projects_log_is_append_only();
"""
UNGUARD = """
DROP TRIGGER projects_log_is_append_only ON projects_logentry;
DROP FUNCTION projects_log_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("projects", "0001_initial")]

    operations = [migrations.RunSQL(GUARD, UNGUARD)]
