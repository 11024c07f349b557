"""Files read in a process of their own: the same results as without it, and an end for those that need too much."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pytest_django import Settings

from benchmarks import bombs
from projects.database import outages
from projects.importing import (
    DEFAULT_LIMITS,
    FileRefused,
    Kind,
    Limits,
    Options,
    checking,
    isolated,
    opening,
    previewing,
)
from projects.importing.check_report import Notes
from projects.importing.skipping import SkippedRows
from projects.importing.spool import TABLES
from projects.processes import requests
from projects.processes.requests import Ended
from tests.processes import wait_until
from tests.projects.importing.conftest import HEADER, Desk
from tests.projects.importing.test_archives import HEADER as COLUMNS
from tests.projects.importing.test_archives import ROW, parquet, xlsx

MEMORY = 300 << 20
QUICK = (
    "one_dictionary_text.parquet",
    "many_large_values.parquet",
    "false_footer.parquet",
    "nested_lists.jsonl",
    "nested_lists.json",
    "blank_lines.jsonl",
    "short_rows.csv",
    "one_long_row.csv",
    "last_cell.xlsx",
    "shared_text.xlsx",
)
OBJECT = '{"id": "a", "passage": "P", "question": "Q", "reference": "R", "candidate": "C", "score": %s}'
ODD: dict[str, bytes | str] = {
    "a.csv": HEADER + "a,Pä,Q,R,C\n\n\nb,P,Q\nc,P,Q,R,C,\n\n",
    "b.csv": (HEADER + "a,Pé,Q,R,C\n").encode("cp1252"),
    "c.csv": HEADER.encode() + b"a,P,Q,R,C\nb,\xff\xfe,Q,R,C\n",
    "d.csv": "id;passage;question;reference;candidate\na;P;Q;R;C\n",
    "e.csv": HEADER + 'a,"P,Q,R,C\n',
    "f.tsv": HEADER.replace(",", "\t") + "a\tP\tQ\tR\tC\n",
    "g.jsonl": OBJECT % "NaN" + "\n\n" + OBJECT % '"\\ud83d"' + "\n" + OBJECT % "1e300",
    "h.json": f"[{OBJECT % 1}, {OBJECT % 2}\n]",
    "i.json": '{"d": {"a": {"context": "P", "question": "Q", "reference": "R", "candidate": "C"}, "b": 1}, "e": {}}',
    "j.parquet": parquet({"note": ["x", None], "n": pa.array([18446744073709551615, 1], pa.uint64())}),
    "k.parquet": b"PAR1" + b"\0" * 500 + b"PAR1",
    "l.xlsx": xlsx(COLUMNS, ROW, [], [*ROW, "more"], ["b", *ROW[1:]]),
    "m.csv": b"",
    "n.pdf": b"%PDF",
}
"""Files of each format with all that a reader may say of them."""


@pytest.fixture
def ended() -> Iterator[list[Ended]]:
    """How the children ended."""
    found: list[Ended] = []
    isolated.program.on_end = found.append
    yield found
    isolated.program.on_end = None


def list_children() -> list[int]:
    """Return the processes that are reading now."""
    pid = isolated.program.pid
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] if pid else []


def result_of(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except FileRefused as refusal:
        return refusal.as_dict() | {"message": refusal.message, "rows": refusal.rows, "offers": refusal.offers}


@pytest.mark.parametrize("name", QUICK)
def test_a_bomb_is_refused_in_little_memory(name: str, tmp_path: Path, ended: list[Ended]) -> None:
    path = tmp_path / name
    bombs.BOMBS[name](path)
    folder = tmp_path / "spool"
    with pytest.raises(FileRefused) as caught:
        isolated.check(path=path, name=name, folder=folder)
    assert caught.value.message.startswith(f"{name}: ")
    assert not folder.exists()
    assert [each.peak_bytes < MEMORY for each in ended] == [True]
    assert not list_children()


@pytest.mark.drill
@pytest.mark.parametrize("name", sorted(bombs.BOMBS.keys() - set(QUICK)))
def test_a_large_bomb_is_refused_in_little_memory(name: str, tmp_path: Path, ended: list[Ended]) -> None:
    test_a_bomb_is_refused_in_little_memory(name, tmp_path, ended)


def test_the_reason_names_the_limit_and_what_to_do(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "a.parquet"
    bombs.one_dictionary_text(path)
    for memory in (300, 200):
        settings.READ_MEMORY_MB = memory
        with pytest.raises(FileRefused, match=f"needs more than {memory} MB of memory to be read; split it") as caught:
            isolated.preview(path=path, name="a.parquet")
        assert caught.value.rows == {}


def test_honest_files_and_broken_ones_give_the_same_as_in_one_process(desk: Desk) -> None:
    for name, content in ODD.items():
        path, options = desk.put(content), Options(skip_wrong_rows=name == "a.csv")
        for kind in Kind:
            previews = [
                result_of(lambda: act(path=path, name=name, options=options, kind=kind))  # noqa: B023
                for act in (previewing.preview, isolated.preview)
            ]
            assert previews[0] == previews[1], name
        skipped = [SkippedRows(), SkippedRows()]
        spools = [desk.folder / f"{name}-{n}" for n in range(2)]
        checks = [
            result_of(lambda: act(path=path, name=name, folder=folder, options=options, skipped=rows))  # noqa: B023
            for act, folder, rows in zip((checking.check, isolated.check), spools, skipped, strict=True)
        ]
        if isinstance(checks[0], checking.Checked):
            assert replace(checks[0], spool=checks[1].spool) == checks[1], name
            for table in TABLES:
                assert checks[0].spool.file(table).read_bytes() == checks[1].spool.file(table).read_bytes()
            assert vars(skipped[0]) == vars(skipped[1])
        else:
            assert checks[0] == checks[1], name


def test_kept_rows_are_those_of_the_reader_with_all_it_notes(desk: Desk) -> None:
    def read(reading: Callable[..., Any], path: Path, name: str, **kept: Path) -> Any:
        limits = Limits(takes_nan=name.endswith("jsonl"))
        notes, found = Notes(limits), list[Any]()
        described: list[Any] = []
        try:
            with reading(path, name, Options(), limits, notes, **kept) as reader:
                described = [reader.format, reader.encoding, reader.delimiter, reader.decimal, reader.columns]
                found += [repr(each) for each in reader.records()]
        except FileRefused as refusal:
            found.append(refusal.as_dict())
        return described, found, notes.warnings, notes.unit, notes.total

    for name, content in ODD.items():
        path, kept = desk.put(content), desk.folder / f"{name}.rows"
        plain = read(opening.reading, path, name)
        assert read(isolated.reading, path, name) == plain, name
        assert read(isolated.reading, path, name, kept=kept) == plain, name
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(isolated, "_ask", None)
            assert read(isolated.reading, path, name, kept=kept) == plain, "They are not read again."
    assert not list(desk.folder.glob("*.part"))


def test_a_preview_is_kept_for_its_settings(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path, broken = desk.put(HEADER + "a,P,Q,R,C\n"), desk.put(HEADER + 'a,"P\n')
    kept, other = desk.folder / "kept", desk.folder / "other"
    asked: list[str] = []
    ask = isolated._ask

    def count(act: str, *args: Any, **more: Any) -> Any:
        asked.append(act)
        return ask(act, *args, **more)

    monkeypatch.setattr(isolated, "_ask", count)
    first = isolated.preview(path=path, name="a.csv", kept=kept)
    assert isolated.preview(path=path, name="a.csv", kept=kept) == first
    refused = [result_of(lambda: isolated.preview(path=broken, name="a.csv", kept=other)) for _ in range(2)]
    assert refused[0] == refused[1]
    assert len(asked) == 2
    assert isolated.preview(path=path, name="a.csv", options=Options(delimiter=";"), kept=kept).columns != first.columns
    kept.write_text("{")
    assert isolated.preview(path=path, name="a.csv", kept=kept) == first
    assert len(asked) == 4
    path.unlink()
    with pytest.raises(FileNotFoundError):
        isolated.preview(path=path, name="a.csv", kept=kept)


def test_a_reading_that_is_cancelled_or_ended_leaves_nothing(
    tmp_path: Path, settings: Settings, ended: list[Ended]
) -> None:
    path, folder = tmp_path / "a.csv", tmp_path / "spool"
    path.write_text(HEADER + "".join(f"c{n},P{n},Q{n},R,C\n" for n in range(150_000)))

    class Stop(Exception):
        pass

    def cancel(done: int, total: int) -> None:
        assert 0 <= done <= total
        if done:
            raise Stop

    def give_up(done: int, total: int) -> None:
        raise Stop

    def crash(done: int, total: int) -> None:
        for pid in list_children():
            os.kill(pid, signal.SIGTERM)  # which systemd sends to every process of a service; the parent decides
            os.kill(pid, signal.SIGSEGV)

    def check(**more: Any) -> str:
        with pytest.raises((FileRefused, Stop)) as caught:
            isolated.check(path=path, name="a.csv", folder=folder, **more)
        assert not folder.exists()
        assert not list_children()
        return str(caught.value)

    check(on_progress=cancel)
    assert [each.code for each in ended] == [-signal.SIGKILL]
    assert "a.csv: ended the program that reads it (SIGSEGV): it is damaged, or needs" in check(on_progress=crash)
    # Also before anything of the file is read.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(requests, "TICK", 0.01)
        bombs.one_dictionary_text(tmp_path / "a.parquet")
        with pytest.raises(Stop):
            isolated.check(path=tmp_path / "a.parquet", name="a.parquet", folder=folder, on_progress=give_up)
    assert (ended[-1].code, folder.exists(), list_children()) == (-signal.SIGKILL, False, [])
    settings.READ_SECONDS = 1
    assert "a.csv: takes more than 1 seconds to be read; split it" in check()
    assert isolated.preview(path=path, name="a.csv").n_rows == 1000, "The program goes on."


@pytest.mark.parametrize("n_failures", [1, 2])
def test_a_reader_that_fails_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_failures: int
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "a,P,Q,R,C\n", encoding="utf-8")
    exchange, sent = requests.Request.exchange, []

    def fail_at_first(self: requests.Request, content: bytes, on_wait: Callable[[], None]) -> Any:
        sent.append(content)
        return exchange(self, b"{" if len(sent) <= n_failures else content, on_wait)

    monkeypatch.setattr(requests.Request, "exchange", fail_at_first)
    if n_failures == 1:
        assert isolated.check(path=path, name="a.csv", folder=tmp_path / "rows").name == "a.csv"
    else:
        with pytest.raises(FileRefused, match=r"ended the program that reads it \(exit 1\)"):
            isolated.check(path=path, name="a.csv", folder=tmp_path / "rows")
    assert len(sent) == 2


def test_a_full_disk_is_no_fault_of_the_file(tmp_path: Path) -> None:
    path, folder = tmp_path / "a.csv", tmp_path / "rows"
    path.write_text(HEADER + "a,P,Q,R,C\n", encoding="utf-8")
    folder.mkdir()
    for table in TABLES:
        (folder / f"{table}.copy").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as raised:
        isolated.check(path=path, name="a.csv", folder=folder)
    assert outages.is_disk_unwritable(raised.value)


def test_a_program_that_is_gone_is_started_again(desk: Desk) -> None:
    path = desk.put(HEADER + "a,P,Q,R,C\n")
    isolated.preview(path=path, name="a.csv")
    first = isolated.program.pid
    assert first
    os.kill(first, signal.SIGKILL)
    assert isolated.preview(path=path, name="a.csv").n_rows == 1
    assert isolated.program.pid != first


def test_the_program_and_its_children_end_with_their_parent(tmp_path: Path) -> None:
    # So many rows that the child still reads when the parent is told of the first ones, on a busy machine too.
    path = tmp_path / "a.csv"
    path.write_text(HEADER + "".join(f"c{n},P{n},Q{n},R,C\n" for n in range(400_000)))
    program = f"""
        import os
        from pathlib import Path
        from django.conf import settings
        settings.configure(READ_MEMORY_MB=300, READ_SECONDS=60)
        from projects.importing import isolated

        def end(done, total):
            pid = isolated.program.pid
            print(pid, Path(f"/proc/{{pid}}/task/{{pid}}/children").read_text(), flush=True)
            os.kill(os.getpid(), 9)

        folder = Path({str(tmp_path / "spool")!r})
        isolated.check(path=Path({str(path)!r}), name="a.csv", folder=folder, on_progress=end)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    pids = [int(each) for each in ran.stdout.split()]
    assert len(pids) == 2
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in pids))


def test_a_process_that_reads_loads_neither_settings_nor_models() -> None:
    program = """
        import sys
        import projects.importing.reading_program
        loaded = set(sys.modules)
        print(loaded & {"django.db", "django.forms", "django.apps", "config", "projects.models"})
        print(loaded & {"numpy", "pyarrow", "openpyxl"})
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["set()", "set()"]


def test_the_limits_of_rows_count_what_is_left_out(desk: Desk) -> None:
    limits = replace(DEFAULT_LIMITS, rows_left_out=3, lines=12, json_values=20, row_chars=400)
    files: dict[str, bytes | str] = {
        "a.csv": HEADER + "\n" * 4,
        "b.csv": "\n" * 4,
        "c.csv": HEADER + "a\n" * 4,
        "d.csv": HEADER + ",,\n" * 4,
        "e.jsonl": " \n" * 4,
        "f.json": '{"d": {}, "e": {}, "f": {}, "g": {}}',
        "g.xlsx": xlsx(COLUMNS, [], [], [], [], ROW),
        "h.xlsx": xlsx(COLUMNS, *[[*ROW, "more"]] * 4),
    }
    for name, content in files.items():
        refusal = desk.refuse(content, name, limits=limits)
        assert "more than 3 blank lines or rows without a record" in str(refusal.problems), name
    assert "more than 12 lines" in desk.reason(HEADER + 'a,"' + "x\n" * 13 + '",Q,R,C\n', limits=limits)
    assert "the row is longer" in desk.reason(HEADER + 'a,"' + f"{'x' * 200}\n" * 3 + '",Q,R,C\n', limits=limits)
    for name, start, end in (("a.jsonl", "", ""), ("a.json", "[", "]"), ("a.json", '{"d": {"a": ', "}}")):
        for value in ("[" + "[], " * 20 + "1]", '{"a": ' * 21 + "1" + "}" * 21):
            content = start + OBJECT % value + end
            assert "one entry has more than 20 values" in desk.reason(content, name, limits=limits)
    commas = OBJECT % f'"{", [" * 50}"'
    assert desk.check(commas, "a.jsonl", limits=limits).report.candidates == 1
    assert desk.check(HEADER + "\n\n\na,P,Q,R,C\n", limits=limits).report.candidates == 1


def test_few_long_objects_are_held_to_find_the_columns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("projects.importing.readers.objects.SAMPLE_BYTES", 0)
    other = (OBJECT % 1).replace('"a"', '"b"').replace("score", "later")
    found = previewing.preview(path=desk.put(f"{OBJECT % 1}\n{other}\n"), name="a.jsonl")
    assert (found.n_rows, "later" in found.columns) == (2, False)
    assert desk.texts(desk.check(f"{OBJECT % 1}\n{other}\n", "a.jsonl"), "metadata")[1] == '{"later":1}'
