"""The result of a check: problems, warnings, counts, and the refusal that contains them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from projects.errors import Refused
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.language.names import shorten_name


@dataclass(frozen=True, slots=True)
class Problem:
    """One error in the file: where and why. `line` is the physical line, or None for the whole file."""

    line: int | None
    column: str
    reason: str

    def __str__(self) -> str:
        where = []
        if self.line is not None:
            where.append(f"line {self.line}")
        if self.column:
            where.append(f"column “{shorten_name(self.column)}”")
        return f"{', '.join(where)}: {self.reason}" if where else self.reason


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning: how often it occurred, and the first lines."""

    reason: str
    n: int
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.lines:
            return self.reason
        lines = ", ".join(map(str, self.lines)) + (", …" if self.n > len(self.lines) else "")
        return f"{self.reason.removesuffix('.')} ({self.n:,}: line {lines})."


class FileRefused(Refused):
    """The file has errors; nothing of it is stored.

    `problems` contains the first hundred, `total` is the number of all. `offers` names options that may help, such as
    ``{"delimiter": (";",)}`` or ``{"encoding": ("windows-1252", …)}``.
    """

    def __init__(
        self,
        name: str,
        problems: list[Problem],
        total: int | None = None,
        offers: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.name = shorten_name(name, 200)
        self.problems = problems
        self.total = len(problems) if total is None else total
        self.offers = dict(offers or {})
        first = f"{shorten_name(name)}: {problems[0]}"
        more = f" ({self.total:,} problems in total.)" if self.total > 1 else ""
        details = [str(problem) for problem in problems[1:]]
        if self.total > len(problems):
            details.append(f"… and {self.total - len(problems):,} more.")
        super().__init__(first + more, details=details)

    def as_dict(self) -> dict[str, Any]:
        return {
            "file": self.name,
            "problems": [asdict(problem) for problem in self.problems],
            "total": self.total,
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


class Notes:
    """Collects the problems and warnings of one check."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.problems: list[Problem] = []
        self.total = 0
        self.offers: dict[str, tuple[str, ...]] = {}
        self._warned: dict[str, tuple[int, list[int]]] = {}

    def problem(self, line: int | None, column: str, reason: str) -> None:
        self.total += 1
        if len(self.problems) < self.limits.problems_shown:
            self.problems.append(Problem(line, column, reason))

    def broken(self, error: Broken) -> None:
        """Add the error that ended the reading; it replaces the hundredth problem, so that it is always shown."""
        self.total += 1
        del self.problems[self.limits.problems_shown - 1 :]
        self.problems.append(error.problem)
        self.offers.update(error.offers)

    def warn(self, reason: str, line: int | None = None) -> None:
        n, lines = self._warned.get(reason, (0, []))
        if line is not None and len(lines) < self.limits.lines_shown:
            lines.append(line)
        self._warned[reason] = (n + 1, lines)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        return tuple(Warned(reason, n, tuple(lines)) for reason, (n, lines) in self._warned.items())

    def refuse_if_any(self, name: str) -> None:
        """Raise FileRefused if there are problems."""
        if self.total:
            raise FileRefused(name, self.problems, self.total, self.offers)


@dataclass(slots=True, kw_only=True)
class Report:
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
    removed: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    linked: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    by_dataset: dict[str, dict[str, int]] = field(default_factory=dict)
    warnings: tuple[Warned, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the report for a JSON field and for `--json`, with warnings as sentences."""
        return asdict(self) | {"warnings": [str(warned) for warned in self.warnings]}
