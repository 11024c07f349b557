"""Rules that stored rows must keep: their form, and those of consent, the ledger, revisions and controls."""

from dataclasses import dataclass

from annotate.models.conditions import REMOVALS, is_collected, is_item, is_work, was_submitted
from annotate.models.pay import hit_pay
from annotate.places import TAKEN_OUT


@dataclass(frozen=True)
class Rule:
    """A sentence that must be true, and the query that finds the rows that break it.

    The query returns one column, the id. Rules about the pages that annotators saw skip imported batches.
    """

    name: str
    sentence: str
    of: str
    query: str


# Consents after which an entry was added to the audit log that has an earlier time: the clock was set back in between,
# and the times of consent and work do not tell which came first. The log is read once, and only if that is asked.
_BEFORE_THE_CLOCK_WAS_SET_BACK = """
    SELECT actor_id, at FROM (
        SELECT actor_id, act, at, min(at) OVER (ORDER BY id DESC) AS earliest_later FROM projects_logentry) entry
    WHERE act = 'agree to consent' AND earliest_later < at - interval '1 minute'"""
CONSENT = (
    # Consent versions have ascending ids, and a later withdrawal doesn't make earlier work wrong. Times are those at
    # which transactions begin: one that takes a HIT may begin before the consent is stored and see it nevertheless,
    # hence the minute.
    Rule(
        "work_under_consent",
        "Annotators served by a batch that requires consent have agreed to that version or a newer one, and not "
        "withdrawn.",
        "assignment",
        f"""WITH doubtful AS MATERIALIZED ({_BEFORE_THE_CLOCK_WAS_SET_BACK})
           SELECT a.id FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id
           JOIN annotate_assignment a ON a.hit_id = h.id
           WHERE b.consent_id IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM projects_consentacceptance c
               WHERE c.membership_id = a.annotator_id AND c.consent_id >= b.consent_id
                 AND (c.withdrawn_at IS NULL OR c.withdrawn_at > a.opened_at)
                 AND (c.accepted_at <= a.opened_at + interval '1 minute' OR EXISTS (
                     SELECT 1 FROM doubtful WHERE doubtful.actor_id = c.membership_id
                       AND doubtful.at BETWEEN c.accepted_at AND c.accepted_at + interval '1 minute')))""",
    ),
    Rule(
        "taken_out_stays_out",
        "Work that annotators have removed for good is not counted, for that reason.",
        "judgment",
        f"""SELECT j.id FROM {REMOVALS} r
           JOIN annotate_assignment a ON a.annotator_id = r.membership_id AND a.submitted_at <= r.removed_at
           JOIN annotate_judgment j ON j.assignment_id = a.id
           WHERE j.is_counted OR j.not_counted_reason <> '{TAKEN_OUT}'""",
    ),
    Rule(
        "taken_out_by_its_annotator",
        "A judgment is removed only if its annotator withdrew consent or deleted their account, and chose so.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j
           WHERE j.not_counted_reason = '{TAKEN_OUT}' AND NOT EXISTS (
               SELECT 1 FROM {REMOVALS} r WHERE r.membership_id = j.annotator_id)""",
    ),
)
LEDGER = (
    # All or nothing in both directions: a missing entry, a second one, one with other cents and one that nobody earned.
    # IS DISTINCT FROM, because an assignment without an entry has NULLs, which <> would let pass.
    Rule(
        "hit_is_owed_once",
        "A submitted assignment of a paid batch has one ledger entry for its HIT, with that pay, unless a panel's "
        "platform pays its annotator; any other has none.",
        "assignment",
        f"""SELECT a.id FROM annotate_assignment a JOIN projects_membership m ON m.id = a.annotator_id
           JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
           LEFT JOIN (SELECT assignment_id, count(*) AS n, min(cents) AS cents, min(key) AS key
                      FROM annotate_ledgerentry WHERE kind = 'hit' GROUP BY assignment_id) e ON e.assignment_id = a.id
           WHERE CASE WHEN {was_submitted("a")} AND {is_collected("b")} AND NOT m.is_paid_elsewhere
                           AND {hit_pay("b", "cardinality(a.layout)")} > 0
                      THEN (e.n, e.cents, e.key) IS DISTINCT FROM
                           (1::bigint, {hit_pay("b", "cardinality(a.layout)")}, 'hit:' || a.uuid)
                      ELSE e.n IS NOT NULL END""",
    ),
    # Entries are never changed or deleted, so pay that is taken back or given back shows in the sum alone.
    Rule(
        "unpaid_comes_to_nothing",
        "The ledger entries of an assignment sum to its pay, or to 0 if it was rejected without pay.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a
           JOIN (SELECT assignment_id, sum(cents) AS total, coalesce(sum(cents) FILTER (WHERE kind = 'hit'), 0) AS hit
                 FROM annotate_ledgerentry GROUP BY assignment_id) e ON e.assignment_id = a.id
           WHERE e.total <> CASE WHEN a.state = 'rejected' AND a.is_unpaid THEN 0 ELSE e.hit END""",
    ),
    Rule(
        "entry_follows_rows",
        "A ledger entry belongs to its annotator's project and has the annotator and batch of its assignment.",
        "ledger entry",
        """SELECT e.id FROM annotate_ledgerentry e JOIN projects_membership m ON m.id = e.annotator_id
           LEFT JOIN annotate_assignment a ON a.id = e.assignment_id LEFT JOIN annotate_hit h ON h.id = a.hit_id
           LEFT JOIN annotate_payment p ON p.id = e.payment_id
           WHERE m.project_id <> e.project_id OR p.project_id <> e.project_id
              OR (a.id IS NOT NULL
                  AND (a.annotator_id, h.batch_id) IS DISTINCT FROM (e.annotator_id, e.batch_id))""",
    ),
    Rule(
        "paid_is_approved",
        "Paid ledger entries were approved.",
        "ledger entry",
        "SELECT id FROM annotate_ledgerentry WHERE payment_id IS NOT NULL AND approved_at IS NULL",
    ),
    Rule(
        "payment_is_its_entries",
        "A payment's amount and number of annotators are those of its entries, and no annotator's share is negative.",
        "payment",
        """SELECT p.id FROM annotate_payment p
           LEFT JOIN (SELECT payment_id, sum(cents) AS cents, min(cents) AS least,
                             count(*) FILTER (WHERE cents > 0) AS n
                      FROM (SELECT payment_id, annotator_id, sum(cents) AS cents FROM annotate_ledgerentry
                            WHERE payment_id IS NOT NULL GROUP BY 1, 2) part GROUP BY payment_id) e
             ON e.payment_id = p.id
           WHERE p.cents <> coalesce(e.cents, 0) OR p.n_annotators <> coalesce(e.n, 0) OR e.least < 0""",
    ),
)
# The newest and the first version of each judgment or comment. The first is version 0, which is stored only when the
# first revision is.
_NEWEST = """(SELECT DISTINCT ON ({key}) * FROM {table} ORDER BY {key}, n DESC)"""
_FIRST = """(SELECT * FROM {table} WHERE n = 0)"""
_OF_JUDGMENTS = {"table": "annotate_judgmentrevision", "key": "judgment_id"}
_OF_REMARKS = {"table": "annotate_remarkrevision", "key": "assignment_id, item_id"}
REVISIONS = (
    # Judgments and comments in one rule, because a revision of an assignment writes both. A single version means that
    # the state before it was lost: the first revision stores two, the original and the new one.
    Rule(
        "versions_without_gaps",
        "The versions of a judgment or comment are numbered from 0 without gaps, each later than the one before.",
        "assignment",
        """SELECT DISTINCT assignment_id FROM (
               SELECT j.assignment_id, v.n, v.revised_at,
                      row_number() OVER w - 1 AS place, lag(v.revised_at) OVER w AS before,
                      count(*) OVER p AS n_versions
               FROM annotate_judgmentrevision v JOIN annotate_judgment j ON j.id = v.judgment_id
               WINDOW w AS (PARTITION BY v.judgment_id ORDER BY v.n), p AS (PARTITION BY v.judgment_id)
               UNION ALL
               SELECT v.assignment_id, v.n, v.revised_at,
                      row_number() OVER w - 1, lag(v.revised_at) OVER w, count(*) OVER p
               FROM annotate_remarkrevision v
               WINDOW w AS (PARTITION BY v.assignment_id, v.item_id ORDER BY v.n),
                      p AS (PARTITION BY v.assignment_id, v.item_id)) version
           WHERE n <> place OR revised_at <= before OR n_versions < 2""",
    ),
    # Controls keep the first value for ever: they check how an annotator rated, not what they made of it afterwards.
    Rule(
        "judgment_is_its_version",
        "A judgment of a candidate has the value of its newest version, and one of a control that of its first.",
        "judgment",
        f"""SELECT j.id FROM annotate_judgment j
            JOIN {_NEWEST.format(**_OF_JUDGMENTS)} newest ON newest.judgment_id = j.id
            JOIN {_FIRST.format(**_OF_JUDGMENTS)} first ON first.judgment_id = j.id
            WHERE j.value IS DISTINCT FROM CASE WHEN j.candidate_id IS NULL THEN first.value ELSE newest.value END""",
    ),
    # A comment that was emptied has no row any more, so an absent row equals an empty comment.
    Rule(
        "remark_is_its_version",
        "A comment equals its newest version, but a control keeps its first reason why it can't be judged.",
        "assignment",
        f"""SELECT newest.assignment_id FROM {_NEWEST.format(**_OF_REMARKS)} newest
            JOIN {_FIRST.format(**_OF_REMARKS)} first
              ON (first.assignment_id, first.item_id) = (newest.assignment_id, newest.item_id)
            JOIN annotate_item i ON i.id = newest.item_id
            LEFT JOIN annotate_remark r ON (r.assignment_id, r.item_id) = (newest.assignment_id, newest.item_id)
            WHERE (coalesce(r.is_flagged, false), coalesce(r.comment, ''), coalesce(r.cannot_judge_reason, ''))
               <> (newest.is_flagged, newest.comment,
                   CASE WHEN {is_item("i")} THEN newest.cannot_judge_reason ELSE first.cannot_judge_reason END)""",
    ),
)
CONTROLS = (
    Rule(
        "degraded_with_source",
        "Annotators who rated a degraded answer rated its original too.",
        "judgment",
        """SELECT j.id FROM annotate_judgment j JOIN annotate_item i ON i.id = j.item_id AND i.control = 'degraded'
           WHERE NOT EXISTS (
               SELECT 1 FROM annotate_judgment s
               WHERE s.item_id = i.made_from_id AND s.annotator_id = j.annotator_id)""",
    ),
    Rule(
        "reserved_has_one_place",
        "A HIT reserved for one annotator has at most one place, and no one else works on it.",
        "HIT",
        f"""SELECT h.id FROM annotate_hit h WHERE NOT {is_work("h")} AND (h.places_wanted > 1 OR EXISTS (
               SELECT 1 FROM annotate_assignment a WHERE a.hit_id = h.id AND a.annotator_id <> h.reserved_for_id))""",
    ),
    # Only where all items are on one page: shown one at a time, a control may follow its original in the same HIT.
    Rule(
        "not_beside_original",
        "No control is on the same page as its original.",
        "assignment",
        f"""SELECT a.id FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id
           JOIN annotate_batch b ON b.id = h.batch_id AND b.presentation = 'page' AND {is_collected("b")}
           WHERE EXISTS (
               SELECT 1 FROM annotate_item i WHERE i.id = ANY (a.layout) AND i.made_from_id = ANY (a.layout))""",
    ),
    # Repeats need no acceptance: they have the text of an item that was shown anyway.
    Rule(
        "pool_is_accepted",
        "A control of the pool is shown only after a manager has accepted it.",
        "assignment",
        """SELECT a.id FROM annotate_assignment a JOIN annotate_item i ON i.id = ANY (a.layout)
           WHERE i.pool_of_id IS NOT NULL AND i.control <> 'repeat' AND i.accepted_at IS NULL""",
    ),
)
