"""What came of the judging, as far as it is stored: reports."""

from results.models.report import Report

__all__ = ["Report"]
