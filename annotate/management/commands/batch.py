"""Show a batch, change its status, or change its number of judgments."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotate.batches import judgments_wanted, lifecycle
from annotate.batches.judgments_wanted import parse_numbers
from annotate.batches.progress import fetch_progress, find_stuck_places
from annotate.models import Batch
from projects.commands import ProjectCommand
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Project
from projects.options import reader

ACTS = {
    "pause": lifecycle.pause,
    "close": lifecycle.close,
    "archive": lifecycle.archive,
    "delete": lifecycle.delete_draft,
}


class Command(ProjectCommand):
    help = "Show a batch, change its status, or change its number of judgments."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("number", type=int, help="number of the batch")
        parser.add_argument("act", nargs="?", choices=("show", "open", *ACTS, "reopen", "judgments"), default="show")
        parser.add_argument(
            "--why",
            default="",
            help="reason for the audit log; required to reopen, or to open before the trial is closed",
        )
        parser.add_argument("--judgments", type=int, metavar="K", help="new number of judgments per candidate")
        parser.add_argument("--hits", type=reader(parse_numbers), metavar="1-5,9", help="only for these HITs")
        parser.add_argument("--reopen", action="store_true", help="also reopen a closed batch")
        parser.add_argument(
            "--short-hits", choices=("item", "hit"), help="pay short HITs of a draft by item or in full"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what --judgments would change, without changing anything"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        _check_use(options)
        batch = _fetch(self.project(options), options["number"])
        answer: dict[str, Any] = {"batch": batch.number, "name": batch.name}
        # One transaction: a new number of judgments is undone if the act that follows it is refused.
        with transaction.atomic():
            if options["judgments"] is not None:
                answer |= _change_wanted(batch, options)
            if options["short_hits"] and not options["dry_run"]:
                is_prorated = options["short_hits"] == "item"
                lifecycle.change_short_hit_pay(batch=batch, actor=None, is_prorated=is_prorated)
            if not options["dry_run"]:
                _act(batch, options)
        if options["act"] == "delete" and not options["dry_run"]:
            self.answer({**answer, "state": "deleted"})
            return
        self.answer({**answer, **describe_progress(batch)})


def _check_use(options: dict[str, Any]) -> None:
    """Refuse options that would be silently ignored without a new number of judgments."""
    if options["judgments"] is not None:
        return
    if options["act"] == "judgments":
        raise CommandError("The action judgments requires --judgments K.", returncode=2)
    for option in ("hits", "reopen", "dry_run"):
        if options[option]:
            raise CommandError(f"--{option.replace('_', '-')} requires --judgments K.", returncode=2)


@snapshot()
def describe_progress(batch: Batch) -> dict[str, Any]:
    """Return the status and counts of a batch, as the command prints them."""
    # The acts above have changed rows that they fetched themselves.
    batch.refresh_from_db(fields=["state", "judgments"])
    progress = fetch_progress([batch])[batch.pk]
    answer: dict[str, Any] = {
        "state": batch.state,
        "judgments_per_candidate": batch.judgments,
        "candidates": batch.n_items,
        "hits": progress.n_hits,
        "hits_complete": progress.n_complete,
        "places_wanted": progress.n_wanted,
        "places_open": progress.n_open,
        "places_held": progress.n_held,
        "places_done": progress.n_done,
        "complete": progress.is_complete,
    }
    if batch.kind != Batch.Kind.IMPORTED:
        stuck = find_stuck_places(batch)
        answer["places_stuck"] = stuck.n_places
        answer["stuck"] = [
            {"reason": part.reason, "places": part.n_places, "hits": part.n_hits} for part in stuck.by_reason
        ]
    return answer


def _fetch(project: Project, number: int) -> Batch:
    batch = Batch.objects.select_related("project", "rubric").filter(project=project, number=number).first()
    if batch is None:
        raise Refused(f"This project has no batch {number}.")
    return batch


def _change_wanted(batch: Batch, options: dict[str, Any]) -> dict[str, Any]:
    numbers = options["hits"]
    change = judgments_wanted.plan_wanted(batch=batch, judgments=options["judgments"], hit_numbers=numbers)
    if not options["dry_run"]:
        judgments_wanted.change_wanted(
            batch=batch, actor=None, judgments=options["judgments"], hit_numbers=numbers, why=options["why"]
        )
        if options["reopen"]:
            lifecycle.reopen(batch=batch, actor=None, why=options["why"])
    return {
        "places_added": change.n_added,
        "places_removed": change.n_removed,
        "places_kept_because_held": change.n_kept,
        "cents_added": change.cost.cents,
        "cents_saved": change.saved.cents,
    }


def _act(batch: Batch, options: dict[str, Any]) -> None:
    if options["act"] == "open":
        lifecycle.open_batch(batch=batch, actor=None, why=options["why"])
    elif options["act"] == "reopen":
        lifecycle.reopen(batch=batch, actor=None, why=options["why"])
    elif options["act"] in ACTS:
        ACTS[options["act"]](batch=batch, actor=None)
