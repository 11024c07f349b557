"""The names that pages give to verdicts and kinds of findings of `measures.quality`."""

VERDICTS: dict[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "too few": "too few",
}
# Findings that indicate poor work come first, then hints: the filter of the list of alerts keeps this order.
FINDINGS: dict[str, str] = {
    "known_answers_low": "Wrong on known answers",
    "degraded_not_lower": "Degraded answers not scored lower",
    "disagrees_with_others": "Disagrees with others",
    "ignores_references": "Scores ignore the references",
    "weak_together": "Several weak indicators",
    "follows_length": "Scores follow answer length",
    "straight_line": "Nearly always the same score",
    "reviewed_poor": "Rejected in review",
    "repeats_inconsistent": "Inconsistent on repeats",
    "biased": "Rates higher or lower than others",
    "too_fast": "Very fast",
    "returns_many": "Returns many HITs",
}
