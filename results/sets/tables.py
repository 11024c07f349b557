"""The aggregated and the wide table: a row for each candidate and criterion that somebody was asked about."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import orjson

from projects.database.csv import Value, guard_text, trim_number, write_row
from results.sets.canonical import CANDIDATES
from results.sets.scores import EVERY, NOBODY, GoldScores, Judgments, Line, read_adjudicated, read_gold
from results.sets.selecting import Asked
from results.sets.settings import Settings

AGGREGATED, WIDE = "aggregated.csv", "wide.csv"
SEPARATOR = "|"
_ABOUT = ("dataset", "split", "passage_id", "question_id", "candidate_id", "source")
_SCALE = ("criterion", "scale_kind", "scale_low", "scale_high")
_AGGREGATED = (
    *("n", "mean", "median", "sd", "z_mean", "scores", "raters", "n_cannot_judge", "adjudicated", "gold"),
    "undefined",
)

Golds = Mapping[Asked, GoldScores]


def list_candidates(folder: Path) -> Iterator[Line]:
    """The lines of the candidates, in the order of the units."""
    with (folder / CANDIDATES).open("rb") as file:
        yield from map(orjson.loads, file)


def write_tables(
    folder: Path, judgments: Judgments, golds: Golds, settings: Settings, on_rows: Callable[[int], None]
) -> None:
    """Write both tables in one pass over the candidates."""
    n_slots = max((int(scores.n.max()) for scores in golds.values() if judgments.n_units), default=0)
    with (folder / AGGREGATED).open("wb") as aggregated, (folder / WIDE).open("wb") as wide:
        write_row(aggregated, (*_ABOUT, *_SCALE, *_AGGREGATED))
        slots = [f"{name}_{n}" for n in range(1, n_slots + 1) for name in ("judgment", "annotator")]
        write_row(wide, (*_ABOUT, *_SCALE, "n", *slots))
        for unit, line in enumerate(list_candidates(folder)):
            about = [guard_text(line[name]) for name in _ABOUT]
            for asked, scores in golds.items():
                n_cannot = judgments.parts[asked].cannot_judge[unit]
                if scores.n[unit] or n_cannot:
                    head: list[Value] = [*about, asked.key, asked.kind, asked.low, asked.high]
                    said = describe_judgment(judgments, asked, unit)
                    adjudicated = read_adjudicated(line, asked)
                    gold = read_gold(scores, settings, unit, adjudicated)
                    _write_aggregated(aggregated, head, unit, scores, said, n_cannot, adjudicated, gold)
                    cells = [cell for value, name in said for cell in (value, name)]
                    write_row(wide, [*head, len(said), *cells, *[None] * (2 * n_slots - len(cells))])
            if unit % EVERY == 0:
                on_rows(unit)


def describe_judgment(judgments: Judgments, asked: Asked, unit: int) -> list[tuple[float, str | None]]:
    """The scores of a unit that enter, and who gave them (None where unknown), in the order of the long file."""
    part = judgments.parts[asked]
    here = part.slice_of(unit)
    names = judgments.names
    return [
        (value, None if annotator == NOBODY else names[annotator])
        for value, annotator in zip(part.values[here], part.annotators[here], strict=True)
    ]


def _write_aggregated(
    file: IO[bytes],
    head: list[Value],
    unit: int,
    scores: GoldScores,
    said: list[tuple[float, str | None]],
    n_cannot: int,
    adjudicated: float | None,
    gold: float | None,
) -> None:
    raters = None if any(name is None for _, name in said) else SEPARATOR.join(str(name) for _, name in said)
    n = int(scores.n[unit])
    figures = (scores.mean[unit], scores.median[unit], scores.sd[unit], scores.z_mean[unit])
    values = SEPARATOR.join(repr(trim_number(value)) for value, _ in said)
    why = _why(n, scores.no_z if np.isnan(scores.z_mean[unit]) else "")
    write_row(file, [*head, n, *map(float, figures), values, raters, n_cannot, adjudicated, gold, why])


def _why(n: int, no_z: str) -> str | None:
    """What is undefined of a candidate, and why."""
    if not n:
        return "no score: nobody could judge it"
    said = ["no sd: one judgment"] if n == 1 else []
    if no_z:
        said.append(f"no z: {no_z}")
    return "; ".join(said) or None
