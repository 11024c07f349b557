"""What a manager sees of one assignment: each item in shown order, what was said of it, and whether it counts."""

from typing import Any

from annotate.models import Assignment, Item, Judgment, Remark
from measures.rubric import say_number


def items_of(assignment: Assignment) -> list[dict[str, Any]]:
    """The items of a layout with values by criterion, seconds, remarks and what became of the judgments."""
    items = Item.objects.select_related("question", "candidate").in_bulk(assignment.layout)
    said: dict[int, dict[int, Judgment]] = {}
    for judgment in Judgment.objects.filter(assignment=assignment):
        said.setdefault(judgment.item_id, {})[judgment.criterion_id] = judgment
    remarks = {remark.item_id: remark for remark in Remark.objects.filter(assignment=assignment)}
    criteria = list(assignment.hit.batch.rubric.criteria.values_list("pk", flat=True))
    seconds = assignment.item_seconds or []
    rows = []
    for place, item_id in enumerate(assignment.layout):
        item, judgments = items[item_id], said.get(item_id, {})
        reasons = {judgment.not_counted_reason for judgment in judgments.values()}
        rows.append(
            {
                "place": place,
                "item": item,
                "text": item.shown_text
                if item.shown_text is not None
                else item.candidate.text
                if item.candidate
                else "",
                "values": [_written(judgments.get(pk)) for pk in criteria],
                "seconds": seconds[place] if place < len(seconds) else None,
                "remark": remarks.get(item_id),
                "reason": next(iter(reasons - {""}), ""),
                "is_judged": bool(judgments),
                "is_control": item.control != Item.Control.NONE,
            }
        )
    return rows


def _written(judgment: Judgment | None) -> str:
    if judgment is None:
        return ""
    return "–" if judgment.value is None else say_number(judgment.value)
