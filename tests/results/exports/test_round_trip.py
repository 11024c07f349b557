"""Any table that is imported comes out of the exports as it went in: text by text, byte by byte."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from projects.database.csv import FORMULA_STARTS, unguard_text
from projects.models import Membership, Project
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.characters import FORBIDDEN_CHARACTERS
from tests.results.exports.test_long import NASTY
from tests.results.judged_batches import take_file

Row = dict[str, Any]
N_ROWS = 18
SHARP = (
    *FORMULA_STARTS,
    *"'\"\\,;|{}[]%<&",
    "\x7f",
    "\x85",
    "\u2028",
    "\ufeff",
    "\u202e",
    "e\u0301",
)

sharp = st.lists(
    st.one_of(st.sampled_from(SHARP), st.characters(codec="utf-8", exclude_characters=FORBIDDEN_CHARACTERS)),
    max_size=12,
)
pools = st.lists(sharp.map("".join).filter(bool), min_size=N_ROWS, max_size=N_ROWS, unique=True)


def list_rows(pool: list[str]) -> list[Row]:
    """Three passages of two questions with three candidates each; every text and every name is made of the pool.

    A name or a question of nothing but spaces is refused, so a name ends in a point, and a question in its mark.
    """
    names = [f"{text}." for text in pool]
    return [
        {
            "dataset": names[-1],
            "split": names[place // 6],
            "passage_id": names[place // 6],
            "title": pool[place // 6 + 1],
            "passage": pool[place // 6 + 2],
            "question_id": names[place // 3],
            "question": f"{pool[place // 3 + 3]}?",
            "span": pool[place // 3 + 4],
            "reference": pool[place // 3 + 5],
            "reference_2": pool[place // 3 + 6],
            "id": names[place],
            "candidate": pool[-1 - place],
            "source": pool[place - 5],
            "opinion": pool[place - 7],
            "note": pool[place - 9] if place % 2 else "",
            "scores": [1 + place % 5],
        }
        for place in range(N_ROWS)
    ]


def as_csv(rows: list[Row]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "scores": json.dumps(row["scores"])} for row in rows)
    return out.getvalue().encode()


def as_parquet(rows: list[Row]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def as_mocha(rows: list[Row]) -> bytes:
    return json.dumps({rows[0]["dataset"]: {row["id"]: _entry(row) for row in rows}}).encode()


def _entry(row: Row) -> Row:
    own = {name: row[name] for name in ("question", "reference", "candidate")}
    rest = {name: value for name, value in row.items() if name not in (*own, "dataset", "id", "passage")}
    return {"context": row["passage"], **own, "metadata": rest}


FORMATS: dict[str, Callable[[list[Row]], bytes]] = {
    "csv": as_csv,
    "json": lambda rows: json.dumps(rows).encode(),
    "jsonl": lambda rows: "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode(),
    "parquet": as_parquet,
    "mocha": as_mocha,
}


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def exported(project: Project, form: str) -> str:
    file = io.BytesIO()
    write(make_statement(form, Choices(project=project, with_texts=True)), file)
    return file.getvalue().decode()


def wanted(row: Row) -> Row:
    return {
        **{name: row[name] for name in ("dataset", "split", "passage_id", "title", "passage", "question_id")},
        **{name: row[name] for name in ("question", "span", "candidate", "source", "opinion")},
        "candidate_id": row["id"],
        "references": [row["reference"], row["reference_2"]],
        "metadata": {"note": row["note"]} if row["note"] else None,
        "value": row["scores"][0],
    }


def in_lines(project: Project, rows: list[Row]) -> list[Row]:
    lines = [json.loads(line) for line in exported(project, "jsonl").split("\n")[:-1]]
    return [{name: line[name] for name in wanted(rows[0])} for line in lines]


def in_cells(project: Project, rows: list[Row]) -> list[Row]:
    """The rows of the CSV file, and not one cell that a spreadsheet would take for a formula."""
    found = []
    for cells in csv.DictReader(io.StringIO(exported(project, "long"), newline="")):
        row: Row = {name: unguard_text(cells[name]) for name in wanted(rows[0])}
        for name in ("references", "metadata", "value"):
            row[name] = json.loads(cells[name]) if cells[name] else None
        found.append(row)
        assert [cell for cell in cells.values() if cell.startswith(FORMULA_STARTS) and not _is_number(cell)] == []
    return found


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.removeprefix("-").replace(".", "", 1).isdecimal()


def in_entries(project: Project) -> dict[str, Row]:
    found = {}
    ((_, entries),) = json.loads(exported(project, "mocha")).items()
    for key, entry in entries.items():
        more = entry["metadata"]["concord"]
        found[key] = {
            **{name: entry[name] for name in ("question", "candidate")},
            "passage": entry["context"],
            "source": entry["metadata"]["source"],
            "scores": entry["metadata"]["scores"],
            "references": more["references"],
            **{name: more[name] for name in ("split", "passage_id", "title", "question_id", "span", "opinion")},
            "note": more.get("metadata", {}).get("note", ""),
        }
    return found


@pytest.mark.soak
@pytest.mark.parametrize("form", FORMATS)
def test_a_table_comes_out_as_it_went_in(
    form: str, project: Project, owner: Membership, tmp_path: Path, scale: int
) -> None:
    @settings(
        max_examples=25 * scale,
        deadline=None,
        derandomize=scale == 1,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
    )
    @example(NASTY[:N_ROWS])
    @given(pools)
    def comes_back(pool: list[str]) -> None:
        rows = list_rows(pool)
        with undone():
            report = take_file(project, FORMATS[form](rows), "a", tmp_path, format=form, with_scores=True)
            assert (report.candidates, report.judgments) == (N_ROWS, N_ROWS)
            in_order = sorted(rows, key=lambda row: row["id"].encode())
            assert in_lines(project, rows) == [wanted(row) for row in in_order]
            assert in_cells(project, rows) == [wanted(row) for row in in_order]
            entries = in_entries(project)
        assert list(entries) == [row["id"] for row in in_order]
        for row in in_order:
            found = {**entries[row["id"]], "id": row["id"], "dataset": row["dataset"]}
            references = found.pop("references")
            assert references == [row["reference"], row["reference_2"]]
            assert found == {name: value for name, value in row.items() if not name.startswith("reference")}

    comes_back()
