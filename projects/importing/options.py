"""The options of an import, as the form or the flags of the command give them."""

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

PEERS = ("argilla", "label_studio", "potato", "dureader")
"""Exports of other tools, and DuReader; all of them are JSON."""
FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "mocha", *PEERS)
DROP_EQUAL = ("", "exact", "normalised")
EVERY_DATASET = "*"
MOST_POINTS = 11
"""Imported scales with more points are treated as continuous, as 0 to 100 is."""
_CRITERION = re.compile(r"(?P<key>[^:]+):(?P<low>-?[0-9]{1,6})-(?P<high>-?[0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionColumn:
    """A criterion with its scale, and the column of its judgments; without a column, the rows name the criterion."""

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
            raise Refused(
                f"Invalid criterion “{text}”. Use column=key:low-high, for example correctness_1to5=correctness:1-5.",
                field="criterion",
            )
        if not is_key(match["key"]):
            raise Refused(f"Invalid key “{match['key']}” in “{text}”. {KEY_RULE}", field="criterion")
        low, high = int(match["low"]), int(match["high"])
        if low >= high:
            raise Refused(f"In “{text}” the lowest value must be smaller than the highest.", field="criterion")
        kind = ScaleKind.ORDINAL if high - low < MOST_POINTS else ScaleKind.CONTINUOUS
        return cls(key=match["key"], low=low, high=high, column=column, kind=kind)


CORRECTNESS_COLUMN = CriterionColumn(key="correctness", low=1, high=5)
"""The criterion of MOCHA's `scores`, unless the project has another scale for that key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that decides how a file is read.

    `mapping` maps columns to fields (`fields.FIELDS`). Columns that it does not name are guessed by their names; an
    empty field or `ignore` excludes a column. `criteria` are the judgments to read, for `scores` the one with the key
    `correctness`.
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
        """Return options from the values of a JSON field or a form."""
        values = dict(stored)
        criteria = tuple(
            each if isinstance(each, CriterionColumn) else CriterionColumn(**(each | {"kind": ScaleKind(each["kind"])}))
            for each in values.get("criteria", ())
        )
        values["criteria"] = criteria
        values["drop_numbers"] = tuple(values.get("drop_numbers", ()))
        return cls(**values)

    def correctness(self) -> CriterionColumn:
        """Return the criterion of `scores`."""
        return next((each for each in self.criteria if each.key == CORRECTNESS_COLUMN.key), CORRECTNESS_COLUMN)


def fingerprint(path: Path, options: Options) -> str:
    """Return the SHA-256 of the file and the options, by which the same import is recognised."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    # Sorted, because the order in which a form sends its fields must not make another import of it.
    digest.update(orjson.dumps(options.as_dict(), option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()
