"""A project with no, one or about a thousand judgments, or with a trial alone, and its true numbers by plain SQL."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from annotate import places
from annotate.batches import lifecycle
from annotate.data import withdrawing
from annotate.models import Assignment, Batch, Hit, Judgment
from annotate.models.batch import ROUND
from annotate.work import serving, submitting
from projects.importing import Kind
from projects.models import Candidate, Membership, Project
from tests.annotate.open_batches import answered
from tests.factories import make_batch, make_corpus, make_membership, make_pair
from tests.results.judged_batches import take_file

SIZES = ("none", "one", "trial", "thousand")


def fill(project: Project, annotator: Membership, other: Membership, *, size: str, folder: Path) -> None:
    """Judge the project's candidates: by nobody, once, or about a thousand times and in every state there is."""
    if size == "none":
        make_corpus(project, n_passages=2, n_candidates=3)
        make_batch(project)
    elif size == "one":
        make_corpus(project, n_candidates=1)
        make_batch(project)
        submit(annotator, n_items=1)
    elif size == "trial":
        run_trial(project)
    else:
        run_trial(project)
        mass = make_corpus(project, n_passages=30, n_candidates=10, name="mass")
        for n, question in enumerate(mass.questions.order_by("pk")):
            make_pair(question, phenomenon=("negation", "syntax", "")[n % 3], score_1=n % 4, score_2=1)
        judge_everything(make_batch(project, judgments=3, datasets=("mass",), cents_per_hit=0), n_annotators=3)
        make_corpus(project, n_passages=8, n_candidates=3, name="more")
        make_every_state(make_batch(project, datasets=("more",), name="More"), annotator, other)
        archive_a_judged_batch(project, annotator)
        import_scores(project, folder)
        broken = Candidate.objects.in_project(project).earliest("pk")
        withdrawing.withdraw_candidate(project=project, actor=None, candidate=broken, why="Cut off.")


def judge_everything(batch: Batch, *, n_annotators: int) -> None:
    """Write what so many annotators would submit of every HIT, with the counters that go with it."""
    annotators = [make_membership(batch.project) for _ in range(n_annotators)]
    criterion = batch.rubric.criteria.get()
    now = timezone.now()
    hits = list(batch.hits.prefetch_related("items"))
    assignments = Assignment.objects.bulk_create(
        Assignment(
            hit=hit,
            annotator=annotator,
            state="submitted",
            mark="counted",
            layout=[item.pk for item in hit.items.all()],
            submitted_at=now,
            ended_at=now,
            due_at=now,
        )
        for hit in hits
        for annotator in annotators
    )
    Judgment.objects.bulk_create(
        Judgment(
            assignment=assignment,
            item=item,
            annotator=assignment.annotator,
            candidate_id=item.candidate_id,
            criterion=criterion,
            value=1 + (item.pk + n) % 5,
        )
        for n, assignment in enumerate(assignments)
        for item in assignment.hit.items.all()
    )
    Hit.objects.filter(batch=batch).update(
        places_open=0, places_done=n_annotators, queue_key=F("queue_key") + n_annotators * ROUND
    )


def run_trial(project: Project) -> None:
    """A closed trial, with a judgment that does not count."""
    make_corpus(project, n_passages=3, n_candidates=4, name="trial")
    trial = make_batch(project, judgments=2, datasets=("trial",), kind=Batch.Kind.TRIAL, cents_per_hit=0)
    judge_everything(trial, n_annotators=2)
    lifecycle.close(batch=trial, actor=None)
    one = Judgment.objects.filter(assignment__hit__batch=trial).earliest("pk")
    with transaction.atomic():
        places.set_aside(assignment_id=one.assignment_id, item_id=one.item_id, is_counted=False)


def make_every_state(batch: Batch, annotator: Membership, other: Membership) -> None:
    """One HIT each that is surplus, late, returned, expired, in hand, and with an item that cannot be judged."""
    slow = claim(annotator)
    expire(slow)
    submit(other)
    submitting.submit(annotator=annotator, assignment_uuid=slow, sent=answered())
    late = claim(annotator)
    expire(late)
    submitting.submit(annotator=annotator, assignment_uuid=late, sent=answered())
    submitting.return_hit(annotator=annotator, assignment_uuid=claim(annotator), reason="Not my subject.")
    unclear = answered(2, cannot={2: "No sense at all"}, flags=frozenset({0}))
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=unclear)
    expire(claim(annotator))
    claim(other)


def archive_a_judged_batch(project: Project, annotator: Membership) -> None:
    make_corpus(project, n_candidates=2, name="old")
    batch = make_batch(project, datasets=("old",), priority=1)
    submit(annotator, n_items=2)
    lifecycle.close(batch=batch, actor=None)
    lifecycle.archive(batch=batch, actor=None)


def import_scores(project: Project, folder: Path) -> None:
    candidates = Candidate.objects.filter(dataset__name="mass").order_by("pk")[:30]
    lines = [f"{each.external_id},{name},{1 + each.pk % 5}" for each in candidates for name in ("Ada", "Ben")]
    content = "\n".join(["candidate_id,annotator,value", *lines])
    take_file(project, content, "scores.csv", folder, kind=Kind.JUDGMENTS, criteria=("value=correctness:1-5",))


def claim(annotator: Membership) -> uuid.UUID:
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID), found
    return found


def submit(annotator: Membership, *, n_items: int = 3) -> None:
    submitting.submit(annotator=annotator, assignment_uuid=claim(annotator), sent=answered(n_items))


def expire(assignment: uuid.UUID) -> None:
    Assignment.objects.filter(uuid=assignment).update(due_at=timezone.now() - timedelta(hours=1))
    with transaction.atomic():
        places.sweep(now=timezone.now())


@dataclass(frozen=True)
class BatchTruth:
    """The numbers of one batch, from its rows and not from any counter but the places wanted."""

    n_candidates: int
    n_hits: int
    n_complete: int
    n_wanted: int
    n_held: int
    n_done: int

    @property
    def n_open(self) -> int:
        return self.n_wanted - self.n_held - self.n_done


@dataclass(frozen=True)
class Truth:
    """The numbers of one project."""

    passages: int
    questions: int
    references: int
    candidates: int
    stage: str
    counted: int
    not_counted: dict[str, int]
    kept_apart: int
    batches: dict[int, BatchTruth]

    @property
    def judgments(self) -> int:
        """Those of the stage that is shown where none is asked for."""
        return self.counted + sum(self.not_counted.values())


def count(project: Project) -> Truth:
    of_project = "FROM projects_{} t JOIN projects_dataset d ON d.id = t.dataset_id WHERE d.project_id = %(project)s"
    stage = "full" if ask_one(project, BEGUN) else "trial"
    reasons = dict(ask(project, f"SELECT j.not_counted_reason, count(*) {judgments(stage)} GROUP BY 1"))
    return Truth(
        passages=ask_one(project, f"SELECT count(*) {of_project.format('passage')}"),
        questions=ask_one(project, f"SELECT count(*) {of_project.format('question')}"),
        references=ask_one(
            project,
            """SELECT count(*) FROM projects_reference r JOIN projects_question q ON q.id = r.question_id
               JOIN projects_dataset d ON d.id = q.dataset_id WHERE d.project_id = %(project)s""",
        ),
        candidates=ask_one(project, f"SELECT count(*) {of_project.format('candidate')}"),
        stage=stage,
        counted=reasons.pop("", 0),
        not_counted=reasons,
        kept_apart=ask_one(project, f"SELECT count(*) {JUDGMENTS} AND (b.kind = 'trial') = {stage == 'full'}"),
        batches={row[0]: BatchTruth(*map(int, row[1:])) for row in ask(project, BATCHES)},
    )


JUDGMENTS = """FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
    JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
    JOIN annotate_item i ON i.id = j.item_id JOIN projects_candidate c ON c.id = i.candidate_id
    WHERE b.project_id = %(project)s AND i.control = 'none'"""

BEGUN = """SELECT count(*) FROM annotate_batch b WHERE b.project_id = %(project)s
    AND (b.kind <> 'trial' AND b.state <> 'draft' OR NOT EXISTS (
        SELECT 1 FROM annotate_batch t WHERE t.project_id = b.project_id AND t.kind = 'trial'))"""


def judgments(stage: str) -> str:
    """The judgments of candidates in a stage; no batch of these projects counts a trial's."""
    return {
        "full": f"{JUDGMENTS} AND b.kind <> 'trial'",
        "trial": f"{JUDGMENTS} AND b.kind = 'trial'",
        "all": JUDGMENTS,
    }[stage]


BATCHES = """
WITH hit AS (
    SELECT h.id, h.batch_id, h.places_wanted AS wanted,
           (SELECT count(*) FROM annotate_assignment a WHERE a.hit_id = h.id AND a.state = 'open') AS held,
           (SELECT count(*) FROM annotate_assignment a WHERE a.hit_id = h.id
            AND a.state IN ('submitted', 'approved') AND a.mark IN ('counted', 'late')) AS done
    FROM annotate_hit h)
SELECT b.number, (SELECT count(*) FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id WHERE h.batch_id = b.id),
       count(*), count(*) FILTER (WHERE done = wanted), sum(wanted), sum(held), sum(done)
FROM annotate_batch b JOIN hit ON hit.batch_id = b.id WHERE b.project_id = %(project)s GROUP BY b.id
"""


def ask(project: Project, query: str, **over: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, {"project": project.pk, **over})
        return list(cursor.fetchall())


def ask_one(project: Project, query: str, **over: Any) -> int:
    return int(ask(project, query, **over)[0][0])
