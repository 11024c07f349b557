"""Creating a batch: select candidates, preview the batch, create it and divide it into HITs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

from django.db import connection, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q

from annotate import places
from annotate.batches import trials
from annotate.batches.control_plan import ControlPlan, clear_pool
from annotate.batches.costs import Cost, Rates, price
from annotate.batches.cutting import cut_passage
from annotate.batches.selection import (
    Row,
    Selection,
    count_collected_elsewhere,
    list_candidates,
    pair_id_sql,
    read_rows,
    select_candidates,
)
from annotate.batches.terms import Terms, check_terms, require_completed
from annotate.batches.workload import PlannedHit, find_supply_of_new, measure_basis, measure_work
from annotate.models import Batch, BatchAnnotator, Item
from annotate.models.conditions import is_collected, is_judgeable
from annotate.places import NewHit
from projects import log
from projects.database.locks import AdvisoryLock, lock_in_project
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.models import Act, Membership, Project
from projects.rubric.rubrics import current_rubric
from projects.texts.versions import current_consent, current_instructions


@dataclass(frozen=True)
class BatchPlan:
    """The preview of a batch: its size and cost before it is created.

    `n_left_out` candidates are excluded because of the trial; `n_reused` of the trial's judgments count. `n_repeated`
    candidates have the text of another one before them on the same question, as when two sources give one answer;
    `n_identical` are not in the batch for that reason, and have the ratings of one that is, and
    `n_identical_elsewhere`, of the selected sources, those of one in another full collection.
    """

    n_candidates: int
    n_questions: int
    n_passages: int
    n_datasets: int
    n_repeated: int
    n_identical: int
    n_identical_elsewhere: int
    n_in_other_batches: int
    n_left_out: int
    n_reused: int
    n_hits: int
    judgments: int
    n_assignments: int
    n_judgments: int
    n_values: int
    is_pay_prorated: bool
    cost: Cost


def plan_batch(*, project: Project, selection: Selection, terms: Terms) -> BatchPlan:
    """Return what a batch would contain and cost. Raises Refused if it could not be created."""
    terms = check_terms(project, terms)
    rows = _choose(project, selection, terms)
    # The same cut as when the batch is created, so that the preview's cost is exact.
    hits = list(cut(rows, require_completed(terms.hit_size) - terms.controls.room))
    candidates = [row.candidate for row in rows]
    rubric = current_rubric(project)
    judgments = require_completed(terms.judgments)
    n_assignments = sum(judgments - hit[0].n_reused for hit in hits)
    n_judgments = sum(judgments - row.n_reused for row in rows)
    basis = measure_basis(project)
    return BatchPlan(
        n_candidates=len(rows),
        n_questions=len({row.question for row in rows}),
        n_passages=len({row.passage for row in rows}),
        n_datasets=len({row.dataset for row in rows}),
        n_repeated=_count_repeated(candidates),
        n_identical=_count_identical(candidates),
        n_identical_elsewhere=count_collected_elsewhere(project, selection),
        n_in_other_batches=_count_in_batches(project, candidates),
        n_left_out=_count_left_out(project, selection, terms),
        n_reused=sum(row.n_reused for row in rows),
        n_hits=len(hits),
        judgments=judgments,
        n_assignments=n_assignments,
        n_judgments=n_judgments,
        n_values=n_judgments * (rubric.criteria.count() if rubric else 1),
        is_pay_prorated=bool(terms.is_pay_prorated),
        cost=price(
            measure_work(plan_hits(hits, judgments), rubric_id=rubric.pk if rubric else None),
            rates=get_rates(terms),
            basis=basis,
            n_annotators=basis.expect_annotators(judgments, n_named=len(terms.annotators)),
            controls=terms.controls,
            presentation=terms.presentation,
            supply=find_supply_of_new(project, candidates, terms.controls),
        ),
    )


def find_same_draft(project: Project, selection: Selection, terms: Terms) -> Batch | None:
    """Return the newest draft with the same candidates and settings, as a form that is sent twice makes."""
    drafts = Batch.objects.filter(project=project, state=Batch.State.DRAFT, plan=None, selection=selection.as_json())
    return drafts.filter(**check_terms(project, terms).fields()).order_by("-number").first()


def plan_hits(hits: Iterable[Sequence[Row]], judgments: int) -> Iterator[PlannedHit]:
    """Yield HITs that are cut but not stored, as costs need them."""
    for hit in hits:
        yield PlannedHit(
            passage=hit[0].passage,
            candidates=[row.candidate for row in hit],
            questions=[row.question for row in hit],
            n_places=judgments - hit[0].n_reused,
        )


def get_rates(terms: Terms) -> Rates:
    """Return the rates of terms that `check_terms` has completed."""
    return Rates(
        hit_size=require_completed(terms.hit_size),
        cents_per_hit=require_completed(terms.cents_per_hit),
        cents_per_item=require_completed(terms.cents_per_item),
        fee_share=terms.fee_share or 0.0,
        is_pay_prorated=bool(terms.is_pay_prorated),
    )


@transaction.atomic
def create_batch(
    *,
    project: Project,
    actor: Membership | None,
    selection: Selection | None = None,
    terms: Terms | None = None,
    rows: Sequence[Row] | None = None,
) -> Batch:
    """Create a draft batch with its HITs, under the current rubric, instructions and consent.

    An overlap plan selects the `rows` itself; the selection then only has the seed. Raises Refused for impossible
    terms, without a rubric, or if no candidate is selected. Locks the project.
    """
    selection, terms = selection or Selection(), terms or Terms()
    # New versions of the rubric and the texts are stored under the same lock, so those read here stay the current ones.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    terms = check_terms(project, terms)
    rubric = current_rubric(project)
    if rubric is None:
        raise Refused("This project has no rubric yet. Choose one under Task › Rubric, then create the batch.")
    rows = _choose(project, selection, terms) if rows is None else rows
    number = next_number(project, Batch)
    batch = Batch.objects.create(
        project=project,
        number=number,
        name=terms.name.strip() or f"Batch {number}",
        **terms.fields(),
        rubric=rubric,
        instructions=current_instructions(project),
        consent=current_consent(project),
        has_named_annotators=bool(terms.annotators),
        selection=selection.as_json(),
        seed=selection.seed,
        created_by=actor,
    )
    BatchAnnotator.objects.bulk_create(BatchAnnotator(batch=batch, annotator=person) for person in terms.annotators)
    _write_hits(batch, rows)
    _retire_withdrawn(batch)
    log.record(project, actor, Act.MAKE_BATCH, batch, after=describe(batch))
    return batch


def cut(rows: Sequence[Row], hit_size: int) -> Iterator[list[Row]]:
    """Yield HITs in canonical order: of one passage each, or of one question each if there is no passage to read.

    Candidates with different numbers of reused judgments are kept in different HITs, because all candidates of a HIT
    need the same number. The two candidates of a minimal pair are never in one HIT.
    """

    def group_key(row: Row) -> tuple[int, int, int]:
        return (row.passage, row.n_reused, 0 if row.has_passage_text else row.question)

    # Rows come in canonical order, in which each group is together already, unless a passage's candidates have
    # different numbers of reused judgments. The sort is stable, so it keeps the order within groups.
    is_mixed = any(row.n_reused for row in rows)
    for _key, members in groupby(sorted(rows, key=group_key) if is_mixed else rows, key=group_key):
        here = {row.candidate: row for row in members}
        groups = [
            [row.candidate for row in group]
            for _question, group in groupby(here.values(), key=lambda row: row.question)
        ]
        for hit in cut_passage(groups, hit_size, _find_partners(here.values())):
            yield [here[candidate] for candidate in hit]


def _find_partners(rows: Iterable[Row]) -> dict[int, int]:
    """Return the partner of each candidate whose minimal pair is complete among these rows."""
    members: dict[int, list[int]] = {}
    for row in rows:
        if row.pair is not None:
            members.setdefault(row.pair, []).append(row.candidate)
    whole = [both for both in members.values() if len(both) > 1]
    return {one: other for both in whole for one, other in (both, both[::-1])}


def describe(batch: Batch) -> dict[str, object]:
    """Return what the audit log stores about a batch."""
    described: dict[str, object] = {
        "number": batch.number,
        "state": batch.state,
        "judgments": batch.judgments,
        "hits": batch.n_hits,
        "items": batch.n_items,
        "selection": batch.selection,
    }
    if batch.trial is not None:
        described |= {"trial": batch.trial.number, "use_of_trial": batch.use_of_trial}
    if batch.plan is not None:
        described["plan"] = batch.plan.number
    return described


def _write_hits(batch: Batch, rows: Sequence[Row]) -> None:
    # Counted here for both callers: rows that `recut` reads back from a draft's items don't have these numbers.
    reused = trials.count_reused(batch)
    rows = [replace(row, n_reused=reused.get(row.candidate, 0)) for row in rows] if reused else rows
    hits = list(cut(rows, batch.hit_size - ControlPlan.read(batch.control_plan).room))
    keys = list(range(len(hits)))
    # HITs are numbered in canonical order but served in a random one, so that a batch that is stopped early has
    # covered its passages evenly.
    Random(batch.seed).shuffle(keys)  # noqa: S311 - to be repeated, not to be secret
    places.create_hits(
        batch,
        [
            NewHit(
                number,
                hit[0].passage,
                batch.first_queue_key(key),
                [(row.candidate, row.question) for row in hit],
                batch.judgments - hit[0].n_reused,
            )
            for number, (hit, key) in enumerate(zip(hits, keys, strict=True), start=1)
        ],
    )
    batch.n_hits, batch.n_items = len(hits), len(rows)
    batch.save(update_fields=["n_hits", "n_items"])
    # Robust: the batch is stored, and failing statistics must not turn the answer into an error.
    transaction.on_commit(analyze, robust=True)


def _retire_withdrawn(batch: Batch) -> None:
    """Retire what was withdrawn while the HITs were written; whoever withdraws more waits, and finds them."""
    lock_in_project(AdvisoryLock.WITHDRAWALS, batch.project_id)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT c.id FROM annotate_hit h JOIN annotate_item i ON i.hit_id = h.id
               JOIN projects_candidate c ON c.id = i.candidate_id
               JOIN projects_question q ON q.id = c.question_id JOIN projects_passage p ON p.id = q.passage_id
               WHERE h.batch_id = %s AND NOT {is_judgeable("c", "p")}""",
            [batch.pk],
        )
        withdrawn = [row[0] for row in cursor.fetchall()]
    if withdrawn:
        places.withdraw_candidates(withdrawn)


def recut(batch: Batch) -> None:
    """Divide a batch that was never served into HITs again, with the room that its controls need now.

    Its pool is emptied: degraded answers refer to items that are deleted with the HITs.
    """
    # Before anything is deleted: a withdrawal holds this lock while it waits for items and HITs.
    lock_in_project(AdvisoryLock.WITHDRAWALS, batch.project_id)
    clear_pool(batch)
    # The rows are read from its items, not selected again: a sample of the same seed could differ after an import.
    rows = read_rows(
        Item.objects.filter(hit__batch=batch, retired_at=None)
        .annotate(
            has_text=ExpressionWrapper(
                ~Q(hit__passage__text="") | Q(hit__passage__documents__isnull=False), BooleanField()
            )
        )
        .order_by("hit__passage_id", "question_id", "candidate_id")
        .values_list(
            "candidate_id",
            "question_id",
            "hit__passage_id",
            "hit__passage__dataset__name",
            "has_text",
            pair_id_sql(prefix="candidate__"),
        )
    )
    places.delete_hits(batch)
    _write_hits(batch, rows)


def analyze() -> None:
    """Update the planner's statistics for the new rows: serving from a table never analysed takes minutes.

    It runs after the transaction: inside it, two batches that are created at once would wait for each other's locks.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotate_batch, annotate_hit, annotate_item, annotate_assignment")


def _choose(project: Project, selection: Selection, terms: Terms) -> list[Row]:
    """Return the candidates that the batch has to collect, with the trial's judgments if these count."""
    use = Batch.UseOfTrial
    rows = select_candidates(project, selection, without=terms.trial if terms.use_of_trial == use.LEAVE_OUT else None)
    if terms.trial is None or terms.use_of_trial != use.COUNT or terms.plan is not None:
        return rows
    reused = trials.count_trial_judgments(terms.trial)
    rows = [replace(row, n_reused=reused.get(row.candidate, 0)) for row in rows]
    rows = [row for row in rows if row.n_reused < require_completed(terms.judgments)]
    if not rows:
        raise Refused("The trial already has enough judgments of all these candidates. Nothing is left to collect.")
    return rows


def _count_left_out(project: Project, selection: Selection, terms: Terms) -> int:
    """Return how many candidates of the selection the batch excludes because of the trial."""
    if terms.trial is None or terms.use_of_trial == Batch.UseOfTrial.ANEW:
        return 0
    in_trial = list_candidates(project, selection).filter(items__hit__batch=terms.trial).distinct().count()
    if terms.use_of_trial == Batch.UseOfTrial.LEAVE_OUT or terms.plan is not None:
        return in_trial
    candidates = list_candidates(project, selection).values_list("pk", flat=True)
    reused = trials.count_trial_judgments(terms.trial, candidates)
    return sum(n >= require_completed(terms.judgments) for n in reused.values())


def _count_repeated(candidates: list[int]) -> int:
    """Return how many of these candidates have the same text as one before them on their question."""
    with connection.cursor() as cursor:
        # Grouped by a hash of 64 bits, which two of a question's few texts don't share by chance: the texts themselves
        # would fill the memory that grouping may use.
        cursor.execute(
            """SELECT coalesce(sum(each.n - 1), 0) FROM (
                   SELECT count(*) AS n FROM unnest(%s::bigint[]) AS chosen (id)
                   JOIN projects_candidate c ON c.id = chosen.id
                   GROUP BY c.question_id, hashtextextended(c.text, 0)
               ) AS each""",
            [candidates],
        )
        return int(cursor.fetchone()[0])


def _count_identical(candidates: list[int]) -> int:
    """Return how many other candidates have the ratings of one of these."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM unnest(%s::bigint[]) AS chosen (id)
               JOIN projects_candidate c ON c.id = chosen.id
               JOIN projects_candidate other ON other.question_id = c.question_id AND other.identical_to_id = c.id""",
            [candidates],
        )
        return int(cursor.fetchone()[0])


def _count_in_batches(project: Project, candidates: list[int]) -> int:
    """Return how many of these candidates are already in another batch that people work on."""
    # By one array instead of one parameter for each candidate: a batch may have a million.
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*) FROM unnest(%s::bigint[]) AS chosen (id)
               WHERE chosen.id IN (
                   SELECT i.candidate_id FROM annotate_item i
                   JOIN annotate_hit h ON h.id = i.hit_id JOIN annotate_batch b ON b.id = h.batch_id
                   WHERE b.project_id = %s AND {is_collected("b")})""",
            [candidates, project.pk],
        )
        return int(cursor.fetchone()[0])
