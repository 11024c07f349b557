"""Files that are small and need gigabytes or minutes, each read as an import reads it: seconds, memory, and the answer.

    python -m benchmarks.bombs [--limits]

No database is needed. Each file is previewed and validated in the process that reads files; the figures are that
process's own. With `--limits` the honest files of each format are read with less and less memory, which shows how much
they need.
"""

import argparse
import io
import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import ground

if TYPE_CHECKING:
    from projects.processes.requests import Ended

HEADER = "id,passage_id,passage,question,reference,candidate,source\n"
NAMES = HEADER.strip().split(",")
OBJECT = '"id":"%s","passage":"P","question":"Q","reference":"R","candidate":"C"'


def one_dictionary_text(path: Path) -> None:
    """Write a Parquet file whose rows all have the same text of 30 MB, stored once."""
    _write_parquet(path, 100, "x" * 30_000_000)


def one_large_value(path: Path) -> None:
    """Write a Parquet file with one text of 1.5 GB."""
    import pyarrow as pa

    _write_parquet(path, 1, "x" * 1_500_000_000, kind=pa.large_string(), use_dictionary=False, write_statistics=False)


def many_large_values(path: Path, n: int = 20, size: int = 10_000_000) -> None:
    """Write a Parquet file with many texts of 10 MB, which is under the limit of decompressed bytes."""
    _write_parquet(path, n, "x" * size, use_dictionary=False, write_statistics=False)


def false_footer(path: Path) -> None:
    """Write a Parquet file of a dictionary whose footer says nothing of what its rows unpack to."""
    _write_parquet(path, 200_000, "x" * 100_000)


def nested_lists(path: Path) -> None:
    """Write 39 MB of JSON lines, each with a list of empty lists."""
    line = "{" + OBJECT % "a" + ',"x":[' + ",".join(["[]"] * 400_000) + "]}\n"
    path.write_text(line * 32)


def nested_lists_of_json(path: Path) -> None:
    """Write the same as one list."""
    entry = "{" + OBJECT % "a" + ',"x":[' + ",".join(["[]"] * 400_000) + "]}"
    path.write_text("[" + ",".join([entry] * 32) + "]")


def many_keys(path: Path) -> None:
    """Write MOCHA's JSON with an object of a million keys."""
    entry = "{" + OBJECT % "a" + ',"x":{' + ",".join(f'"{n}":{{}}' for n in range(700_000)) + "}}"
    path.write_text('{"d":{"a":' + entry + "}}")


def blank_lines(path: Path) -> None:
    """Write 19 MB of line ends."""
    path.write_bytes(b"\n" * 19_000_000)


def blank_rows(path: Path) -> None:
    """Write a header and 19 MB of rows of empty cells."""
    path.write_text(HEADER + ",,,,,,\n" * 2_700_000)


def short_rows(path: Path) -> None:
    """Write a header and 19 MB of rows with too few cells."""
    path.write_text(HEADER + "x\n" * 9_500_000)


def one_long_row(path: Path) -> None:
    """Write 40 MB of cells in one row, each of which is allowed."""
    path.write_text(HEADER + ",".join(['"' + "x\n" * 300_000 + '"'] * 64) + "\n")


def last_column(path: Path) -> None:
    """Write an Excel file whose rows each have a cell in the last column."""
    rows = "".join(f'<row r="{n}"><c r="XFD{n}"><v>1</v></c></row>' for n in range(2, 300_000))
    write_xlsx(path, rows)


def last_cell(path: Path) -> None:
    """Write an Excel file with a cell in the last column of the last row."""
    write_xlsx(path, '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def shared_text(path: Path) -> None:
    """Write an Excel file whose cells all have the same text of a megabyte."""
    rows = "".join(f'<row r="{n}"><c r="A{n}" t="s"><v>0</v></c></row>' for n in range(2, 3_000))
    shared = f"<sst xmlns='{SHEET}'><si><t>{'x' * 1_000_000}</t></si></sst>"
    write_xlsx(path, rows, {"xl/sharedStrings.xml": shared})


def shared_texts(path: Path) -> None:
    """Write an Excel file with two million shared texts, which the library holds in memory."""
    shared = "".join(f"<si><t>{n}</t></si>" for n in range(2_000_000))
    write_xlsx(path, "", {"xl/sharedStrings.xml": f"<sst xmlns='{SHEET}'>{shared}</sst>"})


def wide_row(path: Path) -> None:
    """Write an Excel file with two million cells in one row."""
    write_xlsx(path, f'<row r="2">{"<c><v>1</v></c>" * 2_000_000}</row>', {}, 1)


def zip_bomb(path: Path) -> None:
    """Write an Excel file with a sheet that unpacks to 200 MB of zeros."""
    write_xlsx(path, "0" * 200_000_000)


BOMBS: dict[str, Callable[[Path], None]] = {
    "one_dictionary_text.parquet": one_dictionary_text,
    "one_large_value.parquet": one_large_value,
    "many_large_values.parquet": many_large_values,
    "false_footer.parquet": false_footer,
    "nested_lists.jsonl": nested_lists,
    "nested_lists.json": nested_lists_of_json,
    "many_keys.json": many_keys,
    "blank_lines.jsonl": blank_lines,
    "blank_lines.csv": blank_lines,
    "blank_rows.csv": blank_rows,
    "short_rows.csv": short_rows,
    "one_long_row.csv": one_long_row,
    "last_column.xlsx": last_column,
    "last_cell.xlsx": last_cell,
    "shared_text.xlsx": shared_text,
    "shared_texts.xlsx": shared_texts,
    "wide_row.xlsx": wide_row,
    "zip_bomb.xlsx": zip_bomb,
}

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHARED = (
    '<Override PartName="/xl/sharedStrings.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>'
)


def write_xlsx(path: Path, rows: str, parts: dict[str, str] | None = None, compression: int = 6) -> None:
    """Write an Excel file with a header of the columns and these rows; `parts` are further parts of the archive."""
    import openpyxl

    book = openpyxl.Workbook()
    book.worksheets[0].append(NAMES)
    plain = io.BytesIO()
    book.save(plain)
    with (
        zipfile.ZipFile(plain) as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=compression) as new,
    ):
        for entry in old.infolist():
            content = old.read(entry).decode()
            if entry.filename == "xl/worksheets/sheet1.xml":
                content = content.replace("</sheetData>", rows + "</sheetData>")
            if entry.filename == "[Content_Types].xml":
                content = content.replace("</Types>", SHARED + "</Types>" if parts else "</Types>")
            new.writestr(entry.filename, content)
        for name, content in (parts or {}).items():
            new.writestr(name, content)


def _write_parquet(path: Path, n: int, text: str, *, kind: Any = None, **options: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # One copy of the text in memory, as in the file.
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([text], kind or pa.string()))
    if options:
        texts = texts.dictionary_decode()
    columns = {name: ["x"] * n for name in NAMES} | {"id": [str(number) for number in range(n)], "passage": texts}
    pq.write_table(pa.table(columns), path, compression="zstd", **options)


def honest_rows(n: int) -> Iterator[list[str]]:
    """Yield rows as studies have them: passages of 200 words, each with ten candidates."""
    from benchmarks.import_candidates import _rows

    for passage_id, passage, _question_id, question, reference, own, candidate, source, _split in _rows(n):
        yield [own, passage_id, passage, question, reference, candidate, source]


def write_honest(folder: Path, n: int) -> list[Path]:
    """Write the same honest rows in each format."""
    import csv
    import json

    import openpyxl
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = list(honest_rows(n))
    paths = [folder / f"honest_{n}.{ending}" for ending in ("csv", "jsonl", "json", "xlsx", "parquet")]
    with paths[0].open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    objects = [dict(zip(NAMES, row, strict=True)) for row in rows]
    paths[1].write_text("".join(json.dumps(each) + "\n" for each in objects))
    paths[2].write_text(json.dumps(objects))
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in [NAMES, *rows]:
        sheet.append(row)
    book.save(paths[3])
    pq.write_table(pa.table({name: [row[place] for row in rows] for place, name in enumerate(NAMES)}), paths[4])
    return paths


def read(path: Path, act: str) -> tuple[str, float, "Ended"]:
    """Preview or validate a file; return the answer, the seconds, and what the process that read it has used."""
    from projects.importing import FileRefused, isolated

    ended: list[Ended] = []
    isolated.program.on_end = ended.append
    start = time.perf_counter()
    try:
        if act == "preview":
            answer = f"{isolated.preview(path=path, name=path.name).n_rows:,} rows"
        else:
            with tempfile.TemporaryDirectory() as folder:
                checked = isolated.check(path=path, name=path.name, folder=Path(folder) / "spool")
            answer = f"{checked.report.candidates:,} candidates"
    except FileRefused as refusal:
        answer = str(refusal).removeprefix(f"{path.name}: ")
    finally:
        isolated.program.on_end = None
    return answer, time.perf_counter() - start, ended[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", action="store_true", help="show the memory that honest files need")
    parser.add_argument("--honest", type=int, default=40_000, metavar="ROWS", help="size of the honest files")
    options = parser.parse_args()
    os.environ.update(ground.site_environment("config.settings", "postgres://nobody@localhost/none"))
    print(f"{'file':<28} {'kB':>9}  {'act':<8} {'s':>6} {'CPU s':>6} {'MB':>5}  answer")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in BOMBS.items():
            write(Path(folder) / name)
            _show(Path(folder) / name)
            (Path(folder) / name).unlink()
        for path in write_honest(Path(folder), options.honest):
            _show(path)
            if options.limits:
                _show_limits(path)


def _show(path: Path) -> None:
    for act in ("preview", "check"):
        answer, seconds, ended = read(path, act)
        size = f"{path.stat().st_size / 1024:9,.0f}"
        used = f"{seconds:6.2f} {ended.cpu_seconds:6.2f} {ended.peak_bytes / 2**20:5.0f}"
        print(f"{path.name:<28} {size}  {act:<8} {used}  {answer[:110]}", flush=True)


def _show_limits(path: Path) -> None:
    from django.conf import settings

    from projects.importing import isolated

    usual = settings.READ_MEMORY_MB
    enough = usual
    for memory in range(usual, 0, -20):
        settings.READ_MEMORY_MB = memory
        try:
            if "memory" in read(path, "check")[0]:
                break
        except isolated.ReadingFailed:  # not even a library can be loaded
            break
        enough = memory
    settings.READ_MEMORY_MB = usual
    print(f"{path.name:<28} is still read with a limit of {enough} MB")


if __name__ == "__main__":
    main()
