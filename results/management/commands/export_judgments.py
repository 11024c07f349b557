"""Write the judgments of a project to a file."""

import errno
import hashlib
import io
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from annotate.batches.trials import list_trials
from annotate.frames.stages import Stage, default_stage
from projects.commands import ProjectCommand
from projects.errors import Refused
from results.exports.formats import FILES, Choices, make_statement
from results.exports.streaming import Statement, write
from results.scope.scopes import find_batch

BUFFER_BYTES = 1024 * 1024


class Command(ProjectCommand):
    help = (
        "Export judgments as long CSV or JSONL (a row each), aggregated CSV (a row per candidate), MOCHA's JSON "
        "(one criterion), or ratings of controls as CSV."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--format", required=True, choices=tuple(FILES))
        parser.add_argument("--criterion", default="", metavar="KEY", help="required for mocha if there are several")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--stage",
            choices=[stage.value for stage in Stage],
            help="default full: imported judgments, full batches, and trials that these count",
        )
        which.add_argument(
            "--batch", type=int, nargs="+", action="extend", default=[], metavar="NUMBER", help="only these batches"
        )
        parser.add_argument(
            "--texts", action="store_true", help="include passages, questions, references and candidates"
        )
        parser.add_argument(
            "--comments", action="store_true", help="include annotators' comments, which may contain personal data"
        )
        parser.add_argument("--output", metavar="FILE", help="default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        if self.as_json and not options["output"]:
            raise CommandError("--json writes to standard output. Name a file with --output.", returncode=2)
        project = self.project(options)
        choices = Choices(
            project=project,
            criterion=options["criterion"],
            stage=Stage(options["stage"]) if options["stage"] else default_stage(project),
            batches=tuple(find_batch(project, number) for number in dict.fromkeys(options["batch"])),
            with_texts=options["texts"],
            with_comments=options["comments"],
        )
        statement = make_statement(options["format"], choices)
        if not options["output"]:
            write(statement, sys.stdout.buffer)
            # COPY wrote past the text layer of standard output.
            sys.stdout.buffer.flush()
            return
        path = Path(options["output"])
        written = _write(statement, path)
        result = {
            "project": project.slug,
            "format": options["format"],
            **({"stage": choices.stage.value} if not choices.batches and list_trials(project).exists() else {}),
            "file": str(path),
            "n_rows": written.n_rows,
            "n_bytes": written.n_bytes,
            "sha256": written.sha256,
        }
        self.answer(result, f"{written.n_rows:,} rows in {path}")


class _Digesting(io.RawIOBase):
    """Writes into a file, and knows how much that was and its SHA-256."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.n_bytes, self.digest = 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.digest.update(data)
        self.n_bytes += len(data)
        return len(data)


@dataclass(frozen=True)
class _Written:
    n_rows: int
    n_bytes: int
    sha256: str


def _write(statement: Statement, path: Path) -> _Written:
    """Write the file whole or not at all, under the name that links lead to; a device or a pipe is written in place."""
    try:
        found = path.stat() if path.exists() else None
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if found is not None and not stat.S_ISREG(found.st_mode):
            with path.open("wb", BUFFER_BYTES) as file:
                return _fill(statement, file)
        return _write_whole(statement, Path(os.path.realpath(path)), found.st_mode & 0o777 if found else _new_mode())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error


def _write_whole(statement: Statement, path: Path, mode: int) -> _Written:
    """Write beside the file and rename it at the end, so that an interrupted export leaves no partial file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb", BUFFER_BYTES) as file:
            written = _fill(statement, file)
        # mkstemp makes a file that only its owner can read.
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return written


def _fill(statement: Statement, file: IO[bytes]) -> _Written:
    sink = _Digesting(file)
    n_rows = write(statement, sink)
    return _Written(n_rows, sink.n_bytes, sink.digest.hexdigest())


def _new_mode() -> int:
    """Return what a new file may be, as this process's umask says; reading it means setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask
