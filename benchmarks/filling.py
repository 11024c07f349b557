"""Fill a project with many judgments, in SQL, which takes a fraction of the time of the ORM."""

from collections.abc import Sequence

from django.db import connection

from annotate.models import Batch
from projects.models import Membership, Project
from projects.rubric.rubrics import create_from_preset, freeze
from results.metrics.summarising import summarise

HIT_SIZE = 10
JUDGMENTS = 3
N_SOURCES = 5
ANNOTATORS = 60

_CORPUS = """
INSERT INTO projects_dataset (id, project_id, name, kind) VALUES (%(base)s, %(project)s, 'bench', 'generative');
INSERT INTO projects_passage (id, dataset_id, external_id, text, split)
SELECT %(base)s + n, %(base)s, 'passage-' || n, repeat('word ', 200), CASE WHEN n %% 10 < 7 THEN 'train' ELSE 'dev' END
FROM generate_series(1, %(hits)s) n;
INSERT INTO projects_question (id, dataset_id, passage_id, external_id, text)
SELECT %(base)s + n, %(base)s, %(base)s + n, 'question-' || n, 'What happened then?'
FROM generate_series(1, %(hits)s) n;
INSERT INTO projects_reference (question_id, position, text)
SELECT %(base)s + n, 1, 'Something did' FROM generate_series(1, %(hits)s) n;
INSERT INTO projects_candidate (id, dataset_id, question_id, external_id, text, source)
SELECT %(base)s + n, %(base)s, %(base)s + 1 + (n - 1) / %(size)s, 'candidate-' || n, 'It was ' || n,
       'system-' || n %% %(sources)s
FROM generate_series(1, %(hits)s * %(size)s) n;
"""

_HITS = """
INSERT INTO annotate_hit (id, batch_id, passage_id, number, purpose, queue_key, places_wanted, places_open, places_done)
SELECT %(base)s + n, %(batch)s, %(base)s + n, n, 'work', n, %(judgments)s, %(open)s, %(judgments)s - %(open)s
FROM generate_series(1, %(hits)s) n;
INSERT INTO annotate_item (id, hit_id, question_id, position, candidate_id)
SELECT c.id, c.question_id, c.question_id, (c.id - 1) %% %(size)s, c.id
FROM projects_candidate c WHERE c.dataset_id = %(base)s;
"""

_WORK = """
INSERT INTO annotate_assignment (id, uuid, hit_id, annotator_id, state, holds_place, mark, layout, opened_at,
                                 submitted_at, active_seconds, wall_seconds, item_seconds)
SELECT %(base)s + (h.number - 1) * %(judgments)s + k, gen_random_uuid(), h.id,
       %(annotator)s + (h.number + k * 7) %% %(annotators)s, 'submitted', true, 'counted',
       ARRAY(SELECT i.id FROM annotate_item i WHERE i.hit_id = h.id ORDER BY md5(i.id::text || k)),
       now() - interval '2 hours', now() - interval '1 hour', 120, 130, array_fill(12.5::float8, ARRAY[%(size)s])
FROM annotate_hit h, generate_series(1, %(judgments)s) k WHERE h.batch_id = %(batch)s;
INSERT INTO annotate_judgment (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value, is_counted)
SELECT a.id, i.id, a.annotator_id, i.candidate_id, %(criterion)s,
       least(5, greatest(1, 1 + (hashint8(i.id) & 3) + (random() * 2)::int)), true
FROM annotate_assignment a JOIN annotate_item i ON i.hit_id = a.hit_id JOIN annotate_hit h ON h.id = a.hit_id
WHERE h.batch_id = %(batch)s;
"""

_HISTORY = """
WITH done AS (
    UPDATE annotate_hit h SET places_open = places_open - 1, places_done = places_done + 1, queue_key = queue_key + 2^32
    WHERE h.batch_id = %(batch)s AND h.number <= %(n)s RETURNING h.id)
INSERT INTO annotate_assignment (uuid, hit_id, annotator_id, state, holds_place, mark, layout, opened_at, submitted_at)
SELECT gen_random_uuid(), done.id, %(annotator)s, 'submitted', true, 'counted',
       ARRAY(SELECT i.id FROM annotate_item i WHERE i.hit_id = done.id), now() - interval '2 hours',
       now() - interval '1 hour'
FROM done;
INSERT INTO annotate_judgment (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value, is_counted)
SELECT a.id, i.id, a.annotator_id, i.candidate_id, %(criterion)s, 3, true
FROM annotate_assignment a JOIN annotate_item i ON i.hit_id = a.hit_id WHERE a.annotator_id = %(annotator)s;
"""

_BESIDE = """
INSERT INTO projects_logentry (project_id, actor_id, act, object_type, object_id, after, why)
SELECT %(project)s, a.annotator_id, 'approve work', 'assignment', a.id::text, '{"state": "approved"}', 'Read'
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id WHERE h.batch_id = %(batch)s;
INSERT INTO annotate_remark (assignment_id, item_id, is_flagged, comment, cannot_judge_reason)
SELECT a.id, a.layout[1], a.id %% 3 = 0, 'Hard to say', ''
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id WHERE h.batch_id = %(batch)s AND a.id %% 5 = 0;
INSERT INTO annotate_ledgerentry (project_id, annotator_id, kind, cents, key, assignment_id, batch_id, note)
SELECT %(project)s, a.annotator_id, 'hit', 100, 'hit:' || a.uuid, a.id, h.batch_id, ''
FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id WHERE h.batch_id = %(batch)s;
INSERT INTO results_metricscore (run_id, candidate_id, value, reason)
SELECT %(run)s, c.id, random(), ''
FROM projects_candidate c JOIN projects_dataset d ON d.id = c.dataset_id WHERE d.project_id = %(project)s;
"""


def fill_project(slug: str, n_judgments: int, *, base: int) -> Project:
    """Create a project with a closed batch of `n_judgments`: three per candidate, ten candidates per HIT.

    Ids start at `base`, so that several projects of up to ten million rows fit side by side.
    """
    project = Project.objects.create(slug=slug, name=slug)
    rubric = create_from_preset(project, "mocha")
    freeze(rubric)
    people = _add_annotators(project, ANNOTATORS)
    n_hits = n_judgments // (HIT_SIZE * JUDGMENTS)
    batch = project.batches.create(
        number=1, name="Bench", kind="full", state="closed", rubric=rubric, judgments=JUDGMENTS, n_hits=n_hits
    )
    criterion = rubric.criteria.get()
    values = {
        "open": 0,
        "base": base,
        "project": project.pk,
        "batch": batch.pk,
        "hits": n_hits,
        "size": HIT_SIZE,
        "judgments": JUDGMENTS,
        "sources": N_SOURCES,
        "annotator": people[0].pk,
        "annotators": ANNOTATORS,
        "criterion": criterion.pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CORPUS, values)
        cursor.execute(_HITS, values)
        cursor.execute(_WORK, values)
        # As autovacuum does within a minute of so much work; without it no index answers a query alone.
        cursor.execute("VACUUM ANALYZE")
    return project


def fill_beside(project: Project) -> None:
    """Add to a filled project what else grows with its work: log, comments, earnings, and a metric's scores."""
    batch = project.batches.get()
    run = project.metric_runs.create(
        origin="uploaded",
        metric="bench",
        title="bench",
        subject="bench",
        state="done",
        requested_by=project.memberships.earliest("pk"),
        n_scored=batch.n_hits * HIT_SIZE,
    )
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE, {"project": project.pk, "batch": batch.pk, "run": run.pk})
        run.report = {"summary": summarise(run, low=0, high=1)}
        run.save()
        cursor.execute("VACUUM ANALYZE")


def fill_queue(slug: str, n_hits: int, *, base: int, histories: Sequence[int]) -> tuple[Batch, list[Membership]]:
    """Create a project with an open batch of `n_hits` HITs, and an annotator for each of the histories.

    A history is how many HITs of the batch the annotator has submitted: the first in the queue.
    """
    project = Project.objects.create(slug=slug, name=slug)
    rubric = create_from_preset(project, "mocha")
    freeze(rubric)
    n_places = len(histories) + 1
    batch = project.batches.create(
        number=1, name="Bench", kind="full", state="open", rubric=rubric, judgments=n_places, n_hits=n_hits
    )
    people = _add_annotators(project, len(histories))
    values = {
        "base": base,
        "project": project.pk,
        "batch": batch.pk,
        "hits": n_hits,
        "size": HIT_SIZE,
        "judgments": n_places,
        "open": n_places,
        "sources": N_SOURCES,
        "criterion": rubric.criteria.get().pk,
    }
    with connection.cursor() as cursor:
        cursor.execute(_CORPUS, values)
        cursor.execute(_HITS, values)
        for person, n in zip(people, histories, strict=True):
            cursor.execute(_HISTORY, {**values, "annotator": person.pk, "n": n})
        cursor.execute("VACUUM ANALYZE")
    return batch, people


def _add_annotators(project: Project, n: int) -> list[Membership]:
    return Membership.objects.bulk_create(
        Membership(project=project, kind=Membership.Kind.SIMULATED, is_annotator=True) for _ in range(n)
    )
