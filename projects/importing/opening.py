"""Opening a file that is previewed or checked: its reader, what its columns mean, and one refusal for what ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from projects.importing.check_report import Broken, Notes
from projects.importing.fields import (
    CANDIDATE_IDS,
    JUDGMENT_FIELDS,
    JUDGMENT_SYNONYMS,
    TEXT_SYNONYMS,
    ColumnPlan,
    normal_name,
    plan_columns,
)
from projects.importing.import_options import Options
from projects.importing.limits import Limits
from projects.importing.readers import Reader, open_reader
from projects.importing.text import bad_byte
from projects.language.names import shorten_name

OpenReader = Callable[[Path, str, Options, Limits, Notes], Reader]
_OF_MOCHA = {"id": "candidate_id", "candidate": "ignore"}
"""Columns of judgments in MOCHA's format."""


class Kind(StrEnum):
    """What a file is imported as; the values are stored in the import job."""

    CANDIDATES = "candidates"
    JUDGMENTS = "judgments"


@contextmanager
def reading(
    path: Path, name: str, options: Options, limits: Limits, notes: Notes, opens: OpenReader = open_reader
) -> Iterator[Reader]:
    """Open a reader, and turn whatever ends the reading into one refusal with all problems found before."""
    reader = None
    try:
        reader = opens(path, name, options, limits, notes)
        yield reader
    except Broken as error:
        # An error about a column may come from a wrong delimiter, which the reader can suggest.
        if reader is not None and error.problem.column:
            more, offers = reader.hint()
            error = Broken(error.problem.reason + more, line=1, column=error.problem.column, offers=offers)
        notes.broken(error)
    except UnicodeError as error:
        notes.broken(explain_encoding(error, path, reader))
    finally:
        if reader is not None:
            reader.close()
    notes.refuse_if_any(name)


def explain_encoding(error: UnicodeError, path: Path, reader: Reader | None) -> Broken:
    """Return the error of a text that is not in its encoding, with the line of the first wrong byte."""
    if isinstance(error, UnicodeDecodeError):
        return bad_byte(path, reader.encoding if reader else error.encoding)
    return Broken(f"the text cannot be read: {shorten_name(str(error))}")


def plan_file(reader: Reader, options: Options, kind: Kind) -> ColumnPlan:
    """Return which column of a file of candidates or judgments is which field."""
    if kind == Kind.CANDIDATES:
        return plan_columns(reader.columns, options.mapping)
    reader.for_judgments()
    names = {normal_name(column): column for column in reader.columns}
    mapping: dict[str, str] = {}
    if reader.format == "mocha":
        # There `id` is the candidate's id, and `candidate` its text, not its id as in other files of judgments.
        mapping = {name: field for name, field in _OF_MOCHA.items() if name in reader.columns}
    elif {"question", "answer"} <= names.keys() and names.keys().isdisjoint(JUDGMENT_SYNONYMS["candidate_id"]):
        # Beside its question, an “answer” is what was rated, and no rating.
        mapping = {names["answer"]: "candidate_id"}
    if "candidate_id" in options.mapping.values():
        mapping = {name: field for name, field in mapping.items() if field != "candidate_id"}
    mapping |= {each.column: "ignore" for each in options.criteria if each.column in reader.columns}
    has_texts = names.keys().isdisjoint(CANDIDATE_IDS)
    synonyms = JUDGMENT_SYNONYMS | (TEXT_SYNONYMS if has_texts else {})
    return plan_columns(reader.columns, mapping | dict(options.mapping), fields=JUDGMENT_FIELDS, synonyms=synonyms)
