"""MOCHA's own JSON, {dataset: {id: {context, question, reference, candidate, score, metadata}}}, one criterion a file.

What MOCHA has no key for is under `metadata.concord`, by the names that the import reads, so that texts, scores and
raters import again. Of judgments it has the scores that count alone: no times, comments, flags or adjudications. The
database writes the entries, one a line; text is exact, as JSON needs no guard. Categories without an order have scores
and raters, but no mean under `score`.
"""

from annotate.models.conditions import is_item, is_judgeable
from results.exports.aggregated import ORDER, number_scales, select_adjudicated, select_gold, select_judgments
from results.exports.choices import Choices

ENTRIES_OPEN = b"{"

_REFERENCE = """CASE WHEN f.texts[1] <> c.text THEN 1 ELSE coalesce(
    (SELECT min(i) FROM generate_subscripts(f.texts, 1) i WHERE f.texts[i] <> c.text), 1) END"""
"""SQL: the number of the question's first reference that is not the candidate itself."""

_BARE = "regexp_replace(c.external_id, '-1$', '')"
"""SQL: the id of a candidate without the ending -1."""

_PARTS = {
    "context": "to_json(p.text)",
    "question": "to_json(q.text)",
    "reference": f"to_json(f.texts[{_REFERENCE}])",
    "candidate": "CASE WHEN mp.id IS NULL THEN to_json(c.text) END",
    "candidate1": "CASE WHEN mp.id IS NOT NULL THEN to_json(c.text) END",
    "candidate2": "to_json(c2.text)",
    "score1": "to_json(mp.score_1)",
    "score2": "to_json(mp.score_2)",
    "score": f"CASE WHEN mp.id IS NULL THEN to_json({select_gold('s', 'a')}) END",
}
_METADATA = {
    "scores": "CASE WHEN mp.id IS NULL THEN s.scores END",
    "raters": "CASE WHEN mp.id IS NULL THEN s.raters END",
    "scores1": "CASE WHEN mp.id IS NOT NULL THEN s.scores END",
    "raters1": "CASE WHEN mp.id IS NOT NULL THEN s.raters END",
    "scores2": "s2.scores",
    "raters2": "s2.raters",
    "source": "to_json(nullif(c.source, ''))",
}
_CONCORD = {
    "dataset_kind": "to_json(d.kind)",
    "split": "to_json(nullif(p.split, ''))",
    # An id made of the text needs no writing: the import makes it again. The percent sign is doubled for the
    # parameters.
    "passage_id": "CASE WHEN p.text <> '' OR p.documents IS NOT NULL OR p.external_id NOT LIKE 'text-%%' "
    "THEN to_json(p.external_id) END",
    "title": "to_json(nullif(p.title, ''))",
    "documents": "p.documents",
    "question_id": "to_json(q.external_id)",
    "question_type": "to_json(nullif(q.type, ''))",
    "entities": "CASE WHEN cardinality(q.entities) > 0 THEN to_json(q.entities) END",
    "span": "to_json(nullif(q.span, ''))",
    "reference_opinion": f"to_json(nullif(f.opinions[{_REFERENCE}], ''))",
    "references": "CASE WHEN cardinality(f.texts) > 1 THEN f.listed END",
    "opinion": "to_json(nullif(c.opinion, ''))",
    "rank": "to_json(c.rank)",
    "confidence": "to_json(c.confidence)",
    "phenomenon": "to_json(nullif(mp.phenomenon, ''))",
    "metadata": "CASE WHEN c.metadata <> '{}' THEN c.metadata END",
}


def select_mocha(choices: Choices) -> str:
    """Return the SELECT of the lines between the outer braces: all candidates that are not withdrawn, judged or not.

    A minimal pair is one entry with candidate1 and candidate2. The reference is the question's first one that is not
    the candidate itself: otherwise a metric would compare the candidate with itself.
    """
    in_batches = (
        f"""AND EXISTS (SELECT FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
                       WHERE i.candidate_id = c.id AND {is_item("i")} AND h.batch_id = ANY (%(batches)s))"""
        if choices.batches
        else ""
    )
    metadata = _write_object({**_METADATA, "concord": _write_object(_CONCORD)})
    entry = _write_object({**_PARTS, "metadata": metadata})
    # Rows are streamed, so no step may collect the file: `before` is the dataset of the previous row, and where it
    # changes the row itself closes one object and opens the next. The second candidate of a minimal pair is written
    # with the first, whose id ends in -1; the pair's key lacks that ending, as in MOCHA's files, unless a candidate has
    # the id without it: a key that occurs twice would lose an entry.
    return f"""
WITH criteria AS ({number_scales()}),
judgments AS ({select_judgments(choices)}),
adjudicated AS ({select_adjudicated()}),
scored AS (
    SELECT candidate_id, scale, count(*) AS n, avg(value ORDER BY value) FILTER (WHERE has_order) AS mean,
           json_agg(value ORDER BY {ORDER}) AS scores,
           CASE WHEN bool_or(kind = 'unknown') THEN NULL ELSE json_agg(annotator ORDER BY {ORDER}) END AS raters
    FROM judgments WHERE value IS NOT NULL GROUP BY candidate_id, scale),
found AS (
    SELECT question_id, array_agg(text ORDER BY position) AS texts, array_agg(opinion ORDER BY position) AS opinions,
           json_agg(CASE WHEN opinion = '' THEN to_json(text)
                         ELSE json_build_object('text', text, 'opinion', opinion) END ORDER BY position) AS listed
    FROM projects_reference GROUP BY question_id),
entries AS (
    SELECT d.name AS dataset, c.external_id AS id,
           CASE WHEN mp.id IS NULL OR EXISTS (SELECT FROM projects_candidate taken
                                              WHERE taken.dataset_id = c.dataset_id AND taken.external_id = {_BARE})
                THEN c.external_id ELSE {_BARE} END AS key,
           {entry} AS entry
    FROM projects_candidate c
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_passage p ON p.id = q.passage_id
    JOIN projects_dataset d ON d.id = c.dataset_id
    LEFT JOIN found f ON f.question_id = q.id
    LEFT JOIN scored s ON s.candidate_id = c.id
    LEFT JOIN adjudicated a ON a.candidate_id = c.id AND a.scale = s.scale
    LEFT JOIN projects_minimalpair mp ON mp.candidate_1_id = c.id
    LEFT JOIN projects_candidate c2 ON c2.id = mp.candidate_2_id
    LEFT JOIN scored s2 ON s2.candidate_id = c2.id
    WHERE d.project_id = %(project)s AND {is_judgeable("c", "p")} {in_batches}
      AND NOT EXISTS (SELECT FROM projects_minimalpair second WHERE second.candidate_2_id = c.id)),
placed AS (
    SELECT *, lag(dataset) OVER (ORDER BY dataset COLLATE "C", id COLLATE "C") AS before FROM entries)
SELECT CASE WHEN before IS NULL THEN to_json(dataset) || ':{{'
            WHEN before <> dataset THEN '}},' || to_json(dataset) || ':{{' ELSE ',' END
       || to_json(key) || ':' || entry
FROM placed ORDER BY dataset COLLATE "C", id COLLATE "C\""""


def close_entries(n_entries: int) -> bytes:
    return b"}}\n" if n_entries else b"}\n"


def _write_object(parts: dict[str, str]) -> str:
    """Return SQL of a JSON object as text, its keys in this order; parts that are NULL are left out."""
    # json_build_object would keep keys without a value, and jsonb would sort them.
    listed = ", ".join(f"'\"{name}\":' || ({sql})::text" for name, sql in parts.items())
    return f"'{{' || concat_ws(',', {listed}) || '}}'"
