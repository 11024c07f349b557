"""The export of control ratings: one row per rating of a control and criterion, with what was expected and the outcome.

Controls never enter results; this file is for reports on quality control, such as QAScore's. It tells which items were
controls, so only managers get it.
"""

from annotate.models.conditions import is_collected, is_item, is_left_in
from results.exports.choices import Choices
from results.exports.columns import (
    AS_CSV,
    in_batches,
    name_columns,
    select_columns,
    select_criteria,
    write_utc,
    write_yes_no,
)
from results.exports.long import only_collected, work_columns

# Lower quality is a lower value, or a higher one on a reversed criterion.
_DROP = "CASE WHEN cr.is_reversed THEN j.value - original.value ELSE original.value - j.value END"

_OUTCOME = f"""CASE i.control
    WHEN 'known_answer' THEN CASE
        WHEN NOT jsonb_exists(i.expected, cr.key) THEN NULL
        WHEN j.value BETWEEN (i.expected -> cr.key ->> 0)::float8 AND (i.expected -> cr.key ->> 1)::float8
        THEN 'correct' ELSE 'incorrect' END
    WHEN 'degraded' THEN CASE
        WHEN j.value IS NULL OR original.value IS NULL THEN 'no pair'
        WHEN {_DROP} > 0 THEN 'lower' WHEN {_DROP} = 0 THEN 'equal' ELSE 'higher' END
    WHEN 'repeat' THEN CASE
        WHEN j.value IS NULL OR original.value IS NULL THEN 'no pair'
        WHEN j.value = original.value THEN 'identical' ELSE 'different' END
    END"""


def select_controls(choices: Choices) -> str:
    """Return the SELECT of the file of control ratings; `Choices.parameters` go with it.

    The value of a degraded answer or a repeat is compared with the annotator's first rating of its original, as the
    quality indicators do.
    """
    work = work_columns(AS_CSV)
    return f"""
WITH work AS MATERIALIZED (
    SELECT a.id, {only_collected("a.layout")} AS layout, a.item_seconds, h.purpose, {select_columns(work)},
           row_number() OVER (ORDER BY b.number, m.pseudonym COLLATE "C", a.uuid) AS position
    FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id AND {is_collected("b")}
    JOIN projects_rubric r ON r.id = b.rubric_id
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE b.project_id = %(project)s AND {in_batches("b")}),
criteria AS ({select_criteria()})
SELECT {select_columns(_list_control_columns(choices))}, {name_columns(work, "w")}, w.purpose AS hit_purpose
FROM annotate_judgment j
JOIN annotate_item i ON i.id = j.item_id AND j.candidate_id IS NULL AND NOT {is_item("i")}
JOIN work w ON w.id = j.assignment_id
JOIN criteria cr ON cr.id = j.criterion_id
JOIN projects_question q ON q.id = i.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = p.dataset_id
LEFT JOIN annotate_item s ON s.id = i.made_from_id
LEFT JOIN projects_candidate c ON c.id = coalesce(i.candidate_id, s.candidate_id)
LEFT JOIN annotate_remark k ON k.assignment_id = j.assignment_id AND k.item_id = j.item_id
LEFT JOIN LATERAL (
    SELECT CASE WHEN v.id IS NULL THEN o.value ELSE v.value END AS value
    FROM annotate_judgment o LEFT JOIN annotate_judgmentrevision v ON v.judgment_id = o.id AND v.n = 0
    WHERE o.annotator_id = j.annotator_id AND o.criterion_id = j.criterion_id AND o.is_counted
      AND (o.item_id = s.id OR o.candidate_id = s.candidate_id)
    ORDER BY o.item_id = s.id DESC, o.id LIMIT 1) original ON i.control IN ('degraded', 'repeat')
WHERE {is_left_in("j")}
ORDER BY w.position, array_position(w.layout, j.item_id), j.item_id, cr.key COLLATE "C\""""


def _list_control_columns(choices: Choices) -> dict[str, str]:
    text = AS_CSV.text
    texts = {
        "question": text("q.text"),
        "shown_text": text("coalesce(i.shown_text, c.text)"),
        "original_text": text("CASE WHEN s.id IS NOT NULL THEN coalesce(s.shown_text, c.text) END"),
    }
    comments = {"comment": text("k.comment"), "cannot_judge_reason": text("k.cannot_judge_reason")}
    return {
        "dataset": text("d.name"),
        "split": text("p.split"),
        "passage_id": text("p.external_id"),
        "question_id": text("q.external_id"),
        "candidate_id": text("c.external_id"),
        "item": "i.id",
        "control": "i.control",
        "recipe": "nullif(i.recipe, '')",
        **(texts if choices.with_texts else {}),
        "criterion": "cr.key",
        "is_reversed": write_yes_no("cr.is_reversed"),
        "value": "j.value",
        "is_cannot_judge": write_yes_no("j.value IS NULL"),
        "expected_low": "(i.expected -> cr.key ->> 0)::float8",
        "expected_high": "(i.expected -> cr.key ->> 1)::float8",
        "original_value": "original.value",
        "outcome": _OUTCOME,
        "is_counted": write_yes_no("j.is_counted"),
        "not_counted_reason": "nullif(j.not_counted_reason, '')",
        "shown_position": "array_position(w.layout, j.item_id)",
        "seconds": "w.item_seconds[array_position(w.layout, j.item_id)]",
        "judged_at": f"CASE WHEN j.judged_at IS NULL THEN w.submitted_at ELSE {write_utc('j.judged_at')} END",
        **(comments if choices.with_comments else {}),
    }
