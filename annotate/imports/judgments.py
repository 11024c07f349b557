"""Staged judgments written as an imported batch: closed, unpaid, by annotators who can't sign in."""

from typing import Any

from django.utils import timezone

from annotate.imports import full_hits
from annotate.imports.staging import ByteProgress, create, refuse_rows, stage
from annotate.models import Batch
from measures.rubric import CriterionSpec, Level, ScaleKind
from measures.rubric_presets import CORRECTNESS
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.importing import Checked, CriterionColumn
from projects.importing.check_report import FileRefused, Problem
from projects.importing.judgments import BETWEEN
from projects.models import Candidate, Criterion, Membership, Project, Rubric
from projects.rubric import rubrics

SLOT_NAME = "Unknown annotator {}"
"""The name of the placeholder for the n-th score of a list that names no annotators."""
_STAGED = """line integer, candidate_id bigint, annotator text, criterion text, value float8, judged_at timestamptz,
             annotator_id bigint, criterion_id bigint"""


def fetch_known_criteria(project: Project) -> dict[str, CriterionColumn]:
    """Return the project's criteria by key, from the latest version that has them, own rubrics before imported ones."""
    found: dict[str, CriterionColumn] = {}
    for criterion in Criterion.objects.filter(rubric__project=project).order_by(
        "rubric__is_imported", "-rubric__version", "position"
    ):
        found.setdefault(
            criterion.key,
            CriterionColumn(
                key=criterion.key,
                low=criterion.low,
                high=criterion.high,
                kind=ScaleKind(criterion.kind),
                is_nominal=criterion.level == Level.NOMINAL,
            ),
        )
    return found


def check_scales(project: Project, checked: Checked) -> None:
    """Raise Refused if a key has another scale in the project, because results over both would be meaningless."""
    known = fetch_known_criteria(project)
    for each in checked.criteria:
        there = known.get(each.key)
        if there is not None and (there.low, there.high) != (each.low, each.high):
            message = (
                "The criterion “%(key)s” goes from %(there_low)s to %(there_high)s in this project, "
                "not from %(low)s to %(high)s. Use another key for these judgments."
            )
            scales = {"there_low": there.low, "there_high": there.high, "low": each.low, "high": each.high}
            raise Refused(message % {"key": each.key, **scales})
        if there is not None and each.is_nominal and not there.is_nominal:
            raise Refused(
                f"The criterion “{each.key}” isn't nominal in this project. Change its level in the rubric, or use "
                "another key for these judgments."
            )


def stage_scores(cursor: Any) -> None:
    """Stage judgments that came with candidates."""
    create(cursor, "staged_values", _STAGED)
    cursor.execute(
        """INSERT INTO staged_values (line, candidate_id, annotator, criterion, value)
           SELECT s.line, c.id, CASE WHEN s.slot = 0 THEN s.annotator ELSE format(%s, s.slot) END, s.criterion, s.value
           FROM staged_scores s JOIN staged_candidates c ON c.key = s.candidate""",
        [SLOT_NAME.format("%s")],
    )
    create(cursor, "staged_slots", "name text")
    _stage_slots(cursor, "staged_scores")


def stage_judgments(cursor: Any, project: Project, checked: Checked, progress: ByteProgress) -> None:
    """Stage judgments from a file of their own, joined to the project's candidates by id. Raises FileRefused."""
    if not Candidate.objects.in_project(project).exists():
        reason = "the project has no candidates yet; import these first, and then their judgments"
        raise FileRefused(checked.name, [Problem(None, "", reason)])
    stage(cursor, checked.spool, ["judgments"], progress)
    _find_targets(cursor, project)
    hint = _explain_texts(cursor, project)
    refuse_rows(
        cursor,
        checked,
        "candidate_id",
        f"""SELECT DISTINCT s.line, CASE
                  WHEN t.n = 0 AND t.has_texts
                  THEN format('no candidate “%%s” of this question and source in the project; for IDs, ignore the '
                              'column of questions', left(t.name, 60))
                  WHEN t.n = 0 THEN format('no candidate “%%s” in the project{hint}', left(t.name, 60))
                  WHEN t.has_texts
                  THEN format('“%%s” names %%s candidates of this question and source; give candidates IDs',
                              left(t.name, 60), t.n)
                  ELSE format('“%%s” is in %%s datasets; add a column that names the dataset', left(t.name, 60), t.n)
                  END AS reason
           FROM staged_judgments s JOIN staged_targets t USING (dataset, external_id) WHERE t.n <> 1""",
    )
    create(cursor, "staged_values", _STAGED)
    cursor.execute(
        """INSERT INTO staged_values (line, candidate_id, annotator, criterion, value, judged_at)
           SELECT s.line, t.id, CASE WHEN s.slot = 0 THEN s.annotator ELSE format(%s, s.slot) END,
                  s.criterion, s.value, s.judged_at
           FROM staged_judgments s JOIN staged_targets t USING (dataset, external_id)""",
        [SLOT_NAME.format("%s")],
    )
    create(cursor, "staged_slots", "name text")
    _stage_slots(cursor, "staged_judgments")


def _find_targets(cursor: Any, project: Project) -> None:
    """Find the candidate of each ID that the file names; beside a question, of each ID or text that belongs to it."""
    # One row for each, with the number of candidates that it names: without a dataset, an ID may belong to candidates
    # of several datasets. What the file tells of a candidate is one text, with a character between its parts that no
    # text has. An answer such as “2” may be the ID of a candidate of another question, so an ID counts by itself only
    # where no question is given.
    create(
        cursor,
        "staged_targets",
        """dataset text, external_id text, name text, question text, source text, has_texts boolean, n integer,
           id bigint""",
    )
    cursor.execute(
        """INSERT INTO staged_targets
           SELECT s.dataset, s.external_id, s.name, split_part(s.external_id, %(between)s, 2),
                  split_part(s.external_id, %(between)s, 3), s.name <> s.external_id,
                  count(d.id), min(c.id) FILTER (WHERE d.id IS NOT NULL)
           FROM (SELECT DISTINCT dataset, external_id, split_part(external_id, %(between)s, 1) AS name
                 FROM staged_judgments) s
           LEFT JOIN (projects_candidate c
                      JOIN projects_dataset d ON d.id = c.dataset_id AND d.project_id = %(project)s)
               ON c.external_id = s.external_id AND (s.dataset = '' OR d.name = s.dataset)
           GROUP BY s.dataset, s.external_id, s.name""",
        {"project": project.pk, "between": BETWEEN},
    )
    cursor.execute("ANALYZE staged_targets")
    cursor.execute(
        """UPDATE staged_targets t SET n = found.n, id = found.id
           FROM (SELECT t.dataset, t.external_id, count(*) AS n, min(c.id) AS id
                 FROM staged_targets t
                 JOIN projects_dataset d ON d.project_id = %s AND (t.dataset = '' OR d.name = t.dataset)
                 JOIN projects_question q ON q.dataset_id = d.id AND q.text = t.question
                 JOIN projects_candidate c ON c.question_id = q.id AND t.name IN (c.text, c.external_id)
                                           AND (t.source = '' OR c.source = t.source)
                 WHERE t.has_texts
                 GROUP BY t.dataset, t.external_id) found
           WHERE t.dataset = found.dataset AND t.external_id = found.external_id""",
        [project.pk],
    )


def _explain_texts(cursor: Any, project: Project) -> str:
    """Return what to do where the column of ids has texts of candidates, as in a table of answers and their ratings."""
    cursor.execute("SELECT name FROM staged_targets WHERE n = 0 AND NOT has_texts ORDER BY name LIMIT 1")
    row = cursor.fetchone()
    if row is None or not Candidate.objects.in_project(project).filter(text=row[0]).exists():
        return ""
    return "; the column seems to contain texts: map the column of questions too"


def write_judgments(
    cursor: Any, project: Project, checked: Checked, actor: Membership | None, progress: ByteProgress
) -> Batch:
    """Write the staged judgments as one imported batch; the caller has locked the project."""
    _write_annotators(cursor, project)
    rubric = _choose_rubric(project, checked)
    cursor.execute(
        """UPDATE staged_values v SET criterion_id = k.id FROM projects_criterion k
           WHERE k.rubric_id = %s AND k.key = v.criterion""",
        [rubric.pk],
    )
    batch = _create_batch(cursor, project, checked, rubric, actor)
    full_hits.write(cursor, batch)
    # Last, since whoever withdraws a candidate waits for it: what was withdrawn while the rows were written.
    lock_in_project(AdvisoryLock.WITHDRAWALS, project.pk)
    full_hits.retire_withdrawn(cursor, batch)
    progress.at(0.95)
    cursor.execute("ANALYZE annotate_batch, annotate_hit, annotate_item, annotate_assignment, annotate_judgment")
    return batch


def _stage_slots(cursor: Any, table: str) -> None:
    cursor.execute(
        f"INSERT INTO staged_slots SELECT DISTINCT format(%s, slot) FROM {table} WHERE slot > 0",
        [SLOT_NAME.format("%s")],
    )


def _write_annotators(cursor: Any, project: Project) -> None:
    """Create memberships for annotators that the project does not have yet, and give the staged rows their ids."""
    cursor.execute(
        """SELECT DISTINCT v.annotator, s.name IS NOT NULL FROM staged_values v
           LEFT JOIN staged_slots s ON s.name = v.annotator WHERE v.annotator_id IS NULL ORDER BY v.annotator"""
    )
    Membership.objects.bulk_create(
        Membership(
            project=project,
            kind=Membership.Kind.UNKNOWN if is_slot else Membership.Kind.IMPORTED,
            imported_name=name,
            role=Membership.Role.ANNOTATOR,
            is_annotator=True,
        )
        for name, is_slot in cursor.fetchall()
    )
    cursor.execute(
        """UPDATE staged_values v SET annotator_id = m.id FROM projects_membership m
           WHERE v.annotator_id IS NULL AND m.project_id = %s AND m.imported_name = v.annotator""",
        [project.pk],
    )


def _choose_rubric(project: Project, checked: Checked) -> Rubric:
    """Return the latest rubric that has all the criteria, or a new one for this import."""
    wanted = {(each.key, each.low, each.high) for each in checked.criteria}
    for rubric in project.rubrics.order_by("is_imported", "-version").prefetch_related("criteria"):
        if wanted <= {(criterion.key, criterion.low, criterion.high) for criterion in rubric.criteria.all()}:
            rubrics.freeze(rubric)
            return rubric
    specs = [_describe_criterion(project, each) for each in checked.criteria]
    name = f"Imported from {checked.name}"[:120]
    rubric = rubrics.create_rubric(project, name=name, preset=Rubric.Preset.CUSTOM, criteria=specs, is_imported=True)
    rubrics.freeze(rubric)
    return rubric


def _describe_criterion(project: Project, column: CriterionColumn) -> CriterionSpec:
    known = Criterion.objects.filter(rubric__project=project, key=column.key).order_by("-rubric__version").first()
    if known is not None:
        return rubrics.describe_criterion(known)
    preset = CORRECTNESS.criteria[0]
    if column.key == preset.key and column.scale == preset.scale:
        return preset
    name = column.key.replace("_", " ").replace("-", " ").capitalize()
    level = Level.NOMINAL if column.is_nominal else column.scale.usual_level
    return CriterionSpec(key=column.key, name=name, statement="", scale=column.scale, level=level)


def _create_batch(cursor: Any, project: Project, checked: Checked, rubric: Rubric, actor: Membership | None) -> Batch:
    cursor.execute(
        """SELECT max(n) FROM (
               SELECT count(DISTINCT annotator_id) AS n FROM staged_values GROUP BY candidate_id) each"""
    )
    # The batch's number of judgments is the most that any candidate got: the file plans none.
    most = cursor.fetchone()[0]
    now = timezone.now()
    return Batch.objects.create(
        project=project,
        number=next_number(project, Batch),
        name=f"Imported from {checked.name}"[:120],
        kind=Batch.Kind.IMPORTED,
        state=Batch.State.CLOSED,
        judgments=most,
        hit_size=full_hits.HIT_ITEMS,
        cents_per_hit=0,
        cents_per_item=0,
        fee_share=0.0,
        rubric=rubric,
        created_by=actor,
        opened_at=now,
        closed_at=now,
    )
