"""Arguments and steps that the two import commands share."""

import shutil
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotate.imports import writing
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.importing import ENCODINGS, FORMATS, SKIPPED_NAME, CriterionColumn, Kind, Options, isolated
from projects.importing.fields import parse_meaning
from projects.importing.import_options import DECIMALS, QUOTES, REPEATED, parse_labels
from projects.importing.parquet_folders import list_parquet
from projects.models import Project
from projects.options import reader

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "bar": "|", "": ""} | {
    each: each for each in ",;\t|"
}

FORMAT_OPTIONS = ("format", "encoding", "delimiter", "quotes", "decimal")


def add_reading_arguments(parser: CommandParser, fields: Mapping[str, str]) -> None:
    """Add the arguments of both commands; `fields` are what a column may hold."""
    parser.add_argument("file", type=Path, metavar="FILE")
    add_format_arguments(parser)
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        type=reader(partial(parse_meaning, fields=fields)),
        metavar="COLUMN=FIELD",
        help="map a column to a field",
    )
    parser.add_argument("--dataset", default="", metavar="NAME", help="dataset for rows without one")
    parser.add_argument("--dry-run", action="store_true", help="validate and count without importing")


def add_format_arguments(parser: CommandParser) -> None:
    """Add the arguments that say how a file is written."""
    parser.add_argument("--format", default="", choices=FORMATS, help="default: by file name")
    parser.add_argument("--encoding", default="", choices=list(ENCODINGS), help="default: detected")
    parser.add_argument(
        "--delimiter", default="", type=_read_delimiter, help="comma, semicolon, tab or pipe; default: detected"
    )
    parser.add_argument(
        "--quotes",
        default="",
        choices=QUOTES[1:],
        help="none: quotation marks are ordinary characters; default: as in CSV",
    )
    parser.add_argument("--decimal", default="", choices=DECIMALS[1:], help="decimal mark; default: detected")


def add_skipping_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--skip-wrong-rows",
        type=Path,
        metavar="LIST",
        help="skip rows with errors, and write them with the reason to this CSV file",
    )


def add_rating_arguments(parser: CommandParser) -> None:
    """Add the arguments of ratings and of rows that are wrong, which both commands have."""
    parser.add_argument(
        "--criterion",
        action="append",
        default=[],
        type=reader(CriterionColumn.parse),
        metavar="COLUMN=KEY:LOW-HIGH",
        help="a column of judgments and its scale; KEY:LOW-HIGH for scores, columns of raters, or if the rows give the "
        "criterion; :nominal at the end if the points are categories",
    )
    parser.add_argument(
        "--rater-criterion",
        default="",
        metavar="KEY",
        help="criterion of scores and of columns with one annotator's ratings",
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="LABEL=POINTS",
        help="points of a label, such as Excellent=5; LABEL=missing for a missing rating",
    )
    parser.add_argument(
        "--repeated",
        default="",
        choices=REPEATED[1:],
        help="which rating counts if an annotator rated a candidate twice (default: report an error)",
    )
    add_skipping_argument(parser)


def read_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the two commands share, as fields of Options. Raises Refused."""
    return {
        **{name: options[name] for name in (*FORMAT_OPTIONS, "dataset", "rater_criterion", "repeated")},
        "mapping": dict(options["map"]),
        "criteria": tuple(options["criterion"]),
        "labels": parse_labels(options["label"]),
        "skip_wrong_rows": options["skip_wrong_rows"] is not None,
    }


def import_file(
    command: ProjectCommand, project: Project, options: dict[str, Any], wanted: Options, kind: Kind
) -> None:
    """Validate the file, import it unless it is a dry run, and answer with the counts."""
    path: Path = options["file"]
    if not path.exists():
        raise Refused(f"There is no file {path}.")
    with tempfile.TemporaryDirectory(prefix="concord-import-") as folder:
        if path.is_dir():
            combined = Path(folder) / f"{path.resolve().name}.parquet"
            isolated.combine_parquet(list_parquet(path), combined)
            path = combined
        checked = writing.check_to_write(
            project=project,
            path=path,
            name=path.name,
            folder=Path(folder) / "spool",
            options=wanted,
            kind=kind,
            on_progress=command.progress,
        )
        if checked.report.skipped_rows:
            shutil.copyfile(checked.spool.folder / SKIPPED_NAME, options["skip_wrong_rows"])
        # Only a dry run compares by itself: `write` compares in the transaction in which it imports.
        if options["dry_run"]:
            writing.compare(project=project, checked=checked)
            report = checked.report
        else:
            report = writing.write(project=project, checked=checked, actor=None, on_progress=command.progress)
    result = report.as_dict() | {"dry_run": options["dry_run"]}
    if not command.as_json:
        result["skipped_rows"] = [str(each) for each in report.skipped_rows]
    command.answer(result)


def _read_delimiter(text: str) -> str:
    if text not in DELIMITERS:
        raise ArgumentTypeError(f"“{text}” is not one of comma, semicolon, tab and pipe.")
    return DELIMITERS[text]
