"""The names of the aggregation rules for gold scores; `measures.gold_scores` applies them.

They are apart from it so that forms and models can name a rule without importing pandas.
"""

from enum import StrEnum


class GoldRule(StrEnum):
    """A rule that aggregates the judgments of a candidate into its gold score."""

    MEAN = "mean"
    MEDIAN = "median"
    Z = "z"
