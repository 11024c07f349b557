"""The judgments of a set as numbers, read from its own files: which score belongs to which candidate, by whom.

A unit is the line of a candidate in `candidates.jsonl`, counted from 0. Nothing here asks the database.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pandas as pd

from measures.columns import ANNOTATOR, GROUP, UNIT, VALUE
from measures.gold_rules import GoldRule
from measures.gold_scores import gold_by, gold_scores
from measures.outcome import Undefined
from measures.rubric import NO_ORDER
from measures.standardising import MEAN, SD
from results.sets.canonical import ANNOTATORS, CANDIDATES, LONG_JSONL
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings

EVERY = 20_000
"""Lines between two reports of progress, at which the job may also be cancelled."""
NOBODY = -1
FACETS = ("dataset", "split", "source")

Floats = npt.NDArray[np.float64]
Line = dict[str, Any]


@dataclass
class Scores:
    """The included judgments of one criterion on one scale, in the order of the long file; reversed ones turned."""

    criterion: ScaledCriterion
    # Arrays take 16 bytes for each of a million judgments; lists would take several times that.
    units: "array[int]" = field(default_factory=lambda: array("i"))
    annotators: "array[int]" = field(default_factory=lambda: array("i"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    cannot_judge: Counter[int] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    starts: "array[int]" = field(default_factory=lambda: array("i"))
    """Where the judgments of each unit begin, and where those of the last unit end."""

    def find_slice(self, unit: int) -> slice:
        """Return the slice of a unit's judgments."""
        return slice(self.starts[unit], self.starts[unit + 1])


@dataclass
class Judgments:
    """The long file in numbers."""

    n_rows: int = 0
    names: list[str] = field(default_factory=list)
    """Pseudonyms; judgments point to them, or to NOBODY where the annotator is unknown."""
    everybody: set[str] = field(default_factory=set)
    """Pseudonyms of all who have a row in the file, included or not."""
    kinds: set[str] = field(default_factory=set)
    parts: dict[ScaledCriterion, Scores] = field(default_factory=dict)
    n_units: int = 0
    groups: "array[int]" = field(default_factory=lambda: array("i"))
    """The passage of each unit."""
    facets: "dict[str, array[int]]" = field(default_factory=lambda: {name: array("i") for name in FACETS})
    labels: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FACETS})

    def frame(self, criterion: ScaledCriterion) -> pd.DataFrame:
        """Return the long frame of one criterion on one scale; units and groups are numbers."""
        part = self.parts[criterion]
        units = np.frombuffer(part.units, np.int32)
        annotators = pd.Categorical.from_codes(
            np.frombuffer(part.annotators, np.int32), pd.Index(self.names, dtype="str")
        )
        return pd.DataFrame(
            {
                UNIT: units,
                GROUP: np.frombuffer(self.groups, np.int32)[units] if len(units) else units,
                ANNOTATOR: annotators,
                VALUE: np.frombuffer(part.values, np.float64),
            }
        )

    def rows_by(self, criterion: ScaledCriterion, name: str) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """Yield the rows of that frame in each dataset, split or source, by the bytes of its name."""
        units = np.frombuffer(self.parts[criterion].units, np.int32)
        codes = np.frombuffer(self.facets[name], np.int32)[units] if len(units) else units
        labels = self.labels[name]
        for code in sorted(set(codes.tolist()), key=lambda code: labels[code].encode()):
            yield labels[code], codes == code


def read_judgments(folder: Path, on_rows: Callable[[int], None]) -> Judgments:
    """Read the long file beside the candidates; both are sorted by dataset and candidate id, byte by byte."""
    found = Judgments()
    numbers: dict[str, int] = {}
    codes: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    passages: dict[tuple[str, str], int] = {}
    parts: dict[tuple[str, str, int, int], Scores] = {}
    dataset = candidate_id = None
    with (folder / CANDIDATES).open("rb") as candidates, (folder / LONG_JSONL).open("rb") as long:
        for row in map(orjson.loads, long):
            # Both files have the same order, so one step forward finds the next candidate and neither file is held in
            # memory.
            while row["candidate_id"] != candidate_id or row["dataset"] != dataset:
                line = orjson.loads(next(candidates))
                dataset, candidate_id = line["dataset"], line["candidate_id"]
                _add_candidate(found, line, codes, passages)
            _add_judgment(found, row, numbers, parts)
            found.n_rows += 1
            if found.n_rows % EVERY == 0:
                on_rows(found.n_rows)
        for rest in candidates:
            _add_candidate(found, orjson.loads(rest), codes, passages)
    found.parts = {part.criterion: part for part in parts.values()}
    found.groups = _number_by_name(found.groups, passages)
    found.names = list(numbers)
    found.labels = {name: list(each) for name, each in codes.items()}
    # The order of the criteria must not depend on which was judged first.
    found.parts = dict(sorted(found.parts.items()))
    units = np.arange(found.n_units + 1, dtype=np.int32)
    for part in found.parts.values():
        starts = np.searchsorted(np.frombuffer(part.units, np.int32), units).astype(np.int32)
        part.starts.frombytes(starts.tobytes())
    return found


def _add_candidate(
    found: Judgments, line: Line, codes: dict[str, dict[str, int]], passages: dict[tuple[str, str], int]
) -> None:
    found.n_units += 1
    found.groups.append(passages.setdefault((line["dataset"], line["passage_id"]), len(passages)))
    for name, known in codes.items():
        found.facets[name].append(known.setdefault(line[name], len(known)))


def _number_by_name(groups: "array[int]", passages: dict[tuple[str, str], int]) -> "array[int]":
    """Return the passages numbered by dataset and id, so that a seed draws the same as on the agreement page."""
    rank = np.empty(len(passages), np.int32)
    rank[[passages[each] for each in sorted(passages)]] = np.arange(len(passages))
    return array("i", rank[np.frombuffer(groups, np.int32)].tobytes() if groups else b"")


def _add_judgment(
    found: Judgments, row: Line, numbers: dict[str, int], parts: dict[tuple[str, str, int, int], Scores]
) -> None:
    # By a plain tuple: a million criteria would take longer to make than everything else here.
    key = (row["criterion"], row["scale_kind"], row["scale_low"], row["scale_high"])
    part = parts.get(key)
    if part is None:
        part = parts[key] = Scores(ScaledCriterion(*key))
    unit, name = found.n_units - 1, row["annotator"]
    if name is not None:
        found.everybody.add(name)
    if row["enters"]:
        found.kinds.add(row["annotator_kind"])
        part.units.append(unit)
        part.annotators.append(NOBODY if name is None else numbers.setdefault(name, len(numbers)))
        part.values.append(row["score"])
        return
    part.left_out[row["left_out_reason"]] += 1
    # Counted for each candidate, as the aggregated table has a column for it.
    if row["left_out_reason"] == "cannot be judged":
        part.cannot_judge[unit] += 1


@dataclass(frozen=True)
class GoldScores:
    """The aggregated scores of each unit; NaN where undefined."""

    n: npt.NDArray[np.int64]
    mean: Floats
    median: Floats
    sd: Floats
    z_mean: Floats
    no_z: str
    """Why a judged candidate has no z score."""
    has_order: bool = True
    """Whether the points have a mean. Where they are categories, all but `n` is undefined."""

    def by(self, rule: GoldRule) -> Floats:
        return {GoldRule.MEAN: self.mean, GoldRule.MEDIAN: self.median, GoldRule.Z: self.z_mean}[rule]


Norms = dict[tuple[str, int, int], pd.DataFrame]
"""Mean and deviation of each annotator for each scale, as `measures.standardising.annotator_norms` returns them."""


def read_norms(folder: Path) -> Norms:
    """Return the norms that were frozen beside the judgments; ratings of controls may be in them."""
    frame = pd.read_csv(folder / ANNOTATORS, dtype={"annotator": "str"})
    scales = frame[["scale_kind", "scale_low", "scale_high"]].apply(tuple, axis=1)
    return {scale: frame[scales == scale].set_index("annotator")[[MEAN, SD]].astype("float64") for scale in set(scales)}


def score(judgments: Judgments, criterion: ScaledCriterion, norms: Norms, *, has_order: bool = True) -> GoldScores:
    """Return gold scores of every unit by each rule: `measures.gold_scores` of the judgments, and of their z scores."""
    frame = judgments.frame(criterion)
    if not has_order:
        n = np.bincount(frame[UNIT], minlength=judgments.n_units)
        nothing = np.full(judgments.n_units, np.nan)
        return GoldScores(n, nothing, nothing, nothing, nothing, no_z=NO_ORDER, has_order=False)
    scale_norms = norms.get(
        (criterion.kind, criterion.low, criterion.high), pd.DataFrame({MEAN: [], SD: []}, dtype="float64")
    )
    raw, z = gold_scores(frame), gold_by(GoldRule.Z, frame, norms=scale_norms)

    def spread(column: pd.Series, fill: float) -> npt.NDArray[Any]:
        return column.reindex(range(judgments.n_units), fill_value=fill).to_numpy()

    return GoldScores(
        n=spread(raw["n"], 0),
        mean=spread(raw["mean"], np.nan),
        median=spread(raw["median"], np.nan),
        sd=spread(raw["sd"], np.nan),
        z_mean=np.full(judgments.n_units, np.nan) if isinstance(z, Undefined) else spread(z, np.nan),
        no_z=z.reason if isinstance(z, Undefined) else "no judgment by somebody whose scores vary",
    )


def read_gold(scores: GoldScores, settings: Settings, unit: int, adjudicated: float | None) -> float | None:
    """Return the gold score of a unit by the rule of the set; None without a judgment, adjudicated or not."""
    if not scores.n[unit]:
        return None
    if settings.does_adjudication_win and adjudicated is not None:
        return adjudicated
    found = float(scores.by(settings.gold)[unit])
    return None if np.isnan(found) else found


def read_adjudicated(line: Line, criterion: ScaledCriterion) -> float | None:
    """Return the newest adjudicated score of a candidate, reversed criteria turned, or None."""
    found = [
        each["score"]
        for each in line["adjudicated"]
        if (each["criterion"], each["scale_kind"], each["scale_low"], each["scale_high"])
        == (criterion.key, criterion.kind, criterion.low, criterion.high)
    ]
    return found[-1] if found else None
