"""The names of the rules by which judgments become gold scores; `measures.gold_scores` applies them."""

from enum import StrEnum


class GoldRule(StrEnum):
    """How the judgments of a candidate become its score."""

    MEAN = "mean"
    MEDIAN = "median"
    Z = "z"
