"""Complete batches: noticed by the worker, so that no submission has to count a batch."""

from django.db import connection

from annotate.models.conditions import is_collected, is_work, was_submitted
from projects.models import Event
from projects.webhooks.recording import insert_messages

# Only batches of projects that want to know are counted. A batch that is enlarged and completed again has more places
# done, so that it is announced again. Old completions are not: their messages are deleted after a while, and an address
# that is added later is not told of them.
_COMPLETE = f"""
(SELECT b.id, b.project_id, b.number, b.kind, count(*) FILTER (WHERE h.places_wanted > 0) AS n_hits,
        sum(h.places_done) AS n_done, last.at
 FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id AND {is_work("h")}
 CROSS JOIN LATERAL (
    SELECT max(a.submitted_at) AS at FROM annotate_assignment a JOIN annotate_hit of_it ON of_it.id = a.hit_id
    WHERE of_it.batch_id = b.id AND {was_submitted("a")}) last
 WHERE {is_collected("b")} AND b.state IN ('open', 'paused', 'closed') AND last.at > now() - interval '1 day'
   AND EXISTS (SELECT 1 FROM projects_webhook wanting WHERE wanting.project_id = b.project_id AND wanting.is_active
               AND '{Event.BATCH_COMPLETE.value}' = ANY(wanting.events) AND wanting.created_at < last.at)
 GROUP BY b.id, last.at
 HAVING sum(h.places_wanted) = sum(h.places_done) AND sum(h.places_done) > 0) done
"""
_ANNOUNCE = insert_messages(
    Event.BATCH_COMPLETE,
    project="done.project_id",
    key="'batch:' || done.id || ':' || done.n_done",
    data="""jsonb_build_object('batch', done.number, 'kind', done.kind, 'n_hits', done.n_hits,
        'n_assignments', done.n_done)""",
    tables=_COMPLETE,
    where="w.created_at < done.at",
)


def announce_complete() -> int:
    """Write a message for each batch whose assignments have all been submitted, once; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(_ANNOUNCE)
        return int(cursor.rowcount)
