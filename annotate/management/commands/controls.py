"""Plan, generate, accept or show the controls of a batch."""

from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.batches.control_plan import ControlPlan
from annotate.controls import pool
from annotate.controls.degraded_answers import count_degradable
from annotate.controls.making import make_pool
from annotate.models import Batch
from measures.outcome import Undefined
from projects.commands import ProjectCommand
from projects.errors import Refused

NUMBERS = {
    "known_per_hit": int,
    "known_hit_every": int,
    "degraded_per_hit": float,
    "repeats": int,
    "repeats_every": int,
    "repeats_per_hit": int,
    "distance": int,
    "item_distance": int,
    "jitter": int,
    "seed": int,
}


class Command(ProjectCommand):
    help = "Plan, generate, accept or show the controls of a batch. “accept” accepts all that await acceptance."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--batch", type=int, required=True, metavar="N", help="number of the batch")
        parser.add_argument("act", nargs="?", choices=("show", "plan", "make", "accept"), default="show")
        numbers = parser.add_argument_group("numbers for “plan”; those not given don't change")
        for name, kind in NUMBERS.items():
            numbers.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="N")

    def handle(self, *args: Any, **options: Any) -> None:
        given = {name: options[name] for name in NUMBERS if options[name] is not None}
        if given and options["act"] != "plan":
            raise CommandError(f"--{next(iter(given)).replace('_', '-')} requires the action plan.", returncode=2)
        project = self.project(options)
        batch = Batch.objects.filter(project=project, number=options["batch"]).first()
        if batch is None:
            raise Refused(f"This project has no batch {options['batch']}.")
        answer: dict[str, Any] = {"batch": batch.number}
        match options["act"]:
            case "plan":
                plan = replace(ControlPlan.read(batch.control_plan), **given)
                answer["is_cut_anew"] = pool.set_plan(batch=batch, actor=None, plan=plan)
            case "make":
                generated = make_pool(batch=batch, actor=None)
                answer["made"] = generated.n
                answer["not_degraded"] = generated.n_not_degraded
            case "accept":
                answer["accepted"] = pool.accept(batch=batch, actor=None)
        batch.refresh_from_db()
        self.answer({**answer, "plan": batch.control_plan, **_describe(batch, with_yield=options["act"] == "show")})


def _describe(batch: Batch, *, with_yield: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"pool": pool.count_pool(batch)}
    if with_yield:
        plan = ControlPlan.read(batch.control_plan)
        described["degradable"] = [
            {
                "words": found.n_words,
                "tried": found.n_tried,
                "made": found.n_made,
                "share": found.share.reason if isinstance(found.share, Undefined) else round(found.share, 4),
            }
            for found in count_degradable(batch, plan.seed)
        ]
    return described
