"""How a file is to be read: what the page's form or the command's flags say."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from measures.rubric import Scale, ScaleKind
from projects.errors import Refused
from projects.rubric.rubrics import KEY_RULE, is_key

FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "mocha")
DROP_EQUAL = ("", "exact", "normalised")
EVERY_DATASET = "*"
MOST_POINTS = 11
_CRITERION = re.compile(r"(?P<key>[^:]+):(?P<low>-?[0-9]{1,6})-(?P<high>-?[0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionColumn:
    """A column of judgments (or, without one, a criterion named in the rows) and its scale."""

    key: str
    low: int
    high: int
    column: str = ""
    kind: ScaleKind = ScaleKind.ORDINAL

    @property
    def scale(self) -> Scale:
        return Scale(kind=self.kind, low=self.low, high=self.high)

    @classmethod
    def parse(cls, text: str) -> "CriterionColumn":
        """Read ``column=key:low-high``, or ``key:low-high`` for a criterion named in the rows.

        A scale of more than eleven points is continuous. Raises Refused.
        """
        column, _equals, rest = text.rpartition("=")
        match = _CRITERION.fullmatch(rest)
        if match is None:
            said = (
                "Invalid criterion “%(text)s”. Use column=key:low-high, for example correctness_1to5=correctness:1-5."
            )
            raise Refused(said % {"text": text}, field="criterion")
        if not is_key(match["key"]):
            said = "Invalid key “%(key)s” in “%(text)s”. %(rule)s"
            raise Refused(said % {"text": text, "key": match["key"], "rule": KEY_RULE}, field="criterion")
        low, high = int(match["low"]), int(match["high"])
        if low >= high:
            said = "In “%(text)s” the lowest value must be smaller than the highest."
            raise Refused(said % {"text": text}, field="criterion")
        kind = ScaleKind.ORDINAL if high - low < MOST_POINTS else ScaleKind.CONTINUOUS
        return cls(key=match["key"], low=low, high=high, column=column, kind=kind)


CORRECTNESS_COLUMN = CriterionColumn(key="correctness", low=1, high=5)
"""Where MOCHA's `scores` belong, unless the project's own scale for that key is another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that decides what a file means.

    `mapping` takes columns to fields (`fields.FIELDS`); columns it leaves out are guessed by their names, and an
    empty field or `ignore` leaves the column out. `criteria` are the judgments to read; for `scores` the one whose
    key is `correctness`.
    """

    format: str = ""
    encoding: str = ""
    delimiter: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    dataset: str = ""
    dataset_kind: str = ""
    split: str = ""
    with_scores: bool = False
    criteria: tuple[CriterionColumn, ...] = ()
    drop_equal: str = ""
    drop_numbers: tuple[str, ...] = ()
    second_reference_below: float | None = None
    multiple_choice: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Options":
        """Make options from what a JSON field or a form holds."""
        values = dict(stored)
        criteria = tuple(
            each if isinstance(each, CriterionColumn) else CriterionColumn(**(each | {"kind": ScaleKind(each["kind"])}))
            for each in values.get("criteria", ())
        )
        values["criteria"] = criteria
        values["drop_numbers"] = tuple(values.get("drop_numbers", ()))
        return cls(**values)

    def correctness(self) -> CriterionColumn:
        return next((each for each in self.criteria if each.key == CORRECTNESS_COLUMN.key), CORRECTNESS_COLUMN)


def fingerprint(path: Path, options: Options) -> str:
    """SHA-256 of the file's bytes and of the options: the same file and options are the same import."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(orjson.dumps(options.as_dict(), option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()
