"""What came of the judging, as far as it is stored: reports and judgment sets."""

from results.models.judgment_set import JudgmentSet
from results.models.report import Report

__all__ = ["JudgmentSet", "Report"]
