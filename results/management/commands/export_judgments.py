"""Write the judgments of a project to a file."""

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

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
        n_rows = _write_whole(statement, path)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        result = {
            "project": project.slug,
            "format": options["format"],
            **({"stage": choices.stage.value} if not choices.batches and list_trials(project).exists() else {}),
            "file": str(path),
            "n_rows": n_rows,
            "n_bytes": path.stat().st_size,
            "sha256": sha256,
        }
        self.answer(result, f"{n_rows:,} rows in {path}")


def _write_whole(statement: Statement, path: Path) -> int:
    """Write beside the file and rename it at the end, so that an interrupted export leaves no partial file."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb", BUFFER_BYTES) as file:
            n_rows = write(statement, file)
        # mkstemp makes a file that only its owner can read.
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return n_rows
