"""Staged passages, questions, references and candidates: linked to existing rows, then written."""

from typing import Any

from annotate.imports.staging import ByteProgress, count, create, refuse_rows, stage
from annotate.models.conditions import is_counted, is_under_way
from projects.importing import Checked, CheckReport, Warned
from projects.importing.limits import DEFAULT_LIMITS
from projects.importing.questions import UNITED
from projects.models import Project

TABLES = ["passages", "splits", "questions", "references", "candidates", "pairs", "scores"]
EQUALS_MERGED = "A candidate is one of its question's merged references."
ADDS_REFERENCES = "Questions that are in the project get further references."
ADDS_TO_RATED = (
    "Questions that have judgments or are in an open or paused batch get further references; earlier ratings were made "
    "without these."
)


def stage_corpus(cursor: Any, project: Project, checked: Checked, report: CheckReport, progress: ByteProgress) -> bool:
    """Stage and link the rows; return whether the file only adds judgments. Raises FileRefused for contradictions."""
    is_new = _stage_datasets(cursor, project, checked)
    stage(cursor, checked.spool, TABLES, progress)
    # The split of a passage may come on any of its rows, also after its text, and so is in a file by itself.
    cursor.execute("UPDATE staged_passages p SET split = s.split FROM staged_splits s WHERE s.passage = p.key")
    _warn_of_merged(cursor, report)
    create(cursor, "staged_further", "question_id bigint, position bigint, line integer, text text, opinion text")
    # In new datasets there is nothing to compare with.
    if is_new:
        return False
    _link_passages(cursor, checked)
    _link_questions(cursor, checked)
    report.linked = {
        "passages": count(cursor, "staged_passages WHERE is_known"),
        "questions": count(cursor, "staged_questions WHERE is_known"),
    }
    only_judgments = _link_candidates(cursor, checked)
    if not only_judgments:
        _stage_further_references(cursor)
        _refuse_many_references(cursor, checked)
        _warn_of_further_references(cursor, report)
    return only_judgments


def write_corpus(cursor: Any, report: CheckReport, progress: ByteProgress) -> None:
    """Write the staged rows that do not exist yet, parents first, in the order of the file."""
    cursor.execute(
        """INSERT INTO projects_passage (id, dataset_id, external_id, title, text, documents, split)
           SELECT p.id, d.id, p.external_id, p.title, p.text, NULLIF(p.documents, '')::jsonb, p.split
           FROM staged_passages p JOIN staged_datasets d ON d.number = p.dataset WHERE NOT p.is_known ORDER BY p.key"""
    )
    # An existing passage gets a split if it had none. It never changes one: _link_passages has refused that.
    cursor.execute(
        """UPDATE projects_passage p SET split = s.split FROM staged_passages s
           WHERE s.is_known AND s.id = p.id AND s.split <> '' AND p.split = ''"""
    )
    progress.at(0.4)
    cursor.execute(
        """INSERT INTO projects_question (id, dataset_id, passage_id, external_id, text, type, span, entities)
           SELECT q.id, d.id, p.id, q.external_id, q.text, q.type, q.span, q.entities
           FROM staged_questions q JOIN staged_passages p ON p.key = q.passage
           JOIN staged_datasets d ON d.number = p.dataset WHERE NOT q.is_known ORDER BY q.key"""
    )
    progress.at(0.5)
    _write_references(cursor)
    progress.at(0.6)
    cursor.execute(
        """INSERT INTO projects_candidate
               (id, dataset_id, question_id, external_id, text, source, opinion, rank, confidence, metadata)
           SELECT c.id, d.id, q.id, c.external_id, c.text, c.source, c.opinion, c.rank, c.confidence, c.metadata::jsonb
           FROM staged_candidates c JOIN staged_questions q ON q.key = c.question
           JOIN staged_passages p ON p.key = q.passage JOIN staged_datasets d ON d.number = p.dataset
           WHERE NOT c.is_known ORDER BY c.key"""
    )
    cursor.execute(
        """INSERT INTO projects_minimalpair (question_id, candidate_1_id, candidate_2_id, score_1, score_2, phenomenon)
           SELECT q.id, one.id, two.id, m.score_1, m.score_2, m.phenomenon
           FROM staged_pairs m JOIN staged_questions q ON q.key = m.question
           JOIN staged_candidates one ON one.key = m.candidate_1 AND NOT one.is_known
           JOIN staged_candidates two ON two.key = m.candidate_2 ORDER BY one.key"""
    )
    progress.at(0.8)


def list_questions(cursor: Any) -> list[int]:
    """Return the ids of the questions in the file, once they are written."""
    cursor.execute("SELECT id FROM staged_questions")
    return [row[0] for row in cursor.fetchall()]


def analyze_corpus(cursor: Any) -> None:
    """Update the planner's statistics: on a table that was never analysed, the queue's query once took 80 seconds."""
    cursor.execute(
        "ANALYZE projects_dataset, projects_passage, projects_question, projects_reference, projects_candidate"
    )


def _stage_datasets(cursor: Any, project: Project, checked: Checked) -> bool:
    """Stage the datasets; return whether none of them existed before."""
    create(cursor, "staged_datasets", "number integer, name text, id bigint")
    is_new = True
    # By name, as a check and an import that wait for each other's datasets would never end.
    for number, (name, kind) in sorted(enumerate(checked.datasets), key=lambda each: each[1]):
        # A check doesn't lock the project, so an import may have inserted the dataset and not yet committed it: the
        # insertion waits for its end, after which another statement sees the row.
        cursor.execute(
            """INSERT INTO projects_dataset (project_id, name, kind) VALUES (%s, %s, %s)
               ON CONFLICT (project_id, name) DO NOTHING""",
            [project.pk, name, kind],
        )
        is_new = is_new and cursor.rowcount == 1
        cursor.execute(
            """INSERT INTO staged_datasets
               SELECT %s, name, id FROM projects_dataset WHERE project_id = %s AND name = %s""",
            [number, project.pk, name],
        )
    return is_new


def _warn_of_merged(cursor: Any, report: CheckReport) -> None:
    """Warn if merging references makes a candidate one of its question's references: people would see it twice."""
    if not any(warned.reason == UNITED for warned in report.warnings):
        return
    cursor.execute(
        """SELECT count(DISTINCT c.key), (array_agg(DISTINCT c.line ORDER BY c.line))[1:5] FROM staged_candidates c
           JOIN staged_references r ON r.question = c.question AND r.text = c.text"""
    )
    n, lines = cursor.fetchone()
    if n and not any(warned.reason == EQUALS_MERGED for warned in report.warnings):
        report.warnings += (Warned(EQUALS_MERGED, n, tuple(lines), report.unit),)


def _link_passages(cursor: Any, checked: Checked) -> None:
    cursor.execute("UPDATE staged_passages s SET dataset_id = d.id FROM staged_datasets d WHERE d.number = s.dataset")
    cursor.execute("ANALYZE staged_passages")
    found = "projects_passage p ON p.dataset_id = s.dataset_id AND p.external_id = s.external_id"
    differs = f"""SELECT s.key, s.line, format('the passage “%%s” has a different text in the project',
                                               left(s.external_id, 60)) AS reason
                  FROM staged_passages s JOIN {found} WHERE s.is_given AND (p.text <> s.text
                      OR coalesce(p.documents, '[]') <> coalesce(NULLIF(s.documents, '')::jsonb, '[]'))"""
    _refuse(cursor, checked, "passage", differs, _ROWS_OF_PASSAGES)
    _set_known(cursor, "staged_passages", f"SELECT s.key, p.id FROM staged_passages s JOIN {found}")
    # A passage without an id in the file is the one with the same text, whatever its id in the project. It is found by
    # the index on the hash of the text; the texts themselves are compared as well, because hashes can collide.
    _set_known(
        cursor,
        "staged_passages",
        """SELECT s.key, min(p.id) AS id FROM staged_passages s
           JOIN projects_passage p ON p.dataset_id = s.dataset_id AND md5(p.text) = md5(s.text) AND p.text = s.text
           WHERE NOT s.has_id AND NOT s.is_known AND s.documents = '' AND s.text <> '' AND p.documents IS NULL
           GROUP BY s.key""",
    )
    differs = """SELECT s.key, s.line, format('the passage “%%s” is in “%%s” here and in “%%s” in the project',
                        left(s.external_id, 60), s.split, p.split) AS reason
                 FROM staged_passages s JOIN projects_passage p ON p.id = s.id
                 WHERE s.is_known AND s.split <> '' AND p.split <> '' AND s.split <> p.split"""
    _refuse(cursor, checked, "split", differs, _ROWS_OF_PASSAGES)


def _link_questions(cursor: Any, checked: Checked) -> None:
    _set_parent(cursor, "staged_questions", "passage", "staged_passages")
    found = "projects_question q ON q.dataset_id = s.dataset_id AND q.external_id = s.external_id"
    differs = f"""SELECT s.key, s.line,
                         format('the question “%%s” has a different text or another passage in the project',
                                left(s.external_id, 60)) AS reason
                  FROM staged_questions s JOIN {found} WHERE q.text <> s.text OR q.passage_id <> s.parent_id"""
    _refuse(cursor, checked, "question", differs, _ROWS_OF_QUESTIONS)
    _set_known(cursor, "staged_questions", f"SELECT s.key, q.id FROM staged_questions s JOIN {found}")
    _set_known(
        cursor,
        "staged_questions",
        """SELECT s.key, min(q.id) AS id FROM staged_questions s
           JOIN projects_question q ON q.passage_id = s.parent_id AND q.text = s.text
           WHERE NOT s.has_id AND NOT s.is_known GROUP BY s.key""",
    )


def _link_candidates(cursor: Any, checked: Checked) -> bool:
    """Link candidates. Existing ones are refused, unless all exist, are unchanged, and come with judgments."""
    _set_parent(cursor, "staged_candidates", "question", "staged_questions")
    _set_known(
        cursor,
        "staged_candidates",
        """SELECT s.key, c.id FROM staged_candidates s
           JOIN projects_candidate c ON c.dataset_id = s.dataset_id AND c.external_id = s.external_id""",
    )
    _set_known(
        cursor,
        "staged_candidates",
        """SELECT s.key, min(c.id) AS id FROM staged_candidates s
           JOIN projects_candidate c ON c.question_id = s.parent_id AND c.text = s.text AND c.source = s.source
               AND c.rank IS NOT DISTINCT FROM s.rank
           WHERE NOT s.has_id AND NOT s.is_known GROUP BY s.key""",
    )
    known = count(cursor, "staged_candidates WHERE is_known")
    if not known:
        return False
    only_judgments = known == count(cursor, "staged_candidates") and count(cursor, "staged_scores") > 0
    where = "WHERE s.is_known"
    reason = _KNOWN
    if only_judgments:
        where += " AND (c.text <> s.text OR c.question_id <> s.parent_id)"
        reason = (
            "format('the candidate “%%s” has a different text or question in the project', left(c.external_id, 60))"
        )
    refuse_rows(
        cursor,
        checked,
        "candidate",
        f"""SELECT s.line, {reason} AS reason
            FROM staged_candidates s JOIN projects_candidate c ON c.id = s.id {where}""",
    )
    return only_judgments


# Without the candidate's id, so that a whole file of them is one error with its lines.
_KNOWN = """CASE WHEN c.text = s.text THEN 'the candidate is already in the project' ELSE
    'the candidate is already in the project with another text, and stored texts never change; '
    || 'withdraw it there and give the corrected text another ID' END"""

_ROWS_OF_PASSAGES = """SELECT q.passage AS key, c.line
                       FROM staged_candidates c JOIN staged_questions q ON q.key = c.question"""
_ROWS_OF_QUESTIONS = "SELECT question AS key, line FROM staged_candidates"


def _refuse(cursor: Any, checked: Checked, column: str, differs: str, rows: str) -> None:
    """Refuse staged rows of (key, line, reason); `rows` selects the key and the line of each candidate below one."""
    all_rows = f"""SELECT line, reason FROM ({differs}) found
                   UNION SELECT each.line, found.reason FROM ({differs}) found JOIN ({rows}) each USING (key)"""
    refuse_rows(cursor, checked, column, differs, all_rows=all_rows)


def _set_known(cursor: Any, table: str, found: str) -> None:
    """Give staged rows the ids of the existing rows they match; `found` selects (key, id)."""
    cursor.execute(f"UPDATE {table} t SET id = found.id, is_known = true FROM ({found}) found WHERE found.key = t.key")


def _set_parent(cursor: Any, table: str, column: str, parents: str) -> None:
    """Give staged rows the ids of their dataset and parent, once these are known, so that later joins are simple."""
    cursor.execute(f"ANALYZE {parents}")
    cursor.execute(
        f"UPDATE {table} t SET dataset_id = p.dataset_id, parent_id = p.id FROM {parents} p WHERE p.key = t.{column}"
    )
    cursor.execute(f"ANALYZE {table}")


def _stage_further_references(cursor: Any) -> None:
    """Stage the references that existing questions get, after those that they have; a text that is there is skipped."""
    cursor.execute(
        """INSERT INTO staged_further
           SELECT q.id, last.position + row_number() OVER (PARTITION BY q.id ORDER BY r.position), r.line, r.text,
                  r.opinion
           FROM staged_references r JOIN staged_questions q ON q.key = r.question
           CROSS JOIN LATERAL (SELECT coalesce(max(x.position), -1) AS position FROM projects_reference x
                               WHERE x.question_id = q.id) last
           WHERE q.is_known AND NOT EXISTS (
               SELECT 1 FROM projects_reference x WHERE x.question_id = q.id AND x.text = r.text)"""
    )
    if cursor.rowcount:
        cursor.execute("ANALYZE staged_further")


def _refuse_many_references(cursor: Any, checked: Checked) -> None:
    """Refuse rows that give an existing question more references than a file may give it."""
    most = DEFAULT_LIMITS.list_entries
    refuse_rows(
        cursor,
        checked,
        "reference",
        f"""SELECT line, 'its question would have more than {most:,} references in the project' AS reason
            FROM staged_further WHERE position >= {most}""",
    )


def _warn_of_further_references(cursor: Any, report: CheckReport) -> None:
    """Count the existing questions that get further references, and warn of them: of those in use for themselves."""
    # The project may have changed since the validation.
    report.warnings = tuple(each for each in report.warnings if each.reason not in (ADDS_REFERENCES, ADDS_TO_RATED))
    lines = f"(array_agg(line ORDER BY line){{}})[1:{DEFAULT_LIMITS.lines_shown}]"
    cursor.execute(
        f"""SELECT count(*), {lines.format("")}, count(*) FILTER (WHERE is_rated),
                   {lines.format(" FILTER (WHERE is_rated)")}
            FROM (SELECT f.line, EXISTS (
                      SELECT 1 FROM projects_candidate c JOIN annotate_judgment j ON j.candidate_id = c.id
                      WHERE c.question_id = f.question_id AND {is_counted("j")}) OR EXISTS (
                      SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
                      JOIN annotate_batch b ON b.id = h.batch_id AND {is_under_way("b")}
                      WHERE i.question_id = f.question_id) AS is_rated
                  FROM (SELECT question_id, min(line) AS line FROM staged_further GROUP BY question_id) f) each"""
    )
    n, all_lines, n_rated, rated_lines = cursor.fetchone()
    if n:
        report.linked["questions_with_further_references"] = n
        report.warnings += (Warned(ADDS_REFERENCES, n, tuple(all_lines), report.unit),)
    if n_rated:
        report.linked["rated_questions_with_further_references"] = n_rated
        report.warnings += (Warned(ADDS_TO_RATED, n_rated, tuple(rated_lines), report.unit),)


def _write_references(cursor: Any) -> None:
    cursor.execute(
        """INSERT INTO projects_reference (question_id, position, text, opinion)
           SELECT q.id, r.position, r.text, r.opinion FROM staged_references r
           JOIN staged_questions q ON q.key = r.question WHERE NOT q.is_known ORDER BY r.question, r.position"""
    )
    cursor.execute(
        """INSERT INTO projects_reference (question_id, position, text, opinion)
           SELECT question_id, position, text, opinion FROM staged_further ORDER BY question_id, position"""
    )
