"""Show a project's overlap plan, and start it."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.batches.costs import describe_cost
from annotate.models import Batch, OverlapPlan
from annotate.planning.hit_presentation import read_presentation
from annotate.planning.overlap import MOCHA, Rule, read_rules
from annotate.planning.plans import PricedPlan, change_plan, create_plan, find_trial_use, price_plan, start_plan
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Project


class Command(ProjectCommand):
    help = (
        "Show what the latest overlap plan still needs (MOCHA's if there is none). --start creates the missing "
        "batches and assignments; started again, it creates only what is missing by then."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--number", type=int, metavar="NUMBER", help="number of the plan (default: the latest)")
        parser.add_argument("--name", default="Overlap plan", help="name of a new plan")
        parser.add_argument(
            "--rule",
            nargs="+",
            action="append",
            metavar="KIND SPLIT [TYPE] K",
            help="judgments for a kind of dataset in a split, and for a question type if you name one (none for "
            "questions without); * for any; the first rule that matches applies",
        )
        parser.add_argument("--trial", choices=Batch.UseOfTrial.values, default="", help="use of trial judgments")
        parser.add_argument("--start", action="store_true", help="create the missing batches and assignments")
        parser.add_argument("--open", action="store_true", help="open the batches immediately")
        parser.add_argument("--why", default="", help="reason for opening before the trial is closed")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["open"] and not options["start"]:
            raise CommandError("--open requires --start.", returncode=2)
        project = self.project(options)
        plan = _find_plan(project, options["number"])
        # Without a plan, MOCHA's is only shown; --start stores it.
        rules = _read_new_rules(options["rule"]) or (read_rules(plan.rules) if plan else MOCHA)
        use = find_trial_use(plan, project, options["trial"])
        answer = {
            "plan": plan.number if plan else None,
            "trial": {"number": use.trial.number, "use": use.use} if use.trial else None,
            **describe(price_plan(project, rules, use, read_presentation(plan, project))),
        }
        if not options["start"]:
            self.answer(answer)
            return
        if plan is None:
            plan = create_plan(project=project, actor=None, name=options["name"], rules=rules)
        elif read_rules(plan.rules) != rules:
            change_plan(plan=plan, actor=None, name=plan.name, rules=rules)
        started = start_plan(plan=plan, actor=None, asked=options["trial"], opens=options["open"], why=options["why"])
        created = [
            {
                "batch": batch.number,
                "judgments_each": batch.judgments,
                "hits": batch.n_hits,
                "candidates": batch.n_items,
            }
            for batch in started.batches
        ]
        self.answer({**answer, "plan": plan.number, "made": created, "places_added": started.n_places})


def describe(figures: PricedPlan) -> dict[str, Any]:
    """Return what a plan needs and costs, as the command prints it."""
    missing = figures.missing
    return {
        "parts": [
            {
                "kind": line.kind,
                "split": line.split,
                "type": line.type,
                "judgments_each": line.judgments,
                "candidates": line.n_candidates,
                "left_to_the_trial": line.n_left_out,
                "planned": line.n_planned,
                "had": line.n_had,
                "coming": line.n_coming,
                "missing": line.n_missing,
            }
            for line in missing.lines
        ],
        "new_batches": [
            {
                "judgments_each": priced.part.judgments,
                "candidates": priced.part.n_candidates,
                "hits": priced.part.n_hits,
                "assignments": priced.part.n_assignments,
                "judgments": priced.part.n_judgments,
                "cents": priced.cost.cents,
            }
            for priced in figures.parts
        ],
        "top_ups": [
            {
                "batch": priced.batch.number,
                "hits": priced.top_up.n_hits,
                "assignments": priced.top_up.n_places,
                "judgments": priced.top_up.n_judgments,
                "cents": priced.cost.cents,
            }
            for priced in figures.top_ups
        ],
        "hits": missing.n_hits,
        "assignments": missing.n_assignments,
        "judgments": missing.n_judgments,
        "candidates_without_a_rule": missing.n_without_rule,
        "cents": figures.cents,
        "hours": round(figures.hours, 2),
        **(describe_cost(figures.cost) if figures.cost else {}),
    }


def _find_plan(project: Project, number: int | None) -> OverlapPlan | None:
    plans = OverlapPlan.objects.filter(project=project).order_by("-number")
    if number is None:
        return plans.first()
    plan = plans.filter(number=number).first()
    if plan is None:
        raise Refused(f"This project has no plan {number}.")
    return plan


def _read_new_rules(asked: list[list[str]] | None) -> tuple[Rule, ...]:
    rules = []
    for words in asked or ():
        if len(words) not in (3, 4):
            raise Refused("A rule has a kind, a split, a question type if you name one, and a number: span dev 2.")
        kind, split, *_, judgments = words
        if not (judgments.isascii() and judgments.isdigit()):
            raise Refused(f"“{judgments}” is not a number of judgments.")
        named = {"type": "" if words[2] == "none" else words[2]} if len(words) == 4 else {}
        rules.append({"kind": kind, "split": split, "judgments": int(judgments), **named})
    return read_rules(rules)
