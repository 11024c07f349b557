"""Verifying: the rules of stored judgments, and the check of all rules against the rows."""

from dataclasses import dataclass

from django.db import connection

from annotate.integrity.rules import CONSENT, CONTROLS, LEDGER, REVISIONS, Rule
from annotate.models.conditions import (
    is_collected,
    is_counted,
    is_in_use,
    is_item,
    is_judgeable,
    is_marked_counted,
    is_rated_itself,
    is_submitted,
    is_work,
    rates_here,
    was_submitted,
)
from projects.database.snapshots import snapshot

N_IDS_SHOWN = 20
"""Rows named for each broken rule: enough to look into it, and one line of the log even if thousands break it."""


@dataclass(frozen=True)
class Breach:
    """A broken rule, with the rows that break it."""

    rule: str
    sentence: str
    of: str
    n: int
    ids: list[str]


# Places first, then judgments, then what was served, then the projects' own numbers. Counters and flags are written by
# statements that change them by one; these queries recompute each from the rows that it counts.
RULES = (
    Rule(
        "places_held",
        "A HIT's required places are its open ones plus those that assignments hold and that panels have reserved.",
        "HIT",
        """SELECT h.id FROM annotate_hit h
           LEFT JOIN (SELECT hit_id, count(*) AS n FROM annotate_assignment WHERE holds_place GROUP BY hit_id) held
             ON held.hit_id = h.id
           LEFT JOIN (SELECT hit_id, count(*) AS n FROM annotate_reservation GROUP BY hit_id) reserved
             ON reserved.hit_id = h.id
           WHERE h.places_wanted <> h.places_open + coalesce(held.n, 0) + coalesce(reserved.n, 0)""",
    ),
    Rule(
        "places_done",
        "A HIT's done places are those that submitted or approved assignments hold.",
        "HIT",
        f"""SELECT h.id FROM annotate_hit h
           LEFT JOIN (SELECT a.hit_id, count(*) AS n FROM annotate_assignment a
                      WHERE a.holds_place AND {is_submitted("a")} GROUP BY a.hit_id) done
             ON done.hit_id = h.id
           WHERE h.places_done <> coalesce(done.n, 0)""",
    ),
    Rule(
        "places_within_wanted",
        "A HIT has no negative counter, and its open and done places do not exceed the required ones.",
        "HIT",
        """SELECT id FROM annotate_hit
           WHERE places_open < 0 OR places_done < 0 OR places_open + places_done > places_wanted""",
    ),
    Rule(
        "state_holds",
        "An open assignment holds a place; a returned, expired, withdrawn or rejected one does not.",
        "assignment",
        """SELECT id FROM annotate_assignment
           WHERE CASE WHEN state = 'open' THEN NOT holds_place
                      WHEN state IN ('returned', 'expired', 'withdrawn', 'rejected') THEN holds_place END""",
    ),
    Rule(
        "mark_follows_state",
        "A submitted assignment has a mark: counted and late ones hold a place, surplus ones do not.",
        "assignment",
        f"""SELECT a.id FROM annotate_assignment a
           WHERE CASE WHEN {is_submitted("a")}
                      THEN mark = '' OR ({is_marked_counted("a")} AND NOT holds_place)
                           OR (mark = 'surplus' AND holds_place)
                      WHEN state <> 'rejected' THEN mark <> '' END""",
    ),
    Rule(
        "rejected_has_reason",
        "A rejected assignment has a reason, and so does one excluded by a removal.",
        "assignment",
        """SELECT id FROM annotate_assignment
           WHERE (state = 'rejected' AND decision_reason = '') OR (mark = 'excluded' AND mark_reason = '')""",
    ),
    # A HIT for everyone needs an ordinary item; a HIT of controls is reserved for one person and needs any item.
    Rule(
        "free_place_can_be_taken",
        "A HIT with an open place has at least one item that is not withdrawn.",
        "HIT",
        f"""SELECT h.id FROM annotate_hit h WHERE h.places_open > 0 AND NOT EXISTS (
               SELECT 1 FROM annotate_item i WHERE i.hit_id = h.id AND {is_in_use("i")}
               AND (NOT {is_work("h")} OR {is_item("i")}))""",
    ),
    Rule(
        "withdrawn_not_counted",
        "A judgment of a withdrawn candidate is not counted.",
        "judgment",
        f"""SELECT j.id FROM annotate_item i JOIN annotate_judgment j ON j.item_id = i.id
           WHERE NOT {is_in_use("i")} AND {is_item("i")} AND j.is_counted
           UNION
           SELECT j.id FROM projects_candidate c JOIN projects_question q ON q.id = c.question_id
           JOIN projects_passage p ON p.id = q.passage_id JOIN annotate_judgment j ON j.candidate_id = c.id
           WHERE NOT {is_judgeable("c", "p")} AND {is_counted("j")}""",
    ),
    Rule(
        "identical_answers",
        "A candidate that has the ratings of another has the same question and text; neither is withdrawn or of a "
        "minimal pair, and the other is rated itself.",
        "candidate",
        f"""SELECT c.id FROM projects_candidate c LEFT JOIN projects_candidate other ON other.id = c.identical_to_id
           WHERE NOT {is_rated_itself("c")} AND (
               other.id IS NULL OR other.question_id <> c.question_id OR other.text <> c.text
               OR NOT {is_rated_itself("other")} OR c.withdrawn_at IS NOT NULL OR other.withdrawn_at IS NOT NULL
               OR EXISTS (SELECT FROM projects_minimalpair p WHERE p.question_id = c.question_id AND (
                          p.candidate_1_id IN (c.id, other.id) OR p.candidate_2_id IN (c.id, other.id))))""",
    ),
    Rule(
        "one_open",
        "An annotator has at most one open assignment.",
        "annotator",
        "SELECT annotator_id FROM annotate_assignment WHERE state = 'open' GROUP BY 1 HAVING count(*) > 1",
    ),
    Rule(
        "once_per_hit",
        "An annotator has at most one assignment on a HIT.",
        "HIT",
        "SELECT hit_id FROM annotate_assignment GROUP BY hit_id, annotator_id HAVING count(*) > 1",
    ),
    Rule(
        "counted_follows_mark",
        "Judgments count exactly if their assignment is counted or late, except single ones that are set aside, "
        "withdrawn, or already counted.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
           WHERE CASE WHEN {is_submitted("a")} AND {is_marked_counted("a")}
                      THEN NOT j.is_counted
                           AND j.not_counted_reason NOT IN ('withdrawn', 'set aside', 'already counted')
                      ELSE j.is_counted END""",
    ),
    Rule(
        "reason_when_not_counted",
        "A judgment that is not counted has a reason, and one that is counted has none.",
        "judgment",
        "SELECT id FROM annotate_judgment WHERE is_counted = (not_counted_reason <> '')",
    ),
    # max(id) names one row of each group, as the check expects single ids.
    Rule(
        "counted_once",
        "One annotator has one counted judgment of a candidate on a criterion.",
        "judgment",
        """SELECT max(id) FROM annotate_judgment WHERE is_counted AND candidate_id IS NOT NULL
           GROUP BY annotator_id, candidate_id, criterion_id HAVING count(*) > 1""",
    ),
    Rule(
        "import_respects_decisions",
        "No imported judgment counts if the annotator's earlier one of the candidate on the criterion was removed or "
        "set aside.",
        "judgment",
        f"""SELECT later.id FROM annotate_judgment j
           JOIN projects_membership m ON m.id = j.annotator_id AND NOT {rates_here("m")}
           JOIN projects_criterion c ON c.id = j.criterion_id
           JOIN annotate_judgment later ON later.annotator_id = j.annotator_id AND later.candidate_id = j.candidate_id
                AND later.id > j.id AND {is_counted("later")}
           JOIN projects_criterion its ON its.id = later.criterion_id AND its.key = c.key
           WHERE NOT j.is_counted AND j.not_counted_reason IN ('removed', 'set aside')""",
    ),
    Rule(
        "once_per_item",
        "An assignment has one judgment of an item on a criterion.",
        "judgment",
        "SELECT max(id) FROM annotate_judgment GROUP BY assignment_id, item_id, criterion_id HAVING count(*) > 1",
    ),
    # The layout counts controls too: each of them is rated on every criterion like an ordinary item.
    Rule(
        "judgments_complete",
        "A submitted assignment has a judgment of every item shown on every criterion of its rubric.",
        "assignment",
        f"""SELECT a.id FROM annotate_assignment a
           JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
           JOIN (SELECT rubric_id, count(*) AS n FROM projects_criterion GROUP BY rubric_id) c
             ON c.rubric_id = b.rubric_id
           LEFT JOIN (SELECT assignment_id, count(*) AS n FROM annotate_judgment GROUP BY assignment_id) j
             ON j.assignment_id = a.id
           WHERE {was_submitted("a")} AND {is_collected("b")}
             AND coalesce(j.n, 0) <> cardinality(a.layout) * c.n""",
    ),
    Rule(
        "unsent_has_no_judgments",
        "An assignment that was never submitted has no judgments.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a
           WHERE a.state IN ('open', 'returned', 'expired', 'withdrawn')
             AND EXISTS (SELECT 1 FROM annotate_judgment j WHERE j.assignment_id = a.id)""",
    ),
    Rule(
        "judgment_of_layout",
        "A judgment belongs to an item that its assignment showed.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
           JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
           WHERE {is_collected("b")} AND j.item_id <> ALL (a.layout)""",
    ),
    Rule(
        "judgment_follows_rows",
        "A judgment has the annotator of its assignment and the candidate of its item, or none for a control.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
           JOIN annotate_item i ON i.id = j.item_id
           WHERE j.annotator_id <> a.annotator_id
              OR j.candidate_id IS DISTINCT FROM CASE WHEN {is_item("i")} THEN i.candidate_id END""",
    ),
    Rule(
        "criterion_of_rubric",
        "A judgment is on a criterion of its batch's version of the rubric.",
        "judgment",
        """SELECT j.id FROM annotate_judgment j JOIN projects_criterion c ON c.id = j.criterion_id
           JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id
           WHERE c.rubric_id <> b.rubric_id""",
    ),
    Rule(
        "value_on_scale",
        "A value is on its criterion's scale; only items that can't be judged have none.",
        "judgment",
        """SELECT j.id FROM annotate_judgment j JOIN projects_criterion c ON c.id = j.criterion_id
           WHERE j.value < c.low OR j.value > c.high OR (c.kind = 'ordinal' AND j.value <> floor(j.value))""",
    ),
    Rule(
        "no_value_has_reason",
        "A judgment without a value belongs to an item that the annotator marked as impossible to judge.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j
           JOIN annotate_assignment a ON a.id = j.assignment_id JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id
           WHERE j.value IS NULL AND {is_collected("b")} AND NOT EXISTS (
               SELECT 1 FROM annotate_remark r
               WHERE r.assignment_id = j.assignment_id AND r.item_id = j.item_id AND r.cannot_judge_reason <> '')""",
    ),
    # `items` are those not withdrawn, `ever` includes the withdrawn: an assignment must have shown all of the former,
    # and may have shown the latter, since they may have been withdrawn later. Anything else must be from the batch's
    # pool.
    Rule(
        "layout_is_hit",
        "An assignment showed exactly the items of its HIT, each once, and controls of its batch's pool.",
        "assignment",
        f"""SELECT a.id FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id
           JOIN (SELECT hit_id, array_agg(id) FILTER (WHERE retired_at IS NULL) AS items, array_agg(id) AS ever
                 FROM annotate_item GROUP BY hit_id) held ON held.hit_id = a.hit_id
           WHERE {is_collected("b")} AND (
               NOT a.layout @> coalesce(held.items, '{{}}')
               OR cardinality(a.layout) > (SELECT count(DISTINCT item) FROM unnest(a.layout) AS item)
               OR EXISTS (SELECT 1 FROM unnest(a.layout) AS item WHERE item <> ALL (held.ever) AND NOT EXISTS (
                   SELECT 1 FROM annotate_item i WHERE i.id = item AND i.pool_of_id = h.batch_id)))""",
    ),
    Rule(
        "judged_once",
        "No annotator is served the same candidate in two HITs.",
        "assignment",
        f"""SELECT max(a.id) FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id AND {is_work("h")}
           JOIN annotate_batch b ON b.id = h.batch_id AND {is_collected("b")}
           JOIN annotate_item i ON i.hit_id = h.id AND {is_item("i")}
           GROUP BY a.annotator_id, i.candidate_id HAVING count(*) > 1""",
    ),
    Rule(
        "hit_of_one_passage",
        "A HIT's items belong to its passage, and each item to its candidate's question.",
        "HIT",
        """SELECT DISTINCT i.hit_id FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
           JOIN projects_question q ON q.id = i.question_id
           WHERE q.passage_id <> h.passage_id
              OR (i.candidate_id IS NOT NULL AND i.question_id <> (
                  SELECT c.question_id FROM projects_candidate c WHERE c.id = i.candidate_id))""",
    ),
    Rule(
        "pair_apart",
        "The two candidates of a minimal pair are never in one HIT.",
        "HIT",
        f"""SELECT DISTINCT one.hit_id FROM projects_minimalpair mp
           JOIN annotate_item one ON one.candidate_id = mp.candidate_1_id
           JOIN annotate_item two ON two.candidate_id = mp.candidate_2_id AND two.hit_id = one.hit_id
           JOIN annotate_hit h ON h.id = one.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id AND {is_collected("b")}""",
    ),
    Rule(
        "one_project",
        "An assignment's annotator belongs to the project of its batch.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a JOIN projects_membership m ON m.id = a.annotator_id
           JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
           WHERE m.project_id <> b.project_id""",
    ),
    Rule(
        "archived_is_over",
        "An archived batch has no HIT in progress.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id WHERE a.state = 'open' AND b.state = 'archived'""",
    ),
    Rule(
        "frozen_rubric",
        "A batch that is not a draft has a frozen rubric.",
        "batch",
        f"""SELECT b.id FROM annotate_batch b JOIN projects_rubric r ON r.id = b.rubric_id
           WHERE b.state <> 'draft' AND {is_collected("b")} AND r.frozen_at IS NULL""",
    ),
    # These two foreign keys are not checked by the database: each would cost seconds for every 400,000 rows imported.
    Rule(
        "no_orphan",
        "Every judgment's annotator and candidate exist, although no foreign key ensures it.",
        "judgment",
        """SELECT j.id FROM annotate_judgment j
           WHERE NOT EXISTS (SELECT 1 FROM projects_membership m WHERE m.id = j.annotator_id)
              OR (j.candidate_id IS NOT NULL
                  AND NOT EXISTS (SELECT 1 FROM projects_candidate c WHERE c.id = j.candidate_id))""",
    ),
    # The last count before today: today's may have been taken after a loss.
    Rule(
        "not_fewer_judgments",
        "A project has no fewer judgments than at the last daily count.",
        "project",
        """SELECT d.project_id FROM (
               SELECT DISTINCT ON (project_id) project_id, n_judgments FROM annotate_dailycount
               WHERE day_on < (now() AT TIME ZONE 'UTC')::date ORDER BY project_id, day_on DESC) d
           WHERE d.n_judgments > (
               SELECT count(*) FROM projects_membership m JOIN annotate_judgment j ON j.annotator_id = m.id
               WHERE m.project_id = d.project_id)""",
    ),
    *CONSENT,
    *LEDGER,
    *CONTROLS,
    *REVISIONS,
)


def verify() -> list[Breach]:
    """Check every rule against one snapshot of the rows and return the broken ones."""
    # In one snapshot, so that work submitted meanwhile can't break a rule whose two sides are read one after the other.
    breaches = []
    with snapshot(), connection.cursor() as cursor:
        for rule in RULES:
            cursor.execute(_COUNT.format(query=rule.query, shown=N_IDS_SHOWN))
            n, ids = cursor.fetchone()
            if n:
                breaches.append(Breach(rule.name, rule.sentence, rule.of, n, [str(row) for row in ids]))
    return breaches


# Counts all rows that break a rule and lists the first ids, in one pass over the rule's query.
_COUNT = "SELECT count(*), (array_agg(broken.id ORDER BY broken.id))[1:{shown}] FROM ({query}) AS broken (id)"
