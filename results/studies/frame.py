"""The frame of a study: gold scores joined to the scores of metrics, a row for each answer that all of them scored."""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from django.db import connection
from django.utils.translation import gettext as _

from annotate.frames import CriterionInUse, Scope
from annotate.judgment_frames import fetch_judgments
from annotate.norms import fetch_norms
from measures import columns
from measures.ceiling import Ceiling, human_ceiling
from measures.gold_scores import N, gold_by, gold_scores, settle
from measures.outcome import Undefined
from measures.patterns import Floats
from projects.errors import Refused
from projects.models import Project
from results.models import MetricRun
from results.scoping import choose_scope, scopes_of
from results.scores.golds import has_simulated, say_several_scales, settled_scores
from results.studies.settings import Settings

CANDIDATE, QUESTION, PASSAGE, GOLD = "candidate", "question", "passage", "gold"
EXTERNAL_ID = "external_id"
DATASET, SPLIT, SOURCE, QUESTION_TYPE = columns.DATASET, columns.SPLIT, columns.SOURCE, columns.QUESTION_TYPE
Rows = np.ndarray[Any, np.dtype[np.bool_]]
PLACES = {"datasets": DATASET, "splits": SPLIT, "sources": SOURCE, "question_types": QUESTION_TYPE}
MOST_NAMED = 10
"""So many answers without a score are named, metric by metric; all are counted."""
NOT_SCORED = "not among the scores"
LEAST_OF_SUBJECT = 6
"""So many characters of a subject name a metric."""


@dataclass(frozen=True, kw_only=True)
class MetricColumn:
    """A metric of the project, as a study takes it: the newest run of its subject, and what that run lacks."""

    subject: str
    name: str
    title: str
    label: str
    """The title, with the settings that tell it from another metric of the same title in this study."""
    origin: str
    settings: dict[str, Any]
    run: int
    finished_at: str
    low: float | None
    high: float | None
    """The range that the metric declares; None where it has no bound, or none is known."""
    n_missing: int = 0
    missing: tuple[str, ...] = ()
    reasons: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Judged answers that a study does not rest on, and why; each is counted once, for the first reason."""

    minimal_pairs: int = 0
    other_places: int = 0
    no_gold: int = 0
    few_judgments: int = 0
    no_score: int = 0


@dataclass(frozen=True)
class Frame:
    """The answers that a study rests on, in order of dataset and id, byte by byte.

    `table` holds a row for each answer: candidate, external_id, question, passage, dataset, split, source,
    question_type, gold, n, and a column of scores for each metric under its subject. `judgments` are those behind
    the gold scores: `unit` is the row of the table. `counts` are statistics of metrics whose score of many answers is
    more than a mean, by subject, in the order of the rows; those of an answer without a score are zero.
    """

    project: Project
    scope: Scope
    table: pd.DataFrame
    metrics: tuple[MetricColumn, ...]
    judgments: pd.DataFrame
    left_out: LeftOut
    has_simulated: bool
    counts: dict[str, Floats] = field(default_factory=dict)

    @property
    def gold(self) -> Floats:
        return self.table[GOLD].to_numpy(np.float64)

    def scores(self, metric: MetricColumn) -> Floats:
        return self.table[metric.subject].to_numpy(np.float64)

    def codes(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A column as whole numbers from 0, in order of first appearance."""
        return np.asarray(pd.factorize(self.table[name])[0], dtype=np.int64)

    def parts(self, *names: str) -> Iterator[tuple[tuple[str, ...], Rows]]:
        """Each part that these columns cut the answers into, by its names, with the rows that are in it."""
        keys = list(zip(*(self.table[name] for name in names), strict=True))
        codes, found = pd.factorize(pd.Series(keys, dtype=object))
        for code in sorted(range(len(found)), key=lambda each: tuple(map(str, found[each]))):
            yield found[code], codes == code

    def ceiling(self, *, seed: int, rows: Rows | None = None) -> Ceiling | Undefined:
        """How well one judgment follows the others of the same answer, over these rows."""
        judgments = self.judgments
        if rows is not None:
            judgments = judgments[rows[judgments[columns.UNIT].to_numpy()]]
        return human_ceiling(judgments, rng=np.random.default_rng(seed))


def standing_runs(project: Project) -> list[MetricRun]:
    """The metrics of a project, by title: of each the run whose scores stand."""
    runs = MetricRun.objects.filter(project=project).newest()
    return sorted(runs, key=lambda run: (run.title.casefold(), run.pk))


def choose_runs(runs: Sequence[MetricRun], names: Iterable[str]) -> list[MetricRun]:
    """The metrics that go by these names: that of a metric, its title or its label. Raises Refused for an unknown one.

    A name that several share, each set up in its own way, means them all; a label or the start of a subject one alone.
    """
    labels = labels_of(runs)
    chosen: dict[str, MetricRun] = {}
    for name in names:
        found = [
            run
            for run in runs
            if name.casefold() in (run.metric.casefold(), run.title.casefold(), labels[run.subject].casefold())
            or (len(name) >= LEAST_OF_SUBJECT and run.subject.startswith(name))
        ]
        if not found:
            there_are = "; ".join(labels.values()) or _("none")
            raise Refused(
                _("No metric “%(name)s” has scores in this project; there is: %(names)s.")
                % {"name": name, "names": there_are}
            )
        chosen |= {run.subject: run for run in found}
    return list(chosen.values())


def labels_of(runs: Sequence[MetricRun]) -> dict[str, str]:
    """A name for each metric that no other of these has: its title, and the settings in which namesakes differ."""
    titles = Counter(run.title for run in runs)
    labels = {}
    for run in runs:
        label = run.title
        if titles[run.title] > 1:
            namesakes = [each.settings for each in runs if each.title == run.title]
            words = [
                f"{name.replace('_', ' ')} {_said(value)}"
                for name, value in sorted(run.settings.items())
                if any(other.get(name) != value for other in namesakes)
            ]
            label = f"{run.title} ({', '.join(words) or run.get_origin_display()})"
        labels[run.subject] = label
    twice = Counter(labels.values())
    return {subject: f"{label} [{subject[:6]}]" if twice[label] > 1 else label for subject, label in labels.items()}


def read_frame(project: Project, settings: Settings, *, with_counts: bool = False) -> Frame:
    """Read and join gold scores and metrics. Raises Refused where nothing is left to study, with the reason."""
    scopes = scopes_of(project, asked_scope(settings))
    scope = choose_scope(scopes, settings.criterion)
    if not scope.criterion.has_one_scale:
        raise Refused(say_several_scales(scope.criterion))
    runs = chosen_runs(project, settings)
    judgments = fetch_judgments(scope)
    criteria = [each.criterion for each in scopes]
    if judgments.empty:
        raise Refused(_("There are no judgments here yet."))
    table, left_out = _keep(gold_table(project, settings, scope, criteria, judgments), settings)
    if table.empty:
        raise Refused(_say_nothing(left_out))
    table, metrics = with_scores(table, runs)
    kept = table if settings.as_zero else table.dropna(subset=[metric.subject for metric in metrics])
    left_out = LeftOut(**{**left_out.__dict__, "no_score": len(table) - len(kept)})
    if kept.empty:
        raise Refused(_say_missing(metrics, len(table)))
    kept = kept.reset_index(drop=True)
    counts = _fetch_counts(runs, kept[CANDIDATE]) if with_counts else {}
    return Frame(
        project=project,
        scope=scope,
        table=kept.fillna({metric.subject: 0.0 for metric in metrics}) if settings.as_zero else kept,
        metrics=metrics,
        judgments=_judgments_of(kept, judgments),
        left_out=left_out,
        has_simulated=has_simulated(project, judgments),
        counts=counts,
    )


def asked_scope(settings: Settings) -> dict[str, Any]:
    return {
        "criterion": settings.criterion,
        "stage": settings.stage,
        "batch": settings.batch,
        "blind": settings.is_blind_only,
    }


def chosen_runs(project: Project, settings: Settings) -> list[MetricRun]:
    if not settings.metrics:
        raise Refused(_("Choose at least one metric."))
    by_subject = {run.subject: run for run in standing_runs(project)}
    gone = [subject for subject in settings.metrics if subject not in by_subject]
    if gone:
        raise Refused(
            _("%(n)s of the metrics have no scores any more. Compute them again, or choose others.") % {"n": len(gone)}
        )
    return [by_subject[subject] for subject in dict.fromkeys(settings.metrics)]


def gold_table(
    project: Project, settings: Settings, scope: Scope, criteria: Sequence[CriterionInUse], judgments: pd.DataFrame
) -> pd.DataFrame:
    """A row for each judged answer, by its id: where it belongs, its gold score by the rule, and its judgments.

    Raises Refused where the rule gives no gold scores at all.
    """
    norms = fetch_norms(scope, criteria, with_controls=settings.controls_in_z)
    golds = gold_by(settings.gold, judgments, norms=norms)
    if isinstance(golds, Undefined):
        raise Refused(_("There are no gold scores by this rule: %(why)s.") % {"why": golds.reason})
    if settings.does_adjudication_win:
        golds = settle(golds, settled_scores(scope), rule=settings.gold)
    once = judgments.drop_duplicates(columns.UNIT).set_index(columns.UNIT)
    table = pd.DataFrame({PASSAGE: once[columns.GROUP], N: gold_scores(judgments)[N]})
    for name in (DATASET, SPLIT, SOURCE, QUESTION_TYPE):
        table[name] = once[name].astype("object").fillna("")
    table[GOLD] = golds.reindex(table.index)
    return table.join(_fetch_candidates(project, table.index))


def _keep(table: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, LeftOut]:
    """The rows that the settings ask for, in order, and how many others there are, each for its first reason."""
    keeps: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
        "minimal_pairs": lambda rows: rows["is_of_pair"] == 0,
        "other_places": lambda rows: is_in_places(rows, settings),
        "no_gold": lambda rows: rows[GOLD].notna(),
        "few_judgments": lambda rows: rows[N] >= settings.least_judgments,
    }
    out = {}
    for reason, keep in keeps.items():
        kept = table[keep(table)]
        out[reason] = len(table) - len(kept)
        table = kept
    table = table.drop(columns="is_of_pair").rename_axis(CANDIDATE).reset_index()
    return table.sort_values([DATASET, EXTERNAL_ID, CANDIDATE], ignore_index=True), LeftOut(**out)


def is_in_places(rows: pd.DataFrame, settings: Settings) -> pd.Series:
    wanted = pd.Series(True, index=rows.index)
    for name, column in PLACES.items():
        if chosen := getattr(settings, name):
            wanted &= rows[column].isin(chosen)
    return wanted


def _fetch_candidates(project: Project, ids: pd.Index) -> pd.DataFrame:
    """What judgments do not say of their candidates, by id."""
    rows = _copy(_CANDIDATES, {"ids": [int(each) for each in ids]}, _CANDIDATE_TYPES)
    return rows.set_index(CANDIDATE)


def with_scores(table: pd.DataFrame, runs: Sequence[MetricRun]) -> tuple[pd.DataFrame, tuple[MetricColumn, ...]]:
    """The table with a column for each metric, NaN where it has no score."""
    scores = _copy(_SCORES, {"runs": [run.pk for run in runs]}, _SCORE_TYPES)
    labels, names = labels_of(runs), table[EXTERNAL_ID].to_numpy()
    found, metrics = {}, []
    for run in runs:
        own = scores[scores["run"] == run.pk].set_index(CANDIDATE)["value"]
        found[run.subject] = own.reindex(table[CANDIDATE]).to_numpy(np.float64)
        is_missing = np.isnan(found[run.subject])
        reasons = _fetch_reasons(run, table[CANDIDATE][is_missing]) if is_missing.any() else {}
        low, high = _range_of(run)
        metrics.append(
            MetricColumn(
                subject=run.subject,
                name=run.metric,
                title=run.title,
                label=labels[run.subject],
                origin=run.origin,
                settings=run.settings,
                run=run.pk,
                finished_at=run.finished_at.isoformat() if run.finished_at else "",
                low=low,
                high=high,
                n_missing=int(is_missing.sum()),
                missing=tuple(names[is_missing][:MOST_NAMED]),
                reasons=reasons,
            )
        )
    return table.join(pd.DataFrame(found, index=table.index)), tuple(metrics)


def _range_of(run: MetricRun) -> tuple[float | None, float | None]:
    """The declared bounds of a metric that was computed here."""
    about = run.report.get("about", {})
    return about.get("low"), about.get("high")


def _fetch_reasons(run: MetricRun, missing: Iterable[int]) -> dict[str, int]:
    """Why these answers have no score, with how many there are of each reason, the most frequent first."""
    ids = [int(each) for each in missing]
    said = dict(run.scores.filter(candidate_id__in=ids, value=None).values_list("candidate_id", "reason"))
    return dict(Counter(said.get(each, NOT_SCORED) for each in ids).most_common())


def _fetch_counts(runs: Sequence[MetricRun], candidates: pd.Series) -> dict[str, Floats]:
    """The statistics behind the scores of metrics that keep any."""
    places = {int(each): row for row, each in enumerate(candidates)}
    found: dict[str, Floats] = {}
    for run in runs:
        rows = run.scores.exclude(counts=None).values_list("candidate_id", "counts").iterator(chunk_size=5_000)
        for candidate, counts in rows:
            if candidate in places and counts:
                own = found.setdefault(run.subject, np.zeros((len(places), len(counts))))
                own[places[candidate]] = counts
    return found


def _judgments_of(table: pd.DataFrame, judgments: pd.DataFrame) -> pd.DataFrame:
    """The judgments behind these gold scores, each with the row of its answer."""
    rows = pd.Series(range(len(table)), index=table[CANDIDATE]).reindex(judgments[columns.UNIT]).to_numpy(np.float64)
    is_behind = ~np.isnan(rows)
    values = judgments[columns.VALUE].to_numpy(np.float64)[is_behind]
    return pd.DataFrame({columns.UNIT: rows[is_behind].astype(np.int64), columns.VALUE: values})


def _copy(select: str, parameters: dict[str, Any], types: dict[str, pa.DataType]) -> pd.DataFrame:
    file = io.BytesIO()
    connection.ensure_connection()
    with connection.connection.cursor() as cursor:
        statement = cursor.mogrify(select, parameters).decode()
        cursor.copy_expert(f"COPY ({statement}) TO STDOUT WITH (FORMAT csv, HEADER)", file)
    file.seek(0)
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False)
    parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
    frame: pd.DataFrame = pyarrow.csv.read_csv(file, parse_options=parsing, convert_options=options).to_pandas()
    return frame


def _say_nothing(left_out: LeftOut) -> str:
    """Why no answer is left."""
    reasons = [
        (left_out.minimal_pairs, _("%(n)s belong to minimal pairs, which are kept apart")),
        (left_out.other_places, _("%(n)s are of other datasets, splits, sources or question types")),
        (left_out.no_gold, _("%(n)s have no gold score by this rule")),
        (left_out.few_judgments, _("%(n)s have too few judgments")),
    ]
    said = "; ".join(words % {"n": n} for n, words in reasons if n)
    return _("No answer is left to study: of the judged answers %(reasons)s.") % {"reasons": said}


def _say_missing(metrics: Sequence[MetricColumn], n: int) -> str:
    said = "; ".join(f"{metric.label}: {n - metric.n_missing}" for metric in metrics)
    words = _("No answer has a score by all of these metrics. Of %(n)s answers with a gold score they have: %(said)s.")
    return words % {"n": n, "said": said}


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:g}" if isinstance(value, float) else str(value)


_CANDIDATES = """
SELECT c.id AS candidate, c.question_id AS question, c.external_id,
       (EXISTS (SELECT 1 FROM projects_minimalpair p WHERE p.candidate_1_id = c.id)
        OR EXISTS (SELECT 1 FROM projects_minimalpair p WHERE p.candidate_2_id = c.id))::int AS is_of_pair
FROM projects_candidate c WHERE c.id = ANY(%(ids)s)"""
_CANDIDATE_TYPES = {
    CANDIDATE: pa.int64(),
    QUESTION: pa.int64(),
    EXTERNAL_ID: pa.string(),
    "is_of_pair": pa.int8(),
}
_SCORES = """
SELECT run_id AS run, candidate_id AS candidate, value FROM results_metricscore
WHERE run_id = ANY(%(runs)s) AND value IS NOT NULL"""
_SCORE_TYPES = {"run": pa.int64(), CANDIDATE: pa.int64(), "value": pa.float64()}
