"""Worked examples of the instructions: answers with their correct ratings and the reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measures.rubric import check_value, format_plain_number
from projects.rubric.rubrics import CriterionOnPage

MOST_EXAMPLES = 12
"""Annotators read all of them before their first HIT."""
LONGEST = {"passage": 2_000, "question": 500, "reference": 500, "candidate": 1_000, "why": 1_000}
"""Maximum number of characters of each text."""
NEEDED = ("question", "reference", "candidate", "why")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One answer with its correct rating on each criterion and the reason, and an excerpt of the passage if needed."""

    question: str
    reference: str
    candidate: str
    ratings: Mapping[str, float]
    why: str
    passage: str = ""

    @classmethod
    def read_all(cls, stored: Sequence[Mapping[str, Any]]) -> "list[Example]":
        return [cls(**each) for each in stored]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratings": dict(self.ratings)}

    def rated(self, criteria: Sequence[CriterionOnPage]) -> list[tuple[CriterionOnPage, str, str]]:
        """Return each rated criterion with the value and the label of that point, as pages show them.

        The rubric may have changed since the example was written: a value that is no longer on its scale is left out.
        """
        return [
            (criterion, format_plain_number(value), _label(criterion, value))
            for criterion in criteria
            if (value := self.ratings.get(criterion.key)) is not None and not check_value(criterion.scale, value)
        ]

    def lines(self, number: int) -> list[str]:
        """Return the example as lines of text, for comparing two versions."""
        ratings = ", ".join(f"{key} {format_plain_number(value)}" for key, value in sorted(self.ratings.items()))
        texts = (self.passage, self.question, self.reference, self.candidate, ratings, self.why)
        return [f"({number}) {line}" for text in texts for line in text.splitlines() if line.strip()]


def find_faults(example: Example, criteria: Sequence[CriterionOnPage]) -> dict[str, str]:
    """Return what is wrong with an example, by the name of the text or the key of the criterion."""
    faults = {}
    for name, most in LONGEST.items():
        text = getattr(example, name)
        if name in NEEDED and not text.strip():
            faults[name] = "Fill in this field or remove the example."
        elif len(text) > most:
            faults[name] = f"At most {format_plain_number(most)} characters."
    for criterion in criteria:
        value = example.ratings.get(criterion.key)
        wrong = "Enter the correct rating." if value is None else check_value(criterion.scale, value)
        if wrong:
            faults[criterion.key] = wrong
    if unknown := sorted(example.ratings.keys() - {criterion.key for criterion in criteria}):
        faults[unknown[0]] = "The rubric does not have this criterion."
    return faults


def _label(criterion: CriterionOnPage, value: float) -> str:
    return next((str(point["label"]) for point in criterion.points if point["value"] == value), "")
