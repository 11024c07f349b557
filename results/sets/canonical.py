"""The files that are read from the database: judgments, candidates, passages and annotators, all of one snapshot.

Whatever else a set holds is derived from these files and `set.json` alone.
"""

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from annotate.models.conditions import is_identified, is_judgeable, is_left_in
from results.exports.columns import AS_CSV, AS_JSON, Columns, Writing, id_columns, name_columns, select_columns
from results.exports.long import judgment_columns, only_collected, work_columns
from results.exports.streaming import CSV, LINES, Statement, write
from results.sets.selecting import (
    ALL_CRITERIA,
    CRITERIA,
    IN_BATCHES,
    IN_CHOICE,
    SCORE,
    WHY_NOT,
    Selection,
    first_judgment,
)

LONG_JSONL, LONG_CSV = "long.jsonl", "long.csv"
CANDIDATES, PASSAGES, ANNOTATORS = "candidates.jsonl", "passages.jsonl", "annotators.csv"
IDENTICAL_ANSWERS, SURVEY_ANSWERS = "identical_answers.csv", "survey_answers.csv"
BUFFER_BYTES = 1024 * 1024

OnRows = Callable[[int], None]
"""Called with the number of rows of a file written so far; it may raise Cancelled."""
OnFileRows = Callable[[str, int], None]
"""The same for several files: it gets the name of the file first."""


def write_first(selection: Selection, folder: Path, on_rows: OnFileRows) -> None:
    """Write the long JSON lines and the candidates, of which other files are made. The caller holds the snapshot."""
    statements = {
        LONG_JSONL: (_select_long(selection, AS_JSON), LINES),
        CANDIDATES: (_select_candidates(selection), LINES),
    }
    _write(statements, selection, folder, on_rows)


def write_rest(selection: Selection, folder: Path, on_rows: OnFileRows) -> None:
    """Write the other files that are read from the database. The caller holds the same snapshot."""
    statements = {
        LONG_CSV: (_select_long(selection, AS_CSV), CSV),
        ANNOTATORS: (_select_annotators(selection), CSV),
    }
    if selection.settings.with_texts:
        statements[PASSAGES] = (_select_passages(selection), LINES)
    if selection.project.rates_identical_once:
        statements[IDENTICAL_ANSWERS] = (_select_identical_answers(selection), CSV)
    if selection.settings.with_surveys:
        statements[SURVEY_ANSWERS] = (_select_survey_answers(selection), CSV)
    _write(statements, selection, folder, on_rows)


def list_surveyed(folder: Path) -> list[str]:
    """Return the pseudonyms of those whose answers to surveys were written."""
    with (folder / SURVEY_ANSWERS).open(encoding="utf-8", newline="") as file:
        return sorted({row["annotator"] for row in csv.DictReader(file)})


def _write(statements: Mapping[str, tuple[str, str]], selection: Selection, folder: Path, on_rows: OnFileRows) -> None:
    parameters = selection.parameters()
    for name, (select, form) in statements.items():
        # `name=name` binds the name of this file; the lambda would otherwise see the loop's last one.
        counting_file = _CountingFile(folder / name, lambda n, name=name: on_rows(name, n))  # type: ignore[misc]
        # The driver writes every row by itself, so the buffer comes before what counts them.
        with io.BufferedWriter(counting_file, BUFFER_BYTES) as file:
            write(Statement(select=select, parameters=parameters, form=form), file)


class _CountingFile(io.FileIO):
    """A new file that reports how many lines were written to it."""

    def __init__(self, path: Path, on_rows: OnRows) -> None:
        super().__init__(path, "w")
        self._on_rows, self._n = on_rows, 0

    def write(self, data: Any) -> int:
        n_bytes = super().write(data)
        self._n += bytes(data[:n_bytes]).count(b"\n")
        self._on_rows(self._n)
        return n_bytes


# As in the long export, candidates and work are MATERIALIZED, so that texts are guarded and times formatted once each
# and not once per judgment. Work that its annotator removed on withdrawing consent is left out, as in every file.
# Nameless annotators sort by the order of their import, as their pseudonyms mean nothing.
def _write_ctes(selection: Selection, of_candidates: Columns | None = None, of_work: Columns | None = None) -> str:
    """Return the CTEs of every statement: the selected criteria, candidates, work and judgments."""
    return f"""
WITH criteria AS ({CRITERIA}),
candidates AS MATERIALIZED (
    SELECT c.id, {_list_more(of_candidates)}
           NOT {is_judgeable("c", "p")} AS is_gone,
           row_number() OVER (ORDER BY d.name COLLATE "C", c.external_id COLLATE "C") AS position
    FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE d.project_id = %(project)s AND {IN_CHOICE}),
work AS MATERIALIZED (
    SELECT a.id, {_list_more(of_work)} a.not_blind,
           row_number() OVER (
               ORDER BY b.number, CASE WHEN {is_identified("m")} THEN m.pseudonym ELSE '' END COLLATE "C", m.id, a.id
           ) AS position
    FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id
    JOIN projects_rubric r ON r.id = b.rubric_id
    JOIN projects_membership m ON m.id = a.annotator_id
    WHERE b.project_id = %(project)s AND {IN_BATCHES}),
judged AS (
    SELECT *, {first_judgment("why_not", selection)} AS reason FROM (
        SELECT j.id, j.assignment_id, j.item_id, j.candidate_id, j.annotator_id, j.criterion_id, j.value, j.is_counted,
               j.not_counted_reason, j.judged_at, cr.key, cr.kind, cr.low, cr.high, {SCORE} AS score,
               {WHY_NOT} AS why_not
        FROM annotate_judgment j
        JOIN criteria cr ON cr.id = j.criterion_id
        JOIN candidates c ON c.id = j.candidate_id
        JOIN work w ON w.id = j.assignment_id
        WHERE {is_left_in("j")}) found)"""


def _list_more(columns: Columns | None) -> str:
    return f"{select_columns(columns)}," if columns else ""


def _select_long(selection: Selection, writing: Writing) -> str:
    settings = selection.settings
    of_candidates, of_work = _candidate_columns(writing), work_columns(writing)
    judgment = {
        "criterion": "cr.key",
        "scale_kind": "cr.kind",
        "scale_low": "cr.low",
        "scale_high": "cr.high",
        "value": "j.value",
        "score": "j.score",
        "enters": writing.truth("j.reason = ''"),
        "left_out_reason": "nullif(j.reason, '')",
        **judgment_columns(writing, with_comments=settings.with_comments),
    }
    # What the columns of a judgment need of its assignment; the time is among the columns of the CSV file.
    shown = {"layout": only_collected("a.layout"), "item_seconds": "a.item_seconds"}
    rest = """
FROM judged j
JOIN candidates c ON c.id = j.candidate_id
JOIN work w ON w.id = j.assignment_id
JOIN criteria cr ON cr.id = j.criterion_id
LEFT JOIN annotate_remark k ON k.assignment_id = j.assignment_id AND k.item_id = j.item_id"""
    order = 'ORDER BY c.position, cr.key COLLATE "C", cr.kind COLLATE "C", cr.low, cr.high, w.position, j.id'
    if writing is AS_JSON:
        # A line begins with its candidate and ends with its assignment. Both are written once and not once per
        # judgment; the braces of the three parts are taken off where they meet.
        ctes = _write_ctes(
            selection,
            {"head": f"rtrim({_write_object(of_candidates)}, '}}')"},
            {
                **shown,
                "submitted_at": of_work["submitted_at"],
                "tail": f"ltrim({_write_object(of_work)}, '{{')",
            },
        )
        line = f"concat_ws(',', c.head, btrim({_write_object(judgment)}, '{{}}'), w.tail)"
        return f"{ctes} SELECT {line} {rest} {order}"
    columns = (name_columns(of_candidates, "c"), select_columns(judgment), name_columns(of_work, "w"))
    ctes = _write_ctes(selection, of_candidates, {**shown, **of_work})
    return f"{ctes} SELECT {', '.join(columns)} {rest} {order}"


def _write_object(columns: Columns) -> str:
    """Return SQL of a JSON object; neither its first nor its last value is an object too."""
    return f"(SELECT row_to_json(line)::text FROM (SELECT {select_columns(columns)}) line)"


def _candidate_columns(writing: Writing) -> Columns:
    return {
        **id_columns(writing),
        "question_type": "q.type",
        "is_withdrawn": writing.truth(f"NOT {is_judgeable('c', 'p')}"),
    }


_TEXTS: Columns = {
    "question": "q.text",
    "entities": "q.entities",
    "span": "nullif(q.span, '')",
    "references": """coalesce((SELECT json_agg(json_build_object('text', f.text, 'opinion', nullif(f.opinion, ''))
        ORDER BY f.position) FROM projects_reference f WHERE f.question_id = q.id), '[]'::json)""",
    "candidate": "c.text",
    "opinion": "nullif(c.opinion, '')",
    "rank": "c.rank",
    "confidence": "c.confidence",
    "metadata": "c.metadata",
}
_ADJUDICATED = f"""coalesce((SELECT json_agg(json_build_object('criterion', cr.key, 'scale_kind', cr.kind,
    'scale_low', cr.low, 'scale_high', cr.high, 'score', {SCORE.replace("j.value", "x.value")}) ORDER BY x.id)
    FROM annotate_adjudication x JOIN criteria cr ON cr.id = x.criterion_id WHERE x.candidate_id = c.id), '[]'::json)"""


def _select_candidates(selection: Selection) -> str:
    """Return the statement of the candidates in the long file, and of all selected minimal pairs."""
    with_texts = selection.settings.with_texts
    texts = {**_TEXTS, "passage_is_text_hash": "p.external_id LIKE 'text-%%'"} if with_texts else {}
    pair = """CASE WHEN mp.id IS NOT NULL THEN json_build_object('candidate_id', c2.external_id,
        'phenomenon', nullif(mp.phenomenon, ''), 'score_1', mp.score_1, 'score_2', mp.score_2) END"""
    columns = {
        **id_columns(AS_JSON),
        "dataset_kind": "d.kind",
        "question_type": "q.type",
        "is_withdrawn": "chosen.is_gone",
        "adjudicated": _ADJUDICATED,
        "minimal_pair": pair,
        "is_second_of_pair": "EXISTS (SELECT FROM projects_minimalpair s WHERE s.candidate_2_id = c.id)",
        **texts,
    }
    return f"""{_write_ctes(selection)}
SELECT row_to_json(line)
FROM candidates chosen
JOIN projects_candidate c ON c.id = chosen.id
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
LEFT JOIN projects_minimalpair mp ON mp.candidate_1_id = c.id
LEFT JOIN projects_candidate c2 ON c2.id = mp.candidate_2_id
CROSS JOIN LATERAL (SELECT {select_columns(columns)}) line
WHERE {_IS_NAMED}
ORDER BY chosen.position"""


# Candidates that the long file names, even withdrawn ones, and pairs that may have scores from their import alone.
_IS_NAMED = """(chosen.id IN (SELECT candidate_id FROM judged)
    OR NOT chosen.is_gone AND EXISTS (
        SELECT FROM projects_minimalpair x WHERE x.candidate_1_id = chosen.id OR x.candidate_2_id = chosen.id))"""


def _select_passages(selection: Selection) -> str:
    columns = {
        "dataset": "d.name",
        "passage_id": "p.external_id",
        "split": "p.split",
        "title": "nullif(p.title, '')",
        "text": "p.text",
        "documents": "p.documents",
    }
    return f"""{_write_ctes(selection)}
SELECT row_to_json(line)
FROM projects_passage p JOIN projects_dataset d ON d.id = p.dataset_id
CROSS JOIN LATERAL (SELECT {select_columns(columns)}) line
WHERE p.id IN (
    SELECT q.passage_id FROM candidates chosen JOIN projects_candidate c ON c.id = chosen.id
    JOIN projects_question q ON q.id = c.question_id WHERE {_IS_NAMED})
ORDER BY d.name COLLATE "C", p.external_id COLLATE "C\""""


def _select_identical_answers(selection: Selection) -> str:
    """Return the statement of the candidates that have the included judgments of an identical one, with its id."""
    return f"""{_write_ctes(selection)},
included AS (SELECT DISTINCT candidate_id AS id FROM judged WHERE reason = ''),
answer AS (
    SELECT chosen.id, chosen.position, coalesce(c.identical_to_id, c.id) AS first_id, included.id AS included_id
    FROM candidates chosen JOIN projects_candidate c ON c.id = chosen.id
    LEFT JOIN included ON included.id = chosen.id WHERE NOT chosen.is_gone),
donor AS (SELECT first_id, min(included_id) AS id FROM answer GROUP BY first_id)
SELECT {select_columns(id_columns(AS_CSV))}, {AS_CSV.text("rated.external_id")} AS rated_as
FROM answer JOIN donor ON donor.first_id = answer.first_id
JOIN projects_candidate rated ON rated.id = donor.id
JOIN projects_candidate c ON c.id = answer.id
JOIN projects_question q ON q.id = c.question_id
JOIN projects_passage p ON p.id = q.passage_id
JOIN projects_dataset d ON d.id = c.dataset_id
WHERE answer.included_id IS NULL
ORDER BY answer.position"""


def _select_annotators(selection: Selection) -> str:
    """Return the statement of each annotator's included judgments on each scale, and of the norms behind z scores.

    Mean and deviation are over everything that they scored in the batches of the set, whatever else was selected, and
    over controls where the settings say so. Controls enter nothing else.
    """
    # Norms are over all criteria and candidates in the batches, as on the pages of scores, so this statement has CTEs
    # of its own; `is_within` tells what the set includes. Sums of floats depend on their order: avg and stddev sort
    # first, so that the same judgments give the same digits.
    return f"""
WITH criteria AS ({ALL_CRITERIA}),
candidates AS (
    SELECT c.id, NOT {is_judgeable("c", "p")} AS is_gone, {IN_CHOICE} AS is_chosen
    FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id JOIN projects_dataset d ON d.id = c.dataset_id
    WHERE d.project_id = %(project)s),
work AS (
    SELECT a.id, a.not_blind FROM annotate_assignment a
    JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
    WHERE b.project_id = %(project)s AND {IN_BATCHES}),
judged AS (
    SELECT *, {first_judgment("why_not", selection)} AS reason FROM (
        SELECT j.id, j.candidate_id, j.annotator_id, cr.key, cr.kind, cr.low, cr.high, {SCORE} AS score,
               c.is_chosen AND cr.is_asked AS is_within, {WHY_NOT} AS why_not
        FROM annotate_judgment j
        JOIN criteria cr ON cr.id = j.criterion_id
        JOIN candidates c ON c.id = j.candidate_id
        JOIN work w ON w.id = j.assignment_id) found),
scored AS (
    SELECT annotator_id, kind, low, high, is_within, true AS is_judgment, score FROM judged WHERE reason = ''
    UNION ALL
    SELECT j.annotator_id, cr.kind, cr.low, cr.high, false, false, {SCORE}
    FROM annotate_judgment j JOIN criteria cr ON cr.id = j.criterion_id JOIN work w ON w.id = j.assignment_id
    WHERE %(with_controls)s AND j.candidate_id IS NULL AND j.is_counted AND j.value IS NOT NULL
      AND NOT (%(blind)s AND w.not_blind))
SELECT m.pseudonym AS annotator, m.kind AS annotator_kind, s.kind AS scale_kind, s.low AS scale_low,
       s.high AS scale_high, count(*) FILTER (WHERE s.is_within) AS n_entering,
       count(*) FILTER (WHERE s.is_judgment) AS n_judgments,
       count(*) FILTER (WHERE NOT s.is_judgment) AS n_controls,
       avg(s.score ORDER BY s.score) AS mean, stddev_samp(s.score ORDER BY s.score) AS sd
FROM scored s JOIN projects_membership m ON m.id = s.annotator_id
WHERE {is_identified("m")}
GROUP BY 1, 2, 3, 4, 5 HAVING bool_or(s.is_within)
ORDER BY m.pseudonym COLLATE "C", s.kind COLLATE "C", s.low, s.high"""


def _select_survey_answers(selection: Selection) -> str:
    """Return the statement of answers to surveys, of the long file's annotators who allowed their publication."""
    answer = "(r.answers ->> q.position::text)"
    return f"""{_write_ctes(selection)}
SELECT m.pseudonym AS annotator, s.moment AS survey, s.version, q.position AS question_number, q.kind,
       {AS_CSV.text("q.text")} AS question, {AS_CSV.text(answer)} AS answer
FROM annotate_surveyresponse r
JOIN annotate_survey s ON s.id = r.survey_id
JOIN annotate_surveyquestion q ON q.survey_id = s.id AND q.is_published
JOIN projects_membership m ON m.id = r.annotator_id
WHERE s.project_id = %(project)s AND r.may_publish AND {answer} IS NOT NULL
  AND r.annotator_id IN (SELECT annotator_id FROM judged)
ORDER BY m.pseudonym COLLATE "C", s.moment DESC, q.position"""
