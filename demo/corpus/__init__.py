"""The corpus of the demo: passages, questions, references, candidates, and a qualification test.

Each JSON file holds one passage. The true score of a candidate is only for the simulated annotators: `rows()` leaves
it out, so no page or export can show it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
KINDS = {"free-answers": "generative", "span-answers": "span"}
"""The datasets of the corpus, with their kinds."""
GENERATED = "generated-questions"
"""The dataset of generated questions, in `extra_rows`."""


@dataclass(frozen=True)
class DemoReference:
    """A reference answer; its opinion is Yes, No, Depends or empty."""

    text: str
    opinion: str = ""


@dataclass(frozen=True)
class DemoCandidate:
    """An answer of one source, with its true score on the Correctness scale."""

    id: str
    source: str
    text: str
    true_score: int
    opinion: str = ""


@dataclass(frozen=True)
class DemoQuestion:
    """A question with its references and candidates; the marked span is where the passage answers it."""

    id: str
    type: str
    text: str
    references: tuple[DemoReference, ...]
    candidates: tuple[DemoCandidate, ...]
    entities: tuple[str, ...] = ()
    marked_span: str = ""


@dataclass(frozen=True)
class DemoPassage:
    """A text, or a list of titled documents, with the questions about it."""

    id: str
    dataset: str
    split: str
    domain: str
    title: str
    questions: tuple[DemoQuestion, ...]
    passage: str = ""
    documents: tuple[dict[str, str], ...] = ()

    @property
    def n_words(self) -> int:
        return len(" ".join([self.passage, *(document["text"] for document in self.documents)]).split())

    @property
    def n_candidates(self) -> int:
        return sum(len(question.candidates) for question in self.questions)


@dataclass(frozen=True)
class QualificationAnswer:
    """One item of the qualification test: its correct rating, the tolerance, and the explanation."""

    id: str
    passage_id: str
    question: str
    candidate: str
    expected: int
    tolerance: int
    explanation: str


@cache
def passages() -> tuple[DemoPassage, ...]:
    """Return all passages, sorted by id."""
    files = sorted((FOLDER / "passages").glob("*.json"))
    return tuple(_passage(json.loads(file.read_text(encoding="utf-8"))) for file in files)


def rows() -> Iterator[dict[str, Any]]:
    """Yield one row per candidate in the format of an import file, without the true score."""
    for passage in passages():
        for question in passage.questions:
            for candidate in question.candidates:
                yield {
                    **_passage_columns(passage),
                    "question_id": question.id,
                    "question": question.text,
                    "question_type": question.type,
                    "entities": list(question.entities),
                    "span": question.marked_span,
                    **_reference_columns(question.references),
                    "candidate_id": candidate.id,
                    "source": candidate.source,
                    "candidate": candidate.text,
                    "opinion": candidate.opinion,
                }


def extra_rows() -> Iterator[dict[str, Any]]:
    """Yield rows that no batch of the demo has: minimal pairs with scores, and generated questions."""
    by_id = {question.id: (passage, question) for passage in passages() for question in passage.questions}
    for pair in json.loads((FOLDER / "pairs.json").read_text(encoding="utf-8")):
        passage, question = by_id[pair["question_id"]]
        yield {
            **_passage_columns(passage),
            "question_id": question.id,
            "question": question.text,
            "question_type": question.type,
            "entities": list(question.entities),
            "span": question.marked_span,
            **_reference_columns(question.references),
            "candidate_id": pair["id"],
            "candidate_1": pair["better"],
            "candidate_2": pair["worse"],
            "score_1": pair["score_1"],
            "score_2": pair["score_2"],
            "phenomenon": pair["phenomenon"],
        }
    texts = {passage.id: passage for passage in passages()}
    for number, asked in enumerate(json.loads((FOLDER / "generated_questions.json").read_text(encoding="utf-8")), 1):
        for generated in asked["generated"]:
            yield {
                "dataset": GENERATED,
                "dataset_kind": "question_generation",
                "domain": texts[asked["passage_id"]].domain,
                "passage_id": asked["passage_id"],
                "title": texts[asked["passage_id"]].title,
                "passage": texts[asked["passage_id"]].passage,
                "question_id": f"target-{number}",
                "question": asked["target_answer"],
                "reference_1": asked["reference"],
                "candidate_id": f"target-{number}-{generated['source']}",
                "candidate": generated["text"],
                "source": generated["source"],
            }


def true_scores() -> dict[str, int]:
    """Return the true score of each candidate, 1 to 5, by its id."""
    return {
        candidate.id: candidate.true_score
        for passage in passages()
        for question in passage.questions
        for candidate in question.candidates
    }


@cache
def qualification() -> dict[str, Any]:
    """Return the qualification test as stored: title, criterion, share to pass, passages with questions and items."""
    loaded: dict[str, Any] = json.loads((FOLDER / "qualification.json").read_text(encoding="utf-8"))
    return loaded


def qualification_answers() -> list[QualificationAnswer]:
    """Return the items of the qualification test in the order in which they are shown."""
    return [
        QualificationAnswer(
            id=item["id"],
            passage_id=passage["id"],
            question=question["text"],
            candidate=item["candidate"],
            expected=item["expected"],
            tolerance=item["tolerance"],
            explanation=item["explanation"],
        )
        for passage in qualification()["passages"]
        for question in passage["questions"]
        for item in question["items"]
    ]


def _passage_columns(passage: DemoPassage) -> dict[str, Any]:
    return {
        "dataset": passage.dataset,
        "dataset_kind": KINDS[passage.dataset],
        "split": passage.split,
        "domain": passage.domain,
        "passage_id": passage.id,
        "title": passage.title,
        "passage": passage.passage,
        "documents": list(passage.documents),
    }


def _reference_columns(references: tuple[DemoReference, ...]) -> dict[str, str]:
    columns = {}
    for number, reference in enumerate(references, start=1):
        columns[f"reference_{number}"] = reference.text
        columns[f"reference_{number}_opinion"] = reference.opinion
    return columns


def _passage(stored: dict[str, Any]) -> DemoPassage:
    questions = tuple(_question(question) for question in stored.pop("questions"))
    return DemoPassage(questions=questions, documents=tuple(stored.pop("documents", ())), **stored)


def _question(stored: dict[str, Any]) -> DemoQuestion:
    return DemoQuestion(
        references=tuple(DemoReference(**reference) for reference in stored.pop("references")),
        candidates=tuple(DemoCandidate(**candidate) for candidate in stored.pop("candidates")),
        entities=tuple(stored.pop("entities", ())),
        **stored,
    )
