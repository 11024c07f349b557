"""The codebook: meaning, type, unit and values of each column of each table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from projects.database.csv import write_row
from results.sets.settings import Settings

CODEBOOK = "codebook.csv"


class Kind(StrEnum):
    """The type of the values in a column."""

    TEXT = "text"
    NUMBER = "number"
    WHOLE = "whole number"
    TRUTH = "yes or no"
    TIME = "time"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True)
class Column:
    """A column, or a key in a file of JSON lines."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    values: str = ""


# Short names keep each column of the tables below on a line or two.
_T, _N, _W, _B, _D, _L, _O = Kind.TEXT, Kind.NUMBER, Kind.WHOLE, Kind.TRUTH, Kind.TIME, Kind.LIST, Kind.OBJECT
_UTC = "UTC, ISO 8601"
_SECONDS = "seconds"

# These texts are written into the codebook and the Croissant file of every set. In every version the same judgments
# have to give the same columns, types, units and values; the words of a meaning may become better.
_IDS = (
    Column("dataset", _T, "The dataset of the candidate."),
    Column("split", _T, "The split of its passage.", values="train, dev, test or another name; empty: none"),
    Column("passage_id", _T, "The passage's ID within its dataset; text-… is computed from its text."),
    Column("question_id", _T, "The question's ID within its dataset."),
    Column("candidate_id", _T, "The candidate's ID within its dataset; both together identify a candidate."),
    Column("source", _T, "Who or what wrote the candidate: a system, a method or a person."),
)
_TYPE = Column(
    "question_type", _T, "The type of the question.", values="yes-no, entity, description, other; empty: not said"
)
_IS_WITHDRAWN = Column(
    "is_withdrawn", _B, "Whether the candidate or its passage was withdrawn; none of its judgments is included."
)
_SCALE = (
    Column("criterion", _T, "The key of the criterion; set.json has its statement."),
    Column("scale_kind", _T, "The kind of scale.", values="ordinal: whole points; continuous: anywhere between"),
    Column("scale_low", _W, "The lowest value of the scale."),
    Column("scale_high", _W, "The highest value of the scale."),
)
_JUDGMENT = (
    Column(
        "value",
        _N,
        "The value that the annotator chose; empty if they could not judge the item.",
        "points of the scale",
    ),
    Column("score", _N, "The value, with reversed criteria mirrored so that higher is better.", "points of the scale"),
    Column("enters", _B, "Whether the judgment is included in gold scores and agreement."),
    Column(
        "left_out_reason",
        _T,
        "Why it is not included.",
        values="removed, rejected, surplus, set aside, withdrawn, cannot be judged, not blind, judged anew …",
    ),
    Column("is_reversed", _B, "Whether the criterion is reversed: a high value is bad."),
    Column("is_cannot_judge", _B, "Whether the annotator could not judge the item."),
    Column("is_counted", _B, "Whether the project counted it when the set was frozen."),
    Column("not_counted_reason", _T, "Why the project did not count it."),
    Column("is_flagged", _B, "Whether the annotator flagged a problem with the item."),
    Column("shown_position", _W, "Its position on the page, from 1; empty for imported judgments."),
    Column("seconds", _N, "Active time spent on the item.", _SECONDS),
    Column("judged_at", _D, "When it was judged; empty if unknown.", _UTC),
)
_REMARKS = (
    Column("comment", _T, "The annotator's comment on the item. Free text."),
    Column("cannot_judge_reason", _T, "Why the annotator could not judge it. Free text."),
)
_WORK = (
    Column("batch", _W, "The number of the batch; set.json lists them."),
    Column("batch_kind", _T, "What the batch was.", values="full, trial, imported"),
    Column("hit", _W, "The number of the HIT within its batch."),
    Column("rubric_version", _W, "The version of the rubric under which it was judged."),
    Column(
        "annotator", _T, "A random pseudonym, used in this project only; empty for judgments without annotator names."
    ),
    Column("annotator_kind", _T, "The kind of annotator.", values="person, imported, unknown, simulated"),
    Column("assignment", _T, "A random ID of this annotator's work on this HIT."),
    Column(
        "assignment_state",
        _T,
        "The status of that work.",
        values="open, submitted, approved, rejected, returned, expired, withdrawn",
    ),
    Column("mark", _T, "How that work counts.", values="counted, late, surplus, excluded"),
    Column(
        "is_blind", _B, "Whether the annotator could not see sources and others' ratings; empty for imported judgments."
    ),
    Column("has_odd_times", _B, "Whether the times of that work contradict each other."),
    Column("opened_at", _D, "When the HIT was opened.", _UTC),
    Column("submitted_at", _D, "When it was submitted.", _UTC),
    Column("active_seconds", _N, "Active time of the whole HIT.", _SECONDS),
    Column("wall_seconds", _N, "Time from opening to submitting the HIT.", _SECONDS),
)
_AGGREGATED = (
    Column("n", _W, "Number of included judgments.", "judgments"),
    Column("mean", _N, "Their mean, unrounded.", "points of the scale"),
    Column("median", _N, "Their median.", "points of the scale"),
    Column("sd", _N, "Their standard deviation with n - 1; empty for one judgment.", "points of the scale"),
    Column(
        "z_mean",
        _N,
        "The mean of their z scores: (score - mean) / sd of each annotator, as in annotators.csv.",
        "sd",
    ),
    Column("scores", _T, "The scores, separated by |, in the order of the long file.", "points of the scale"),
    Column("raters", _T, "Their annotators, separated by |; empty if one is unknown."),
    Column("n_cannot_judge", _W, "Number of annotators who could not judge it.", "judgments"),
    Column("adjudicated", _N, "The score that an adjudicator set where annotators differed.", "points of the scale"),
    Column("gold", _N, "The gold score, by the rule of the set.", "points of the scale; sd under the rule z"),
    Column("undefined", _T, "Which figures are undefined, and why."),
)
_WIDE = (
    Column("n", _W, "Number of included judgments.", "judgments"),
    Column(
        "judgment_1 …", _N, "The included scores, one per column, in the order of the long file.", "points of the scale"
    ),
    Column("annotator_1 …", _T, "The annotator of each score; empty without a name."),
)
_ANNOTATORS = (
    Column("annotator", _T, "The pseudonym."),
    Column("annotator_kind", _T, "The kind of annotator.", values="person, imported, simulated"),
    *_SCALE[1:],
    Column("n_entering", _W, "Number of their judgments that are included in this set.", "judgments"),
    Column(
        "n_judgments",
        _W,
        "Number of judgments behind mean and sd: all of theirs in these batches, on any candidate.",
        "judgments",
    ),
    Column(
        "n_controls",
        _W,
        "Number of control ratings that are included in mean and sd, and in nothing else.",
        "judgments",
    ),
    Column("mean", _N, "The mean of all these scores, over all criteria on this scale.", "points of the scale"),
    Column("sd", _N, "Their standard deviation with n - 1; empty for one.", "points of the scale"),
)
_CANDIDATES = (
    *_IDS,
    Column("dataset_kind", _T, "The kind of the dataset.", values="generative, span, question_generation"),
    _TYPE,
    _IS_WITHDRAWN,
    Column("adjudicated", _L, "Scores that adjudicators set, with reversed criteria mirrored, the newest last."),
    Column(
        "minimal_pair",
        _O,
        "For the first candidate of a minimal pair: the second, the phenomenon, and any scores imported with it.",
    ),
    Column("is_second_of_pair", _B, "Whether it is the second of a minimal pair."),
)
_TEXTS = (
    Column("question", _T, "The question."),
    Column("entities", _L, "The entities that the correct answer names."),
    Column("span", _T, "Words of the passage that are marked for the question."),
    Column("references", _L, "The reference answers, each with its opinion."),
    Column("candidate", _T, "The candidate answer."),
    Column("opinion", _T, "The candidate's opinion."),
    Column("rank", _W, "The rank given by its source."),
    Column("confidence", _N, "The confidence given by its source."),
    Column("metadata", _O, "Other columns of the imported file."),
    Column("passage_is_text_hash", _B, "Whether the passage's ID is computed from its text."),
)
_PASSAGES = (
    _IDS[0],
    Column("passage_id", _T, "The passage's ID within its dataset."),
    _IDS[1],
    Column("title", _T, "Its title."),
    Column("text", _T, "Its text; empty where it is a list of documents."),
    Column("documents", _L, "Its documents, each with title and text."),
)


_IDENTICAL_ANSWERS = (
    *_IDS,
    Column("rated_as", _T, "The candidate of the question with the same text whose judgments count for this one."),
)
_SURVEY_ANSWERS = (
    Column("annotator", _T, "The pseudonym of the annotator."),
    Column("survey", _T, "When it was asked.", values="before, after: of the work"),
    Column("version", _W, "The version of the survey."),
    Column("question_number", _W, "The position of the question in that version."),
    Column("kind", _T, "The kind of the question.", values="choice, number, text, language, scale"),
    Column("question", _T, "The question."),
    Column("answer", _T, "The answer; for a language, its code."),
)


def is_identifier(column: Column) -> bool:
    """Return whether a column names what a row is about; an empty text there is a name like any other."""
    return column in _IDS


def long_columns(settings: Settings) -> tuple[Column, ...]:
    """Return the columns of the long file, in order."""
    remarks = _REMARKS if settings.with_comments else ()
    return (*_IDS, _TYPE, _IS_WITHDRAWN, *_SCALE, *_JUDGMENT, *remarks, *_WORK)


def columns_by_file(settings: Settings) -> dict[str, tuple[Column, ...]]:
    """Return the columns of every table of a set."""
    texts = settings.with_texts
    return {
        "long.csv, long.jsonl, judgments.parquet": long_columns(settings),
        "aggregated.csv": (*_IDS, *_SCALE, *_AGGREGATED),
        "wide.csv": (*_IDS, *_SCALE, *_WIDE),
        "annotators.csv": _ANNOTATORS,
        "candidates.jsonl": (*_CANDIDATES, *(_TEXTS if texts else ())),
        **({"passages.jsonl": _PASSAGES} if texts else {}),
    }


def metric_columns(metrics: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of the metric scores: those that name a candidate, and one for each metric."""
    return (
        *_IDS,
        *(
            Column(each["column"], _N, f"{each['title']}; metrics.json has its settings. Empty: no score.")
            for each in metrics
        ),
    )


def write_codebook(folder: Path, settings: Settings, metrics: Sequence[Mapping[str, Any]] = ()) -> None:
    with (folder / CODEBOOK).open("wb") as file:
        write_row(file, ("file", "column", "meaning", "type", "unit", "values"))
        others: dict[str, tuple[Column, ...]] = {}
        # It has columns only where the project rates identical answers once.
        if (folder / "identical_answers.csv").exists():
            others["identical_answers.csv"] = _IDENTICAL_ANSWERS
        if settings.with_surveys:
            others["survey_answers.csv"] = _SURVEY_ANSWERS
        if metrics:
            others["metric_scores.csv"] = metric_columns(metrics)
        for name, columns in {**columns_by_file(settings), **others}.items():
            for row in _list_rows(name, columns):
                write_row(file, row)


def _list_rows(name: str, columns: Iterable[Column]) -> Iterable[tuple[str, ...]]:
    return ((name, each.name, each.meaning, each.kind.value, each.unit, each.values) for each in columns)
