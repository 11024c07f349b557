"""The long file: one row per judgment of a candidate, counted or not, with the reason.

A nameless score has no annotator: its place in a list of scores is no person.
"""

from results.exporting.choices import Choices
from results.exporting.guard import guarded
from results.exporting.tables import IDS, TEXTS, Columns, candidates, criteria, in_batches, listed, named, utc, yes_no


def _collected(sql: str) -> str:
    """What is known of work in the app only: imported judgments were shown nowhere here, and at no time."""
    return f"CASE WHEN b.kind <> 'imported' THEN {sql} END"


_WORK: Columns = {
    "batch": "b.number",
    "batch_kind": "b.kind",
    "hit": "h.number",
    "rubric_version": "r.version",
    "annotator": "CASE WHEN m.kind <> 'unknown' THEN m.pseudonym END",
    "annotator_kind": "m.kind",
    "assignment": "a.uuid",
    "assignment_state": "a.state",
    "mark": "nullif(a.mark, '')",
    "is_blind": _collected(yes_no("NOT a.not_blind")),
    "has_odd_times": yes_no("a.has_odd_times"),
    "opened_at": _collected(utc("a.opened_at")),
    "submitted_at": _collected(utc("a.submitted_at")),
    "active_seconds": "a.active_seconds",
    "wall_seconds": "round(a.wall_seconds::numeric, 3)",
}


def select_long(choices: Choices) -> str:
    """The SELECT of the long file; `Choices.parameters` go with it."""
    ids = {**IDS, "is_withdrawn": yes_no("c.withdrawn_at IS NOT NULL OR p.withdrawn_at IS NOT NULL")}
    about = {**ids, **TEXTS} if choices.with_texts else ids
    remarks = {"comment": guarded("k.comment"), "cannot_judge_reason": guarded("k.cannot_judge_reason")}
    judgment = {
        "criterion": "cr.key",
        "is_reversed": yes_no("cr.is_reversed"),
        "value": "j.value",
        "is_cannot_judge": yes_no("j.value IS NULL"),
        "is_counted": yes_no("j.is_counted"),
        "not_counted_reason": "nullif(j.not_counted_reason, '')",
        "is_flagged": yes_no("coalesce(k.is_flagged, false)"),
        "shown_position": "array_position(w.layout, j.item_id)",
        "seconds": "w.item_seconds[array_position(w.layout, j.item_id)]",
        "judged_at": f"CASE WHEN j.judged_at IS NULL THEN w.submitted_at ELSE {utc('j.judged_at')} END",
        **(remarks if choices.with_comments else {}),
    }
    return f"""
WITH candidates AS MATERIALIZED ({candidates(about)}),
work AS MATERIALIZED (
    SELECT a.id, {_collected("a.layout")} AS layout, a.item_seconds, {listed(_WORK)},
           row_number() OVER (ORDER BY b.number, m.pseudonym COLLATE "C", a.uuid) AS place
    FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id
    JOIN projects_rubric r ON r.id = b.rubric_id
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE b.project_id = %(project)s AND {in_batches("b")}),
criteria AS ({criteria()})
SELECT {named(about, "c")}, {listed(judgment)}, {named(_WORK, "w")}
FROM annotate_judgment j
JOIN candidates c ON c.id = j.candidate_id
JOIN work w ON w.id = j.assignment_id
JOIN criteria cr ON cr.id = j.criterion_id
LEFT JOIN annotate_remark k ON k.assignment_id = j.assignment_id AND k.item_id = j.item_id
ORDER BY c.place, cr.key COLLATE "C", w.place"""
