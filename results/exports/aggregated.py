"""The aggregated export: one row per candidate and criterion, with its aggregated score."""

from annotate.models.conditions import is_counted, is_judgeable
from measures.rubric import NO_ORDER
from results.exports.choices import Choices
from results.exports.columns import (
    AS_CSV,
    id_columns,
    in_batches,
    name_columns,
    select_candidate_rows,
    select_criteria,
    text_columns,
)

SEPARATOR = "|"

ORDER = "CASE WHEN kind = 'unknown' THEN '' ELSE annotator END COLLATE \"C\", annotator_id"
"""SQL: named annotators by pseudonym; nameless ones in the order of their scores in the file they came from."""


def select_aggregated(choices: Choices) -> str:
    """Return the SELECT of the aggregated file: counted judgments of candidates that are not withdrawn, scores
    turned.

    Its numbers are those of `measures.gold_scores`: n, the unrounded mean, the median, and the deviation with n - 1.
    Beside them are the adjudicated score and the gold score: the mean, unless the project's rule puts the
    adjudicated score first. Categories without an order have no mean, median and deviation.
    """
    # Sums of floats depend on their order: sorted, the same judgments give the same digits on any server.
    about = {**id_columns(AS_CSV), **(text_columns(AS_CSV) if choices.with_texts else {})}
    here = select_candidate_rows(about, where=f"AND {is_judgeable('c', 'p')}")
    return f"""
WITH candidates AS MATERIALIZED ({here}),
criteria AS ({number_scales()}),
judgments AS ({select_judgments(choices)}),
adjudicated AS ({select_adjudicated()}),
scored AS (
    SELECT candidate_id, scale, count(value) AS n, count(*) - count(value) AS n_cannot_judge,
           avg(value ORDER BY value) FILTER (WHERE has_order) AS mean,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY value) FILTER (WHERE has_order) AS median,
           stddev_samp(value ORDER BY value) FILTER (WHERE has_order) AS sd,
           string_agg(value::text, '{SEPARATOR}' ORDER BY {ORDER}) AS scores,
           CASE WHEN bool_or(kind = 'unknown') THEN NULL ELSE
               string_agg(annotator, '{SEPARATOR}' ORDER BY {ORDER}) FILTER (WHERE value IS NOT NULL)
           END AS raters
    FROM judgments GROUP BY candidate_id, scale)
SELECT {name_columns(about, "c")}, k.key AS criterion, k.scale_kind, k.low AS scale_low, k.high AS scale_high,
       s.n, s.mean, s.median, s.sd, s.scores, s.raters, s.n_cannot_judge,
       a.value AS adjudicated, {select_gold("s", "a")} AS gold,
       CASE WHEN s.n = 0 THEN 'no mean: nobody could judge it' WHEN NOT k.has_order THEN 'no mean: {NO_ORDER}'
            WHEN s.n = 1 THEN 'no sd: one judgment' END AS undefined
FROM scored s JOIN candidates c ON c.id = s.candidate_id
JOIN (SELECT DISTINCT scale, key, scale_kind, low, high, has_order FROM criteria) k ON k.scale = s.scale
LEFT JOIN adjudicated a ON a.candidate_id = s.candidate_id AND a.scale = s.scale
ORDER BY c.position, s.scale"""


def number_scales() -> str:
    """Return SQL of the criteria, each criterion and scale with a number: points and a slider of the same ends are two.

    Numbers are compared a million times, which takes longer with texts. Their order is that of the file.
    """
    order = 'key COLLATE "C", scale_kind COLLATE "C", low, high'
    return f"SELECT *, dense_rank() OVER (ORDER BY {order}) AS scale FROM ({select_criteria()}) asked"


def select_gold(scored: str, adjudicated: str) -> str:
    """Return SQL of the gold score. Without a judgment there is none, adjudicated or not."""
    # An adjudicated score never makes a gold score alone: a candidate that nobody judged has none.
    wins = f"%(adjudication_wins)s AND {scored}.n > 0 AND {adjudicated}.value IS NOT NULL"
    return f"CASE WHEN {wins} THEN {adjudicated}.value ELSE {scored}.mean END"


def select_adjudicated() -> str:
    """Return SQL of the newest adjudicated score of each candidate and scale, reversed ones turned."""
    return f"""
    SELECT DISTINCT ON (a.candidate_id, cr.scale) a.candidate_id, cr.scale,
           {_turn("a.value")} AS value
    FROM annotate_adjudication a JOIN criteria cr ON cr.id = a.criterion_id
    ORDER BY a.candidate_id, cr.scale, a.id DESC"""


def _turn(value: str) -> str:
    return f"CASE WHEN cr.is_turned THEN cr.low + cr.high - {value} ELSE {value} END"


def select_judgments(choices: Choices) -> str:
    """Return SQL of the counted judgments, reversed scores turned: the newest of each annotator, candidate, scale."""
    # A join that nobody asked for would read the assignment of every judgment.
    only_batches = (
        f"""
        JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
        JOIN annotate_batch b ON b.id = h.batch_id AND {in_batches("b")}"""
        if choices.batches or choices.left_out
        else ""
    )
    # Under several versions of a rubric an annotator may have judged a candidate more than once; DISTINCT ON keeps the
    # first row of its ORDER BY, which is the newest judgment.
    return f"""
    SELECT DISTINCT ON (j.candidate_id, cr.scale, j.annotator_id)
           j.candidate_id, j.annotator_id, m.pseudonym AS annotator, m.kind, cr.scale, cr.has_order,
           {_turn("j.value")} AS value
    FROM annotate_judgment j JOIN criteria cr ON cr.id = j.criterion_id
    JOIN projects_membership m ON m.id = j.annotator_id {only_batches}
    WHERE {is_counted("j")}
    ORDER BY j.candidate_id, cr.scale, j.annotator_id, j.id DESC"""
