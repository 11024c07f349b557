"""Train a metric on a frozen judgment set, and print its cost, its card and its tables."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from measures.neural.lerc.inputs import SEGMENTS
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Project
from projects.people.members import find_owner
from projects.tables.writing import write
from results.management.commands.judgment_set import find_set
from results.models import Training
from results.training import computing, pretraining, requesting
from results.training.forms import fill_in
from results.training.presentation import describe_cost
from results.training.tables import list_tables
from results.training.training_plan import SPLITS

FORMS = {"csv": "csv", "latex": "tex", "markdown": "md"}
PLAIN = ("name", "criterion", "encoder", "held_out", "splits", "max_length", "epochs", "batch_size", "seed", "table")


class Command(ProjectCommand):
    help = (
        "Train a metric (LERC) on a frozen judgment set. Its cost is measured and printed first. A training that was "
        "interrupted goes on with --resume."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--set", type=int, metavar="N", dest="judgment_set", help="number of a frozen judgment set")
        parser.add_argument("--name", help="the metric is offered as lerc:NAME")
        parser.add_argument("--encoder", metavar="MODEL", help="name of a model of the site (manage.py models list)")
        parser.add_argument("--criterion", metavar="KEY", help="required if the set has several")
        parser.add_argument(
            "--table",
            choices=Training.Table.values,
            help="train what a table takes, and print it: ood, ablations or learning-curve, which keep no model; "
            "all (the default) is one model",
        )
        parser.add_argument("--held-out", metavar="DATASET", help="it leaves training and dev, and is the test")
        parser.add_argument("--splits", choices=list(SPLITS), help="of the set (default), or drawn by passages")
        parser.add_argument("--inputs", nargs="+", choices=SEGMENTS, help="default: all four")
        parser.add_argument("--length", type=int, dest="max_length", metavar="TOKENS", help="default 128")
        parser.add_argument("--epochs", type=int, help="default 3")
        parser.add_argument("--batch", type=int, dest="batch_size", metavar="ROWS", help="default 32")
        parser.add_argument("--rates", nargs="+", metavar="RATE", help="default 1e-05 2e-05 3e-05")
        parser.add_argument("--seeds", nargs="+", metavar="SEED", help="default 1 2 3")
        parser.add_argument("--no-added-rows", action="store_true", help="don't add rows as MOCHA's code does")
        parser.add_argument("--seed", type=int, help="of drawn splits and of the shares of a learning curve")
        parser.add_argument(
            "--pretrain",
            metavar="FILE",
            help="train the encoder on the three-way task first; JSON lines of passage, question, answer_1, answer_2 "
            "and label: 0 (the first is right), 1 (the second) or 2 (both)",
        )
        parser.add_argument("--estimate", action="store_true", help="measure the cost, and train nothing")
        parser.add_argument("--resume", type=int, metavar="N", help="start or go on with training N of this project")
        form = parser.add_mutually_exclusive_group()
        for name in FORMS:
            form.add_argument(
                f"--{name}", action="store_const", const=name, dest="form", help=f"print tables as {name}"
            )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["form"] and self.as_json:
            raise CommandError("Choose --json or one form of tables, not both.", returncode=2)
        project = self.project(options)
        if options["resume"] is not None:
            training = computing.go_on_now(training=_find(project, options["resume"]), on_progress=self.progress)
        else:
            training = self._train(project, options)
        if self.as_json:
            self.answer(_as_dict(training))
            return
        lines = [] if options["form"] else [f"Training {training.number}: {training.metric}, {_describe(training)}\n"]
        tables = [write(table, FORMS[options["form"] or "markdown"]) for table in list_tables(training)]
        self.stdout.write("\n".join([*lines, *tables]), ending="" if tables else "\n")

    def _train(self, project: Project, options: dict[str, Any]) -> Training:
        for name in ("judgment_set", "name", "encoder"):
            if not options[name]:
                raise CommandError(f"Required: --{name.replace('judgment_', '')}", returncode=2)
        judgment_set = find_set(project, options["judgment_set"])
        requesting.find_encoder(options["encoder"])
        path = Path(options["pretrain"]) if options["pretrain"] else None
        about = pretraining.describe(path) if path else None
        given = {name: options[name] for name in PLAIN}
        form = fill_in(
            project,
            {
                **given,
                "set": judgment_set.number,
                "inputs": options["inputs"],
                "rates": " ".join(options["rates"]) if options["rates"] else None,
                "seeds": " ".join(options["seeds"]) if options["seeds"] else None,
                "augments": False if options["no_added_rows"] else None,
            },
        )
        if not form.is_valid():
            problems = [f"{name}: {sentence}" for name, errors in form.errors.items() for sentence in errors]
            raise CommandError("\n".join(problems), returncode=2)
        return computing.train_now(
            project=project,
            judgment_set=judgment_set,
            criterion=form.cleaned_data["criterion"],
            name=form.cleaned_data["name"],
            plan=form.plan(pretraining=about),
            table=form.cleaned_data["table"],
            actor=find_owner(project, for_what="metrics are trained"),
            pretraining_file=path,
            only_estimate=options["estimate"],
            on_estimate=lambda training: self.stderr.write(describe_cost(training)),
            on_progress=self.progress,
        )


def _find(project: Project, number: int) -> Training:
    training = project.trainings.select_related("judgment_set", "project").filter(number=number).first()
    if training is None:
        numbers = ", ".join(map(str, project.trainings.values_list("number", flat=True)[:20])) or "none yet"
        raise Refused(f"The project has no training {number}. It has: {numbers}.")
    return training


def _describe(training: Training) -> str:
    if training.is_estimated:
        return f"not started. Start it with: --resume {training.number}"
    return f"{training.n_bytes:,} bytes, {training.sha256}" if training.sha256 else "a table, which keeps no model"


def _as_dict(training: Training) -> dict[str, Any]:
    return {
        "project": training.project.slug,
        "training": training.number,
        "metric": training.metric,
        "set": training.judgment_set.number,
        "table": training.table,
        "settings": training.settings,
        "estimate": training.estimate,
        "result": training.result,
        "sha256": training.sha256,
    }
