"""Imported judgments of candidates that had been withdrawn before stop counting, as those withdrawn since do."""

from django.db import migrations

WITHDRAWN = """
SELECT i.id, b.project_id FROM annotate_batch b
JOIN annotate_hit h ON h.batch_id = b.id JOIN annotate_item i ON i.hit_id = h.id AND i.retired_at IS NULL
JOIN projects_candidate c ON c.id = i.candidate_id JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
WHERE b.kind = 'imported' AND (c.withdrawn_at IS NOT NULL OR p.withdrawn_at IS NOT NULL)
"""

STALE = f"""
INSERT INTO projects_figurechange (project_id, reach)
SELECT DISTINCT project_id, 'annotators' FROM ({WITHDRAWN}) found
"""

DISCOUNT = f"""
UPDATE annotate_judgment j SET is_counted = false, not_counted_reason = 'withdrawn'
FROM ({WITHDRAWN}) found WHERE j.item_id = found.id AND j.is_counted
"""

RETIRE = f"UPDATE annotate_item i SET retired_at = now() FROM ({WITHDRAWN}) found WHERE i.id = found.id"


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0012_controls_are_generated_by_a_job"),
        ("projects", "0009_figure_changes"),
    ]

    # Not undone: nothing tells these judgments from those whose candidate was withdrawn after their import.
    operations = [migrations.RunSQL([STALE, DISCOUNT, RETIRE], migrations.RunSQL.noop)]
