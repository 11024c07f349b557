"""Overlap: judgments per candidate for each part of the data, and what is missing. Nothing here knows the database."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from annotate.batches.selection import Row
from projects.errors import Refused
from projects.language.amounts import format_number
from projects.models import Dataset, Question

ANY = "*"
MAX_JUDGMENTS = 1_000
"""Judgments per candidate: the limit of Batch.judgments."""

DataPart = tuple[str, str, str]
"""A part of the data: a kind of dataset, a split, and a question type or `*` in a plan that names none."""
Cut = Callable[[Sequence[Row]], Iterable[list[Row]]]
"""A function that divides candidates into HITs."""


@dataclass(frozen=True)
class Rule:
    """A number of judgments for the candidates of a kind of dataset, a split and a question type; `*` is any."""

    kind: str
    split: str
    judgments: int
    type: str = ANY

    def fits(self, kind: str, split: str, type_: str) -> bool:
        return self.kind in (ANY, kind) and self.split in (ANY, split) and self.type in (ANY, type_)


MOCHA = (
    Rule(ANY, "train", 1),
    Rule("span", "dev", 2),
    Rule("span", "test", 2),
    Rule("generative", "dev", 3),
    Rule("generative", "test", 3),
    Rule("question_generation", "dev", 3),
    Rule("question_generation", "test", 3),
)
"""MOCHA's plan: 1 judgment on train, 2 on dev and test of span datasets, 3 on those of generative ones.

MOCHA has no generated questions. They are free text, as generative answers are, and get the same numbers.
"""


def read_rules(stored: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules that a plan stores. Raises Refused for an invalid rule."""
    rules = []
    for each in stored:
        kind, split, judgments = each.get("kind"), each.get("split"), each.get("judgments")
        # Plans of earlier versions have no question types.
        type_ = each.get("type", ANY)
        if (
            not (isinstance(kind, str) and isinstance(split, str) and isinstance(type_, str))
            or type(judgments) is not int
        ):
            raise Refused("Give a kind of dataset, a split and a whole number of judgments per candidate.")
        if type_ != ANY and type_ not in Question.Type.values:
            raise Refused(
                f"“{type_}” is not a question type. The types are {', '.join(filter(None, Question.Type.values))}."
            )
        if not 0 <= judgments <= MAX_JUDGMENTS:
            raise Refused(f"Set 0 to {format_number(MAX_JUDGMENTS)} judgments per candidate.")
        rules.append(Rule(kind, split, judgments, type_))
    return tuple(rules)


def write_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    return [{name: value for name, value in asdict(rule).items() if (name, value) != ("type", ANY)} for rule in rules]


def are_by_type(rules: Iterable[Rule]) -> bool:
    """Return whether a rule names a question type, so that parts of the data are divided by type too."""
    return any(rule.type != ANY for rule in rules)


def count_judgments_wanted(rules: Sequence[Rule], kind: str, split: str, type_: str) -> int | None:
    """Return the number of the first rule that fits, or None if none does."""
    return next((rule.judgments for rule in rules if rule.fits(kind, split, type_)), None)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A candidate with its judgments and those that open or held places will bring."""

    row: Row
    kind: str
    split: str
    type: str = ""
    n_had: int = 0
    n_coming: int = 0
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class OpenHit:
    """A HIT that can get more places."""

    hit_id: int
    batch_id: int
    wanted: int
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class CoverageLine:
    """One part of the data: judgments planned, collected, in progress and missing.

    The type is `*` in a plan that does not divide by question type.
    """

    kind: str
    split: str
    type: str
    judgments: int | None
    n_candidates: int = 0
    n_left_out: int = 0
    n_had: int = 0
    n_coming: int = 0
    n_missing: int = 0

    @property
    def kind_label(self) -> str:
        return str(Dataset.Kind(self.kind).label)

    @property
    def type_label(self) -> str:
        return "" if self.type == ANY else str(Question.Type(self.type).label)

    @property
    def n_planned(self) -> int:
        return (self.judgments or 0) * (self.n_candidates - self.n_left_out)


@dataclass
class TopUp:
    """More places on HITs of an existing batch: the HITs by their new number of places."""

    batch_id: int
    hits: dict[int, list[int]] = field(default_factory=dict)
    n_places: int = 0
    n_judgments: int = 0

    @property
    def n_hits(self) -> int:
        return sum(map(len, self.hits.values()))


@dataclass(frozen=True)
class PlannedBatch:
    """A batch to be created: candidates that all miss the same number of judgments."""

    judgments: int
    rows: list[Row]
    hits: list[list[Row]]

    @property
    def n_hits(self) -> int:
        return len(self.hits)

    @property
    def n_candidates(self) -> int:
        return len(self.rows)

    @property
    def n_assignments(self) -> int:
        return self.n_hits * self.judgments

    @property
    def n_judgments(self) -> int:
        return len(self.rows) * self.judgments


@dataclass(frozen=True)
class MissingJudgments:
    """What a plan is missing, by part of the data and by batch to be created or extended."""

    lines: list[CoverageLine]
    parts: list[PlannedBatch]
    top_ups: list[TopUp]

    @property
    def n_hits(self) -> int:
        return sum(part.n_hits for part in self.parts) + sum(each.n_hits for each in self.top_ups)

    @property
    def n_assignments(self) -> int:
        return sum(part.n_assignments for part in self.parts) + sum(each.n_places for each in self.top_ups)

    @property
    def n_judgments(self) -> int:
        return sum(part.n_judgments for part in self.parts) + sum(each.n_judgments for each in self.top_ups)

    @property
    def is_by_type(self) -> bool:
        return any(line.type != ANY for line in self.lines)

    @property
    def n_without_rule(self) -> int:
        return sum(line.n_candidates for line in self.lines if line.judgments is None)


def compute_missing(
    coverage: Sequence[Coverage], hits: Iterable[OpenHit], rules: Sequence[Rule], cut: Cut
) -> MissingJudgments:
    """Return what is missing and how to collect it: places on existing HITs where they fit exactly, else new batches.

    Each candidate ends with the planned number of judgments, or keeps what it has if that is more.
    """
    is_by_type = are_by_type(rules)
    parts_of = {each.row.candidate: (each.kind, each.split, each.type if is_by_type else ANY) for each in coverage}
    wanted = {part: count_judgments_wanted(rules, *part) for part in set(parts_of.values())}
    # Left-out candidates are those of a trial that the plan excludes.
    missing = {
        each.row.candidate: max(0, (wanted[parts_of[each.row.candidate]] or 0) - each.n_had - each.n_coming)
        for each in coverage
        if not each.is_left_out
    }
    lines = _sum_lines(coverage, parts_of, wanted, missing)
    # Existing HITs first: they reduce `missing`, and the new batches below are cut from what is left.
    top_ups = _top_up(hits, missing)
    parts = []
    # All candidates of a batch get the same number of judgments, so that each missing number makes a batch.
    for n in sorted(set(missing.values()) - {0}, reverse=True):
        rows = [each.row for each in coverage if missing.get(each.row.candidate) == n]
        parts.append(PlannedBatch(n, rows, list(cut(rows))))
    return MissingJudgments(lines, parts, top_ups)


def _sum_lines(
    coverage: Sequence[Coverage],
    parts_of: Mapping[int, DataPart],
    wanted: Mapping[DataPart, int | None],
    missing: Mapping[int, int],
) -> list[CoverageLine]:
    sums: dict[DataPart, Counter[str]] = {part: Counter() for part in sorted(wanted)}
    for each in coverage:
        part = sums[parts_of[each.row.candidate]]
        part.update(n_candidates=1, n_left_out=int(each.is_left_out), n_missing=missing.get(each.row.candidate, 0))
        if not each.is_left_out:
            part.update(n_had=each.n_had, n_coming=each.n_coming)
    return [
        CoverageLine(kind=kind, split=split, type=type_, judgments=wanted[kind, split, type_], **counts)
        for (kind, split, type_), counts in sums.items()
    ]


def _top_up(hits: Iterable[OpenHit], missing: dict[int, int]) -> list[TopUp]:
    """Raise HITs by the number that all their candidates miss, and deduct it from what is missing.

    The minimum over the candidates of a HIT: a place brings a judgment of each, and none may get more than planned.
    """
    found: dict[int, TopUp] = {}
    for hit in hits:
        more = min((missing.get(candidate, 0) for candidate in hit.candidates), default=0)
        if not more:
            continue
        top_up = found.setdefault(hit.batch_id, TopUp(hit.batch_id))
        top_up.hits.setdefault(hit.wanted + more, []).append(hit.hit_id)
        top_up.n_places += more
        top_up.n_judgments += more * len(hit.candidates)
        for candidate in hit.candidates:
            missing[candidate] -= more
    return list(found.values())
