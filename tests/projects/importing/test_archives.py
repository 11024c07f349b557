"""Excel and Parquet: what they hold, and what they hide."""

import datetime as dt
import io
import tracemalloc
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import bombs
from projects.importing import Limits
from tests.projects.importing.conftest import Desk

HEADER = ["id", "passage", "question", "reference", "candidate"]
ROW = ["a", "P", "Q", "R", "C"]
FORMULA_ONLY = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    b'<sheetData><row r="1"><c r="A1"><f>1+1</f></c></row></sheetData></worksheet>'
)


def xlsx(*rows: list[Any], more_sheets: int = 0, merged: Sequence[str] = ()) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    # `merge_cells` would make a cell of each place in a range.
    for each in merged:
        book.worksheets[0].merged_cells.add(each)
    for _ in range(more_sheets):
        book.create_sheet()
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    given = {name: [value] for name, value in zip(HEADER, ROW, strict=True)}
    n = len(next(iter(columns.values()))) if columns else 1
    table = pa.table({name: values * n for name, values in given.items()} | columns)
    if n > 1 and "id" not in columns:
        table = table.set_column(0, "id", pa.array([f"c{place}" for place in range(n)]))
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def repacked(content: bytes, name: str, change: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, change if entry.filename == name else old.read(entry))
        if name not in old.namelist():
            new.writestr(name, change)
    return out.getvalue()


def test_a_damaged_sheet_of_excel_is_refused_only_if_it_is_read(desk: Desk) -> None:
    def damaged(number: int) -> bytes:
        """Return a workbook with one byte changed near the end of a sheet, after what is read to open the file."""
        book = openpyxl.Workbook()
        for sheet in (book.worksheets[0], book.create_sheet()):
            sheet.append(HEADER)
            for n in range(2_000):
                sheet.append([f"{n}", f"P{n * 7919}", "Q", "R", "C"])
        out = io.BytesIO()
        book.save(out)
        content = bytearray(out.getvalue())
        with zipfile.ZipFile(out) as archive:
            entry = archive.getinfo(f"xl/worksheets/sheet{number}.xml")
        content[entry.header_offset + entry.compress_size * 9 // 10] ^= 0xFF
        return bytes(content)

    assert len(desk.texts(desk.check(damaged(2), "a.xlsx"), "external_id")) == 2_000
    assert "cannot be read" in desk.refuse(damaged(1), "a.xlsx").message


def test_a_sheet_that_is_not_xml_is_refused_without_the_name_of_its_file_here(desk: Desk) -> None:
    entity = b'<!DOCTYPE sheet [<!ENTITY a "aaaa">]><worksheet><sheetData>&a;</sheetData></worksheet>'
    refusal = desk.refuse(repacked(xlsx(HEADER, ROW), "xl/worksheets/sheet1.xml", entity), "a.xlsx")
    assert refusal.message.endswith(": the Excel file cannot be read: could not read worksheets")
    assert str(desk.folder) not in str(refusal)


def test_cells_of_excel_are_read_as_the_text_they_show(desk: Desk) -> None:
    date = dt.datetime(2026, 3, 1, 12, 30)  # noqa: DTZ001 - Excel knows no zones
    content = xlsx([*HEADER, "note"], [1, "P", "Q", 42, 7.5, date], ["b", "P", "Q", True, "x", None])
    checked = desk.check(content, "a.xlsx")
    assert desk.texts(checked, "external_id") == ["1", "b"]
    assert desk.texts(checked, "text")[0] == "7.5"
    assert desk.texts(checked, "text", "references") == ["42", "true"]
    assert "2026-03-01T12:30:00" in desk.texts(checked, "metadata")[0]


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "inline"])
def test_escapes_of_excel_are_the_characters_that_they_stand_for(desk: Desk, tmp_path: Path, is_shared: bool) -> None:
    def write(text: str) -> Path:
        texts = "".join(f'<c t="inlineStr"><is><t>{each}</t></is></c>' for each in ("a", "p", "P", "Q", "R"))
        cell = '<c t="s"><v>0</v></c>' if is_shared else f'<c t="inlineStr"><is><t>{text}</t></is></c>'
        shared = f"<sst xmlns='{bombs.SHEET}'><si><t>{text}</t></si></sst>"
        bombs.write_xlsx(tmp_path / "a.xlsx", f'<row r="2">{texts}{cell}</row>', {"xl/sharedStrings.xml": shared})
        return tmp_path / "a.xlsx"

    def read(text: str) -> str:
        return desk.texts(desk.check(write(text), "a.xlsx"), "text")[0]

    as_csv = f'{",".join(HEADER)}\n{",".join(ROW[:4])},"one\r\ntwo"\n'
    assert read("one_x000D_\ntwo") == "one\r\ntwo" == desk.texts(desk.check(as_csv), "text")[0]
    assert read("_x005F_x000D_ and x005F_ and _xZZZZ_ and _x00e4_") == "_x000D_ and x005F_ and _xZZZZ_ and ä"
    assert read("_xD83D__xDE00_") == "\U0001f600"
    for code, name in (("0000", r"U+0000 (NUL)"), ("D83D", "U+D83D (an unpaired surrogate)")):
        assert name in desk.reason(write(f"a_x{code}_"), "a.xlsx")


def test_dates_and_formatted_numbers_of_excel_are_read_as_documented_and_named(desk: Desk) -> None:
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.worksheets[0]
    day, time = dt.datetime(2024, 5, 6), dt.datetime(2024, 5, 6, 9, 30)  # noqa: DTZ001 - Excel knows no zones
    for row in ([*HEADER, "score"], [7, "P", "Q", "R", day], [-8, "P", "Q", 0.5, time], [9.5, "P", "Q", 12, 1500]):
        sheet.append(row)
    formats = {"A2": "0000", "A3": "0000", "A4": "00", "D3": "0%", "D4": "0", "E4": "#,##0", "F2": "0.00"}
    for place, number_format in formats.items():
        sheet[place].number_format = number_format
    sheet["F2"] = 0.25
    book.save(out)
    checked = desk.check(out.getvalue(), "a.xlsx")
    assert desk.texts(checked, "external_id") == ["0007", "-0008", "9.5"]
    assert desk.texts(checked, "text") == ["2024-05-06", "2024-05-06T09:30:00", "1500"]
    assert desk.texts(checked, "text", "references") == ["R", "0.5", "12"]
    (candidates, references, ids) = (str(warned) for warned in checked.report.warnings if "formatted" in warned.reason)
    assert "“candidate” has dates" in candidates
    assert "such as “2024-05-06”" in candidates
    assert candidates.endswith("as CSV (3 times: lines 2, 3, 4).")
    assert references.endswith("as CSV (line 3).")
    assert ids.endswith("as CSV (line 4).")


def test_merged_cells_of_excel_have_their_value_in_each_row(desk: Desk) -> None:
    rows: list[list[Any]] = [["a", "P", "Q", "R", "C"], ["b", None, None, None, "D"], [], ["c", None, None, None, "E"]]
    more = [["d", "P2", "Q", "R", "F"], ["e", "P3", "Q", "R", "G"]]
    content = xlsx(HEADER, *rows, *more, merged=["B2:B5", "C2:C5", "D2:D1048576", "A6:B6", "A1:A1", "Z1:XFD1048576"])
    checked = desk.check(content, "a.xlsx")
    assert desk.texts(checked, "external_id") == ["a", "b", "c", "d", "e"]
    assert desk.texts(checked, "text", "passages") == ["P", "P2", "P3"]
    assert desk.texts(checked, "passage", "questions") == ["0", "1", "2"]
    assert desk.texts(checked, "text", "references") == ["R"] * 3
    assert "read in each of them (2 times: lines 3, 5)" in desk.warnings(checked)
    assert "in the first of them only (line 6)" in desk.warnings(checked)


def test_merged_cells_without_end_are_read_in_no_time(desk: Desk) -> None:
    tags = "".join(f'<mergeCell ref="A2:XFD{n}"/>' for n in range(3, 100_000))
    sheet = b'<sheetData><row r="1">%s</row><row r="2">%s</row></sheetData><mergeCells>%s</mergeCells>'
    cells = ["".join(f'<c t="inlineStr"><is><t>{each}</t></is></c>' for each in row).encode() for row in (HEADER, ROW)]
    whole = FORMULA_ONLY.partition(b"<sheetData>")[0] + sheet % (*cells, tags.encode()) + b"</worksheet>"
    content = repacked(xlsx(HEADER), "xl/worksheets/sheet1.xml", whole)
    assert desk.check(content, "a.xlsx").report.rows == 1
    more = "".join(f'<mergeCell ref="A{n}:A{n + 1}"/>' for n in range(200_001))
    many = whole.replace(b"</mergeCells>", more.encode() + b"</mergeCells>")
    assert "merged cells" in desk.reason(repacked(content, "xl/worksheets/sheet1.xml", many), "a.xlsx")


def test_a_formula_without_a_value_is_an_empty_cell(desk: Desk) -> None:
    content = xlsx(HEADER, ROW, ["b", "P", "Q", "R", "=1+1"])
    refusal = desk.refuse(content, "a.xlsx")
    assert (refusal.problems[0].line, refusal.problems[0].column) == (3, "candidate")
    checked = desk.check(content, "a.xlsx", skip_wrong_rows=True)
    assert "contains formulas" in desk.warnings(checked)
    assert "contains formulas" not in desk.warnings(desk.check(xlsx(HEADER, ROW), "a.xlsx"))
    elsewhere = repacked(xlsx(HEADER, ROW, more_sheets=1), "xl/worksheets/sheet2.xml", FORMULA_ONLY)
    assert "contains formulas" not in desk.warnings(desk.check(elsewhere, "a.xlsx"))


def test_lines_of_excel_are_its_rows_and_blank_ones_are_reported(desk: Desk) -> None:
    checked = desk.check(xlsx(HEADER, ROW, [], ["b", *ROW[1:]], [], []), "a.xlsx")
    assert desk.texts(checked, "line") == ["2", "4"]
    assert "skipped (line 3)" in desk.warnings(checked)


def test_only_the_first_sheet_is_read_with_a_warning(desk: Desk) -> None:
    assert "only the first" in desk.warnings(desk.check(xlsx(HEADER, ROW, more_sheets=1), "a.xlsx"))


def test_wrong_rows_of_excel_are_refused_with_their_lines(desk: Desk) -> None:
    refusal = desk.refuse(xlsx(HEADER, ROW, ["b", "P", "Q", "R", None], [*ROW, "more"]), "a.xlsx")
    assert [problem.line for problem in refusal.problems] == [3, 4]
    assert "is empty" in desk.reason(xlsx(), "a.xlsx")
    checked = desk.check(xlsx([*HEADER, None, "more", None], [*ROW, 1, 2, None]), "a.xlsx")
    assert desk.texts(checked, "metadata") == ['{"column 6":"1","more":"2"}']


def test_zip_bombs_are_refused_by_size_ratio_and_number(desk: Desk) -> None:
    content = xlsx(HEADER, ROW)
    bomb = repacked(content, "xl/worksheets/sheet1.xml", b"0" * 200_000_000)
    assert len(bomb) < 400_000
    tracemalloc.start()
    assert "more than 200 times" in desk.reason(bomb, "a.xlsx")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    shared = repacked(content, "xl/sharedStrings.xml", bytes(range(256)) * 250_000)
    assert "too large" in desk.reason(shared, "a.xlsx")
    many = io.BytesIO(content)
    with zipfile.ZipFile(many, "a") as archive:
        for n in range(1_001):
            archive.writestr(f"../../x{n}", "x")
    assert "too many parts" in desk.reason(many.getvalue(), "a.xlsx")


def test_an_archive_that_is_no_excel_file_is_refused(desk: Desk, tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../slip.csv", "x")
        archive.writestr("nested.zip", xlsx(HEADER, ROW))
    assert "ZIP archive" in desk.reason(out.getvalue(), "a.xlsx")
    assert not list(tmp_path.parent.parent.glob("slip.csv"))


def test_a_row_that_calls_itself_the_trillionth_is_refused_soon(desk: Desk) -> None:
    content = xlsx(HEADER, ROW)
    sheet = zipfile.ZipFile(io.BytesIO(content)).read("xl/worksheets/sheet1.xml")
    far = sheet.replace(b'<row r="2"', b'<row r="999999999999"').replace(b'r="A2"', b'r="A999999999999"')
    assert "more than 1,000 rows" in desk.reason(
        repacked(content, "xl/worksheets/sheet1.xml", far), "a.xlsx", limits=Limits(rows=1_000)
    )


@pytest.mark.parametrize("cut", [30, 200, 1_000, 3_000])
def test_a_damaged_excel_file_is_refused(desk: Desk, cut: int) -> None:
    content = xlsx(HEADER, ROW)
    desk.refuse(content[:-cut], "a.xlsx")
    sheet = zipfile.ZipFile(io.BytesIO(content)).read("xl/worksheets/sheet1.xml")
    desk.refuse(repacked(content, "xl/worksheets/sheet1.xml", sheet[: len(sheet) - cut // 4]), "a.xlsx")


def test_entities_in_the_xml_of_excel_do_not_unfold(desk: Desk) -> None:
    laughs = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
    )
    sheet = (
        laughs + b"]><worksheet><sheetData><row><c t='inlineStr'><is><t>&j;</t></is></c></row></sheetData></worksheet>"
    )
    desk.refuse(repacked(xlsx(HEADER, ROW), "xl/worksheets/sheet1.xml", sheet), "a.xlsx")


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        (pa.array(["x"]), '{"note":"x"}'),
        (pa.array(["x"], pa.large_string()), '{"note":"x"}'),
        (pa.array(["x"]).dictionary_encode(), '{"note":"x"}'),
        (pa.array([7], pa.int8()), '{"note":7}'),
        (pa.array([1.5]), '{"note":1.5}'),
        (pa.array([True]), '{"note":true}'),
        (pa.array([None], pa.null()), "{}"),
        (pa.array([["x", None]]), '{"note":["x",null]}'),
        (pa.array([{"x": [1]}]), '{"note":{"x":[1]}}'),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), '{"note":{"k":1}}'),
    ],
    ids=str,
)
def test_plain_and_nested_columns_of_parquet_are_read(desk: Desk, values: pa.Array, stored: str) -> None:
    checked = desk.check(parquet({"note": values}), "a.parquet")
    assert desk.texts(checked, "metadata") == [stored]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([b"x"]),
        pa.array([Decimal("1.5")]),
        pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)]),
        pa.array([dt.date(2026, 1, 1)]),
        pa.array([dt.timedelta(1)]),
        pa.array([[b"x"]]),
        pa.array([{"x": b"x"}]),
    ],
    ids=lambda values: str(values.type),
)
def test_other_columns_of_parquet_are_refused_by_name_or_can_be_left_out(desk: Desk, values: pa.Array) -> None:
    content = parquet({"note": values})
    refusal = desk.refuse(content, "a.parquet")
    assert refusal.problems[0].column == "note"
    assert str(values.type)[:4] in str(refusal)
    assert desk.check(content, "a.parquet", mapping={"note": "ignore"}).report.candidates == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, float("nan")], {"x": float("-inf")}])
def test_nan_and_infinity_in_parquet_are_refused(desk: Desk, value: Any) -> None:
    reason = desk.reason(parquet({"note": pa.array([value])}), "a.parquet")
    assert "NaN" in reason
    assert "note" in reason


def test_a_number_where_text_is_wanted_is_refused(desk: Desk) -> None:
    refusal = desk.refuse(parquet({"candidate": pa.array([7])}), "a.parquet")
    assert refusal.problems[0].column == "candidate"


def test_a_parquet_bomb_is_refused_by_what_it_unpacks_to(desk: Desk) -> None:
    text = "x" * 100_000
    content = parquet({"passage": pa.array([text] * 2_000).dictionary_encode()}, compression="zstd")
    assert len(content) < 100_000
    before = pa.total_allocated_bytes()
    refusal = desk.refuse(content, "a.parquet", limits=Limits(decoded_bytes=50 * 2**20))
    assert "larger than 50 MB" in str(refusal)
    assert pa.total_allocated_bytes() - before < 50 * 2**20


def test_a_damaged_parquet_file_is_refused(desk: Desk) -> None:
    content = parquet({})
    for broken in (content[:-20], content[:200], b"PAR1" + b"\0" * 500 + b"PAR1", b"PARE" + content[4:]):
        desk.refuse(broken, "a.parquet")
    flipped = bytearray(content)
    flipped[40:80] = b"\xff" * 40
    desk.refuse(bytes(flipped), "a.parquet")
    assert "PAR1" in desk.reason(b"id,passage\n", "a.parquet")


def test_parquet_keeps_ids_that_are_numbers(desk: Desk) -> None:
    assert desk.texts(desk.check(parquet({"id": pa.array([12])}), "a.parquet"), "external_id") == ["12"]
