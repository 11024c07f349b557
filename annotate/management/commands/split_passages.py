"""Split passages into train, dev and test."""

from typing import Any

from django.core.management.base import CommandParser

from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.options import reader
from projects.splitting import parse_shares, plan_split, write_split


class Command(ProjectCommand):
    help = "Assign whole passages without a split to splits, by shares of each dataset's candidates."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--shares", type=reader(parse_shares), default="train=75,dev=10,test=15", metavar="NAME=SHARE,…"
        )
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--dataset", action="append", metavar="NAME", help="only this dataset (default: all)")
        parser.add_argument("--dry-run", action="store_true", help="preview without storing anything")

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        datasets = None
        if options["dataset"]:
            datasets = list(project.datasets.filter(name__in=options["dataset"]))
            missing = set(options["dataset"]) - {dataset.name for dataset in datasets}
            if missing:
                raise Refused(f"There is no dataset “{min(missing)}”.")
        plan = plan_split(project=project, shares=options["shares"], seed=options["seed"], datasets=datasets)
        if not options["dry_run"]:
            write_split(project=project, plan=plan, actor=None)
        self.answer(plan.as_dict() | {"dry_run": options["dry_run"]})
