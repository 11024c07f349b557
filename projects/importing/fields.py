"""The fields of a file, the column names that stand for them, and mapping columns to fields."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from projects.errors import Refused
from projects.importing.check_report import Broken
from projects.language.names import shorten_name

FIELDS = {
    "dataset": "Dataset",
    "dataset_kind": "Dataset type (generative, span, question_generation)",
    "split": "Split",
    "passage_id": "Passage ID",
    "passage": "Passage",
    "title": "Passage title",
    "documents": "Passage as list of documents",
    "question_id": "Question ID",
    "question": "Question",
    "question_type": "Question type",
    "entities": "Correct entities (list)",
    "span": "Answer span",
    "reference": "Reference 1",
    "references": "References (list)",
    "reference_opinion": "Reference opinion (yes/no)",
    "candidate_id": "Candidate ID",
    "candidate": "Candidate",
    "source": "Source (system)",
    "opinion": "Candidate opinion (yes/no)",
    "rank": "Rank",
    "confidence": "Confidence",
    "candidate_1": "Candidate 1 (minimal pair)",
    "candidate_2": "Candidate 2 (minimal pair)",
    "score_1": "Score of candidate 1",
    "score_2": "Score of candidate 2",
    "scores_1": "Scores of candidate 1 (list)",
    "raters_1": "Annotators of candidate 1’s scores (list)",
    "scores_2": "Scores of candidate 2 (list)",
    "raters_2": "Annotators of candidate 2’s scores (list)",
    "phenomenon": "Phenomenon (minimal pair)",
    "choices": "Choices (multiple choice)",
    "choice": "Correct choice (number, letter or text)",
    "score": "Mean score",
    "scores": "Scores (list)",
    "raters": "Annotators of the scores (list)",
    "rater": "Scores by one annotator",
    "metadata": "Metadata",
    "ignore": "Ignore",
}
"""Fields of a candidates file with their names on pages."""

GROUPS = {
    "Dataset": ("dataset", "dataset_kind", "split"),
    "Passage": ("passage_id", "passage", "title", "documents"),
    "Question": ("question_id", "question", "question_type", "entities", "span"),
    "References": ("reference", "references", "reference_opinion"),
    "Candidate": ("candidate_id", "candidate", "source", "opinion", "rank", "confidence"),
    "Judgments": ("score", "scores", "raters", "rater"),
    "Minimal pair": (
        *("candidate_1", "candidate_2", "score_1", "score_2"),
        *("scores_1", "raters_1", "scores_2", "raters_2", "phenomenon"),
    ),
    "Multiple choice": ("choices", "choice"),
}
"""The same under headings, for a list to choose from; “Metadata” and “Ignore” come before them."""

JUDGMENT_FIELDS = {
    "dataset": "Dataset",
    "candidate_id": "Candidate ID or text",
    "question": "Question",
    "source": "Source (system)",
    "annotator": "Annotator",
    "criterion": "Criterion",
    "value": "Rating",
    "scores": "Correctness scores (list)",
    "raters": "Annotators of the scores (list)",
    "rater": "Ratings by one annotator",
    "time": "Judgment time",
    "ignore": "Ignore",
}
"""Fields of a judgments file; `Options.criteria` names the columns of a wide file.

Question and source tell candidates apart that are given by their texts.
"""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "dataset": ("dataset", "dataset_name", "data_set", "corpus"),
    "dataset_kind": ("dataset_kind",),
    "split": ("split", "fold", "subset"),
    "passage_id": ("passage_id", "context_id", "paragraph_id", "story_id", "document_id", "doc_id", "article_id"),
    "passage": ("passage", "context", "passage_text", "paragraph", "story", "article", "document", "text"),
    "title": ("title", "passage_title"),
    "documents": ("documents", "passages", "contexts"),
    "question_id": ("question_id", "query_id", "qid"),
    "question": ("question", "question_text", "query"),
    "question_type": ("question_type", "query_type", "qtype"),
    "entities": ("entities", "entity_list", "entity_answers", "gold_entities"),
    "span": ("span", "marked_span", "answer_span"),
    "reference": (
        *(
            "reference",
            "reference_1",
            "reference1",
            "reference_answer",
            "ref",
            "ref_1",
            "ref1",
            "gold",
            "gold_1",
            "gold1",
        ),
        *("gold_answer", "gold_answer_1", "ground_truth", "target", "answer", "answer_1", "answer1"),
    ),
    "references": ("references", "reference_answers", "gold_answers", "answers"),
    "reference_opinion": ("reference_opinion", "reference_1_opinion", "gold_opinion", "reference_opinions"),
    "candidate_id": ("candidate_id", "id", "item_id", "example_id", "uid"),
    "candidate": (
        *("candidate", "candidate_answer", "candidate_text", "prediction", "predicted_answer", "system_answer"),
        *("generated_answer", "model_answer", "response", "hypothesis", "output", "generated"),
    ),
    "source": ("source", "system", "model", "candidate_source", "method", "generator"),
    "opinion": ("opinion", "candidate_opinion", "predicted_opinion"),
    "rank": ("rank", "candidate_rank"),
    "confidence": ("confidence", "probability"),
    "candidate_1": ("candidate_1", "candidate1"),
    "candidate_2": ("candidate_2", "candidate2"),
    "score_1": ("score_1", "score1"),
    "score_2": ("score_2", "score2"),
    "scores_1": ("scores1", "scores_1"),
    "raters_1": ("raters1", "raters_1"),
    "scores_2": ("scores2", "scores_2"),
    "raters_2": ("raters2", "raters_2"),
    "phenomenon": ("phenomenon", "linguistic_phenomenon"),
    "choices": ("choices", "options"),
    "choice": ("choice", "correct_choice", "label", "answer_index", "answer_letter"),
    "score": ("score",),
    "scores": ("scores",),
    "raters": ("raters", "annotators", "workers"),
}
CANDIDATE_IDS = ("candidate_id", "item_id", "id", "item", "unit", "example_id", "uid")
"""Names of columns that have nothing but IDs of candidates."""
JUDGMENT_SYNONYMS: dict[str, tuple[str, ...]] = {
    "dataset": SYNONYMS["dataset"],
    "candidate_id": (*CANDIDATE_IDS[:1], "candidate", *CANDIDATE_IDS[1:], *SYNONYMS["candidate"][1:]),
    "annotator": ("annotator", "annotator_id", "rater", "rater_id", "worker", "worker_id", "coder", "judge", "user"),
    "criterion": ("criterion", "criterion_key", "dimension", "aspect"),
    "value": ("value", "judgment", "judgement", "rating", "score", "answer"),
    "scores": SYNONYMS["scores"],
    "raters": SYNONYMS["raters"],
    "time": ("time", "judged_at", "timestamp", "submitted_at", "created_at"),
}
TEXT_SYNONYMS = {name: SYNONYMS[name] for name in ("question", "source")}
"""What tells candidates apart where a file of judgments has their texts in place of IDs."""
# Reference 2 to 99; the first one is the field “reference”.
FURTHER_REFERENCE = re.compile(
    r"(?:reference|ref|reference_answer|gold|gold_answer|ground_truth|target|answer)_?([2-9]|[1-9]\d)"
)
# A column for each annotator, which holds their ratings.
RATER = re.compile(r"(?:rater|rating|annotator|coder|judge|worker|grader|reviewer|expert)_?[0-9]{1,3}")
TEXTS_AND_IDS = frozenset(
    (
        *("passage_id", "passage", "title", "question_id", "question"),
        *("candidate_id", "candidate", "candidate_1", "candidate_2", "source", "annotator"),
    )
)
MULTIPLE = ("rater", "metadata", "ignore")
"""Fields that several columns may be mapped to."""
FURTHER_OPINION = re.compile(r"reference_([2-9]|[1-9]\d)_opinion|reference_opinion_([2-9]|[1-9]\d)")
IN_METADATA = "metadata."
OWN_METADATA = "metadata.concord."
FIELD_KEYS = frozenset(
    prefix + name for prefix in ("", IN_METADATA, OWN_METADATA) for names in SYNONYMS.values() for name in names
)
"""Keys of fields, as the MOCHA export adds them to the columns of a file; they don't count toward the limit of keys."""


@dataclass(slots=True)
class ColumnPlan:
    """The columns of a file by meaning.

    `by_field` has one column for each field, `meanings` the field of each column, `references` the columns of each
    reference and its opinion, `raters` those that each hold one annotator's ratings, and `kept` the columns stored as
    metadata with their names.
    """

    fields: Mapping[str, str]
    synonyms: Mapping[str, tuple[str, ...]]
    chosen: dict[str, str] = field(default_factory=dict)
    by_field: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    references: list[tuple[str, str]] = field(default_factory=list)
    raters: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    _further: dict[int, list[str]] = field(default_factory=dict)
    _names: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, column: str) -> None:
        """Add a new column; if the field guessed for it already has one, it is kept as metadata.

        Raises Broken if the mapping gives two columns the same field.
        """
        meaning = self.chosen.get(column)
        if meaning is None:
            meaning = self._guess(column)
        self._assign(column, meaning)

    def keep(self, column: str) -> None:
        """Store a column as metadata."""
        self.kept.append((column, column.removeprefix(OWN_METADATA + IN_METADATA).removeprefix(IN_METADATA)))

    def column(self, name: str) -> str:
        return self.by_field.get(name, "")

    def list_texts(self) -> set[str]:
        """Return the columns of texts and IDs."""
        references = {text for text, _ in self.references}
        return references | {column for name, column in self.by_field.items() if name in TEXTS_AND_IDS}

    def _guess(self, column: str) -> str:
        name = normal_name(column)
        if further := FURTHER_REFERENCE.fullmatch(name):
            return f"reference_{int(further[1])}" if "reference" in self.fields else "metadata"
        if opinion := FURTHER_OPINION.fullmatch(name):
            return f"reference_{int(opinion[1] or opinion[2])}_opinion" if "reference" in self.fields else "metadata"
        if RATER.fullmatch(name) and "rater" in self.fields and not column.startswith((IN_METADATA, OWN_METADATA)):
            return "rater"
        meaning, order = self._names.get(name, ("metadata", 0))
        # Under `metadata` only a field's main name is read as the field: “metadata.label” is the user's own data.
        if column.startswith(OWN_METADATA + IN_METADATA) or (order > 0 and column.startswith(IN_METADATA)):
            return "metadata"
        if meaning not in self.by_field:
            return meaning
        # Beside a reference, an “answer” is what is to be rated, unless another column is.
        is_rated = (
            meaning == "reference" and name == "answer" and not self.by_field.keys() & {"candidate", "candidate_1"}
        )
        return "candidate" if is_rated and "candidate" in self.fields else "metadata"

    def _assign(self, column: str, meaning: str) -> None:
        self.meanings[column] = meaning or "ignore"
        if meaning in ("", "ignore"):
            return
        if meaning == "metadata":
            if "metadata" in self.fields:
                self.keep(column)
            return
        if meaning == "rater":
            self.raters.append(column)
            return
        if re.fullmatch(r"reference_\d+(_opinion)?", meaning) or meaning in ("reference", "reference_opinion"):
            self._assign_reference(column, meaning)
            return
        if meaning in self.by_field:
            raise Broken(
                f"two columns are mapped to {meaning}: {shorten_name(self.by_field[meaning])} and "
                f"{shorten_name(column)}; choose another field for one of them"
            )
        self.by_field[meaning] = column

    def _assign_reference(self, column: str, meaning: str) -> None:
        number = re.search(r"\d+", meaning)
        slot = self._further.setdefault(int(number[0]) if number else 1, ["", ""])
        place = 1 if meaning.endswith("opinion") else 0
        if slot[place] and slot[place] != column:
            raise Broken(
                f"two columns are mapped to {meaning}: {shorten_name(slot[place])} and "
                f"{shorten_name(column)}; choose another field for one of them"
            )
        slot[place] = column
        self.by_field[meaning] = column
        self.references = [(text, opinion) for _, (text, opinion) in sorted(self._further.items()) if text]


def plan_columns(
    columns: Iterable[str],
    mapping: Mapping[str, str],
    *,
    fields: Mapping[str, str] = FIELDS,
    synonyms: Mapping[str, tuple[str, ...]] = SYNONYMS,
) -> ColumnPlan:
    """Map columns to fields by the given mapping, and all others by their names. Raises Broken for a wrong mapping."""
    columns = list(columns)
    names = {name: (meaning, order) for meaning, all_names in synonyms.items() for order, name in enumerate(all_names)}
    plan = ColumnPlan(fields, synonyms, chosen=dict(mapping), _names=names)
    for column, meaning in mapping.items():
        if not is_field(meaning, fields):
            raise Broken(f"unknown field “{shorten_name(meaning)}”; known fields: {', '.join(fields)}")
        if column not in columns:
            raise Broken(
                f"the mapping contains a column that is not in the file: {shorten_name(column)}", column=column
            )
    # Mapped columns take their fields first; of the others, those with a field's usual name before its synonyms.
    for column in sorted(columns, key=lambda each: (each not in mapping, names.get(normal_name(each), ("", 0))[1])):
        plan.add(column)
    return plan


def count_keys(columns: Iterable[str]) -> int:
    """Return how many keys of a JSON file count toward the limit of columns."""
    return sum(column not in FIELD_KEYS for column in columns)


def is_field(meaning: str, fields: Mapping[str, str] = FIELDS) -> bool:
    if meaning == "" or meaning in fields:
        return True
    return "reference" in fields and re.fullmatch(r"reference_([2-9]|[1-9]\d)(_opinion)?", meaning) is not None


def parse_meaning(text: str, fields: Mapping[str, str] = FIELDS) -> tuple[str, str]:
    """Parse ``COLUMN=FIELD``. Raises Refused for an unknown field."""
    column, equals, meaning = text.rpartition("=")
    if not equals or not column:
        raise Refused(f"Invalid mapping “{text}”. Use COLUMN=FIELD, for example answer=candidate.", field="map")
    if not is_field(meaning, fields):
        raise Refused(f"Unknown field “{meaning}”. Known fields: {', '.join(fields)}.", field="map")
    return column, meaning


def normal_name(column: str) -> str:
    """Return a column name for comparison: `Reference Answer` and `metadata.reference-answer` have the same one."""
    bare = column.removeprefix(OWN_METADATA).removeprefix(IN_METADATA)
    return re.sub(r"[^0-9a-z]+", "_", bare.casefold()).strip("_")
