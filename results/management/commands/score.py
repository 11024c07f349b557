"""Compute metrics over the candidates of a project and store them like any other run."""

from dataclasses import Field
from typing import Any

from django.core.management.base import CommandError, CommandParser

from measures.metrics import METRICS
from projects.commands import ProjectCommand, ReportingCommand
from projects.models import Project
from results.learned.computing_time import estimate
from results.learned.usable_models import MODEL, find_models, preset_model
from results.metrics import computing, registry
from results.metrics.forms import find_default
from results.metrics.listing import list_warnings
from results.metrics.registry import explain_not_imported, find_metric, load_metrics
from results.models import MetricRun


class Command(ProjectCommand):
    help = "Score every candidate of a project with one or more metrics. --list prints them with their settings."

    def add_arguments(self, parser: CommandParser) -> None:
        # Not ProjectCommand's, which requires a project: --list needs none.
        ReportingCommand.add_arguments(self, parser)
        parser.add_argument("--project", metavar="SLUG", help="required, except with --list")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--list", action="store_true", help="list the known metrics and what they lack here")
        what.add_argument("--metric", nargs="+", action="extend", default=[], metavar="NAME")
        parser.add_argument(
            "--set",
            nargs="+",
            action="extend",
            default=[],
            metavar="KEY=VALUE",
            help="a setting, for each metric that has it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list"]:
            self.answer(
                {
                    "metrics": [_describe(name) for name in sorted(load_metrics())],
                    "problems": list(explain_not_imported()),
                },
                _list_metrics(),
            )
            return
        if not options["project"]:
            raise CommandError("Name the project: --project SLUG", returncode=2)
        project = self.project(options)
        names = list(dict.fromkeys(options["metric"]))
        settings = _read_settings(project, names, options["set"])
        for name in names:
            # Refuse what cannot be computed before anything is.
            registry.make_metric(name, settings[name], project)
            self._tell_cost(project, name, settings[name])
        runs = [
            computing.run_now(project=project, name=name, settings=settings[name], on_progress=self.progress)
            for name in names
        ]
        lines = [
            line
            for run in runs
            for line in (
                f"{run.title}: {_score(run)}, {run.n_scored:,} scored, {run.n_refused:,} refused{_list_reasons(run)}",
                f"  {run.signature}",
                *(f"  Warning: {warning}" for warning in list_warnings(run)),
            )
        ]
        self.answer({"project": project.slug, "runs": [_as_dict(run) for run in runs]}, "\n".join(lines))

    def _tell_cost(self, project: Project, name: str, settings: dict[str, Any]) -> None:
        """Say on stderr how long a learned metric will take, before it starts."""
        metric = find_metric(name, project)
        for folder in find_models(metric):
            if folder.name == settings.get(MODEL) and (cost := estimate(project, name, metric.metric, folder)):
                self.stderr.write(f"{metric.title} with {folder.name}: {cost}")


def _read_settings(project: Project, names: list[str], given: list[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of each metric. Raises Refused for an unknown metric, CommandError for an unknown setting."""
    fields = {name: {each.name: each for each in find_metric(name, project).settings()} for name in names}
    settings: dict[str, dict[str, Any]] = {name: {} for name in names}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals:
            raise CommandError(f"“{each}” is not KEY=VALUE, such as tokeniser=characters.", returncode=2)
        having = [name for name in names if key in fields[name]]
        if not having:
            there = ", ".join(sorted({name for each in fields.values() for name in each})) or "none"
            raise CommandError(f"None of these metrics has a setting “{key}”. They have: {there}.", returncode=2)
        for name in having:
            settings[name][key] = _read_value(fields[name][key], value)
    return settings


def _read_value(setting: "Field[Any]", text: str) -> Any:
    """Return the value in the type of the setting's default."""
    default = find_default(setting)
    try:
        if isinstance(default, bool):
            return {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}[text.lower()]
        return type(default)(text)
    except (KeyError, ValueError) as error:
        wanted = "yes or no" if isinstance(default, bool) else "a number"
        raise CommandError(f"{setting.name} is {wanted}, not “{text}”.", returncode=2) from error


def _as_dict(run: MetricRun) -> dict[str, Any]:
    summary = run.report["summary"]
    return {
        "run": run.pk,
        "metric": run.metric,
        "title": run.title,
        "settings": run.settings,
        "signature": run.signature,
        "score": summary.get("score"),
        "mean": summary.get("mean"),
        "is_corpus": summary["is_corpus"],
        "n_scored": run.n_scored,
        "n_refused": run.n_refused,
        "reasons": run.report["reasons"],
        "notes": run.report["notes"],
        "about": run.report["about"],
        "warnings": list_warnings(run),
    }


def _list_reasons(run: MetricRun) -> str:
    """Return why candidates have no score, with their numbers, in brackets; empty if all have one."""
    reasons = "; ".join(f"{reason}: {n:,}" for reason, n in run.report["reasons"].items())
    return f" ({reasons})" if reasons else ""


def _score(run: MetricRun) -> str:
    summary = run.report["summary"]
    return f"{summary['score']:.4f}" if summary["n"] else "undefined"


def _describe(name: str) -> dict[str, Any]:
    metric = METRICS[name]
    models = find_models(metric)
    return {
        "name": name,
        "title": metric.title,
        "family": metric.family,
        "lacks": metric.make(**preset_model(metric, models)).lacks(),
        "settings": {
            each.name: {
                "default": find_default(each),
                "choices": [folder.name for folder in models]
                if each.name == MODEL and models
                else list(each.metadata.get("choices", ())),
                "meaning": each.metadata.get("meaning", ""),
            }
            for each in metric.settings()
        },
    }


def _list_metrics() -> str:
    lines = list(explain_not_imported())
    for name in sorted(load_metrics()):
        metric = _describe(name)
        lines.append(f"{name}: {metric['title']}" + (f" (not here: {metric['lacks']})" if metric["lacks"] else ""))
        for key, each in metric["settings"].items():
            choices = f" ({', '.join(map(str, each['choices']))})" if each["choices"] else ""
            lines.append(f"    {key}={each['default']}  {each['meaning']}{choices}")
    return "\n".join(lines)
