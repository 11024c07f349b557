"""The words that `measures.quality` uses of figures, marked so that they can be said in another language.

It knows no languages: what it says is stored in English, and translated where it is shown.
"""

REASONS = (
    "all scores are equal",
    "fewer than 10 rated items with a reference",
    "fewer than three pairs",
    "no HIT taken yet",
    "no degraded item rated together with its source yet",
    "no item reviewed yet",
    "no known-answer item rated yet",
    "no repeated item rated twice yet",
    "no times were recorded",
    "nobody else has rated the same items",
    "not computed yet",
    "nothing rated yet",
    "what they are compared with does not vary",
    "without this annotator there is no agreement to compute",
)
"""Why a figure is undefined; reasons that `measures.agreement` gives are said as it gives them."""

VERDICTS: dict[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "too few": "too few",
}
TESTS: dict[str, str] = {
    "signed_rank": "signed rank",
    "paired_t": "paired t",
    "mannwhitney": "mannwhitney",
    "ranksum": "ranksum",
}
FINDINGS: dict[str, str] = {
    "known_answers_low": "Wrong on known answers",
    "degraded_not_lower": "Degraded answers not scored lower",
    "disagrees_with_others": "Disagrees with others",
    "ignores_references": "Scores ignore the references",
    "weak_together": "Several weak indicators",
    "follows_length": "Scores follow answer length",
    "straight_line": "Nearly always the same score",
    "reviewed_poor": "Rejected in spot checks",
    "repeats_inconsistent": "Inconsistent on repeats",
    "biased": "Rates higher or lower than others",
    "too_fast": "Very fast",
    "returns_many": "Returns many HITs",
}
"""The kinds of findings, those that indicate poor work first."""
