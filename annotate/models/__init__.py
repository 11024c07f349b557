"""Judging: batches cut into HITs, assignments, judgments, imports."""

from annotate.models.assignment import Assignment, Draft, Judgment, Remark
from annotate.models.batch import Batch, BatchAnnotator, DailyCount, Hit, Item
from annotate.models.imports import Import

__all__ = [
    "Assignment",
    "Batch",
    "BatchAnnotator",
    "DailyCount",
    "Draft",
    "Hit",
    "Import",
    "Item",
    "Judgment",
    "Remark",
]
