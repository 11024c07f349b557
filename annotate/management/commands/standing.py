"""Warn, suspend, remove or restore an annotator."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.models import Batch
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.places import RestoredWork
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Membership, Project
from projects.options import reader
from projects.web.whole_numbers import parse_whole_number

ACTS = ("warn", "suspend", "remove", "restore")
REQUIRES = {"exclude": "remove", "reopen": "remove", "reopen_batches": "remove", "without_work": "restore"}
"""The act that each of these options requires."""
NOTHING = RestoredWork(n_counted=0, n_surplus=0)
NONE = (ExclusionScope.NONE.value, "")


class Command(ProjectCommand):
    help = "Warn, suspend, remove or restore an annotator. A removal can exclude their work from the results."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("pseudonym", help="pseudonym of the annotator in this project")
        parser.add_argument("act", choices=ACTS)
        parser.add_argument("--why", required=True, help="reason for the audit log; for a warning, its text")
        parser.add_argument(
            "--exclude",
            type=reader(read_scope),
            metavar="none|all|since:DATE|batch:N",
            help="submitted work to exclude from the results, with remove",
        )
        parser.add_argument("--reopen", action="store_true", help="let other annotators redo the excluded work")
        parser.add_argument("--reopen-batches", action="store_true", help="also reopen closed batches of this work")
        parser.add_argument(
            "--without-work", action="store_true", help="restore access only, without the excluded work"
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would change, without changing it")

    def handle(self, *args: Any, **options: Any) -> None:
        _check_use(options)
        project = self.project(options)
        member = project.memberships.select_related("project").filter(pseudonym=options["pseudonym"]).first()
        if member is None:
            raise Refused(f"No member of this project has the pseudonym “{options['pseudonym']}”.")
        answer: dict[str, Any] = {"annotator": member.pseudonym, "act": options["act"]}
        self.answer({**answer, **_act(member, _read_exclusion(project, options), options)})


def _check_use(options: dict[str, Any]) -> None:
    """Refuse options that the chosen act would silently ignore."""
    for option, act in REQUIRES.items():
        if options[option] and options["act"] != act:
            raise CommandError(f"--{option.replace('_', '-')} requires {act}, not {options['act']}.", returncode=2)
    if options["reopen"] and (options["exclude"] or NONE) == NONE:
        raise CommandError(
            "--reopen requires --exclude: if nothing is excluded, there is nothing to redo.", returncode=2
        )
    if options["reopen_batches"] and not options["reopen"]:
        raise CommandError("--reopen-batches requires --reopen.", returncode=2)


def read_scope(text: str) -> tuple[str, str]:
    """Return name and value of a scope: none, all, since:2026-03-01 or batch:2. Raises Refused for anything else."""
    name, _, value = text.partition(":")
    if name not in ExclusionScope.values or bool(value) != (name in (ExclusionScope.SINCE, ExclusionScope.BATCH)):
        raise Refused(f"“{text}” is not one of none, all, since:DATE and batch:N.")
    if name == ExclusionScope.BATCH and parse_whole_number(value) is None:
        raise Refused(f"“{value}” is not a batch number.")
    if name == ExclusionScope.SINCE:
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise Refused(f"“{value}” is not a date such as 2026-03-01.") from error
    return name, value


def _read_exclusion(project: Project, options: dict[str, Any]) -> Exclusion:
    name, value = options["exclude"] or NONE
    since = batch = None
    if name == ExclusionScope.SINCE:
        since = datetime.fromisoformat(value)
        # A date without a time zone is UTC, as on every page.
        since = since if since.tzinfo else since.replace(tzinfo=UTC)
    if name == ExclusionScope.BATCH:
        batch = Batch.objects.filter(project=project, number=int(value)).first()
        if batch is None:
            raise Refused(f"This project has no batch {value}.")
    return Exclusion(scope=ExclusionScope(name), since=since, batch=batch, reopens=options["reopen"])


def _act(member: Membership, exclusion: Exclusion, options: dict[str, Any]) -> dict[str, Any]:
    act, why, is_dry = options["act"], options["why"], options["dry_run"]
    if act == "remove":
        plan = members.plan_removal(target=member, exclusion=exclusion)
        if not is_dry:
            plan = members.remove(
                target=member, actor=None, why=why, exclusion=exclusion, reopen_batches=options["reopen_batches"]
            )
        return {
            "assignments_excluded": plan.n_assignments,
            "judgments_excluded": plan.n_judgments,
            "places_opened": plan.n_places,
            "closed_batches": [batch.number for batch in plan.closed_batches],
        }
    if act == "restore":
        done = NOTHING if options["without_work"] else members.plan_restoring(target=member)
        if not is_dry:
            done = members.restore(target=member, actor=None, why=why, with_work=not options["without_work"])
        return {
            "assignments_counted": done.n_counted,
            "assignments_surplus": done.n_surplus,
            "judgments_already_counted": done.n_already_counted,
        }
    if not is_dry and act == "warn":
        members.warn(target=member, actor=None, text=why)
    elif not is_dry:
        members.suspend(target=member, actor=None, why=why)
    return {}
