"""Metric evaluations in a set, on request: settings and result of each, its tables, and the metric scores.

Evaluations and scores are read from the database with everything else of a set; the tables follow from these files
alone. An evaluation rests on the candidates that its own settings name, which need not be those of the set.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from django.db import connection
from django.utils import translation

from annotate.models import Judgment
from annotate.models.assignment import TAKEN_OUT
from annotate.models.conditions import REMOVALS
from measures.patterns import Floats
from projects.database.csv import Value, guard_text, write_row
from projects.errors import Refused
from projects.models import Project
from projects.tables.tables import FORM_NAMES, Table
from projects.tables.writing import write
from results.models import MetricRun, MetricScore, Study
from results.sets.selecting import Selection
from results.sets.tables import list_candidates
from results.studies.freshness import VERSION, find_outdated

METRICS, METRIC_SCORES = "metrics.json", "metric_scores.csv"
ID_COLUMNS = ("dataset", "split", "passage_id", "question_id", "candidate_id", "source")
SLACK = timedelta(seconds=10)
"""How long after a withdrawal an evaluation must have started to have seen it for certain."""
ROWS = 10_000

_JSON = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
_STUDY_FILE = re.compile(r"study-(\d+)(?:-(.+))?\.(json|csv|tex|md)")


def find_studies(project: Project) -> list[Study]:
    """Return the evaluations that a set can hold, the newest first: done, and without removed judgments."""
    # Here, and below, as most sets hold none: loading all kinds takes a tenth of the time of freezing a small set.
    from results.studies.kinds import KINDS

    # An evaluation that read its judgments before the last removal may rest on removed work.
    removed_at = _find_last_removal(project)
    done = project.studies.filter(state=Study.State.DONE).exclude(result=None).defer("result")
    found = done.filter(started_at__gt=removed_at + SLACK) if removed_at else done
    return [study for study in found if study.kind in KINDS]


def _find_last_removal(project: Project) -> datetime | None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT max(r.removed_at) FROM {REMOVALS} r JOIN projects_membership m ON m.id = r.membership_id "
            "WHERE m.project_id = %s",
            [project.pk],
        )
        newest: datetime | None = cursor.fetchone()[0]
    return newest


def choose_studies(project: Project, numbers: Iterable[int]) -> list[Study]:
    """Return these evaluations in the order of their numbers. Raises Refused for one that a set cannot hold."""
    known = {study.number: study for study in find_studies(project)} if (wanted := sorted(set(numbers))) else {}
    for number in wanted:
        if number not in known:
            if not project.studies.filter(number=number).exists():
                raise Refused(f"There is no metric evaluation {number}.")
            raise Refused(
                f"Metric evaluation {number} cannot be included: it is not done, or an annotator removed their work "
                "since. Run it again."
            )
    return [known[number] for number in wanted]


def keep_usable(project: Project, numbers: Iterable[int]) -> tuple[int, ...]:
    """Return those of these evaluations that a set can hold."""
    known = {study.number for study in find_studies(project)} if (asked := tuple(numbers)) else set()
    return tuple(number for number in asked if number in known)


def read_studies(selection: Selection, folder: Path) -> list[dict[str, Any]]:
    """Write each evaluation and the scores of its metrics into the folder; return their entries in `set.json`."""
    studies = choose_studies(selection.project, selection.settings.studies)
    outdated = find_outdated(selection.project, studies) if studies else set()
    for study in studies:
        _write(folder / f"study-{study.number}.json", _store_study(study, is_outdated=study.number in outdated))
    if studies:
        columns = _name_columns(selection.project, studies)
        _write(folder / METRICS, {"columns": [_describe_column(*each) for each in columns]})
        _write_scores(folder, [(name, run) for name, run, _studies, _asked in columns])
    return [{"number": study.number, "name": study.name, "kind": str(study.kind)} for study in studies]


def find_annotators_behind_studies(project: Project) -> set[str]:
    """Return the pseudonyms of all whose judgments an evaluation of the project may rest on."""
    judgments = Judgment.objects.filter(assignment__hit__batch__project=project, candidate__isnull=False)
    names = judgments.exclude(not_counted_reason=TAKEN_OUT).values_list("annotator__pseudonym", flat=True)
    return set(names.distinct())


def write_tables(folder: Path) -> None:
    """Write the tables of each evaluation: each as CSV, and all in one file as LaTeX and as Markdown."""
    if not (studies := list(list_studies(folder))):
        return
    from results.studies.presentation import list_sections

    # The files of a set are in English, whatever language the worker or the request has.
    with translation.override("en"):
        for study in studies:
            stem = f"study-{study.number}"
            tables = [section.table for section in list_sections(study)]
            for table in tables:
                (folder / f"{stem}-{table.name}.csv").write_bytes(write(table, "csv").encode())
            (folder / f"{stem}.tex").write_text(_join_tables(tables, "tex"), encoding="utf-8")
            (folder / f"{stem}.md").write_text(_join_tables(tables, "md"), encoding="utf-8")


def list_studies(folder: Path) -> Iterator[Study]:
    """Yield the evaluations that a set holds, by number, read from its files."""
    found = {int(match[1]): path for path in folder.iterdir() if (match := _STUDY_FILE.fullmatch(path.name))
             if match[3] == "json"}  # fmt: skip
    for _number, path in sorted(found.items()):
        # An unsaved row: `presentation` shows it as it is, without asking the database.
        yield Study(**orjson.loads(path.read_bytes()))


def list_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the entry of each column of metric scores; nothing where a set has none."""
    path = folder / METRICS
    columns: list[dict[str, Any]] = orjson.loads(path.read_bytes())["columns"] if path.exists() else []
    return columns


def describe_file(name: str) -> str:
    """Return what a file of an evaluation holds; empty for a file of another kind."""
    match = _STUDY_FILE.fullmatch(name)
    if match is None:
        return ""
    number, table, form = match.groups()
    if form == "json":
        return f"metric evaluation {number}: settings, seed and result"
    content = f"the table {table} as CSV" if table else f"its tables as {FORM_NAMES[form]}"
    return f"metric evaluation {number}: {content}"


def _join_tables(tables: list[Table], form: str) -> str:
    """Return all tables in one file; the packages that LaTeX needs are listed once, on top."""
    lines = [line for table in tables for line in ("", *write(table, form).splitlines())]
    needed = dict.fromkeys(line for line in lines if form == "tex" and line.startswith("% "))
    return "\n".join([*needed, *(line for line in lines if line not in needed)]).strip("\n") + "\n"


def _store_study(study: Study, *, is_outdated: bool) -> dict[str, Any]:
    """Return an evaluation without its requester, and with the causes of errors that people have named since."""
    result = study.result
    assert result is not None
    from results.studies.kinds import KINDS
    from results.studies.presentation import list_warnings

    figures = {**result["figures"], **KINDS[study.kind].beside(study)}
    return {
        "number": study.number,
        "kind": study.kind,
        "name": study.name,
        "settings": study.settings,
        "seed": study.seed,
        "result": {
            **{name: value for name, value in result.items() if name != VERSION},
            **({"judgments_changed_since": True} if is_outdated else {}),
            # With those that pages find in the figures, as of few passages.
            "warnings": list_warnings(study),
            "figures": figures,
        },
    }


def _name_columns(project: Project, studies: list[Study]) -> list[tuple[str, MetricRun, list[int], set[int]]]:
    """Return for each metric a column name, the run whose scores count, the evaluations, and the runs they used."""
    uses: dict[str, tuple[list[int], set[int]]] = {}
    for study in studies:
        for metric in (study.result or {})["metrics"]:
            numbers, runs = uses.setdefault(metric["subject"], ([], set()))
            numbers.append(study.number)
            runs.add(metric["run"])
    found = MetricRun.objects.filter(project=project, subject__in=uses).newest()
    # Two configurations of one metric would make two columns of one name.
    names = dict.fromkeys(ID_COLUMNS, 1)
    columns = []
    for run in sorted(found, key=lambda each: (each.metric, each.subject)):
        name = re.sub(r"\W+", "_", run.metric) or "metric"
        names[name] = names.get(name, 0) + 1
        columns.append((name if names[name] == 1 else f"{name}_{names[name]}", run, *uses[run.subject]))
    return columns


def _describe_column(name: str, run: MetricRun, studies: list[int], taken: set[int]) -> dict[str, Any]:
    return {
        "column": name,
        "title": run.title,
        "metric": run.metric,
        "origin": str(run.origin),
        "settings": run.settings,
        "signature": run.signature,
        "subject": run.subject,
        "run": run.pk,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "depends_on": run.report.get("about", {}),
        "studies": studies,
        "is_run_of_studies": taken == {run.pk},
    }


def _write_scores(folder: Path, columns: list[tuple[str, MetricRun]]) -> None:
    """Write a row for each candidate of the set and a column for each metric; empty where it has no score."""
    places = {(line["dataset"], line["candidate_id"]): place for place, line in enumerate(list_candidates(folder))}
    scores: list[Floats] = []
    for _name, run in columns:
        column = np.full(len(places), np.nan)
        # One array a metric and no dictionaries: a set may have a million candidates.
        rows = MetricScore.objects.filter(run=run, value__isnull=False).order_by()
        for dataset, candidate, value in rows.values_list(
            "candidate__dataset__name", "candidate__external_id", "value"
        ).iterator(chunk_size=ROWS):
            if (place := places.get((dataset, candidate))) is not None:
                column[place] = value
        scores.append(column)
    with (folder / METRIC_SCORES).open("wb") as file:
        write_row(file, (*ID_COLUMNS, *(name for name, _run in columns)))
        for place, line in enumerate(list_candidates(folder)):
            about: list[Value] = [guard_text(line[name]) for name in ID_COLUMNS]
            write_row(file, [*about, *(float(column[place]) for column in scores)])


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_bytes(orjson.dumps(content, option=_JSON) + b"\n")
