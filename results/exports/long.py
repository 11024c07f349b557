"""The long export: one row per judgment of a candidate, counted or not, with the reason; as CSV or JSON lines.

A nameless score has no annotator: its position in a list of scores is no person.
"""

from annotate.models.conditions import is_collected, is_identified, is_judgeable, is_left_in
from results.exports.choices import Choices
from results.exports.columns import (
    AS_CSV,
    AS_JSON,
    Columns,
    Writing,
    id_columns,
    in_batches,
    name_columns,
    select_candidate_rows,
    select_columns,
    select_criteria,
    text_columns,
    write_utc,
)


def select_long(choices: Choices) -> str:
    """Return the SELECT of the CSV file, guarded against formulas; `Choices.parameters` go with it."""
    columns = _list_columns(choices, AS_CSV)
    return f"{_with(choices, AS_CSV)} SELECT {columns} {_FROM} {_WHERE} {_ORDER}"


def select_lines(choices: Choices) -> str:
    """Return the SELECT of the JSONL file: the columns of the CSV file as keys, every text exactly as stored."""
    columns = _list_columns(choices, AS_JSON)
    return f"""{_with(choices, AS_JSON)}
SELECT row_to_json(line) {_FROM} CROSS JOIN LATERAL (SELECT {columns}) line {_WHERE} {_ORDER}"""


_FROM = """
FROM annotate_judgment j
JOIN candidates c ON c.id = j.candidate_id
JOIN work w ON w.id = j.assignment_id
JOIN criteria cr ON cr.id = j.criterion_id
LEFT JOIN annotate_remark k ON k.assignment_id = j.assignment_id AND k.item_id = j.item_id"""
_WHERE = f"WHERE {is_left_in('j')}"
_ORDER = 'ORDER BY c.position, cr.key COLLATE "C", w.position'


# Both lists are MATERIALIZED: written into the joins, the guard and the formatting would run once per judgment, and
# the long file has several judgments of each candidate and ten of each assignment. Sorting by two numbers is faster
# than by the texts that they stand for.
def _with(choices: Choices, writing: Writing) -> str:
    return f"""
WITH candidates AS MATERIALIZED ({select_candidate_rows(_list_candidate_columns(choices, writing))}),
work AS MATERIALIZED (
    SELECT a.id, {only_collected("a.layout")} AS layout, a.item_seconds, {select_columns(work_columns(writing))},
           row_number() OVER (ORDER BY b.number, m.pseudonym COLLATE "C", a.uuid) AS position
    FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id
    JOIN projects_rubric r ON r.id = b.rubric_id
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE b.project_id = %(project)s AND {in_batches("b")}),
criteria AS ({select_criteria()})"""


def _list_columns(choices: Choices, writing: Writing) -> str:
    parts = (
        name_columns(_list_candidate_columns(choices, writing), "c"),
        select_columns(judgment_columns(writing, with_comments=choices.with_comments)),
        name_columns(work_columns(writing), "w"),
    )
    return ", ".join(parts)


def _list_candidate_columns(choices: Choices, writing: Writing) -> Columns:
    is_withdrawn = writing.truth(f"NOT {is_judgeable('c', 'p')}")
    return {
        **id_columns(writing),
        "is_withdrawn": is_withdrawn,
        **(text_columns(writing) if choices.with_texts else {}),
    }


def judgment_columns(writing: Writing, *, with_comments: bool) -> Columns:
    """Return the columns of a judgment; their SQL uses the aliases j, cr, w and k of the statement above."""
    # Comments are free text, so they are written only on request.
    remarks = {"comment": writing.text("k.comment"), "cannot_judge_reason": writing.text("k.cannot_judge_reason")}
    return {
        "criterion": "cr.key",
        "is_reversed": writing.truth("cr.is_reversed"),
        "value": "j.value",
        "is_cannot_judge": writing.truth("j.value IS NULL"),
        "is_counted": writing.truth("j.is_counted"),
        "not_counted_reason": "nullif(j.not_counted_reason, '')",
        "is_flagged": writing.truth("coalesce(k.is_flagged, false)"),
        "shown_position": "array_position(w.layout, j.item_id)",
        "seconds": "w.item_seconds[array_position(w.layout, j.item_id)]",
        "judged_at": f"CASE WHEN j.judged_at IS NULL THEN w.submitted_at ELSE {write_utc('j.judged_at')} END",
        **(remarks if with_comments else {}),
    }


def work_columns(writing: Writing) -> Columns:
    """Return the columns of an assignment; their SQL uses the aliases a, h, b, r and m."""
    return {
        "batch": "b.number",
        "batch_kind": "b.kind",
        "hit": "h.number",
        "rubric_version": "r.version",
        "annotator": f"CASE WHEN {is_identified('m')} THEN m.pseudonym END",
        "annotator_kind": "m.kind",
        "assignment": "a.uuid",
        "assignment_state": "a.state",
        "mark": "nullif(a.mark, '')",
        "is_blind": only_collected(writing.truth("NOT a.not_blind")),
        "has_odd_times": writing.truth("a.has_odd_times"),
        "opened_at": only_collected(write_utc("a.opened_at")),
        "submitted_at": only_collected(write_utc("a.submitted_at")),
        "active_seconds": "a.active_seconds",
        "wall_seconds": "round(a.wall_seconds::numeric, 3)",
    }


def only_collected(sql: str) -> str:
    """Return SQL that is NULL for imported judgments: these were shown nowhere here, and at no time."""
    return f"CASE WHEN {is_collected('b')} THEN {sql} END"
