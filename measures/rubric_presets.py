"""Presets: the rubrics that a project can start with, in English."""

from dataclasses import dataclass

from measures.rubric import FIVE_POINTS, SLIDER, CriterionSpec, Level


@dataclass(frozen=True, kw_only=True)
class RubricPreset:
    """A rubric that a project can start with."""

    key: str
    name: str
    summary: str
    criteria: tuple[CriterionSpec, ...]


CORRECTNESS = RubricPreset(
    key="mocha",
    name="Correctness (MOCHA)",
    summary="How close the answer is in meaning to the reference, given the passage and the question.",
    criteria=(
        CriterionSpec(
            key="correctness",
            name="Correctness",
            statement="How close is the answer in meaning to the reference?",
            scale=FIVE_POINTS,
            anchors={
                5: "Same meaning: says what the reference says; extra words are fine",
                4: "Nearly the same: a small detail differs or is missing",
                3: "Partly right: something important differs or is missing",
                2: "Mostly wrong: only a little of the right answer is there",
                1: "Wrong: contradicts the reference, or has nothing to do with the question",
            },
            level=Level.ORDINAL,
        ),
    ),
)

ANSWER_QUALITY = RubricPreset(
    key="yang",
    name="Answer quality (Yang)",
    summary="How well the answer meets the need, covers the key points and stays concise.",
    criteria=(
        CriterionSpec(
            key="quality",
            name="Answer quality",
            statement="How well does this answer the question?",
            scale=FIVE_POINTS,
            anchors={
                5: "Perfect: answers the question fully and concisely",
                4: "Sufficient: something minor is missing or repeated",
                3: "Not quite enough: for example, an opinion without any support",
                2: "Poor: something essential is missing or wrong",
                1: "Irrelevant: doesn't answer this question",
            },
            level=Level.ORDINAL,
        ),
    ),
)

_AGREEMENT = {0: "Strongly disagree", 100: "Strongly agree"}

QASCORE = RubricPreset(
    key="qascore",
    name="Generated questions (QAScore)",
    summary="How good a generated question is: four statements, each on a slider from disagree to agree.",
    criteria=tuple(
        CriterionSpec(
            key=key,
            name=key.capitalize(),
            statement=statement,
            scale=SLIDER,
            anchors=_AGREEMENT,
            level=Level.INTERVAL,
        )
        for key, statement in (
            ("understandability", "I understand right away what the question asks."),
            ("relevancy", "The question is about what the passage says."),
            ("answerability", "The passage alone contains everything needed to answer the question."),
            ("appropriateness", "The question word fits what is asked."),
        )
    ),
)

PRESETS: dict[str, RubricPreset] = {preset.key: preset for preset in (CORRECTNESS, ANSWER_QUALITY, QASCORE)}
DEFAULT_PRESET = CORRECTNESS.key
