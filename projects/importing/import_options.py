"""The options of an import, as the form or the flags of the command give them."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from measures.rubric import KEY_RULE, Scale, ScaleKind, is_key
from projects.errors import Refused

PEERS = ("argilla", "label_studio", "potato", "dureader")
"""Exports of other tools, and DuReader; all of them are JSON."""
FORMATS = ("csv", "tsv", "xlsx", "json", "jsonl", "parquet", "mocha", *PEERS)
DROP_EQUAL = ("", "exact", "normalised")
DECIMALS = ("", "point", "comma")
REPEATED = ("", "first", "last")
QUOTES = ("", "none")
ADDED_LATER = ("decimal", "labels", "quotes", "rater_criterion", "repeated", "skip_wrong_rows")
"""Options that are part of the fingerprint only where they are used, so that earlier imports are still recognised."""
MOST_LABELS = 100
EVERY_DATASET = "*"
MOST_POINTS = 11
"""Imported scales with more points are treated as continuous, as 0 to 100 is."""
_CRITERION = re.compile(r"(?P<key>[^:]+):(?P<low>-?[0-9]{1,6})-(?P<high>-?[0-9]{1,6})(?P<nominal>:nominal)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionColumn:
    """A criterion with its scale, and the column of its judgments; without a column, the rows name the criterion."""

    key: str
    low: int
    high: int
    column: str = ""
    kind: ScaleKind = ScaleKind.ORDINAL
    is_nominal: bool = False
    """Whether the points of a new criterion are categories; otherwise it has the usual level of its scale."""

    @property
    def scale(self) -> Scale:
        return Scale(kind=self.kind, low=self.low, high=self.high)

    @classmethod
    def parse(cls, text: str) -> "CriterionColumn":
        """Read ``column=key:low-high``, or ``key:low-high`` for a criterion named in the rows.

        A scale of more than eleven points is continuous; ``:nominal`` at the end makes points categories. Raises
        Refused.
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
        is_nominal = bool(match["nominal"])
        if is_nominal and kind is ScaleKind.CONTINUOUS:
            raise Refused(f"In “{text}” a nominal criterion has at most {MOST_POINTS} points.", field="criterion")
        return cls(key=match["key"], low=low, high=high, column=column, kind=kind, is_nominal=is_nominal)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        ending = ":nominal" if self.is_nominal else ""
        return f"{self.column}={self.key}:{self.low}-{self.high}{ending}".lstrip("=")


CORRECTNESS_COLUMN = CriterionColumn(key="correctness", low=1, high=5)
"""The criterion of MOCHA's `scores`, unless the project has another scale for that key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that decides how a file is read.

    `mapping` maps columns to fields (`fields.FIELDS`). Columns that it does not name are guessed by their names; an
    empty field or `ignore` excludes a column. `criteria` are the judgments to read. `scores` and columns of raters are
    on `rater_criterion` (see `find_scored`). `labels` maps words to points, or to None for a missing value. `decimal`
    is the decimal mark, `repeated` which judgment counts if an annotator has given several of one candidate. `quotes`
    is `none` where quotation marks don't enclose cells but are characters like others.
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
    decimal: str = ""
    quotes: str = ""
    labels: Mapping[str, float | None] = field(default_factory=dict)
    rater_criterion: str = ""
    repeated: str = ""
    skip_wrong_rows: bool = False

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
        values["labels"] = normalise_labels(values.get("labels", {}))
        return cls(**values)

    def find_scored(self, known: Mapping[str, CriterionColumn]) -> CriterionColumn:
        """Return the criterion of `scores` and of columns of raters. Raises Refused if its scale isn't known.

        Without a choice it is the one new criterion that has no column, or else correctness.
        """
        new = [each for each in self.criteria if not each.column]
        if not self.rater_criterion and len(new) == 1:
            return new[0]
        key = self.rater_criterion or CORRECTNESS_COLUMN.key
        scales = {CORRECTNESS_COLUMN.key: CORRECTNESS_COLUMN} | dict(known) | {each.key: each for each in self.criteria}
        if key not in scales:
            # Who writes the scale here means the right thing in the wrong place.
            name, _colon, scale = key.partition(":")
            raise Refused(
                f"The criterion “{name}” has no scale yet. Give it under New criteria (--criterion), for example "
                f"{name}:{scale or '1-5'}.",
                field="criterion",
            )
        return scales[key]


def normalise_labels(labels: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return labels as they are compared: without case and surrounding spaces."""
    return {normal_label(label): points for label, points in labels.items()}


def normal_label(label: str) -> str:
    return " ".join(label.casefold().split())


def parse_label(text: str) -> tuple[str, float | None]:
    """Parse ``label=points`` or ``label=missing``. Raises Refused."""
    label, equals, points = (part.strip() for part in text.rpartition("="))
    if not equals or not normal_label(label):
        raise Refused(f"Invalid label “{text}”. Use label=points, for example Excellent=5.", field="labels")
    if points.casefold() == "missing":
        return normal_label(label), None
    if not re.fullmatch(r"-?[0-9]{1,6}(?:[.][0-9]{1,6})?", points):
        raise Refused(f"Enter the points of “{label}” as a number, or the word missing.", field="labels")
    return normal_label(label), float(points)


def parse_labels(texts: Iterable[str]) -> dict[str, float | None]:
    """Return the points of labels. Raises Refused, also for a label with two values."""
    labels: dict[str, float | None] = {}
    for text in texts:
        label, points = parse_label(text)
        if label in labels and labels[label] != points:
            raise Refused(f"The label “{label}” has two values. Remove one of them.", field="labels")
        labels[label] = points
    if len(labels) > MOST_LABELS:
        raise Refused(f"There are more than {MOST_LABELS} labels.", field="labels")
    return labels


def fingerprint(path: Path, options: Options) -> str:
    """Return the SHA-256 of the file and the options, by which the same import is recognised."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    # Sorted, because the order in which a form sends its fields must not make another import of it.
    stored = {name: value for name, value in options.as_dict().items() if value or name not in ADDED_LATER}
    for each in stored["criteria"]:
        if not each["is_nominal"]:
            del each["is_nominal"]
    digest.update(orjson.dumps(stored, option=orjson.OPT_SORT_KEYS))
    return digest.hexdigest()
