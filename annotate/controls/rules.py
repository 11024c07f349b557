"""Rules that must hold of the stored controls."""

from annotate.rules import Rule

CONTROLS = (
    Rule(
        "degraded_with_source",
        "Whoever rated a degraded answer rated its source too.",
        "judgment",
        """SELECT j.id FROM annotate_judgment j JOIN annotate_item i ON i.id = j.item_id AND i.control = 'degraded'
           WHERE NOT EXISTS (
               SELECT 1 FROM annotate_judgment s
               WHERE s.item_id = i.made_from_id AND s.annotator_id = j.annotator_id)""",
    ),
    Rule(
        "reserved_has_one_place",
        "A HIT made for one annotator has one place at most, and nobody else works on it.",
        "HIT",
        """SELECT h.id FROM annotate_hit h WHERE h.purpose <> 'work' AND (h.places_wanted > 1 OR EXISTS (
               SELECT 1 FROM annotate_assignment a WHERE a.hit_id = h.id AND a.annotator_id <> h.reserved_for_id))""",
    ),
    Rule(
        "not_beside_original",
        "No control stands on a page beside what it was made from.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id AND b.presentation = 'page' AND b.kind <> 'imported'
           WHERE EXISTS (
               SELECT 1 FROM annotate_item i WHERE i.id = ANY (a.layout) AND i.made_from_id = ANY (a.layout))""",
    ),
    Rule(
        "pool_is_accepted",
        "A control of the pool is shown only once a manager has accepted it.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a JOIN annotate_item i ON i.id = ANY (a.layout)
           WHERE i.pool_of_id IS NOT NULL AND i.control <> 'repeat' AND i.accepted_at IS NULL""",
    ),
)
