"""A frozen judgment set: its files, and whether they are as they were frozen."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Project
from results.models import JudgmentSet
from results.sets import archive, freezing
from results.sets.changes import describe


class Command(ProjectCommand):
    help = "Look at a judgment set, verify every hash, write its files into a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("--download", metavar="DIR", help="write the files into a folder of their own in DIR")
        parser.add_argument("--zip", action="store_true", help="with --download: the archive as it is, not unpacked")
        parser.add_argument("--against", type=int, metavar="M", help="what changed since judgment set M")
        parser.add_argument("--verify", action="store_true", help="recompute every SHA-256; exit with 1 if one differs")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["zip"] and not options["download"]:
            raise CommandError("--zip goes with --download.", returncode=2)
        project = self.project(options)
        made = _find(project, options["number"])
        result = {
            "project": project.slug,
            "set": made.number,
            "name": made.name,
            "frozen_at": made.frozen_at.isoformat() if made.frozen_at else None,
            "n_bytes": made.n_bytes,
            "sha256": made.sha256,
            "files": made.files,
        }
        if options["verify"]:
            breaches = freezing.verify(made)
            if breaches:
                raise Refused(f"Judgment set {made.number} is not as it was frozen.", details=breaches)
            result["verified"] = True
        if options["against"] is not None:
            earlier, later = (freezing.as_earlier(each) for each in (_find(project, options["against"]), made))
            result["changes"] = describe(earlier, later.settings, later.facts, later.long_lines())
        if options["download"]:
            result["folder"] = str(_write(made, Path(options["download"]), is_packed=options["zip"]))
        self.answer(result)


def _find(project: Project, number: int) -> JudgmentSet:
    made = JudgmentSet.objects.frozen().filter(project=project, number=number).first()
    if made is None:
        numbers = project.judgment_sets.frozen().order_by("number").values_list("number", flat=True)[:20]
        there = ", ".join(map(str, numbers)) or "none yet"
        raise Refused(f"The project has no frozen judgment set {number}; it has {there}.")
    return made


def _write(made: JudgmentSet, folder: Path, *, is_packed: bool) -> Path:
    try:
        return archive.unpack(
            freezing.find_path(made),
            folder,
            inside=made.facts["folder"],
            files=freezing.find_files(made),
            is_packed=is_packed,
        )
    except OSError as error:
        raise Refused(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
