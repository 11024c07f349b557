"""Import scores by other metrics from a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.imports.command_arguments import add_reading_arguments
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.importing import Options
from results.models import MetricRun
from results.score_import import importing
from results.score_import.reading import list_names, read_scores
from results.score_import.rows import SCORE_FIELDS


class Command(ProjectCommand):
    help = (
        "Import scores by other metrics, matched by dataset and candidate ID. Wrong rows are listed and skipped; a "
        "file that cannot be read is refused as a whole. A higher score must mean a better answer: negate error rates "
        "first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_reading_arguments(parser, SCORE_FIELDS)
        parser.add_argument(
            "--column",
            nargs="+",
            action="extend",
            default=[],
            metavar="COLUMN",
            help="columns to import (default: all columns of scores)",
        )
        parser.add_argument("--name", default="", help="name of the metric, if one column is imported")

    def handle(self, *args: Any, **options: Any) -> None:
        project, path = self.project(options), options["file"]
        if not path.is_file():
            raise Refused(f"The file {path} does not exist.")
        reading = Options(
            format=options["format"],
            encoding=options["encoding"],
            delimiter=options["delimiter"],
            quotes=options["quotes"],
            decimal=options["decimal"],
            mapping=dict(options["map"]),
            dataset=options["dataset"],
        )

        def choose(report: dict[str, Any]) -> dict[str, str]:
            return _choose(report, options["column"], options["name"])

        # A dry run reads and reports, and creates no row.
        if options["dry_run"]:
            found = read_scores(
                project=project,
                path=path,
                name=path.name,
                options=reading,
                problems_path=None,
                on_progress=self.progress,
            )
            report, names, runs = found.report, choose(found.report), list[MetricRun]()
        else:
            job, runs = importing.import_now(
                project=project, path=path, options=reading, choose=choose, on_progress=self.progress
            )
            report, names = job.report or {}, job.options["names"]
        taken = {"dry_run": options["dry_run"], "metrics": names, "runs": [run.pk for run in runs]}
        self.answer({**report, **taken}, _as_text(report, names, path))


def _choose(report: dict[str, Any], columns: list[str], name: str) -> dict[str, str]:
    """Return the columns to import, each with the name of its metric."""
    names = list_names(report["columns"])
    if columns:
        own = {each["column"]: each["name"] for each in report["columns"]}
        names = {column: own.get(column, column) for column in columns}
    if name:
        if len(names) != 1:
            there = ", ".join(names) or "none"
            raise CommandError(
                f"--name is for one column, but these would be imported: {there}. Choose one with --column.",
                returncode=2,
            )
        names = dict.fromkeys(names, " ".join(name.split()))
    return names


def _as_text(report: dict[str, Any], names: dict[str, str], path: Path) -> str:
    lines = [f"{path.name}: {report['n_rows']:,} rows, {report['n_matched']:,} of candidates of the project"]
    for each in report["columns"]:
        if each["column"] in names:
            missing = f"{each['n_missing']:,} missing, {each['n_not_numbers']:,} not a number"
            lines.append(f"  {names[each['column']]}: {each['n']:,} scores, {missing}")
    for kind, n in report["counts"].items():
        if n and kind != "missing":
            lines.append(f"{kind}: {n:,}")
            lines += [f"  {_locate(each)}: {each['reason']}" for each in report["problems"][kind]]
    return "\n".join(lines)


def _locate(problem: dict[str, Any]) -> str:
    named = (
        problem["id"]
        if problem["id"] == problem["value"]
        else " = ".join(filter(None, (problem["id"], problem["value"])))
    )
    return f"line {problem['line']}" + (f", {named}" if named else "")
