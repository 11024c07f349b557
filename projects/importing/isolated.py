"""Reading files from outside in a child process with limits of memory and time: the only way in which the site does it.

A file may be small and need gigabytes, or end the library that reads it. The functions are those of `checking` and
`folders`, with the same results and refusals; one more says that a file needs too much. What was read is kept with the
upload, so that no file is read again as long as its settings stay.
"""

import errno
import hashlib
import json
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

from projects.errors import Refused
from projects.importing import checking, opening, previewing
from projects.importing.check_report import FileRefused, Notes, Problem, Warned
from projects.importing.checking import Checked, OnProgress
from projects.importing.fields import ColumnPlan
from projects.importing.import_options import CriterionColumn, Options
from projects.importing.kept_rows import KeptReader, is_kept
from projects.importing.limits import DEFAULT_LIMITS, Limits
from projects.importing.opening import Kind
from projects.importing.parquet_folders import ParquetPart
from projects.importing.previewing import Preview
from projects.importing.readers import Reader
from projects.importing.reading_program import describe_refusal, dump_criteria, dump_skipped, load_skipped
from projects.importing.skipping import SkippedRows
from projects.importing.spool import Spool
from projects.processes.forking import Budget
from projects.processes.requests import Ended, ForkingProgram, ProgramGone

PAGE_SECONDS = 30
"""CPU time for reading a file while somebody waits for the page: much more than the beginning of any file takes."""
VERSION = 1
"""Raised when the form of kept results or the rules of the readers change: what was kept before is read again."""
_TOO_MUCH = "split it into smaller files, or ask the site administrator for a higher limit"

program = ForkingProgram("projects.importing.reading_program")


class ReadingFailed(Exception):
    """The process that reads has met a fault of ours; the message is its traceback."""


def preview(
    *,
    path: Path,
    name: str,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    limits: Limits = DEFAULT_LIMITS,
    kept: Path | None = None,
) -> Preview:
    """Return the beginning of a file as `previewing.preview` does, within the limits. Raises FileRefused.

    The result, or the refusal, is kept in the file `kept` for the next call with these options.
    """
    request = _describe(path, name, options, limits) | {"kind": kind.value}
    key = _make_key(request)
    if kept is not None and (found := _read_kept(kept, key)) is not None:
        return _load_preview(found)
    try:
        found = _ask("preview", request, name=name, seconds=_page_seconds())
    except FileRefused as refusal:
        found = {"refusal": describe_refusal(refusal)}
    if kept is not None:
        _replace(kept, json.dumps({"key": key, "found": found}).encode())
    return _load_preview(found)


def check(
    *,
    path: Path,
    name: str,
    folder: Path,
    options: Options | None = None,
    kind: Kind = Kind.CANDIDATES,
    known: Mapping[str, CriterionColumn] | None = None,
    skipped: SkippedRows | None = None,
    on_progress: OnProgress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Checked:
    """Check every row as `checking.check` does, within the limits; the rows wait in the spool. Raises as it does."""
    skipped = SkippedRows() if skipped is None else skipped
    request = _describe(path, name, options, limits) | {
        "kind": kind.value,
        "folder": str(folder),
        "known": dump_criteria(known or {}),
        "skipped": dump_skipped(skipped),
    }
    try:
        found = _ask("check", request, name=name, seconds=settings.READ_SECONDS, on_progress=on_progress)
    except BaseException:
        # A process that was ended leaves what it had written.
        Spool(folder).discard()
        raise
    load_skipped(found, into=skipped)
    return checking.load(folder)


@contextmanager
def reading(
    path: Path,
    name: str,
    options: Options,
    limits: Limits,
    notes: Notes,
    *,
    kept: Path | None = None,
    seconds: int | None = None,
    on_progress: OnProgress | None = None,
) -> Iterator[Reader]:
    """Yield a reader of the file's rows as `opening.reading` does; the file itself was read within the limits.

    The rows are kept in the file `kept` for the next call with these options, or in a temporary one. `seconds` of CPU
    time are for a page, and the site's limit for a job.
    """
    with tempfile.TemporaryDirectory(prefix="concord-rows-") as folder:
        opens = partial(_open_rows, kept or Path(folder) / "rows", seconds or settings.READ_SECONDS, on_progress)
        with opening.reading(path, name, options, limits, notes, opens) as reader:
            yield reader


def preview_planned(
    *,
    path: Path,
    name: str,
    options: Options,
    limits: Limits,
    make_plan: Callable[[Reader], ColumnPlan],
    kept: Path | None = None,
) -> Preview:
    """Return the beginning of a file whose columns `make_plan` maps. Raises FileRefused."""
    with tempfile.TemporaryDirectory(prefix="concord-rows-") as folder:
        opens = partial(_open_rows, kept or Path(folder) / "rows", _page_seconds(), None)
        return previewing.preview(
            path=path, name=name, options=options, limits=limits, make_plan=make_plan, opens=opens
        )


def combine_parquet(parts: Sequence[ParquetPart], target: Path, limits: Limits = DEFAULT_LIMITS) -> None:
    """Write the rows of Parquet files into one, as in `parquet_folders`, within the limits. Raises Refused."""
    request = {
        "parts": [[part.name, str(part.path)] for part in parts],
        "target": str(target),
        "limits": asdict(limits),
    }
    _ask("combine", request, name=", ".join(part.name for part in parts[:3]), seconds=settings.READ_SECONDS)


def _open_rows(
    target: Path,
    seconds: int,
    on_progress: OnProgress | None,
    path: Path,
    name: str,
    options: Options,
    limits: Limits,
    notes: Notes,
) -> Reader:
    """Return a reader of kept rows, which are read from the file first unless they were kept before."""
    request = _describe(path, name, _list_reading_options(path, options), limits)
    key = _make_key(request)
    if not is_kept(target, key):
        # Under a name of its own: of two processes at once the second must not write into what the first reads.
        written = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
        try:
            _ask(
                "rows",
                request | {"target": str(written), "key": key},
                name=name,
                seconds=seconds,
                on_progress=on_progress,
            )
            written.replace(target)
        finally:
            written.unlink(missing_ok=True)
    return KeptReader(target, path.stat().st_size, notes)


def _list_reading_options(path: Path, options: Options) -> Options:
    """Return those of the options that readers use: with others the rows are the same."""
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    # Columns of types that can't be read may be left out.
    ignored = {name: "ignore" for name, field in options.mapping.items() if field in ("", "ignore")}
    return Options(
        format=options.format,
        encoding=options.encoding,
        delimiter=options.delimiter,
        quotes=options.quotes,
        mapping=ignored if is_parquet else {},
    )


def _describe(path: Path, name: str, options: Options | None, limits: Limits) -> dict[str, Any]:
    return {
        "path": str(path),
        "name": name,
        "options": (options or Options()).as_dict(),
        "limits": asdict(limits),
    }


def _make_key(request: Mapping[str, Any]) -> str:
    """Return a text that differs for other settings of reading. Raises FileNotFoundError if the file is gone.

    The file is told by its size: what is kept beside an upload is deleted with it.
    """
    n_bytes = Path(request["path"]).stat().st_size
    content = json.dumps([VERSION, n_bytes, {**request, "path": ""}], sort_keys=True, default=str)
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()


def _page_seconds() -> int:
    return min(PAGE_SECONDS, int(settings.READ_SECONDS))


def _ask(
    act: str, request: Mapping[str, Any], *, name: str, seconds: int, on_progress: OnProgress | None = None
) -> dict[str, Any]:
    """Have a child do an act, and return what it found. Raises Refused, FileRefused, FileNotFoundError.

    Whatever `on_progress` raises to cancel ends the child first.
    """
    # Twice the time by the clock: on a busy machine an honest file may wait for the processor.
    budget = Budget(memory_mb=settings.READ_MEMORY_MB, cpu_seconds=seconds, wall_seconds=2 * seconds)
    content = json.dumps({**request, "act": act, "budget": asdict(budget)}, default=str).encode()
    report = on_progress or (lambda _done, _total: None)
    n_bytes = Path(request["path"]).stat().st_size if "path" in request else 1
    try:
        return _exchange(content, name, budget, report, n_bytes)
    except ProgramGone:
        # It ends by itself when nobody has asked it for a while: at that moment a request finds it gone.
        return _exchange(content, name, budget, report, n_bytes)
    except _Failed:
        # A file ends its reader by a signal or is answered; this one met something else, which may be over.
        return _exchange(content, name, budget, report, n_bytes, is_last=True)


class _Failed(Exception):
    """A child has ended by itself without an answer."""


def _exchange(
    content: bytes, name: str, budget: Budget, on_progress: OnProgress, n_bytes: int, *, is_last: bool = False
) -> dict[str, Any]:
    progress = (0, n_bytes)
    answer: tuple[bytes, bytes] | None = None

    def report() -> None:
        # Before the first rows are read too, so that a file of which none is ever read can be cancelled.
        on_progress(*progress)

    with program.request(wall_seconds=budget.wall_seconds) as asked:
        for kind, message in asked.exchange(content, report):
            if kind == b"P":
                done, total = orjson.loads(message)
                progress = (done, total)
                report()
            else:
                answer = (kind, message)
    if answer is None and not is_last and asked.ended is not None and asked.ended.code > 0:
        raise _Failed
    if answer is None:
        raise _explain_end(name, budget, None if asked.is_late else asked.ended)
    found: dict[str, Any] = json.loads(answer[1])
    if answer[0] == b"R":
        return found
    raise _explain_failure(name, budget, found)


def _explain_failure(name: str, budget: Budget, found: Mapping[str, Any]) -> Exception:
    kind = found["kind"]
    if kind == "file":
        return _load_refusal(found)
    if kind == "refused":
        return Refused(found["message"], details=found["details"], field=found["field"])
    if kind == "gone":
        return FileNotFoundError(name)
    if kind == "memory":
        return _refuse(name, f"needs more than {budget.memory_mb:,} MB of memory to be read; {_TOO_MUCH}")
    if kind == "full":
        return _refuse(name, f"unpacks to more than {budget.file_mb // 1024:,} GB; {_TOO_MUCH}")
    if kind == "disk":
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return ReadingFailed(found["trace"])


def _explain_end(name: str, budget: Budget, ended: Ended | None) -> FileRefused:
    """Return the refusal of a file whose process has ended without an answer; None is one that was given up."""
    if ended is None or -ended.code in (signal.SIGXCPU, signal.SIGALRM) or ended.cpu_seconds >= budget.cpu_seconds:
        return _refuse(name, f"takes more than {budget.cpu_seconds:,} seconds to be read; {_TOO_MUCH}")
    how = signal.Signals(-ended.code).name if ended.code < 0 else f"exit {ended.code}"
    return _refuse(
        name,
        f"ended the program that reads it ({how}): it is damaged, or needs more than {budget.memory_mb:,} MB of "
        "memory; save it again in another format, or split it into smaller files",
    )


def _refuse(name: str, reason: str) -> FileRefused:
    return FileRefused(name, [Problem(None, "", reason)])


def _load_refusal(found: Mapping[str, Any]) -> FileRefused:
    return FileRefused(
        found["name"],
        [Problem(**each | {"lines": tuple(each["lines"])}) for each in found["problems"]],
        found["total"],
        {name: tuple(offered) for name, offered in found["offers"].items()},
        {line: (column, reason) for line, column, reason in found["rows"]},
        dict(found["contradicted"]),
    )


def _load_preview(found: Mapping[str, Any]) -> Preview:
    """Return a preview, or raise the refusal that was found in its place."""
    if "refusal" in found:
        raise _load_refusal(found["refusal"])
    values = dict(found)
    values["columns"] = tuple(values["columns"])
    values["rows"] = tuple(map(tuple, values["rows"]))
    values["words"] = {column: tuple(words) for column, words in values["words"].items()}
    values["warnings"] = tuple(Warned(**each | {"lines": tuple(each["lines"])}) for each in values["warnings"])
    return Preview(**values)


def _read_kept(kept: Path, key: str) -> dict[str, Any] | None:
    with suppress(FileNotFoundError, ValueError):
        stored = json.loads(kept.read_bytes())
        if stored["key"] == key:
            found: dict[str, Any] = stored["found"]
            return found
    return None


def _replace(kept: Path, content: bytes) -> None:
    """Write a file that another process may be reading."""
    written = kept.with_name(f"{kept.name}.{secrets.token_hex(4)}.part")
    with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    written.replace(kept)
