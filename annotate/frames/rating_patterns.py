"""Rating patterns, counted in SQL: the input of the agreement measures.

Included everywhere: counted judgments of candidates (never of controls) that are not withdrawn, with reversed criteria
turned, and one judgment per annotator, candidate and criterion key: if an annotator rated a candidate under two
versions of a rubric, the newer judgment.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from annotate.frames.criteria_in_use import CriterionInUse, Scope
from annotate.models.conditions import is_counted, is_judgeable, is_turned
from measures.patterns import Patterns
from projects.models import Membership

BREAKDOWNS = ("dataset", "split", "source", "question_type", "stage", "batch")
BY_COLLECTION = {"stage": "b.kind", "batch": "b.number::text"}
"""SQL: breakdowns by where a judgment was collected. A candidate may have ratings from several batches and stages."""


class RatedUnits(NamedTuple):
    """The number of candidates in one part of the data that received exactly these ratings."""

    dataset: str
    split: str
    source: str
    question_type: str
    collection: str
    ratings: list[float]
    n_units: int
    passages: list[int] | None
    """The passage of each candidate, as its position in the byte order of dataset and passage id.

    The files of a judgment set are sorted in that order too, so that a resample drawn from them is the same.
    """


class RatedBy(NamedTuple):
    """An annotator who rated candidates in one part of the data."""

    dataset: str
    split: str
    source: str
    question_type: str
    collection: str
    annotator_id: int
    kind: str
    has_pairs: bool


@dataclass(frozen=True)
class Ratings:
    """The ratings in a scope, as patterns; all breakdowns of one `Ratings` come from one statement, and so agree."""

    units: list[RatedUnits] = field(default_factory=list)
    annotators: list[RatedBy] = field(default_factory=list)

    @property
    def kinds(self) -> set[str]:
        return {annotator.kind for annotator in self.annotators}

    @property
    def has_unknown_annotators(self) -> bool:
        return Membership.Kind.UNKNOWN in self.kinds

    def patterns(self) -> Patterns:
        """Return the patterns of all ratings."""
        return _make_patterns(self.units, self.annotators)

    def patterns_by(self, name: str) -> dict[str, Patterns]:
        """Return the patterns by value of a breakdown; stage and batch need `fetch_rating_patterns(by=…)`."""
        read_part = _get_part_reader(name)
        # Batches are named by their numbers: sorted by length first, 9 comes before 10.
        names = sorted(
            {read_part(row) for row in self.units}, key=lambda each: (len(each) if name == "batch" else 0, each)
        )
        return {
            each: _make_patterns(
                [row for row in self.units if read_part(row) == each],
                [row for row in self.annotators if read_part(row) == each],
            )
            for each in names
        }


def fetch_rating_patterns(scope: Scope, *, by_passage: bool = False, by: str = "") -> Ratings:
    """Return the rating patterns of a scope, counted in one statement.

    With `by_passage` each pattern lists the passages of its candidates, so that passages can be resampled. With `by`
    stage or batch, the ratings of one candidate are counted separately for each of these, so that the sum of the parts
    is not the whole.
    """
    judgments, parameters = select_counted(scope, collection=BY_COLLECTION.get(by, ""))
    statement = _RATINGS.format(
        judgments=judgments,
        passage="o.place" if by_passage else "NULL::bigint",
        passages="array_agg(passage)" if by_passage else "NULL::bigint[]",
        in_order=_IN_ORDER if by_passage else "",
        collection="collection" if by in BY_COLLECTION else "''",
        each="candidate_id, collection" if by in BY_COLLECTION else "candidate_id",
        places=facet_condition(scope),
    )
    ratings = Ratings()
    with execute_analytic(statement, parameters) as cursor:
        for row in cursor:
            part, units, annotator = row[:5], row[5:8], row[8:]
            if annotator[0] is None:
                ratings.units.append(RatedUnits(*part, *units))
            else:
                ratings.annotators.append(RatedBy(*part, *annotator))
    return ratings


def select_counted(
    scope: Scope,
    *,
    collection: str = "",
    more: str = "",
    only: Sequence[int] | None = None,
    criteria: Sequence[CriterionInUse] = (),
) -> tuple[str, dict[str, Any]]:
    """Return SQL for the counted judgments of a scope, one per annotator and candidate, and its parameters.

    `collection` is an expression over the batch b, `more` further columns over b, the assignment a and the judgment j;
    both are fixed SQL, never input. `only` restricts the candidates to these ids; `criteria` are combined instead of
    the scope's own. Dataset, split, source and question type are not applied here: see `facet_condition`.
    """
    without = scope.left_out
    criteria = criteria or (scope.criterion,)
    # The database holds one counted judgment per annotator, candidate and criterion id, so that only a key with several
    # ids needs DISTINCT ON and its sort. The joins are left out as well where nothing refers to them.
    is_once = any(len(criterion.ids) > 1 for criterion in criteria)
    ids = [pk for criterion in criteria for pk in criterion.ids]
    needs_hit = scope.batch or without or scope.is_blind_only or collection or more
    joins = (_ASSIGNMENT if needs_hit else "") + (_BATCH if collection or more else "")
    statement = _JUDGMENTS.format(
        once="DISTINCT ON (j.candidate_id, j.annotator_id, cr.key)" if is_once else "",
        newest="ORDER BY j.candidate_id, j.annotator_id, cr.key, j.id DESC" if is_once else "",
        criterion=_ONE if len(ids) == 1 else _SEVERAL,
        value=_VALUE_OF_ONE if len(ids) == 1 else _VALUE_OF_SEVERAL,
        collection=f", {collection} AS collection" if collection else "",
        more=f", {more}" if more else "",
        joins=joins if len(ids) == 1 else f"{_CRITERION} {joins}",
        in_batch="AND h.batch_id = %(batch)s" if scope.batch else "",
        in_stage="AND h.batch_id <> ALL(%(without)s)" if without else "",
        blind="AND NOT a.not_blind" if scope.is_blind_only else "",
        only="" if only is None else "AND j.candidate_id = ANY(%(only)s)",
    )
    parameters = {
        "criteria": ids,
        "project": scope.project.pk,
        "batch": scope.batch and scope.batch.pk,
        "without": list(without),
        "only": list(only or ()),
        **{name: getattr(scope, name) for name in _FACETS},
    }
    return statement, parameters


def facet_condition(scope: Scope) -> str:
    """Return SQL: the conditions of a scope on the dataset d, the passage p, the question q and the candidate c."""
    asked = (name for name in _FACETS if getattr(scope, name) is not None)
    return "".join(f" AND {_FACETS[name]} = %({name})s" for name in asked)


@contextmanager
def execute_analytic(statement: str, parameters: Mapping[str, Any]) -> Iterator[CursorWrapper]:
    """Yield the cursor of a statement over many judgments, executed with the settings of FAST."""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(f"{FAST};\n{statement}", parameters)
        yield cursor


WITHDRAWN = """
    SELECT c.id FROM projects_dataset d JOIN projects_candidate c ON c.dataset_id = d.id
    WHERE d.project_id = %(project)s AND c.withdrawn_at IS NOT NULL
    UNION SELECT c.id FROM projects_dataset d JOIN projects_passage p ON p.dataset_id = d.id
    JOIN projects_question q ON q.passage_id = p.id JOIN projects_candidate c ON c.question_id = q.id
    WHERE d.project_id = %(project)s AND p.withdrawn_at IS NOT NULL"""
"""SQL: the candidates of a project that are withdrawn, or whose passage is; indexes hold these few alone."""
IS_NOT_WITHDRAWN = f"j.candidate_id NOT IN ({WITHDRAWN})"
"""SQL: whether the candidate of the judgment j is not withdrawn. Withdrawn ones are few, so that reading those costs
less than joining every judgment with its candidate and passage. NOT IN keeps the judgments in the order in which an
index has them, which a join does not; it asks for a statement in `execute_analytic`, whose memory holds the list."""


FAST = """SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true),
       set_config('random_page_cost', '1.1', true)"""
"""SQL: settings for this transaction alone. Groups fit into memory instead of being sorted on disk, a statement
that runs once is not worth compiling, and an index that has all that is asked is read rather than its table."""


_FACETS = {"dataset": "d.name", "split": "p.split", "source": "c.source", "question_type": "q.type"}


_ASSIGNMENT = "JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id"


_BATCH = " JOIN annotate_batch b ON b.id = h.batch_id"


# Judgments of one criterion come from the index that has their values in the order of candidates, so that they are
# grouped as they are read. That takes a comparison with one id, and no join; whether it is turned is asked once.
_ONE = "j.criterion_id = (%(criteria)s::bigint[])[1]"
_TURN = "(SELECT {} FROM projects_criterion cr WHERE cr.id = (%(criteria)s::bigint[])[1])"
_VALUE_OF_ONE = f"""CASE WHEN {_TURN.format(is_turned("cr"))}
                THEN {_TURN.format("cr.low + cr.high")} - j.value ELSE j.value END"""
_SEVERAL = "j.criterion_id = ANY(%(criteria)s)"
_CRITERION = "JOIN projects_criterion cr ON cr.id = j.criterion_id"
_VALUE_OF_SEVERAL = f"CASE WHEN {is_turned('cr')} THEN cr.low + cr.high - j.value ELSE j.value END"


# DISTINCT ON keeps the newest judgment (the greatest id) of each annotator, candidate and criterion key.
_JUDGMENTS = f"""
    SELECT {{once}} j.candidate_id, j.annotator_id, {{value}} AS value {{collection}} {{more}}
    FROM annotate_judgment j {{joins}}
    WHERE {{criterion}} AND {is_counted("j")}
      AND j.value IS NOT NULL {{in_batch}} {{in_stage}} {{blind}} {{only}}
    {{newest}}
"""


# COLLATE "C" sorts by bytes, as the files of a judgment set are sorted: a seeded resample must draw the same passages
# on every server, whatever its locale.
_IN_ORDER = """
    JOIN (
        SELECT p.id, row_number() OVER (ORDER BY d.name COLLATE "C", p.external_id COLLATE "C") AS place
        FROM projects_passage p JOIN projects_dataset d ON d.id = p.dataset_id WHERE d.project_id = %(project)s
    ) o ON o.id = p.id"""


# Both kinds of row that agreement needs, in one statement and therefore from one snapshot: how many candidates of each
# part of the data received the same ratings, and who rated there. Patterns are few (three raters on five points have
# 35), so that even a million judgments come back as a short list.
#
# `placed` is MATERIALIZED because three parts read it. It numbers the parts (dense_rank), so that the grouping below
# compares one number instead of five texts; `named` gives the texts back at the end.
_RATINGS = f"""
WITH judgments AS ({{judgments}}),
rated AS (
    SELECT {{each}}, array_agg(value ORDER BY value) AS ratings, array_agg(annotator_id) AS annotators
    FROM judgments GROUP BY {{each}}),
placed AS MATERIALIZED (
    SELECT d.name AS dataset, p.split, c.source, q.type AS question_type, {{collection}} AS collection,
           dense_rank() OVER (ORDER BY c.dataset_id, p.split, c.source, q.type, {{collection}}) AS place,
           {{passage}} AS passage, r.ratings, r.annotators
    FROM rated r
    JOIN projects_candidate c ON c.id = r.candidate_id
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    JOIN projects_dataset d ON d.id = c.dataset_id {{in_order}}
    WHERE {is_judgeable("c", "p")} {{places}}),
named AS (
    SELECT place, min(dataset) AS dataset, min(split) AS split, min(source) AS source,
           min(question_type) AS question_type, min(collection) AS collection
    FROM placed GROUP BY place),
counted AS (
    SELECT place, ratings, count(*) AS n_units, {{passages}} AS passages, NULL::bigint AS annotator_id,
           NULL::boolean AS has_pairs
    FROM placed GROUP BY place, ratings
    UNION ALL
    SELECT place, NULL, NULL, NULL, annotator_id, bool_or(n_ratings >= 2)
    FROM (SELECT place, cardinality(ratings) AS n_ratings, unnest(annotators) AS annotator_id FROM placed) one
    GROUP BY place, annotator_id)
SELECT dataset, split, source, question_type, collection, ratings, n_units, passages, annotator_id, m.kind, has_pairs
FROM counted JOIN named USING (place) LEFT JOIN projects_membership m ON m.id = annotator_id
"""


def _make_patterns(units: Iterable[RatedUnits], annotators: Iterable[RatedBy]) -> Patterns:
    patterns = Patterns.from_rows((row.ratings, row.passages or row.n_units) for row in units)
    everyone = list(annotators)
    # Who gave imported scores without names is unknown, so the number of annotators is unknown as well.
    if any(row.kind == Membership.Kind.UNKNOWN for row in everyone):
        return patterns.with_annotators(None)
    return patterns.with_annotators(
        len({row.annotator_id for row in everyone if row.has_pairs}), len({row.annotator_id for row in everyone})
    )


def _get_part_reader(name: str) -> Callable[[Any], str]:
    if name not in BREAKDOWNS:
        raise ValueError(f"“{name}” is none of {', '.join(BREAKDOWNS)}.")
    return lambda row: str(getattr(row, "collection" if name in BY_COLLECTION else name))
