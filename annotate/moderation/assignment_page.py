"""The data of an assignment's page: each item in the order shown, its ratings and versions, and whether it counts."""

from typing import Any

from annotate.models import Assignment, Item, Judgment, JudgmentRevision, Remark, RemarkRevision
from annotate.rating.submitted_versions import fetch_versions
from measures.rubric import format_plain_number
from projects.rubric.rubrics import frozen_criteria

NOT_COUNTED: dict[str, str] = {
    "already counted": "already counted",
    "consent withdrawn": "consent withdrawn",
    "rejected": "rejected",
    "removed": "removed",
    "set aside": "set aside",
    "surplus": "surplus",
    "withdrawn": "withdrawn",
}
"""Why a judgment is not counted, by its stored reason."""


def list_items_with_ratings(assignment: Assignment) -> list[dict[str, Any]]:
    """Return the items of an assignment with values by criterion, seconds, comments and whether they count."""
    items = Item.objects.select_related("question", "candidate").in_bulk(assignment.layout)
    by_item: dict[int, dict[int, Judgment]] = {}
    for judgment in Judgment.objects.filter(assignment=assignment):
        by_item.setdefault(judgment.item_id, {})[judgment.criterion_id] = judgment
    remarks = {remark.item_id: remark for remark in Remark.objects.filter(assignment=assignment)}
    criteria = list(assignment.hit.batch.rubric.criteria.values_list("pk", flat=True))
    seconds = assignment.item_seconds or []
    versions = _list_versions(assignment)
    rows = []
    for place, item_id in enumerate(assignment.layout):
        item, judgments = items[item_id], by_item.get(item_id, {})
        # All criteria of an item share one reason; an empty one means that the judgment counts.
        reasons = {judgment.not_counted_reason for judgment in judgments.values()}
        reason = next(iter(reasons - {""}), "")
        rows.append(
            {
                "place": place,
                "item": item,
                "text": item.shown_text
                if item.shown_text is not None
                else item.candidate.text
                if item.candidate
                else "",
                "values": [_format_value(judgments.get(pk)) for pk in criteria],
                "seconds": seconds[place] if place < len(seconds) else None,
                "remark": remarks.get(item_id),
                "versions": versions.get(place, []),
                "reason": reason,
                "reason_label": NOT_COUNTED.get(reason, reason),
                "is_judged": bool(judgments),
                "is_control": item.control != Item.Control.NONE,
            }
        )
    return rows


def _list_versions(assignment: Assignment) -> dict[int, list[dict[str, Any]]]:
    """Return all versions of each revised item, by position, the first version first."""
    if assignment.submitted_at is None or not _is_revised(assignment):
        return {}
    criteria = frozen_criteria(assignment.hit.batch.rubric_id)
    record = fetch_versions(
        assignment.pk,
        layout=assignment.layout,
        rubric_id=assignment.hit.batch.rubric_id,
        submitted_at=assignment.submitted_at,
    )
    states = [(at, record.read(at)) for at in record.times]
    found = {}
    for place in range(len(assignment.layout)):
        lines: list[dict[str, Any]] = []
        for at, sent in states:
            values = sent.values.get(place, {})
            line = {
                "values": [
                    format_plain_number(float(values[each.key])) if each.key in values else "–" for each in criteria
                ],
                "cannot": sent.cannot.get(place, ""),
                "is_flagged": place in sent.flags,
                "comment": sent.comments.get(place, ""),
            }
            # The record has the state of the whole HIT at each revision; an item that didn't change gets no line.
            if not lines or {**lines[-1], "at": None} != {**line, "at": None}:
                lines.append({**line, "at": at})
        if len(lines) > 1:
            found[place] = lines
    return found


def _is_revised(assignment: Assignment) -> bool:
    judged = JudgmentRevision.objects.filter(judgment__assignment=assignment)
    return judged.exists() or RemarkRevision.objects.filter(assignment=assignment).exists()


def _format_value(judgment: Judgment | None) -> str:
    if judgment is None:
        return ""
    return "–" if judgment.value is None else format_plain_number(judgment.value)
