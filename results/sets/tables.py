"""The aggregated and the wide table: a row for each candidate and each criterion that was asked about it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import orjson

from measures.rubric import NO_ORDER
from projects.database.csv import Value, format_row, guard_text, trim_number, write_row
from results.sets.canonical import CANDIDATES
from results.sets.scores import EVERY, NOBODY, GoldScores, Judgments, Line, read_adjudicated, read_gold
from results.sets.selecting import ScaledCriterion
from results.sets.settings import Settings

AGGREGATED, WIDE = "aggregated.csv", "wide.csv"
SEPARATOR = "|"
_ID_COLUMNS = ("dataset", "split", "passage_id", "question_id", "candidate_id", "source")
_SCALE = ("criterion", "scale_kind", "scale_low", "scale_high")
_AGGREGATED = (
    *("n", "mean", "median", "sd", "z_mean", "scores", "raters", "n_cannot_judge", "adjudicated", "gold"),
    "undefined",
)

Golds = Mapping[ScaledCriterion, GoldScores]


def list_candidates(folder: Path) -> Iterator[Line]:
    """Yield the lines of the candidates, in the order of the units."""
    with (folder / CANDIDATES).open("rb") as file:
        yield from map(orjson.loads, file)


def write_tables(
    folder: Path, judgments: Judgments, golds: Golds, settings: Settings, on_rows: Callable[[int], None]
) -> None:
    """Write both tables in one pass over the candidates."""
    # Every row of a CSV file has as many cells, so the candidate with most judgments decides.
    n_slots = max((int(scores.n.max()) for scores in golds.values() if judgments.n_units), default=0)
    with (folder / AGGREGATED).open("wb") as aggregated, (folder / WIDE).open("wb") as wide:
        write_row(aggregated, (*_ID_COLUMNS, *_SCALE, *_AGGREGATED))
        slots = [f"{name}_{n}" for n in range(1, n_slots + 1) for name in ("judgment", "annotator")]
        write_row(wide, (*_ID_COLUMNS, *_SCALE, "n", *slots))
        # What many rows begin with is formatted once.
        scales = {each: format_row((each.key, each.kind, each.low, each.high), line_end=",") for each in golds}
        for unit, line in enumerate(list_candidates(folder)):
            about = ""
            for criterion, scores in golds.items():
                n_cannot = judgments.parts[criterion].cannot_judge.get(unit, 0)
                # A candidate that was never asked about on this criterion has no row.
                if scores.n[unit] or n_cannot:
                    about = about or format_row((guard_text(line[name]) for name in _ID_COLUMNS), line_end=",")
                    head = about + scales[criterion]
                    ratings = list_ratings(judgments, criterion, unit)
                    adjudicated = read_adjudicated(line, criterion)
                    gold = read_gold(scores, settings, unit, adjudicated)
                    _write_aggregated(aggregated, head, unit, scores, ratings, n_cannot, adjudicated, gold)
                    cells = [cell for value, name in ratings for cell in (value, name)]
                    _write_rest(wide, head, [len(ratings), *cells, *[None] * (2 * n_slots - len(cells))])
            if unit % EVERY == 0:
                on_rows(unit)


def list_ratings(judgments: Judgments, criterion: ScaledCriterion, unit: int) -> list[tuple[float, str | None]]:
    """Return the included scores of a unit with their annotators, None where unknown, in the long file's order."""
    part = judgments.parts[criterion]
    here = part.find_slice(unit)
    names = judgments.names
    return [
        (value, None if annotator == NOBODY else names[annotator])
        for value, annotator in zip(part.values[here], part.annotators[here], strict=True)
    ]


def _write_aggregated(
    file: IO[bytes],
    head: str,
    unit: int,
    scores: GoldScores,
    ratings: list[tuple[float, str | None]],
    n_cannot: int,
    adjudicated: float | None,
    gold: float | None,
) -> None:
    raters = None if any(name is None for _, name in ratings) else SEPARATOR.join(str(name) for _, name in ratings)
    n = int(scores.n[unit])
    figures = (scores.mean[unit], scores.median[unit], scores.sd[unit], scores.z_mean[unit])
    values = SEPARATOR.join(repr(trim_number(value)) for value, _ in ratings)
    no_z = scores.no_z if np.isnan(scores.z_mean[unit]) else ""
    why = _explain_undefined(n, no_z) if scores.has_order or not n else f"no mean: {NO_ORDER}"
    _write_rest(file, head, [n, *map(float, figures), values, raters, n_cannot, adjudicated, gold, why])


def _write_rest(file: IO[bytes], head: str, values: Iterable[Value]) -> None:
    file.write((head + format_row(values)).encode())


def _explain_undefined(n: int, no_z: str) -> str | None:
    """Return what is undefined for a candidate, and why."""
    if not n:
        return "no score: nobody could judge it"
    ratings = ["no sd: one judgment"] if n == 1 else []
    if no_z:
        ratings.append(f"no z: {no_z}")
    return "; ".join(ratings) or None
