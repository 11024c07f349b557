"""Fill a project with many judgments, in SQL, which takes a fraction of the time of the ORM."""

from django.db import connection

from projects.models import Membership, Project
from projects.rubric.rubrics import create_from_preset, freeze

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

_WORK = """
INSERT INTO annotate_hit (id, batch_id, passage_id, number, purpose, queue_key, places_wanted, places_open, places_done)
SELECT %(base)s + n, %(batch)s, %(base)s + n, n, 'work', n, %(judgments)s, 0, %(judgments)s
FROM generate_series(1, %(hits)s) n;
INSERT INTO annotate_item (id, hit_id, question_id, position, candidate_id)
SELECT c.id, c.question_id, c.question_id, (c.id - 1) %% %(size)s, c.id
FROM projects_candidate c WHERE c.dataset_id = %(base)s;
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


def fill_project(slug: str, n_judgments: int, *, base: int) -> Project:
    """Create a project with a closed batch of `n_judgments`: three per candidate, ten candidates per HIT.

    Ids start at `base`, so that several projects of up to ten million rows fit side by side.
    """
    project = Project.objects.create(slug=slug, name=slug)
    rubric = create_from_preset(project, "mocha")
    freeze(rubric)
    people = Membership.objects.bulk_create(
        Membership(project=project, kind=Membership.Kind.SIMULATED, is_annotator=True) for _ in range(ANNOTATORS)
    )
    n_hits = n_judgments // (HIT_SIZE * JUDGMENTS)
    batch = project.batches.create(
        number=1, name="Bench", kind="full", state="closed", rubric=rubric, judgments=JUDGMENTS, n_hits=n_hits
    )
    criterion = rubric.criteria.get()
    values = {
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
        cursor.execute(_WORK, values)
        cursor.execute("ANALYZE")
    return project
