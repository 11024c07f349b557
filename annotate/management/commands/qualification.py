"""Show a project's qualification test, add items from a file, open or close it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Count, Q

from annotate.attempts.admission import find_admissions
from annotate.attempts.gradable_items import find_quality_criteria
from annotate.imports.command_arguments import FORMAT_OPTIONS, add_format_arguments, add_skipping_argument
from annotate.models import Attempt, QualificationItem, QualificationTest
from annotate.qualification import design, items_from_file
from annotate.qualification.item_statistics import compute_item_figures
from projects.commands import ProjectCommand
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.importing import Options
from projects.importing.fields import parse_meaning
from projects.importing.skipping import SkippedRows
from projects.models import Project

Purpose = QualificationItem.Purpose


class Command(ProjectCommand):
    help = "Show a project's qualification test, add items from a file, open or close it."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("act", nargs="?", choices=("show", "import", "open", "close"), default="show")
        parser.add_argument("file", nargs="?", type=Path, help="file of items, for import")
        add_format_arguments(parser)
        parser.add_argument(
            "--map", action="append", default=[], metavar="COLUMN=FIELD", help="map a column to a field of an item"
        )
        add_skipping_argument(parser)

    def handle(self, *args: Any, act: str, file: Path | None, **options: Any) -> None:
        if (act == "import") != (file is not None):
            self.create_parser("manage.py", "qualification").error(
                "import requires a file; the other actions take none"
            )
        project = self.project(options)
        answer: dict[str, Any] = {}
        if act == "import" and file is not None:
            if not file.is_file():
                raise Refused(f"There is no file {file}.")
            test = design.make_test(project=project, actor=None)
            skipped, skipped_path = SkippedRows(), options["skip_wrong_rows"]
            fields = items_from_file.list_fields(find_quality_criteria(test.rubric))
            made = items_from_file.import_items(
                test=test,
                actor=None,
                path=file,
                name=file.name,
                options=Options(
                    **{name: options[name] for name in FORMAT_OPTIONS},
                    mapping=dict(parse_meaning(each, fields) for each in options["map"]),
                    skip_wrong_rows=skipped_path is not None,
                ),
                skipped=skipped,
                skipped_path=skipped_path,
            )
            answer |= {"items_added": len(made), "rows_skipped": len(skipped)}
        elif act == "open":
            design.open_test(test=_fetch(project), actor=None)
        elif act == "close":
            design.close_test(test=_fetch(project), actor=None)
        self.answer({**answer, **describe(project)})


@snapshot()
def describe(project: Project) -> dict[str, Any]:
    """Return the test's status, counts and item statistics, as the command prints them."""
    test = _fetch(project)
    items = list(test.items.filter(retired_at=None))
    figures = compute_item_figures(test, items)
    people = project.memberships.active().annotators()
    tested = Attempt.objects.filter(test=test, purpose=Purpose.TEST)
    counts = tested.aggregate(
        graded=Count("pk", filter=Q(state__in=("passed", "failed"))), passed=Count("pk", filter=Q(state="passed"))
    )
    return {
        "state": test.state,
        "rubric_version": test.rubric.version,
        "items": sum(item.purpose == Purpose.TEST for item in items),
        "practice_items": sum(item.purpose == Purpose.PRACTICE for item in items),
        "items_in_an_attempt": test.n_items or sum(item.purpose == Purpose.TEST for item in items),
        "pass_share": test.pass_share,
        "max_attempts": test.max_attempts,
        "attempts_graded": counts["graded"],
        "attempts_passed": counts["passed"],
        "qualified": sum(each.is_qualified for each in find_admissions(people).values()),
        "by_item": [
            {
                "number": number,
                "answer": item.answer[:80],
                "expected": item.expected,
                "tolerance": item.tolerance,
                "n": figures[item.pk].n,
                "right_share": figures[item.pk].right_share,
                "discrimination": figures[item.pk].discrimination_text or None,
                "discrimination_undefined": figures[item.pk].discrimination_reason or None,
            }
            for number, item in enumerate(items, start=1)
        ],
    }


def _fetch(project: Project) -> QualificationTest:
    test = design.find_test(project)
    if test is None:
        raise Refused("This project has no qualification test yet. Import items to create one.")
    return test
