"""Conditions of SQL that say what rows mean, each with one name."""


def gate(*, batch: str, annotator: str) -> str:
    """SQL: whether an annotator may be served a batch. Both are written as they stand in the query."""
    return f"""(NOT {batch}.requires_qualification OR NOT EXISTS (
      SELECT 1 FROM annotate_qualificationtest t WHERE t.project_id = {batch}.project_id AND t.state = 'open'
        AND NOT EXISTS (
          SELECT 1 FROM annotate_qualification q WHERE q.annotator_id = {annotator} AND q.is_qualified
            AND (q.until IS NULL OR q.until > now())
            AND (t.on_new_rubric = 'keep' OR q.rubric_id = t.rubric_id))))"""
