"""Leaving out what an imported file can't add: repeated judgments, those that the project has, and impossible ones."""

from typing import Any

from annotate.imports.staging import count, create, refuse_rows
from annotate.models.conditions import is_counted, is_identified, is_judgeable, is_member, rates_here
from projects.importing import Checked, CheckReport
from projects.importing.check_report import LINE
from projects.models import Project

NOT_IMPORTED = {
    "already_counted": "judgments that the project already has",
    "not_counted": "judgments that the project has but doesn’t count",
    "withdrawn": "judgments of withdrawn candidates",
    "of_removed": "judgments of removed annotators",
}
"""Why a judgment of a file is left out, by the key in the report of the import."""
MOST_ANNOTATORS = 32_767
"""Of one candidate in a file: the most that a batch can store as its number of judgments."""


def skip_known(cursor: Any, project: Project, checked: Checked, report: CheckReport, *, locks: bool) -> int:
    """Drop judgments that can't count or that the project has; return how many are left. Raises FileRefused.

    With `locks`, the imported annotators named in the file are locked, so that none is removed or restored until the
    transaction ends.
    """
    cursor.execute("ANALYZE staged_values")
    _find_annotators(cursor, project, checked)
    _refuse_repeated(cursor, checked, report)
    if locks:
        cursor.execute(
            """SELECT id FROM projects_membership WHERE id IN (SELECT annotator_id FROM staged_values)
               AND kind IN ('imported', 'unknown') ORDER BY id FOR NO KEY UPDATE"""
        )
    # Before the next check: an export has people's own judgments too, and importing it again must not fail because of
    # those that are already counted.
    _skip_counted(cursor, checked, report)
    _skip_uncounted(cursor, checked, report)
    refuse_rows(
        cursor,
        checked,
        "annotator",
        f"""SELECT v.line, format('“%%s” is a person of this project, whose judgments come from their own work only',
                  v.annotator) AS reason
           FROM staged_values v JOIN projects_membership m ON m.id = v.annotator_id
           WHERE {rates_here("m")}""",
    )
    _skip_impossible(cursor, report)
    _refuse_many_annotators(cursor, checked)
    cursor.execute("SELECT count(*) FROM staged_values")
    left = int(cursor.fetchone()[0])
    report.judgments = left
    return left


def explain_nothing_left(report: CheckReport) -> str:
    found = [f"{n:,} {NOT_IMPORTED[kind]}" for kind, n in report.skipped.items() if kind in NOT_IMPORTED]
    if set(report.skipped) & set(NOT_IMPORTED) <= {"already_counted"}:
        return "All judgments in this file are already counted. Nothing is left to import."
    return f"Nothing is left to import: the file has {', '.join(found)}."


def _find_annotators(cursor: Any, project: Project, checked: Checked) -> None:
    """Find the members that the file names; refuse names that belong to a person and to an unknown annotator."""
    # A placeholder and an imported annotator of the same name must not become one: a placeholder is not a person.
    refuse_rows(
        cursor,
        checked,
        "annotator",
        f"""SELECT v.line, format('“%%s” names both a person and an unknown annotator; use another name',
                  left(v.annotator, 60)) AS reason
           FROM staged_values v JOIN projects_membership m ON m.project_id = %s AND m.imported_name = v.annotator
           WHERE (NOT {is_identified("m")}) <> (v.annotator IN (SELECT name FROM staged_slots))""",
        [project.pk],
    )
    # A name is that of an imported annotator, or the pseudonym under which an export lists them. An imported name comes
    # first, so that no row matches two members.
    cursor.execute(
        """UPDATE staged_values v SET annotator_id = m.id FROM projects_membership m
           WHERE m.project_id = %s AND (m.imported_name = v.annotator OR (m.pseudonym = v.annotator AND NOT EXISTS (
               SELECT 1 FROM projects_membership n
               WHERE n.project_id = m.project_id AND n.imported_name = v.annotator)))""",
        [project.pk],
    )


def _refuse_repeated(cursor: Any, checked: Checked, report: CheckReport) -> None:
    """Drop repeated judgments of one annotator in the file; different values are refused unless the options choose.

    An annotator whom the project knows may be in the file under both of their names.
    """
    # Temporary rows have no key of their own; ctid, their physical address, is stable within this transaction.
    direction = "DESC" if checked.options.repeated == "last" else "ASC"
    nulls = "LAST" if checked.options.repeated == "last" else "FIRST"
    placed = f"""SELECT ctid AS place, line, value, first_value(line) OVER same AS first_line,
                        first_value(value) OVER same AS first_value, row_number() OVER same AS number
                 FROM staged_values WINDOW same AS (
                     PARTITION BY candidate_id, criterion, annotator_id,
                                  CASE WHEN annotator_id IS NULL THEN annotator END
                     ORDER BY judged_at {direction} NULLS {nulls}, line {direction})"""
    if not checked.options.repeated:
        where = "on line" if checked.report.unit == LINE else f"in {checked.report.unit}"
        refuse_rows(
            cursor,
            checked,
            "value",
            f"""SELECT line,
                       format('the same annotator gave this candidate another value {where} %%s; choose which counts',
                              first_line) AS reason
                FROM ({placed}) placed WHERE value <> first_value""",
        )
    cursor.execute(f"DELETE FROM staged_values WHERE ctid IN (SELECT place FROM ({placed}) placed WHERE number > 1)")
    if cursor.rowcount:
        report.skipped["repeated"] = cursor.rowcount


def _skip_counted(cursor: Any, checked: Checked, report: CheckReport) -> None:
    """Drop judgments that the project has and counts, and refuse those with another value."""
    counted = f"""annotate_judgment j JOIN projects_criterion k ON k.id = j.criterion_id
                 WHERE {is_counted("j")} AND j.annotator_id = v.annotator_id AND j.candidate_id = v.candidate_id
                   AND k.key = v.criterion"""
    refuse_rows(
        cursor,
        checked,
        "value",
        f"""SELECT v.line, format('“%%s” has already given this candidate %%s for %%s, not %%s', left(v.annotator, 60),
                   coalesce(j.value::text, 'no value'), v.criterion, v.value) AS reason
            FROM staged_values v JOIN LATERAL (SELECT j.value FROM {counted}) j ON true
            WHERE j.value IS DISTINCT FROM v.value""",
    )
    cursor.execute(f"DELETE FROM staged_values v WHERE EXISTS (SELECT 1 FROM {counted})")
    if cursor.rowcount:
        report.skipped["already_counted"] = cursor.rowcount


def _skip_uncounted(cursor: Any, checked: Checked, report: CheckReport) -> None:
    """Drop judgments that the project has but does not count, and refuse those with another value.

    Managers removed them or set them aside, and would have to decide again if the same file counted them.
    """
    create(
        cursor, "staged_uncounted", "annotator_id bigint, candidate_id bigint, criterion text, value float8, why text"
    )
    cursor.execute(
        f"""INSERT INTO staged_uncounted
            SELECT j.annotator_id, j.candidate_id, k.key, j.value, j.not_counted_reason
            FROM annotate_assignment a JOIN annotate_judgment j ON j.assignment_id = a.id
            JOIN projects_criterion k ON k.id = j.criterion_id
            WHERE a.annotator_id IN (SELECT annotator_id FROM staged_values) AND j.candidate_id IS NOT NULL
              AND NOT {is_counted("j")}"""
    )
    cursor.execute("ANALYZE staged_uncounted")
    same = """u.annotator_id = v.annotator_id AND u.candidate_id = v.candidate_id AND u.criterion = v.criterion"""
    cursor.execute(
        f"""DELETE FROM staged_values v WHERE EXISTS (
                SELECT 1 FROM staged_uncounted u WHERE {same} AND u.value IS NOT DISTINCT FROM v.value)"""
    )
    if cursor.rowcount:
        report.skipped["not_counted"] = cursor.rowcount
    refuse_rows(
        cursor,
        checked,
        "value",
        f"""SELECT v.line, format('“%%s” has already given this candidate %%s for %%s, not %%s; that judgment doesn''t '
                   'count (%%s)', left(v.annotator, 60), coalesce(u.value::text, 'no value'), v.criterion, v.value,
                   u.why) AS reason
            FROM staged_values v JOIN LATERAL (
                SELECT u.value, u.why FROM staged_uncounted u WHERE {same} ORDER BY 1, 2 LIMIT 1) u ON true
            JOIN projects_membership m ON m.id = v.annotator_id AND NOT {rates_here("m")}""",
    )


def _skip_impossible(cursor: Any, report: CheckReport) -> None:
    """Drop new judgments of withdrawn candidates and of removed annotators: they could not count."""
    cursor.execute(
        f"""DELETE FROM staged_values v USING projects_candidate c
            JOIN projects_question q ON q.id = c.question_id JOIN projects_passage p ON p.id = q.passage_id
            WHERE c.id = v.candidate_id AND NOT {is_judgeable("c", "p")}"""
    )
    if cursor.rowcount:
        report.skipped["withdrawn"] = cursor.rowcount
    cursor.execute(
        f"""DELETE FROM staged_values v USING projects_membership m
            WHERE m.id = v.annotator_id AND NOT {is_member("m")}"""
    )
    if cursor.rowcount:
        report.skipped["of_removed"] = cursor.rowcount


def _refuse_many_annotators(cursor: Any, checked: Checked) -> None:
    many = f"SELECT candidate_id FROM staged_values GROUP BY candidate_id HAVING count(*) > {MOST_ANNOTATORS}"
    if not count(cursor, f"({many}) many"):
        return  # nearly always, and then nothing has to be sorted
    refuse_rows(
        cursor,
        checked,
        "annotator",
        f"""SELECT line, format('“%%s” has judgments of more than {MOST_ANNOTATORS:,} annotators',
                                left(external_id, 60)) AS reason
            FROM (SELECT v.line, c.external_id,
                         dense_rank() OVER (PARTITION BY v.candidate_id ORDER BY v.annotator) AS place
                  FROM staged_values v JOIN projects_candidate c ON c.id = v.candidate_id
                  WHERE v.candidate_id IN ({many})) each
            WHERE place > {MOST_ANNOTATORS}""",
    )
