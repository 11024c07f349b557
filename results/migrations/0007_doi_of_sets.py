"""The DOI of a frozen set, which is given after its deposit: the trigger lets it change."""

from django.db import migrations, models
from django.db.models import Q

FUNCTION = """
CREATE OR REPLACE FUNCTION results_frozen_set_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    {name} CONSTANT text[] := ARRAY[{columns}];
BEGIN
    IF TG_OP = 'DELETE' AND (OLD.frozen_at IS NULL OR current_setting('concord.purging', true) = 'on') THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.frozen_at IS NULL OR to_jsonb(OLD) - {name} = to_jsonb(NEW) - {name}) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'A frozen judgment set is immutable.';
END $$
"""
RETIREMENT = "'retired_at', 'retired_by_id', 'retired_why', 'successor_id'"


class Migration(migrations.Migration):
    dependencies = [
        ("results", "0006_name_kinds_of_evaluations"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgmentset",
            name="doi",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddConstraint(
            model_name="judgmentset",
            constraint=models.CheckConstraint(
                condition=Q(doi="") | Q(doi__regex=r"^10\.[0-9]{4,9}/[-._;()/:A-Za-z0-9]{1,180}$"),
                name="judgment_set_doi_form",
            ),
        ),
        migrations.RunSQL(
            FUNCTION.format(name="mutable", columns=f"{RETIREMENT}, 'doi'"),
            FUNCTION.format(name="retirement", columns=RETIREMENT),
        ),
    ]
