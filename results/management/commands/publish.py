"""Publish a frozen judgment set as a folder or on the Hugging Face Hub."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from projects.commands import ProjectCommand
from results.management.commands.judgment_set import find_set
from results.sets import publishing
from results.sets.licences import LICENCES


class Command(ProjectCommand):
    help = (
        "Lay out a frozen judgment set as a folder that the Hugging Face Hub takes, or push it there. The Hub's token "
        "is read from the environment (HF_TOKEN), never from an option."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, metavar="SET")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--to-folder", metavar="DIR", help="a new or empty folder, or one that holds this set")
        where.add_argument("--to-hub", metavar="OWNER/NAME", help="a data set on the Hub; it is created if needed")
        parser.add_argument(
            "--public", action="store_true", help="with --to-hub: create it public, or write to one that is public"
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="with --to-hub: write over a later set, or one of another project; the history there keeps it",
        )
        parser.add_argument(
            "--author",
            action="append",
            default=[],
            metavar="NAME",
            help="“Family, Given”, or an organisation in braces; only for a set frozen by an earlier version",
        )
        parser.add_argument("--licence", choices=list(LICENCES), default="", help="likewise")
        parser.add_argument("--language", nargs="+", action="extend", default=[], metavar="CODE", help="likewise")

    def handle(self, *args: Any, **options: Any) -> None:
        for name in ("public", "replace"):
            if options[name] and not options["to_hub"]:
                raise CommandError(f"--{name} needs --to-hub.", returncode=2)
        project = self.project(options)
        judgment_set = find_set(project, options["number"])
        terms = publishing.PublicationTerms(
            authors=options["author"], licence=options["licence"], languages=options["language"]
        )
        if options["to_hub"]:
            published = publishing.push(
                judgment_set,
                options["to_hub"],
                is_public=options["public"],
                replaces_others=options["replace"],
                terms=terms,
            )
        else:
            published = publishing.write_folder(judgment_set, Path(options["to_folder"]), terms)
        result = {
            "project": project.slug,
            "set": judgment_set.number,
            "sha256": judgment_set.sha256,
            "place": published.place,
            "files": list(published.files),
            "added": list(published.added),
            "replaced": published.replaced,
            "has_comments": bool(judgment_set.settings.get("with_comments")),
        }
        lines = [f"Judgment set {judgment_set.number}: {len(published.files)} files in {published.place}"]
        if published.replaced:
            lines.append(f"Replaced there: {published.replaced}. The history of the data set keeps it.")
        if published.added:
            lines.append(f"Written now, as the set was frozen without them: {', '.join(published.added)}")
        if result["has_comments"]:
            lines.append(
                "It contains annotators' comments. Read them before others do: they may contain personal data."
            )
        self.answer(result, "\n".join(lines))
