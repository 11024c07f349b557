"""Which judgments a set includes, and why it excludes the others: one rule for the preview and for the files."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotate.frames.criteria_in_use import criteria_in_use
from annotate.frames.rating_patterns import WITHDRAWN, execute_analytic
from annotate.frames.stages import left_out
from annotate.models import Batch
from annotate.models.assignment import TAKEN_OUT
from annotate.models.batch import find_batch_ids
from annotate.models.conditions import is_judgeable, is_turned
from measures.rubric import ScaleKind
from projects.errors import Refused
from projects.models import Project
from results.scope.excluded import Inclusion
from results.scope.scopes import find_batch
from results.sets.settings import Settings


@dataclass(frozen=True)
class Selection:
    """A project and the settings of a set, as the parameters of a statement."""

    project: Project
    settings: Settings

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        return tuple(find_batch(self.project, number) for number in self.settings.batches)

    @cached_property
    def has_several_versions(self) -> bool:
        """Whether an annotator may have judged a candidate twice on one criterion, under two versions of the rubric."""
        return any(len(criterion.ids) > 1 for criterion in criteria_in_use(self.project))

    def parameters(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "project": self.project.pk,
            "criteria": list(settings.criteria),
            "batches": [batch.pk for batch in self.batches],
            "left_out": [] if settings.batches else list(left_out(self.project, settings.stage)),
            "datasets": list(settings.datasets),
            "splits": list(settings.splits),
            "sources": list(settings.sources),
            "blind": settings.is_blind_only,
            "with_controls": settings.controls_in_z,
            "criterion_ids": self.project.find_ids().criteria,
            "batch_ids": find_batch_ids(self.project),
            "dataset_ids": self.project.find_ids().datasets,
        }


@dataclass(frozen=True, order=True)
class ScaledCriterion:
    """A criterion on one scale. Scores on different scales are never mixed."""

    key: str
    kind: str
    low: int
    high: int

    @property
    def scale(self) -> str:
        kind = "points" if self.kind == ScaleKind.ORDINAL else "slider"
        return f"{kind} {self.low} to {self.high}"


@dataclass(frozen=True)
class Preview:
    """What a set would hold: the included and excluded judgments of each criterion on each scale."""

    parts: tuple[tuple[ScaledCriterion, Inclusion, int, int | None], ...]

    @property
    def n_included(self) -> int:
        return sum(included.n_included for _, included, _, _ in self.parts)

    @property
    def whole(self) -> Inclusion:
        counts: dict[str, int] = {}
        for _asked, included, _n_candidates, _n_annotators in self.parts:
            for reason, n in included.left_out:
                counts[reason] = counts.get(reason, 0) + n
        return Inclusion(self.n_included, tuple(sorted(counts.items())))

    @property
    def n_rows(self) -> int:
        """Rows of the long file: everything within the selection except work that its annotator removed."""
        outside = (ANOTHER_STAGE, ANOTHER_BATCH, NOT_CHOSEN, TAKEN_OUT)
        return self.whole.n_total - sum(n for reason, n in self.whole.left_out if reason in outside)


ANOTHER_STAGE, ANOTHER_BATCH, NOT_CHOSEN = "another stage", "another batch", "not chosen"


def refuse_unknown(project: Project, settings: Settings) -> None:
    """Raise Refused for a criterion or a batch that the project does not have."""
    known = [criterion.key for criterion in criteria_in_use(project)]
    if not known:
        raise Refused("There is no batch yet, so there are no judgments.")
    for key in settings.criteria:
        if key not in known:
            raise Refused(
                "There is no criterion “{key}”. Choose one of: {keys}.".format(key=key, keys=", ".join(known))
            )
    for number in settings.batches:
        find_batch(project, number)


def has_judgments(selection: Selection) -> bool:
    """Return whether any judgment is included, which takes no count of them all."""
    # Of an annotator's judgments of a candidate one always is the newest, so that rule leaves out nothing by itself.
    statement = f"{_select_judged(selection)} SELECT EXISTS (SELECT FROM judged WHERE reason = '')"
    with execute_analytic(statement, selection.parameters()) as cursor:
        return bool(cursor.fetchone()[0])


def preview(selection: Selection) -> Preview:
    """Count every judgment of the criteria in one statement, by whether it is included and why not."""
    statement = f"{_select_judged(selection)}, {_COUNTS.format(reason=first_judgment('reason', selection))}"
    with execute_analytic(statement, selection.parameters()) as cursor:
        rows = cursor.fetchall()
    found: dict[ScaledCriterion, dict[str, tuple[int, int, int | None]]] = {}
    for key, kind, low, high, reason, n, n_candidates, n_annotators in rows:
        found.setdefault(ScaledCriterion(key, kind, low, high), {})[reason] = (int(n), n_candidates, n_annotators)
    parts = []
    for criterion, counts in sorted(found.items()):
        # The empty reason is that of the included judgments.
        n, n_candidates, n_annotators = counts.pop("", (0, 0, 0))
        included = Inclusion(n, tuple(sorted((reason, n) for reason, (n, _, _) in counts.items())))
        parts.append((criterion, included, n_candidates, n_annotators))
    return Preview(tuple(parts))


IN_CHOICE = " AND ".join(
    f"(cardinality(%({name})s::text[]) = 0 OR {column} = ANY (%({name})s))"
    for column, name in {"d.name": "datasets", "p.split": "splits", "c.source": "sources"}.items()
)
"""SQL: whether a candidate is in the selected datasets, splits and sources."""

# `cardinality` is 0 for an empty list, which selects everything; an ANY over it would select nothing.
IN_BATCHES = """(cardinality(%(batches)s::bigint[]) = 0 OR b.id = ANY (%(batches)s))
    AND b.id <> ALL (%(left_out)s::bigint[])"""

IS_ASKED = "(cardinality(%(criteria)s::text[]) = 0 OR cr.key = ANY (%(criteria)s))"
# A criterion is known by its key, over all versions of the rubric; each version has rows of its own.
ALL_CRITERIA = f"""
    SELECT cr.id, cr.key, cr.kind, cr.low, cr.high, cr.is_reversed, {is_turned("cr")} AS is_turned,
           {IS_ASKED} AS is_asked
    FROM projects_criterion cr JOIN projects_rubric r ON r.id = cr.rubric_id
    WHERE r.project_id = %(project)s"""
CRITERIA = f"{ALL_CRITERIA} AND {IS_ASKED}"

WHY_NOT = """CASE WHEN NOT j.is_counted THEN j.not_counted_reason
            WHEN c.is_gone THEN 'withdrawn'
            WHEN j.value IS NULL THEN 'cannot be judged'
            WHEN %(blind)s AND w.not_blind THEN 'not blind' ELSE '' END"""
"""SQL: why a judgment within the selection is excluded; empty for one that is included."""

SCORE = "CASE WHEN cr.is_turned THEN cr.low + cr.high - j.value ELSE j.value END"


def first_judgment(reason: str, selection: Selection) -> str:
    """Return SQL of the reason that includes only an annotator's newest judgment of a candidate and criterion."""
    # Without a second version nothing can be judged twice, and sorting a million judgments for the window is saved.
    if not selection.has_several_versions:
        return reason
    return f"""CASE WHEN {reason} = '' AND row_number() OVER (
        PARTITION BY candidate_id, annotator_id, key, kind, low, high, {reason} = '' ORDER BY id DESC) > 1
        THEN 'judged anew' ELSE {reason} END"""


# The preview counts every judgment of the criteria, so that what was filtered out is shown too: outside the batches
# first, outside the facets next, then the reasons of `WHY_NOT`. The files leave out the first two altogether.
_JUDGED = f"""
WITH criteria AS (
    SELECT *, dense_rank() OVER (ORDER BY key, kind, low, high) AS number FROM ({CRITERIA}) asked),
candidates AS ({{candidates}}),
work AS (
    SELECT a.id, a.not_blind, CASE WHEN b.id = ANY (%(left_out)s::bigint[]) THEN '{ANOTHER_STAGE}'
        WHEN NOT ({IN_BATCHES}) THEN '{ANOTHER_BATCH}' ELSE '' END AS outside
    FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
    WHERE h.batch_id = ANY(%(batch_ids)s)),
judged AS (
    SELECT j.id, j.candidate_id, j.annotator_id, cr.number, cr.key, cr.kind, cr.low, cr.high,
           CASE WHEN w.outside <> '' THEN w.outside WHEN NOT c.is_chosen THEN '{NOT_CHOSEN}'
           ELSE {WHY_NOT} END AS reason
    FROM annotate_judgment j
    JOIN criteria cr ON cr.id = j.criterion_id
    {{joined}} candidates c ON c.id = j.candidate_id
    JOIN work w ON w.id = j.assignment_id
    WHERE j.criterion_id = ANY(%(criterion_ids)s) AND j.candidate_id IS NOT NULL)
"""
_CHOSEN = f"""
    SELECT c.id, NOT {is_judgeable("c", "p")} AS is_gone, {IN_CHOICE} AS is_chosen
    FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE c.dataset_id = ANY(%(dataset_ids)s)"""
_GONE = f"SELECT id, true AS is_gone, true AS is_chosen FROM ({WITHDRAWN}) gone"


def _select_judged(selection: Selection) -> str:
    """Return SQL of the judgments with the reason that excludes each; a set of all candidates asks only for those gone.

    What is joined for nothing costs as much as the rest: a project has a third as many candidates as judgments.
    """
    settings = selection.settings
    if settings.datasets or settings.splits or settings.sources:
        return _JUDGED.format(candidates=_CHOSEN, joined="JOIN")
    return _JUDGED.format(candidates=_GONE, joined="LEFT JOIN")


# Judgments are grouped twice in one pass, by candidate and by annotator, and the groups counted: DISTINCT would sort
# every judgment. They are grouped by the number of their criterion and scale, as texts take longer to compare.
_COUNTS = """
included AS (SELECT candidate_id, annotator_id, number, {reason} AS reason FROM judged),
counted AS (
    SELECT number, reason, candidate_id, annotator_id, count(*) AS n FROM included
    GROUP BY GROUPING SETS ((number, reason, candidate_id), (number, reason, annotator_id))),
summed AS (
    SELECT number, reason, sum(n) FILTER (WHERE annotator_id IS NOT NULL) AS n, count(candidate_id) AS n_candidates,
           count(annotator_id) AS n_annotators, bool_or(m.kind = 'unknown') AS has_unknown
    FROM counted LEFT JOIN projects_membership m ON m.id = annotator_id GROUP BY 1, 2)
SELECT cr.key, cr.kind, cr.low, cr.high, s.reason, s.n, CASE WHEN s.reason = '' THEN s.n_candidates END,
       CASE WHEN s.reason = '' AND NOT s.has_unknown THEN s.n_annotators END
FROM summed s JOIN (SELECT DISTINCT number, key, kind, low, high FROM criteria) cr USING (number)"""
