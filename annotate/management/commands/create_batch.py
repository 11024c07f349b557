"""Create a batch from selected candidates, and open it if asked."""

import argparse
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotate.batches import lifecycle, trials
from annotate.batches.costs import describe_cost
from annotate.batches.creating import BatchPlan, create_batch, plan_batch
from annotate.batches.selection import Selection, find_annotators
from annotate.batches.terms import Terms
from annotate.models import Batch
from projects.commands import ProjectCommand
from projects.errors import Refused
from projects.models import Project, Question

TYPES = {each.value or "none": each.value for each in Question.Type}
"""The question types as they are written on the command line."""
_USES = "leave_out (exclude its candidates), count (count its judgments) or anew (collect again)"


class Command(ProjectCommand):
    help = "Create a batch of HITs from a project's candidates. --dry-run previews it without storing anything."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--judgments", type=int, metavar="K", help="number of people who rate each candidate")
        parser.add_argument("--name", default="")
        parser.add_argument("--kind", choices=("full", "trial"), default="full")
        parser.add_argument(
            "--trial", choices=Batch.UseOfTrial.values, metavar="USE", help=f"use of the latest trial: {_USES}"
        )
        parser.add_argument(
            "--unqualified", action="store_true", help="also allow annotators without the qualification"
        )
        _add_candidate_arguments(parser)
        _add_work_arguments(parser)
        parser.add_argument("--open", action="store_true", help="open the batch immediately")
        parser.add_argument("--why", default="", help="reason for opening before the trial is closed")
        parser.add_argument("--dry-run", action="store_true", help="preview without storing anything")

    def handle(self, *args: Any, **options: Any) -> None:
        project = self.project(options)
        if options["kind"] == Batch.Kind.TRIAL:
            if options["judgments"] is None and not options["annotators"]:
                options["judgments"] = trials.N_JUDGMENTS
            if options["sample"] is None and not options["questions"]:
                options["sample"] = trials.N_CANDIDATES
        if options["judgments"] is None and not options["annotators"]:
            self.refuse_usage("--judgments or --annotators is required")
        selection = Selection(
            datasets=tuple(options["dataset"]),
            splits=tuple(options["split"]),
            sources=tuple(options["source"]),
            types=tuple(TYPES[name] for name in options["type"]),
            questions=dict(options["questions"]),
            sample=options["sample"] or None,
            seed=options["seed"],
            with_pairs=options["with_pairs"],
            only_pairs=options["only_pairs"],
        )
        terms = _read_terms(project, options)
        description = describe_plan(plan_batch(project=project, selection=selection, terms=terms))
        if options["dry_run"]:
            self.answer({"plan": description})
            return
        with transaction.atomic():
            batch = create_batch(project=project, actor=None, selection=selection, terms=terms)
            if options["open"]:
                lifecycle.open_batch(batch=batch, actor=None, why=options["why"])
        self.answer({"batch": batch.number, "name": batch.name, "state": batch.state, **description})

    def refuse_usage(self, message: str) -> None:
        self.create_parser("manage.py", "create_batch").error(message)


def describe_plan(planned: BatchPlan) -> dict[str, Any]:
    """Return the numbers and costs of a batch, as the command prints them."""
    return {
        "candidates": planned.n_candidates,
        "questions": planned.n_questions,
        "passages": planned.n_passages,
        "datasets": planned.n_datasets,
        "with_repeated_text": planned.n_repeated,
        "identical_not_rated_again": planned.n_identical + planned.n_identical_elsewhere,
        "in_other_batches": planned.n_in_other_batches,
        "left_to_the_trial": planned.n_left_out,
        "judgments_of_the_trial": planned.n_reused,
        "hits": planned.n_hits,
        "judgments_per_candidate": planned.judgments,
        "assignments": planned.n_assignments,
        "judgments": planned.n_judgments,
        "cents": planned.cost.cents,
        "pay_cents": planned.cost.pay_cents,
        "fee_cents": planned.cost.fee_cents,
        "hours": round(planned.cost.hours, 2),
        **describe_cost(planned.cost),
    }


def _add_candidate_arguments(parser: CommandParser) -> None:
    choice = parser.add_argument_group("candidates")
    for noun in ("dataset", "split", "source"):
        choice.add_argument(f"--{noun}", nargs="+", action="extend", default=[], metavar="NAME")
    choice.add_argument("--type", nargs="+", action="extend", default=[], choices=TYPES, help="question type")
    choice.add_argument(
        "--questions",
        nargs="+",
        action="extend",
        type=_read_questions,
        default=[],
        metavar="TYPE=N",
        help="questions to draw of each type, for example yes-no=201 entity=201 description=98",
    )
    choice.add_argument(
        "--sample",
        type=_read_sample,
        metavar="N",
        help=f"sample whole passages up to about N candidates; {trials.N_CANDIDATES} for a trial unless “all”",
    )
    choice.add_argument("--seed", type=int, default=0, help="seed for the sample and the order of HITs (default: 0)")
    choice.add_argument("--with-pairs", action="store_true", help="include candidates of minimal pairs")
    choice.add_argument("--only-pairs", action="store_true", help="use only candidates of minimal pairs")


def _add_work_arguments(parser: CommandParser) -> None:
    work = parser.add_argument_group("HITs and annotators")
    work.add_argument(
        "--annotators",
        action="extend",
        type=_read_names,
        metavar="A,B",
        help="only these annotators, each of whom rates everything",
    )
    work.add_argument("--hit-size", type=int, metavar="N")
    work.add_argument(
        "--presentation",
        choices=Batch.Presentation.values,
        default=Batch.Presentation.PAGE,
        help="all items on one page, or one at a time without going back (default: page)",
    )
    work.add_argument(
        "--rate-unread",
        action="store_true",
        help="allow rating a long answer before the annotator has scrolled to its end",
    )
    work.add_argument("--order", choices=Batch.Order.values, default=Batch.Order.BREADTH)
    work.add_argument("--priority", type=int, default=0)
    work.add_argument("--cents-per-hit", type=int, metavar="CENTS")
    work.add_argument("--cents-per-item", type=int, metavar="CENTS")
    work.add_argument(
        "--short-hits",
        choices=("item", "hit"),
        help="pay HITs with fewer items than the HIT size by item or in full (default: by item with personal HITs)",
    )
    work.add_argument("--fee-share", type=float, metavar="SHARE", help="platform fee as a share, for example 0.2")
    work.add_argument("--time-limit", type=int, metavar="MINUTES")
    work.add_argument("--max-hits", type=int, metavar="N", help="maximum per annotator")
    work.add_argument("--max-hits-per-day", type=int, metavar="N", help="maximum per annotator")
    work.add_argument(
        "--max-share", type=float, metavar="SHARE", help="maximum share of the batch's HITs per annotator"
    )


def _read_sample(text: str) -> int:
    """Return the size of the sample, 0 for “all”. Raises ArgumentTypeError for any other text."""
    if text == "all":
        return 0
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError("a number of candidates, or “all”")
    return int(text)


def _read_questions(text: str) -> tuple[str, int]:
    """Return a type and a number, as in “yes-no=201”. Raises ArgumentTypeError for any other text."""
    name, _, number = text.partition("=")
    if name not in TYPES or not (number.isascii() and number.isdigit()):
        raise argparse.ArgumentTypeError(f"“{text}” is not valid. Use TYPE=N, where TYPE is one of {', '.join(TYPES)}.")
    return TYPES[name], int(number)


def _read_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _find_trial(project: Project, use: str | None) -> Batch | None:
    if not use:
        return None
    trial = trials.list_trials(project).first()
    if trial is None:
        raise Refused("This project has no trial.")
    return trial


def _read_terms(project: Project, options: dict[str, Any]) -> Terms:
    return Terms(
        requires_qualification=not options["unqualified"],
        trial=_find_trial(project, options["trial"]),
        use_of_trial=options["trial"] or "",
        name=options["name"],
        kind=Batch.Kind(options["kind"]),
        judgments=options["judgments"],
        hit_size=options["hit_size"],
        cents_per_hit=options["cents_per_hit"],
        cents_per_item=options["cents_per_item"],
        fee_share=options["fee_share"],
        is_pay_prorated=options["short_hits"] and options["short_hits"] == "item",
        time_limit_minutes=options["time_limit"],
        order=Batch.Order(options["order"]),
        presentation=Batch.Presentation(options["presentation"]),
        must_read_to_end=not options["rate_unread"],
        priority=options["priority"],
        max_hits_per_annotator=options["max_hits"],
        max_hits_per_day=options["max_hits_per_day"],
        max_share=options["max_share"],
        annotators=find_annotators(project, options["annotators"] or ()),
    )
