"""Show, verify, compare or unpack a frozen judgment set."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Project
from results.models import JudgmentSet
from results.sets import archive, depositing, freezing, retiring
from results.sets.changes import describe


class Command(ProjectCommand):
    help = "Show a judgment set, verify its hashes, compare it with another, or write its files to a folder."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, metavar="N")
        parser.add_argument("--download", metavar="DIR", help="write the files to a new folder in DIR")
        parser.add_argument("--zip", action="store_true", help="with --download: write the archive, not its files")
        parser.add_argument("--against", type=int, metavar="M", help="print the changes since judgment set M")
        parser.add_argument("--doi", metavar="DOI", help="store the DOI that the set was given; empty removes it")
        parser.add_argument("--verify", action="store_true", help="recompute every SHA-256; exit with 1 if one differs")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["zip"] and not options["download"]:
            raise CommandError("--zip needs --download.", returncode=2)
        project = self.project(options)
        judgment_set = find_set(project, options["number"])
        if options["doi"] is not None:
            depositing.set_doi(judgment_set=judgment_set, actor=None, doi=options["doi"])
        reference = depositing.read_reference(judgment_set)
        result = {
            "project": project.slug,
            "set": judgment_set.number,
            "name": judgment_set.name,
            "frozen_at": judgment_set.frozen_at.isoformat() if judgment_set.frozen_at else None,
            "n_bytes": judgment_set.n_bytes,
            "sha256": judgment_set.sha256,
            "doi": judgment_set.doi,
            "retired_at": judgment_set.retired_at.isoformat() if judgment_set.retired_at else None,
            "retired_why": judgment_set.retired_why,
            "successor": judgment_set.successor.number if judgment_set.successor else None,
            "citation": reference.sentence if reference else judgment_set.facts.get("citation", ""),
            "files": judgment_set.files,
        }
        if options["verify"]:
            breaches = freezing.verify(judgment_set)
            if breaches:
                raise Refused(f"Judgment set {judgment_set.number} has changed since it was frozen.", details=breaches)
            result["verified"] = True
        if options["against"] is not None:
            earlier, later = (
                freezing.as_earlier(each) for each in (find_set(project, options["against"]), judgment_set)
            )
            result["changes"] = describe(earlier, later.settings, later.facts, later.long_lines())
        if options["download"]:
            result["folder"] = str(_write(judgment_set, Path(options["download"]), is_packed=options["zip"]))
        self.answer(result)


def find_set(project: Project, number: int) -> JudgmentSet:
    judgment_set = JudgmentSet.objects.frozen().filter(project=project, number=number).first()
    if judgment_set is None:
        numbers = project.judgment_sets.frozen().order_by("number").values_list("number", flat=True)[:20]
        there = ", ".join(map(str, numbers)) or "none yet"
        raise Refused(f"The project has no frozen judgment set {number}. It has: {there}.")
    return judgment_set


def _write(judgment_set: JudgmentSet, folder: Path, *, is_packed: bool) -> Path:
    note = (retiring.NOTE, retiring.retirement_note(judgment_set)) if judgment_set.retired_at else None
    try:
        return archive.unpack(
            freezing.find_path(judgment_set),
            folder,
            inside=judgment_set.facts["folder"],
            files=freezing.find_files(judgment_set),
            is_packed=is_packed,
            note=note,
        )
    except OSError as error:
        raise Refused(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
