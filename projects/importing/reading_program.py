"""The program that reads files from outside: it forks for each, and the child has limits of memory and time.

Requests and answers are JSON. An answer is `R` (the result), `X` (why there is none), and before it `P` (progress).
"""

import errno
import json
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from projects.errors import Refused
from projects.importing import checking, kept_rows, parquet_folders, previewing
from projects.importing.check_report import FileRefused
from projects.importing.import_options import CriterionColumn, Options
from projects.importing.limits import Limits
from projects.importing.opening import Kind
from projects.importing.readers import delimited, objects, peers  # noqa: F401 - loaded once for all children
from projects.importing.skipping import SkippedRows
from projects.processes.forking import Budget, serve
from projects.processes.framing import receive_frame, send_frame

PROGRESS_SECONDS = 0.2
"""The least time between two messages of progress."""

OnProgress = Callable[[int, int], None]


def main(parent: socket.socket) -> None:
    """Read files until the parent is gone, or has asked for none for a while."""
    serve(parent, answer)


def answer(connection: socket.socket) -> None:
    """Read the request from the socket, do it within its limits, and write the answer."""
    frame = receive_frame(connection)
    if frame is None:
        return
    request: dict[str, Any] = json.loads(frame[1])
    del frame
    Budget(**request["budget"]).apply()
    progress = _Progress(connection)
    kind = b"X"
    try:
        found = ACTS[request["act"]](request, progress.report)
        kind, content = b"R", json.dumps(found).encode()
    except MemoryError:
        # The traceback holds everything that was in memory, and ends with this block.
        content = b'{"kind": "memory"}'
    except FileRefused as refusal:
        content = json.dumps({"kind": "file", **describe_refusal(refusal)}).encode()
    except Refused as refusal:
        refused = {"message": refusal.message, "details": refusal.details, "field": refusal.field}
        content = json.dumps({"kind": "refused", **refused}).encode()
    except FileNotFoundError:
        content = b'{"kind": "gone"}'
    except Exception as error:  # noqa: BLE001 - the parent raises it
        kinds = {errno.EFBIG: "full", errno.ENOSPC: "disk", errno.EDQUOT: "disk"}
        found = {"kind": "fault", "trace": "".join(traceback.format_exception(error))}
        if isinstance(error, OSError) and error.errno in kinds:
            found["kind"] = kinds[error.errno]
        content = json.dumps(found).encode()
    send_frame(connection, kind, content)


class _Progress:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._next = 0.0

    def report(self, done: int, total: int) -> None:
        """Tell the parent, now and then. Raises BrokenPipeError if it has given up."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PROGRESS_SECONDS
            send_frame(self._connection, b"P", orjson.dumps([done, total]))


def _preview(request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    kind = Kind(request["kind"])
    return asdict(previewing.preview(**_read_common(request), kind=kind))


def _check(request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    known = Options.from_dict({"criteria": request["known"]}).criteria
    skipped = load_skipped(request["skipped"])
    checking.check(
        **_read_common(request),
        folder=Path(request["folder"]),
        kind=Kind(request["kind"]),
        known={each.key: each for each in known},
        skipped=skipped,
        on_progress=on_progress,
    )
    return dump_skipped(skipped)


def _keep_rows(request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    target = Path(request["target"])
    kept_rows.write_rows(**_read_common(request), target=target, key=request["key"], on_progress=on_progress)
    return {}


def _combine(request: Mapping[str, Any], on_progress: OnProgress) -> dict[str, Any]:
    parts = [parquet_folders.ParquetPart(name, Path(path)) for name, path in request["parts"]]
    parquet_folders.combine_parquet(parts, Path(request["target"]), Limits(**request["limits"]))
    return {}


ACTS: dict[str, Callable[[Mapping[str, Any], OnProgress], dict[str, Any]]] = {
    "preview": _preview,
    "check": _check,
    "rows": _keep_rows,
    "combine": _combine,
}


def _read_common(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "path": Path(request["path"]),
        "name": request["name"],
        "options": Options.from_dict(request["options"]),
        "limits": Limits(**request["limits"]),
    }


def describe_refusal(refusal: FileRefused) -> dict[str, Any]:
    """Return a refusal as plain values, from which `load_refusal` makes it again."""
    return {
        "name": refusal.name,
        "problems": [asdict(problem) for problem in refusal.problems],
        "total": refusal.total,
        "offers": {name: list(offered) for name, offered in refusal.offers.items()},
        "rows": [[line, *reason] for line, reason in refusal.rows.items()],
        "contradicted": [*refusal.contradicted.items()],
    }


def dump_skipped(skipped: SkippedRows) -> dict[str, Any]:
    """Return skipped rows as plain values."""
    return {
        "reasons": [[line, *reason] for line, reason in skipped.reasons.items()],
        "shared": sorted(skipped.shared),
        "n_passes": skipped.n_passes,
        "unit": skipped.unit,
    }


def load_skipped(plain: Mapping[str, Any], into: SkippedRows | None = None) -> SkippedRows:
    """Return skipped rows from plain values."""
    skipped = SkippedRows() if into is None else into
    skipped.reasons = {line: (column, reason) for line, column, reason in plain["reasons"]}
    skipped.shared = set(plain["shared"])
    skipped.n_passes, skipped.unit = plain["n_passes"], plain["unit"]
    return skipped


def dump_criteria(criteria: Mapping[str, CriterionColumn]) -> list[dict[str, Any]]:
    return [asdict(each) for each in criteria.values()]
