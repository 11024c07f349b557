"""The base classes of the management commands: the project, JSON output, exit codes, progress."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.errors import Refused
from projects.language.characters import find_forbidden
from projects.models import Project


class Once(argparse.Action):
    """An option that may be given once; a second value is a usage error instead of silently replacing the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "only one can be given")
        setattr(namespace, self.dest, values)


class ReportingCommand(BaseCommand):
    """A command that prints one result, as text or as JSON, and exits with 0, 1 (refused) or 2 (usage error)."""

    # Django's checks import every route; a script need not pay for that with each command. `manage.py check` runs them.
    requires_system_checks: list[str] = []
    _last_shown = 0.0

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def execute(self, *args: Any, **options: Any) -> str | None:
        self.as_json = bool(options.get("json"))
        _check_texts(options)
        try:
            answer = super().execute(*args, **options)
            self.stdout.flush()
            return answer
        except BrokenPipeError:
            _leave_quietly()
        except Refused as refusal:
            raise CommandError("\n".join([refusal.message, *refusal.details]), returncode=1) from refusal

    def answer(self, result: dict[str, Any], text: str | None = None) -> None:
        if self.as_json:
            self.stdout.write(orjson.dumps(result, option=orjson.OPT_INDENT_2).decode())
        else:
            self.stdout.write(text if text is not None else _as_lines(result))

    def say(self, sentence: str) -> None:
        """Print at once what the command does now; nothing with --json.

        Nothing that is half done is left so because a log is full or its reader has gone.
        """
        if not self.as_json:
            with suppress(OSError):
                self.stdout.write(sentence)
                self.stdout.flush()

    def progress(self, done: int, total: int) -> None:
        """Draw a progress bar on stderr if that is a terminal."""
        now = time.monotonic()
        # Five times a second looks smooth; more often only slows the import that reports its progress.
        if not sys.stderr.isatty() or (done < total and now - self._last_shown < 0.2):
            return
        self._last_shown = now
        share = done / total if total else 1.0
        bar = "#" * round(30 * share)
        self.stderr.write(f"\r[{bar:<30}] {done:,} of {total:,}", ending="\n" if done >= total else "")
        self.stderr.flush()


class ProjectCommand(ReportingCommand):
    """A command on one project, named by --project."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, metavar="SLUG")

    def project(self, options: dict[str, Any]) -> Project:
        """Return the project that --project names. Raises Refused if there is none or it was deleted."""
        project = Project.objects.live().filter(slug=options["project"]).first()
        if project is None:
            raise Refused(f"Project “{options['project']}” does not exist.")
        return project


def _check_texts(options: Mapping[str, Any]) -> None:
    """Refuse an option with a character that no text may contain; the bytes of a wrong encoding are such."""
    for name, value in options.items():
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str) and (found := find_forbidden(text)):
                raise CommandError(f"--{name.replace('_', '-')} {found.problem}.", returncode=2)


def _leave_quietly() -> NoReturn:
    """Exit without a traceback if the reader of our output, such as `head`, has closed the pipe."""
    # The interpreter flushes stdout once more on exit; into the closed pipe that would fail a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(128 + signal.SIGPIPE)


def _as_lines(result: dict[str, Any], indent: str = "") -> str:
    """Return the result as indented lines, without headings that have nothing below them."""
    lines = []
    for key, value in result.items():
        name = key.replace("_", " ")
        if isinstance(value, dict | list | tuple) and not value:
            continue
        if isinstance(value, dict):
            lines.append(f"{indent}{name}:")
            lines.append(_as_lines(value, indent + "  "))
        elif isinstance(value, list | tuple):
            lines.append(f"{indent}{name}:")
            for entry in value:
                shown = _as_lines(entry, indent + "    ").lstrip() if isinstance(entry, dict) else str(entry)
                lines.append(f"{indent}  - {shown}")
        else:
            lines.append(f"{indent}{name}: {value}")
    return "\n".join(line for line in lines if line)
