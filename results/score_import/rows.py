"""Rows of a file of scores, one by one, into a column of numbers for each metric."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from measures.patterns import Floats
from projects.importing.check_report import Broken
from projects.importing.fields import SYNONYMS, normal_name, plan_columns
from projects.importing.values import ID_LENGTH, MAYBE_THOUSANDS, describe_type
from projects.language.names import shorten_name
from results.metrics.storing import LARGEST
from results.score_import.matching import Candidates
from results.score_import.problems import Problems, format_value

SCORE_FIELDS = {"dataset": "Dataset", "candidate_id": "Candidate ID", "ignore": "Leave out"}
"""What a column may be mapped to, apart from a metric."""
ID_NAMES = ("candidate_id", "id", "item_id", "example_id", "uid", "item", "unit", "candidate")
PREDICTION = "pred_score"
"""MOCHA's name for the score of a metric; those of a minimal pair end in 1 and 2."""
# Stricter than float(), which takes "nan", "1_000" and digits of other scripts; the lengths keep out texts that only
# look like numbers.
PLAIN = re.compile(r"[-+]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?", re.ASCII)
DECIMAL_COMMA = re.compile(r"[-+]?\d{0,40},\d{1,40}(?:[eE][-+]?\d{1,4})?", re.ASCII)
NO_SCORE = "no score in the file"
"""Why a candidate has no score that the file leaves out, or has an empty cell for."""
# Low, so that a metric with many missing scores written as words is found; a column of texts holds hardly a number.
LEAST_SHARE = 0.1
"""The least share of numbers among its first cells that makes a column a metric."""
FIRST_ROWS = 1_000
# Each holds an array over all candidates of the project.
MOST_METRICS = 50

NOT_SCORES = {
    name for meaning, names in SYNONYMS.items() if meaning not in ("score", "score_1", "score_2") for name in names
}
"""Columns of other meaning that may hold numbers: offered as metrics, but not selected by default."""


@dataclass
class ScoresByMetric:
    """The scores of one metric by position of the candidate; NaN where there is none."""

    column: str
    values: Floats
    lines: npt.NDArray[np.int32]
    """The line of the score or of the cell that was no number; 0 where there was neither."""
    not_numbers: dict[int, str] = field(default_factory=dict)
    """Why there is no score where a cell is no number, by position of the candidate."""

    @property
    def n(self) -> int:
        return int(np.isfinite(self.values).sum())

    @property
    def missing(self) -> npt.NDArray[np.intp]:
        """Positions of the candidates that the file does not contain."""
        return np.flatnonzero(self.lines == 0)


class ScoreRows:
    """Collects the scores of records; `columns` are the metrics that were found, in the order of the file."""

    def __init__(
        self,
        candidates: Candidates,
        problems: Problems,
        *,
        is_mocha: bool,
        dataset: str = "",
        decimal: str = "point",
    ) -> None:
        self.candidates, self.problems, self.dataset, self.decimal = candidates, problems, dataset, decimal
        self.is_mocha = is_mocha
        self.columns: dict[str, ScoresByMetric] = {}
        self.left_out: list[str] = []
        self.other_decimal = ""
        """A cell of the first column that another decimal mark may make a column of scores, with what to do."""
        self.n_rows = self.n_matched = 0
        self._seen: set[str] = set()
        self._first: list[tuple[int, dict[str, Any]]] | None = []
        self._cells: list[tuple[str, int, ScoresByMetric]] = []
        """Each column of scores, which candidate of a pair it is of (0: no pair), and where its scores go."""
        self.id_column = self.dataset_column = ""

    def name_columns(self, names: Iterable[str], mapping: dict[str, str]) -> None:
        """Find the columns of ids and datasets. Raises Broken where there is no column of ids."""
        synonyms = {"candidate_id": ID_NAMES, "dataset": SYNONYMS["dataset"]}
        plan = plan_columns(names, mapping, fields=SCORE_FIELDS, synonyms=synonyms)
        self.id_column, self.dataset_column = plan.column("candidate_id"), plan.column("dataset")
        if not self.id_column:
            found = ", ".join(shorten_name(name, 30) for name in list(plan.meanings)[:12])
            raise Broken(f"no column for the candidate's ID (found: {found}); enter its name", column="candidate_id")
        self._seen = {self.id_column, self.dataset_column}
        self._seen |= {name for name, meaning in mapping.items() if meaning in ("", "ignore")} - {""}

    def add(self, line: int, record: dict[str, Any]) -> None:
        self.n_rows += 1
        if self._first is None:
            self._add_scores(line, record)
            return
        # The first rows are held back until they have told which columns are metrics.
        self._first.append((line, record))
        if len(self._first) == FIRST_ROWS:
            self._find_columns()

    def finish(self) -> None:
        """Add the rows that are still held back, and list the candidates that the file does not contain."""
        if self._first is not None:
            self._find_columns()
        for each in self.columns.values():
            for position in each.missing:
                dataset, name = self.candidates.find_name(int(position))
                self.problems.add("missing", None, each.column, dataset, name, None, "has no score in the file")

    def _find_columns(self) -> None:
        first, self._first = self._first or [], None
        # In the order of the file, which the page and the stored runs keep.
        names = dict.fromkeys(name for _line, record in first for name in record)
        for name in names:
            self._classify_column(name, (record.get(name) for _line, record in first))
        for line, record in first:
            self._add_scores(line, record)

    def _classify_column(self, name: str, cells: Iterable[Any]) -> None:
        """Decide by its first cells whether a column is a metric."""
        filled = [cell for cell in cells if cell is not None and cell != ""]
        if name in self._seen or not filled:
            return
        self._seen.add(name)
        half = pair_position(name)
        metric = PREDICTION if half else name
        n_numbers = sum(read_number(cell, self.decimal) is not None for cell in filled)
        # MOCHA's predictions may carry ids and labels that are numbers.
        is_other = self.is_mocha and not metric.startswith(PREDICTION)
        if is_other or n_numbers < max(1, LEAST_SHARE * len(filled)):
            self.left_out.append(name)
            self.other_decimal = self.other_decimal or next(filter(None, map(self._explain_decimal, filled)), "")
            return
        if metric not in self.columns:
            if len(self.columns) == MOST_METRICS:
                raise Broken(f"more than {MOST_METRICS} columns hold numbers; leave some out of the file")
            n = self.candidates.n
            self.columns[metric] = ScoresByMetric(metric, np.full(n, np.nan), np.zeros(n, dtype=np.int32))
        self._cells.append((name, half, self.columns[metric]))

    def _explain_decimal(self, cell: Any) -> str:
        """Return what to do about the decimal mark of a cell that is no number for it, or nothing."""
        text = cell.strip() if type(cell) is str else ""
        if not DECIMAL_COMMA.fullmatch(text) and not (self.decimal == "comma" and PLAIN.fullmatch(text)):
            return ""
        return f"“{shorten_name(text, 30)}” {explain_no_number(cell, self.decimal)}"

    def _add_scores(self, line: int, record: dict[str, Any]) -> None:
        # JSON lines may bring a key that no earlier row had.
        for name in record.keys() - self._seen:
            self._classify_column(name, [record[name]])
        name = self._read_id(record.get(self.id_column))
        dataset = (self._read_id(record.get(self.dataset_column)) if self.dataset_column else "") or self.dataset
        if not name:
            cell = record.get(self.id_column)
            is_empty = cell is None or (isinstance(cell, str) and not cell.strip())
            reason = "the ID is empty" if is_empty else "is not an ID"
            self.problems.add("unreadable", line, self.id_column, dataset, "", cell, reason)
            return
        filled = [
            (column, half, into, cell)
            for column, half, into in self._cells
            if (cell := record.get(column)) is not None and cell != ""
        ]
        # A row without any score counts as matched where its id is one.
        halves = {half for _column, half, _into, _cell in filled} or {min((each[1] for each in self._cells), default=0)}
        positions = {half: self._match_candidate(line, dataset, name, half) for half in sorted(halves)}
        self.n_matched += any(position is not None for position in positions.values())
        repeated = []
        for column, half, into, cell in filled:
            position = positions[half]
            if position is None:
                continue
            if into.lines[position]:
                repeated.append((column, cell, into.lines[position]))
            else:
                self._set_score(into, position, line, (dataset, name), column, cell)
        if repeated:
            column = repeated[0][0] if len(repeated) == 1 else ""
            reason = f"is {self.problems.name_place(repeated[0][2])} already; the first score is used"
            self.problems.add("duplicate", line, column, dataset, name, repeated[0][1], reason)

    def _match_candidate(self, line: int, dataset: str, name: str, half: int) -> int | None:
        found = self.candidates.find(dataset, name, half=half)
        if not found.kind:
            return found.position
        # An unknown pair is listed once, not for each of its candidates.
        if half < 2:
            self.problems.add(found.kind, line, self.id_column, dataset, name, name, found.reason)
        return None

    def _set_score(
        self, into: ScoresByMetric, position: int, line: int, named: tuple[str, str], column: str, cell: Any
    ) -> None:
        # Set for a wrong cell as well, so that a later row of the same candidate is a duplicate and not its
        # replacement.
        into.lines[position] = line
        number = read_number(cell, self.decimal)
        if number is None:
            kind = "too large" if is_too_large(cell, self.decimal) else "not a number"
            into.not_numbers[position] = f"{kind}: “{shorten_name(format_value(cell), 100)}”"
            self.problems.add("not a number", line, column, *named, cell, explain_no_number(cell, self.decimal))
        else:
            into.values[position] = number

    @staticmethod
    def _read_id(value: Any) -> str:
        # `type` and not `isinstance` here and below: in Python True is an int, and is neither an id nor a score.
        text = str(value) if type(value) is int else value
        return text if type(text) is str and len(text) <= ID_LENGTH and text.strip() else ""


def pair_position(column: str) -> int:
    """Return 1 or 2 for a column with the scores of a pair's first or second candidate, otherwise 0."""
    return {"pred_score1": 1, "pred_score_1": 1, "pred_score2": 2, "pred_score_2": 2}.get(normal_name(column), 0)


def is_selected_by_default(column: str) -> bool:
    return normal_name(column) not in NOT_SCORES


def read_number(cell: Any, decimal: str = "point") -> float | None:
    """Return the number below 1e100 that a cell is or spells with this decimal mark, or None."""
    number = _parse_number(cell, decimal)
    return number if number is not None and abs(number) < LARGEST else None


def is_too_large(cell: Any, decimal: str = "point") -> bool:
    """Return whether a cell is a number, but a larger one than a score may be."""
    number = _parse_number(cell, decimal)
    return number is not None and abs(number) >= LARGEST and not (type(cell) is float and math.isinf(cell))


def _parse_number(cell: Any, decimal: str) -> float | None:
    if type(cell) is str:
        text = cell.strip()
        if "," in text and decimal != "point" and DECIMAL_COMMA.fullmatch(text):
            is_clear = decimal != "either" or not MAYBE_THOUSANDS.fullmatch(text)
            cell = float(text.replace(",", ".")) if is_clear else None
        else:
            has_other_mark = decimal == "comma" and "." in text
            cell = float(text) if PLAIN.fullmatch(text) and not has_other_mark else None
    if type(cell) is int or type(cell) is float:
        # A whole number of JSON may have any number of digits.
        return float(cell) if abs(cell) < LARGEST or type(cell) is float else math.inf
    return None


def explain_no_number(cell: Any, decimal: str = "point") -> str:
    if is_too_large(cell, decimal):
        return f"is too large: a score lies between -{LARGEST:g} and {LARGEST:g}"
    if type(cell) is float:
        return "is NaN, which means no score" if math.isnan(cell) else "is not finite"
    if type(cell) is not str:
        return f"is {describe_type(cell)}, not a number"
    if DECIMAL_COMMA.fullmatch(cell.strip()):
        if decimal == "either":
            return "may be a decimal or thousands; choose the decimal mark"
        return "has a decimal comma; choose comma as the decimal mark, or use a point"
    if decimal == "comma" and PLAIN.fullmatch(cell.strip()):
        return "has a decimal point; choose point as the decimal mark, or use a comma"
    return f"is “{shorten_name(cell, 30)}”, not a number"


def list_reasons(column: ScoresByMetric) -> Iterator[tuple[int, str]]:
    """Yield the position of each candidate without a score, and why it has none."""
    for position in column.missing:
        yield int(position), NO_SCORE
    yield from column.not_numbers.items()
