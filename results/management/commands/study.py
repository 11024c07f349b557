"""Run a metric evaluation, store it like any other, and print its tables."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotate.frames.stages import Stage
from measures.gold_rules import GoldRule
from projects.commands import Once, ProjectCommand
from projects.errors import Refused
from projects.models import Project
from projects.tables.writing import write
from results.models import Study
from results.scope.human_sources import CHOICES, keep_choice
from results.studies import presentation, running
from results.studies.forms import StudyForm, fill_by_names
from results.studies.kinds import KINDS, Kind
from results.studies.settings import DESIGNS
from results.studies.tables import Table

FORMS = {"csv": "csv", "latex": "tex", "markdown": "md"}
OWN_FIELDS = ("stage", "blind", "gold", "least", "as_zero", "design", "humans", "seed")
"""Options that are fields of the page's form by the same name."""
FACETS = {"dataset": "datasets", "split": "splits", "source": "sources", "question_type": "question_types"}


class Command(ProjectCommand):
    help = "Run a metric evaluation: compare metrics with human judgments, store the result and print its tables."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", choices=list(KINDS))
        parser.add_argument(
            "--metric",
            nargs="+",
            action="extend",
            default=[],
            metavar="NAME",
            help="by name, title or label (default: all metrics that the kind can use)",
        )
        parser.add_argument("--criterion", default="", metavar="KEY", help="required if batches ask several criteria")
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--stage", choices=[stage.value for stage in Stage])
        which.add_argument("--batch", type=int, action=Once, metavar="NUMBER", help="only this batch")
        for name in FACETS:
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, nargs="+", action="extend", default=[], metavar=name.upper())
        parser.add_argument("--blind", action="store_true", help="exclude judgments by people who can see the sources")
        parser.add_argument("--gold", choices=[rule.value for rule in GoldRule], help="default: the project's rule")
        parser.add_argument("--least", default="1", metavar="N", help="minimum judgments per candidate (default 1)")
        parser.add_argument(
            "--raters",
            choices=list(DESIGNS),
            default="",
            dest="design",
            help="for the ceiling: raters differ between candidates (one_way, the default), are the same for all "
            "(crossed), or whichever holds (auto)",
        )
        parser.add_argument("--as-zero", action="store_true", help="count missing scores as zero")
        parser.add_argument(
            "--bootstrap",
            default="",
            metavar="N",
            help="number of resamples (default 1000 or more)",
        )
        parser.add_argument("--seed", default="", metavar="N", help="seed of the resamples")
        parser.add_argument(
            "--humans",
            choices=list(CHOICES),
            help="what to do with sources written by people (default: as chosen in the project before, otherwise in; "
            "kept for the project)",
        )
        parser.add_argument("--name", default="", help="name of the evaluation")
        parser.add_argument(
            "--option",
            nargs="+",
            action="extend",
            default=[],
            metavar="NAME=VALUE",
            help="a setting of this kind of evaluation",
        )
        form = parser.add_mutually_exclusive_group()
        for name in FORMS:
            form.add_argument(
                f"--{name}", action="store_const", const=name, dest="form", help=f"print tables as {name}"
            )
        parser.add_argument("--table", default="", metavar="NAME", help="print only this table")

    def handle(self, *args: Any, **options: Any) -> None:
        project, kind = self.project(options), KINDS[options["kind"]]
        if options["form"] and self.as_json:
            raise CommandError("Choose --json or one form of tables, not both.", returncode=2)
        # The page's own form checks what the options say, so that both refuse the same.
        form = _fill_form(project, kind, options)
        running.check_data(project, kind.name, form.settings())
        if options["humans"]:
            keep_choice(project=project, actor=None, choice=options["humans"])
        study = running.study_now(
            project=project, kind=kind.name, settings=form.settings(), seed=form.read_seed(), name=options["name"]
        )
        for warning in presentation.list_warnings(study):
            self.stderr.write(f"Warning: {warning}")
        if self.as_json:
            self.answer(_as_dict(study))
            return
        written = [
            write(table, FORMS[options["form"] or "markdown"]) for table in _choose_tables(study, options["table"])
        ]
        if options["form"] is None:
            written.insert(0, f"Evaluation {study.number}: {study.name}\n")
        self.stdout.write("\n".join(written), ending="")


def _fill_form(project: Project, kind: Kind, options: dict[str, Any]) -> StudyForm:
    """Return the page's own form, filled in. Raises CommandError or Refused for what it or the project lacks."""
    form = fill_by_names(
        project,
        kind,
        criterion=options["criterion"],
        batch=options["batch"],
        metrics=options["metric"],
        facets={name: options[option] for option, name in FACETS.items()},
        given={
            "resamples": options["bootstrap"],
            **{name: options[name] for name in OWN_FIELDS},
            **_own_options(kind, project, options["option"]),
        },
    )
    if not form.is_valid():
        problems = [f"{name}: {sentence}" for name, errors in form.errors.items() for sentence in errors]
        raise CommandError("\n".join(problems), returncode=2)
    return form


def _own_options(kind: Kind, project: Project, options: list[str]) -> dict[str, str]:
    """Return the settings of the kind alone, given as NAME=VALUE."""
    given = dict(each.partition("=")[::2] for each in options)
    fields = kind.fields(project)
    for name in given:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise CommandError(f"This kind of evaluation has no option “{name}”. It has: {known}.", returncode=2)
    return given


def _as_dict(study: Study) -> dict[str, Any]:
    return {
        "project": study.project.slug,
        "study": study.number,
        "name": study.name,
        "kind": study.kind,
        "settings": study.settings,
        "seed": study.seed,
        "result": study.result,
        "warnings": presentation.list_warnings(study),
    }


def _choose_tables(study: Study, name: str) -> list[Table]:
    tables = [section.table for section in presentation.list_sections(study)]
    chosen = [table for table in tables if name in ("", table.name)]
    if not chosen:
        names = ", ".join(table.name for table in tables)
        raise Refused(f"Evaluation {study.number} has no table “{name}”; it has: {names}.")
    return chosen
