"""Fill the two sites of the rating benchmark with the same work; run as a command in the environment of a site."""

import json
import sys

import django

SENTENCE = "The keeper wrote that the lamp had burned all night and that the fog had not lifted before noon. "
PASSAGE = SENTENCE * 10
CANDIDATE = "The lamp burned all night because the fog stayed until noon."
LONG_PASSAGE = SENTENCE * 300
LONG_CANDIDATE = SENTENCE * 15
"""A story of 6,000 words and answers of 300, as long-form question answering has them."""


def sessions(user_ids: list[int]) -> list[str]:
    """Create sessions as a sign-in does, and return their keys."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
    from django.contrib.sessions.backends.db import SessionStore

    keys = []
    for user in get_user_model().objects.filter(pk__in=user_ids).order_by("pk"):
        store = SessionStore()
        store[SESSION_KEY] = str(user.pk)
        store[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        store[HASH_SESSION_KEY] = user.get_session_auth_hash()
        store.create()
        keys.append(str(store.session_key))
    return keys


def reference(n_hits: int, n_users: int) -> list[str]:
    from django.contrib.auth.models import User

    from benchmarks.reference.models import Hit, Item

    hits = Hit.objects.bulk_create(Hit(passage=PASSAGE) for _ in range(n_hits))
    Item.objects.bulk_create(
        Item(hit=hit, question="Why?", reference=SENTENCE, candidate=CANDIDATE) for hit in hits for _ in range(10)
    )
    users = User.objects.bulk_create(User(username=f"u{n}", password="!") for n in range(n_users))
    _analyse()
    return sessions([user.pk for user in users])


def concord(n_hits: int, n_users: int, n_stored: int = 0, n_places: int = 100, is_long: int = 0) -> list[str]:
    """Create HITs of ten items with five questions of two references each, and `n_stored` judgments by others.

    Texts are short, or as those of long-form answers with `is_long`; these can be rated without reading them.
    """
    from annotate.models import Batch, Hit, Item
    from projects.models import Candidate, Dataset, Membership, Passage, Project, Question, Reference, User
    from projects.rubric import rubrics

    project = Project.objects.create(slug="bench", name="Benchmark")
    passage_text, answer = (LONG_PASSAGE, LONG_CANDIDATE) if is_long else (PASSAGE, CANDIDATE)
    rubric = rubrics.create_from_preset(project, "mocha")
    rubrics.freeze(rubric)
    dataset = Dataset.objects.create(project=project, name="bench")
    batch = Batch.objects.create(
        project=project,
        number=1,
        name="Benchmark",
        state="open",
        judgments=n_places,
        rubric=rubric,
        n_hits=n_hits,
        must_read_to_end=not is_long,
    )
    passages = Passage.objects.bulk_create(
        (Passage(dataset=dataset, external_id=f"p{n}", text=passage_text) for n in range(n_hits)), batch_size=5_000
    )
    questions = Question.objects.bulk_create(
        (
            Question(dataset=dataset, passage=passage, external_id=f"{passage.external_id}-{n}", text="Why?")
            for passage in passages
            for n in range(5)
        ),
        batch_size=5_000,
    )
    Reference.objects.bulk_create(
        (Reference(question=question, position=n, text=SENTENCE) for question in questions for n in range(2)),
        batch_size=5_000,
    )
    candidates = Candidate.objects.bulk_create(
        (
            Candidate(dataset=dataset, question=question, external_id=f"{question.external_id}-{n}", text=answer)
            for question in questions
            for n in range(2)
        ),
        batch_size=5_000,
    )
    hits = Hit.objects.bulk_create(
        (
            Hit(batch=batch, passage=passage, number=n, queue_key=n, places_wanted=n_places, places_open=n_places)
            for n, passage in enumerate(passages)
        ),
        batch_size=5_000,
    )
    Item.objects.bulk_create(
        (
            Item(hit=hits[n // 10], question_id=candidate.question_id, candidate=candidate, position=n % 10)
            for n, candidate in enumerate(candidates)
        ),
        batch_size=5_000,
    )
    users = User.objects.bulk_create(User(username=f"u{n}", password="!") for n in range(n_users))
    Membership.objects.bulk_create(
        Membership(project=project, user=user, is_annotator=True, role="annotator") for user in users
    )
    if n_stored:
        _store(project.pk, n_stored)
    _analyse()
    return sessions([user.pk for user in users])


def _store(project_id: int, n_judgments: int) -> None:
    """Store whole HITs of judgments by other annotators, in SQL, which takes a fraction of the time of the ORM."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM annotate_hit")
        n_hits = cursor.fetchone()[0]
        n_assignments = n_judgments // 10
        n_members = -(-n_assignments // n_hits)
        cursor.execute(
            """INSERT INTO projects_membership
                   (project_id, kind, imported_name, role, is_annotator, standing, pseudonym)
               SELECT %s, 'imported', 'old ' || n, 'annotator', true, 'active', 'old-' || n
               FROM generate_series(1, %s) n""",
            [project_id, n_members],
        )
        cursor.execute(
            """INSERT INTO annotate_assignment
                   (uuid, hit_id, annotator_id, state, holds_place, mark, layout, submitted_at)
               SELECT gen_random_uuid(), h.id, m.id, 'submitted', true, 'counted',
                      (SELECT array_agg(i.id ORDER BY i.position) FROM annotate_item i WHERE i.hit_id = h.id), now()
               FROM annotate_hit h CROSS JOIN projects_membership m WHERE m.kind = 'imported'
               LIMIT %s""",
            [n_assignments],
        )
        cursor.execute(
            """INSERT INTO annotate_judgment (assignment_id, item_id, annotator_id, candidate_id, criterion_id, value)
               SELECT a.id, i.id, a.annotator_id, i.candidate_id, c.id, 1 + (i.id * 7 + a.id) % 5
               FROM annotate_assignment a JOIN annotate_item i ON i.hit_id = a.hit_id CROSS JOIN projects_criterion c"""
        )
        cursor.execute(
            """UPDATE annotate_hit h SET places_open = 100 - done.n, places_done = done.n,
                      queue_key = queue_key + done.n * 4294967296
               FROM (SELECT hit_id, count(*) AS n FROM annotate_assignment GROUP BY hit_id) done
               WHERE done.hit_id = h.id"""
        )


def _analyse() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


if __name__ == "__main__":
    django.setup()
    site, *numbers = sys.argv[1:]
    print(json.dumps({"reference": reference, "concord": concord}[site](*map(int, numbers))))
