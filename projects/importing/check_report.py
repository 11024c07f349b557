"""The result of a check: problems, warnings, counts, and the refusal that contains them."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from projects.errors import Refused
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.language.names import shorten_name

LINE = "line"
"""What readers count: physical lines, or entries or rows of a file that has several of them on one line."""
UNITS = {LINE: "lines", "entry": "entries", "row": "rows"}
"""Each of them, with its plural."""

MORE_WARNINGS = "There are further warnings of other kinds."


@dataclass(frozen=True, slots=True)
class Problem:
    """One cause of errors in the file: where first, why, how often, and the first lines.

    `line` is a physical line, or the number of the `unit` that the reader counts instead; None is the whole file.
    """

    line: int | None
    column: str
    reason: str
    n: int = 1
    lines: tuple[int, ...] = ()
    unit: str = LINE

    def __str__(self) -> str:
        where = []
        if self.line is not None:
            lines = (self.line,) if self.n == 1 else self.lines
            times = f" ({self.n:,} times)" if self.n > 1 else ""
            where.append(f"{_list_lines(self.unit, lines, self.n)}{times}")
        if self.column:
            where.append(f"column “{shorten_name(self.column)}”")
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: how often it occurred, and the first lines."""

    reason: str
    n: int
    lines: tuple[int, ...] = ()
    unit: str = LINE

    def __str__(self) -> str:
        if not self.lines:
            return self.reason
        times = f"{self.n:,} times: " if self.n > 1 else ""
        return f"{self.reason.removesuffix('.')} ({times}{_list_lines(self.unit, self.lines, self.n)})."


class FileRefused(Refused):
    """The file has errors; nothing of it is stored.

    `problems` contains the first hundred causes in the order of their lines, `total` is the number of all errors.
    `rows` has the column and the reason of each wrong row by its line; it is empty if an error concerns the whole file,
    so that no rows can be skipped. `contradicted` has the earlier line that a wrong row contradicts, if any. `offers`
    names options that may help, such as ``{"encoding": ("windows-1252", …)}``.
    """

    def __init__(
        self,
        name: str,
        problems: list[Problem],
        total: int | None = None,
        offers: Mapping[str, tuple[str, ...]] | None = None,
        rows: Mapping[int, tuple[str, str]] | None = None,
        contradicted: Mapping[int, int] | None = None,
    ) -> None:
        self.name = shorten_name(name, 200)
        self.problems = problems
        self.total = sum(problem.n for problem in problems) if total is None else total
        self.offers = dict(offers or {})
        self.rows = dict(rows or {})
        self.contradicted = dict(contradicted or {})
        first = f"{shorten_name(name)}: {problems[0]}"
        more = f" ({self.total:,} errors in total.)" if self.total > 1 else ""
        details = [str(problem) for problem in problems[1:]]
        if self.n_hidden:
            details.append(f"… and {self.n_hidden:,} more.")
        super().__init__(first + more, details=details)

    @property
    def n_hidden(self) -> int:
        """Errors whose cause is not among `problems`."""
        return self.total - sum(problem.n for problem in self.problems)

    def without_rows(self, reason: str = "") -> "FileRefused":
        """Return the same refusal as one of the whole file, with a reason why its rows can't be skipped."""
        problems, total = self.problems, self.total
        if reason:
            problems = [*problems[: DEFAULT_LIMITS.problems_shown - 1], Problem(None, "", reason)]
            total += 1
        return FileRefused(self.name, problems, total, self.offers)

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.name,
            "problems": [asdict(problem) for problem in self.problems],
            "total": self.total,
            "n_hidden": self.n_hidden,
            "n_rows": len(self.rows),
            "offers": {key: list(values) for key, values in self.offers.items()},
        }


class Broken(Exception):
    """The file cannot be read beyond this point. Used inside this package only, which turns it into FileRefused."""

    def __init__(
        self,
        reason: str,
        *,
        line: int | None = None,
        column: str = "",
        offers: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(reason)
        self.problem = Problem(line, column, reason)
        self.offers = offers or {}


class Causes:
    """Errors by their cause: a column and a reason, with the number of times and the first lines."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._found: dict[tuple[str, str], tuple[int | None, int, list[int]]] = {}
        self.unit = LINE

    def add(self, line: int | None, column: str, reason: str, *, is_last: bool = False) -> None:
        """Count an error. Another cause after the first hundred is dropped, or replaces the hundredth if `is_last`."""
        key = (column, reason)
        if key not in self._found and len(self._found) >= self._limits.problems_shown:
            if not is_last:
                return
            self._found.popitem()
        first, n_before, lines = self._found.get(key, (line, 0, []))
        if line is not None and len(lines) < self._limits.lines_shown:
            lines.append(line)
        self._found[key] = (first, n_before + 1, lines)

    def __iter__(self) -> Iterator[Problem]:
        """Yield the problems in the order of their lines; those of the whole file come last."""
        rows = sorted(self._found.items(), key=lambda each: (each[1][0] is None, each[1][0] or 0))
        for (column, reason), (line, n, lines) in rows:
            yield Problem(line, column, reason, n, tuple(lines), self.unit)


class Notes:
    """Collects the problems and warnings of one check.

    Problems on the lines in `skipped` are ignored, because these rows are left out.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, skipped: Container[int] = ()) -> None:
        self.limits = limits
        self.total = 0
        self.last_line: int | None = None
        self.offers: dict[str, tuple[str, ...]] = {}
        self._skipped = skipped
        self._causes = Causes(limits)
        self._rows: dict[int, tuple[str, str]] = {}
        self._contradicted: dict[int, int] = {}
        self._is_whole = False
        self._warned: dict[str, tuple[int, list[int], str]] = {}

    @property
    def unit(self) -> str:
        """What the numbers of places count; a reader sets it once it has seen the beginning of its file."""
        return self._causes.unit

    @unit.setter
    def unit(self, unit: str) -> None:
        self._causes.unit = unit

    def name_place(self, line: int) -> str:
        """Return where an earlier row is, as part of a sentence."""
        return f"{'on' if self.unit == LINE else 'in'} {self.unit} {line}"

    @property
    def problems(self) -> list[Problem]:
        return list(self._causes)

    def problem(self, line: int | None, column: str, reason: str, *, contradicts: int | None = None) -> None:
        """Count an error of a row, or of the file; `contradicts` is the line of an earlier row that it contradicts."""
        if line in self._skipped:
            return
        self.total += 1
        self.last_line = line
        self._causes.add(line, column, reason)
        if line is None or len(self._rows) > self.limits.rows_skipped:
            self._is_whole = True
        else:
            self._rows.setdefault(line, (column, reason))
            if contradicts is not None:
                self._contradicted[line] = contradicts

    def broken(self, error: Broken) -> None:
        """Add the error that ended the reading; it is always shown."""
        self.total += 1
        self._is_whole = True
        self._causes.add(error.problem.line, error.problem.column, error.problem.reason, is_last=True)
        self.offers.update(error.offers)

    def warn(self, reason: str, line: int | None = None, n: int = 1) -> None:
        """Count a warning; of several lines at once, `line` is None or one of them."""
        if reason not in self._warned and len(self._warned) >= self.limits.warnings:
            reason = MORE_WARNINGS
        n_before, lines, unit = self._warned.get(reason, (0, [], self.unit))
        if line is not None and unit == self.unit and len(lines) < self.limits.lines_shown:
            lines.append(line)
        self._warned[reason] = (n_before + n, lines, unit)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return tuple(Warned(reason, n, tuple(lines), unit) for reason, (n, lines, unit) in self._warned.items())

    def refuse_if_any(self, name: str) -> None:
        """Raise FileRefused if there are problems."""
        if self.total:
            rows = {} if self._is_whole else self._rows
            raise FileRefused(name, self.problems, self.total, self.offers, rows, self._contradicted)


@dataclass(slots=True, kw_only=True)
class CheckReport:
    """The content of a file in numbers, after the filters."""

    file: str
    kind: str
    format: str
    rows: int = 0
    passages: int = 0
    questions: int = 0
    references: int = 0
    candidates: int = 0
    judgments: int = 0
    minimal_pairs: int = 0
    annotators: int = 0
    most_unnamed: int = 0
    """The most judgments of one candidate whose annotators are not named: nobody knows how many people gave them."""
    removed: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    by_dataset: dict[str, dict[str, int]] = field(default_factory=dict)
    labels: dict[str, float | None] = field(default_factory=dict)
    skipped_rows: tuple[Problem, ...] = ()
    """Why rows were skipped, by cause; `skipped["wrong_rows"]` is their number."""
    warnings: tuple[Warned, ...] = ()
    unit: str = LINE
    """What the numbers of places count."""

    def count_skipped(self, name: str) -> None:
        self.skipped[name] = self.skipped.get(name, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """Return the report for a JSON field and for `--json`, with warnings as sentences."""
        return asdict(self) | {"warnings": [str(warned) for warned in self.warnings]}


def _list_lines(unit: str, lines: tuple[int, ...], n: int) -> str:
    named = unit if len(lines) == 1 else UNITS[unit]
    return f"{named} " + ", ".join(map(str, lines)) + (", …" if n > len(lines) else "")
