"""Any table comes back from any format as it went in; broken bytes are refused and nothing else."""

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projects.importing import FileRefused, Limits, Options
from projects.importing.checking import check
from projects.importing.previewing import preview
from tests.characters import FORBIDDEN_CHARACTERS
from tests.projects.importing.conftest import Desk
from tests.projects.importing.test_archives import xlsx

COLUMNS = ("id", "passage", "question", "reference", "candidate", "note")
Rows = list[tuple[str, ...]]
allowed = st.characters(codec="utf-8", exclude_characters=FORBIDDEN_CHARACTERS)
texts = st.text(allowed, min_size=1, max_size=30)
tables = st.lists(
    st.tuples(st.just(""), texts, texts, texts, texts, st.text(allowed)),
    min_size=1,
    max_size=12,
).map(lambda rows: [(f"c{n}", *row[1:]) for n, row in enumerate(rows)])


def as_csv(rows: Rows, delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(COLUMNS)
    # A reader cannot tell a row of one empty cell from a blank line; six cells leave no doubt.
    writer.writerows(rows)
    return out.getvalue().encode()


def as_dicts(rows: Rows) -> list[dict[str, str]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def as_parquet(rows: Rows) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(as_dicts(rows)), out)
    return out.getvalue()


def as_mocha(rows: Rows) -> bytes:
    made = {row[0]: {key: row[place] for place, key in enumerate(COLUMNS) if key != "id"} for row in rows}
    return json.dumps({"d": made}).encode()


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    "csv": as_csv,
    "tsv": lambda rows: as_csv(rows, "\t"),
    "json": lambda rows: json.dumps(as_dicts(rows)).encode(),
    "jsonl": lambda rows: "\n".join(json.dumps(row, ensure_ascii=False) for row in as_dicts(rows)).encode(),
    "parquet": as_parquet,
    "mocha": as_mocha,
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_comes_back_as_it_went_in(form: str, tmp_path: Path, scale: int) -> None:
    path, folder = tmp_path / "file", tmp_path / "spool"

    @settings(max_examples=50 * scale, deadline=None, derandomize=scale == 1, suppress_health_check=list(HealthCheck))
    @given(tables)
    def comes_back(rows: Rows) -> None:
        path.write_bytes(FORMATS[form](rows))
        checked = check(path=path, name="a", folder=folder, options=Options(format=form))
        spool = checked.spool
        questions = {row["key"]: row for row in spool.rows("questions")}
        passages = {row["key"]: row for row in spool.rows("passages")}
        found = []
        for row in spool.rows("candidates"):
            question = questions[row["question"]]
            note = json.loads(row["metadata"]).get("note", "")
            found.append(
                (row["external_id"], passages[question["passage"]]["text"], question["text"], row["text"], note)
            )
        assert found == [(row[0], row[1], row[2], row[4], row[5]) for row in rows]
        references = {(row["question"], row["text"]) for row in spool.rows("references")}
        assert len(references) == len({(row[1], row[2], row[3]) for row in rows})
        spool.discard()

    comes_back()


SEEDS: list[tuple[str, bytes]] = [
    (
        form,
        make([("c0", "Pä", "Q", "R", "C", "n"), ("c1", 'P"2', "Q\n2", "R", "C,", "m"), ("c2", "P", "Q", "R", "D", "")]),
    )
    for form, make in FORMATS.items()
]
SEEDS.append(("xlsx", xlsx(list(COLUMNS), *[[f"c{n}", "P", "Q", "R", f"C{n}", "n"] for n in range(5)])))
PIECES = (b"", b"\0", b"\xff", b'"', b"\n", b"\r", b",", b"{", b"}", b"[", b"]", b":", b"\\u0000", b"\\ud800", b"1e999")


def mutate(content: bytes, rng: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(made) + 1)
        end = min(len(made), place + rng.choice((0, 1, 1, 4, 30)))
        made[place:end] = rng.choice((*PIECES, rng.randbytes(3), bytes(made[:20])))
    return bytes(made[: rng.randrange(len(made) + 1)]) if rng.random() < 0.1 else bytes(made)


@pytest.mark.parametrize(("form", "content"), SEEDS, ids=[form for form, _ in SEEDS])
def test_broken_bytes_are_refused_or_read_and_never_fail(desk: Desk, form: str, content: bytes, scale: int) -> None:
    rng = random.Random(f"{form} mutants")
    path, folder = desk.folder / "file", desk.folder / "spool"
    n_mutants = 200 if scale == 1 else 1_000 * scale
    n_read = 0
    for number in range(n_mutants):
        mutant = mutate(content, rng)
        path.write_bytes(mutant)
        options: dict[str, Any] = {"options": Options(format=form), "limits": Limits(decoded_bytes=50 * 2**20)}
        try:
            preview(path=path, name="a", **options)
            checked = check(path=path, name="a", folder=folder, **options)
        except FileRefused:
            assert not folder.exists(), f"mutant {number} left its spool"
        else:
            n_read += 1
            assert checked.report.candidates == sum(1 for _ in checked.spool.rows("candidates"))
            checked.spool.discard()
    assert n_read < n_mutants
