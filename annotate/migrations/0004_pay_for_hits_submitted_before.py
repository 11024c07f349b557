"""HITs that were submitted before there was a ledger are owed as those submitted since."""

from django.db import migrations

OWE = """
INSERT INTO annotate_ledgerentry
    (project_id, annotator_id, kind, cents, key, assignment_id, batch_id, note, made_at, approved_at)
SELECT b.project_id, a.annotator_id, 'hit', b.cents_per_hit + b.cents_per_item * cardinality(a.layout),
       'hit:' || a.uuid, a.id, b.id, '', coalesce(a.submitted_at, now()),
       CASE WHEN a.state = 'approved' THEN coalesce(a.submitted_at, now()) END
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
WHERE a.state IN ('submitted', 'approved', 'rejected') AND b.kind <> 'imported'
  AND b.cents_per_hit + b.cents_per_item * cardinality(a.layout) > 0
ORDER BY a.id
ON CONFLICT (project_id, key) DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("annotate", "0003_find_controls_by_question")]

    operations = [migrations.RunSQL(OWE, migrations.RunSQL.noop)]
