"""Show what annotators have earned; with --pay, record a payment and write its file."""

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotate.payments import ledger, paying
from annotate.payments import payment_file as payment_files
from annotate.payments.ledger import Balance, Sums, format_dollars
from projects.commands import ProjectCommand
from projects.database.snapshots import snapshot
from projects.errors import Refused
from projects.models import Membership, Project


class Command(ProjectCommand):
    help = (
        "Show what awaits approval, is approved and is paid to each annotator. --pay records a payment and writes its "
        "file."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--pay", action="store_true", help="mark everything approved as paid")
        parser.add_argument("--by", default="", metavar="USERNAME", help="the manager who pays; required with --pay")
        parser.add_argument("--output", metavar="FILE", help="file to write, with names; required with --pay")
        parser.add_argument("--note", default="", help="how it is paid; don't name anyone")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["pay"] and not (options["by"] and options["output"]):
            raise CommandError("--pay requires --by USERNAME and --output FILE.", returncode=2)
        if not options["pay"] and (options["by"] or options["output"] or options["note"]):
            raise CommandError("--by, --output and --note require --pay.", returncode=2)
        project = self.project(options)
        if options["pay"]:
            self.answer(_pay(project, options))
        else:
            self.answer(*_describe(project))


@snapshot()
def _describe(project: Project) -> tuple[dict[str, Any], str]:
    found = ledger.list_balances(project)
    stages = ledger.sum_by_stage(project)
    total = sum((balance.sums for balance in found), Sums())
    answer = {
        "project": project.slug,
        **_as_json(total),
        "hourly_floor_cents": project.hourly_floor_cents,
        "annotators": [{"annotator": balance.pseudonym, **_as_json(balance.sums)} for balance in found],
        "stages": {stage.key: _as_json(stage.sums) for stage in stages},
    }
    return answer, _format_table(found, total)


def _as_json(sums: Sums) -> dict[str, Any]:
    return {
        "owed_cents": sums.owed,
        "approved_cents": sums.approved,
        "paid_cents": sums.paid,
        "hits": sums.n_hits,
        "hits_rejected_unpaid": sums.n_rejected_unpaid,
        "cents_per_hour": sums.hourly.cents_per_hour,
    }


def _format_table(found: list[Balance], total: Sums) -> str:
    rows = [("annotator", "HITs", "rejected unpaid", "awaiting approval", "approved", "paid", "hourly rate")]
    for name, sums in [*((balance.pseudonym, balance.sums) for balance in found), ("total", total)]:
        rate = sums.hourly.cents_per_hour
        hour = "too little time" if rate is None else format_dollars(rate)
        rows.append(
            (
                name,
                f"{sums.n_hits:,}",
                f"{sums.n_rejected_unpaid:,}",
                format_dollars(sums.owed),
                format_dollars(sums.approved),
                format_dollars(sums.paid),
                hour,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _pay(project: Project, options: dict[str, Any]) -> dict[str, Any]:
    """Record the payment and write its file in one transaction: without a file, nothing is recorded."""
    actor = Membership.objects.filter(project=project, user__username=options["by"]).first()
    if actor is None:
        raise Refused(f"“{options['by']}” is not a member of this project.")
    path = Path(options["output"])
    if path.is_dir():
        raise Refused(f"{path} is a folder. Give a file name. Nothing was recorded.")
    # The file is written under another name and renamed inside the transaction: a payment is never recorded without its
    # file, and a file that was there before stays if writing fails.
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror}. Nothing was recorded.") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file, transaction.atomic():
            payment = paying.make_payment(project=project, actor=actor, note=options["note"])
            file.write(payment_files.write_file(payment=payment, actor=actor))
            file.flush()
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return {
        "project": project.slug,
        "payment": payment.number,
        "cents": payment.cents,
        "annotators": payment.n_annotators,
        "file": str(path),
    }
