"""SQL conditions with a meaning, each with one name.

Each takes the aliases that its tables have in the statement and returns text for a WHERE, an ON or a FILTER. A boolean
column, such as `holds_place`, needs no name of its own here.
"""

from annotate.models.assignment import TAKEN_OUT

REMOVALS = """(
    SELECT membership_id, withdrawn_at AS removed_at FROM projects_consentacceptance WHERE is_taken_out
    UNION ALL SELECT membership_id, erased_at FROM projects_erasure WHERE takes_work_out)"""
"""A subquery: which annotators removed their work for good, and when, by withdrawing consent or with their account."""

LEAVERS = """(
    SELECT membership_id, withdrawn_at AS left_at FROM projects_consentacceptance WHERE withdrawn_at IS NOT NULL
    UNION ALL SELECT membership_id, erased_at FROM projects_erasure)"""
"""A subquery: which annotators withdrew consent or deleted their account, and when; no answer to a survey is left."""


def has_left(member: str) -> str:
    """Return SQL: whether a member has withdrawn consent and not agreed again; no HIT is for them until they do."""
    return f"""((
        SELECT bool_and(agreed.withdrawn_at IS NOT NULL) FROM projects_consentacceptance agreed
        WHERE agreed.membership_id = {_alias(member)}.id) IS TRUE)"""


def is_counted(judgment: str) -> str:
    """Return SQL: whether a judgment enters the results: it counts, and it is of a candidate and not of a control."""
    j = _alias(judgment)
    return f"({j}.is_counted AND {j}.candidate_id IS NOT NULL)"


def is_left_in(judgment: str) -> str:
    """Return SQL: whether a judgment's annotator has not removed it for good; no file has one that they removed."""
    return f"{_alias(judgment)}.not_counted_reason <> '{TAKEN_OUT}'"


def is_counted_elsewhere(judgment: str) -> str:
    """Return SQL: whether the annotator has another counted judgment of the candidate on the criterion.

    Criteria are compared by key, because each version of a rubric has its own. Only imported annotators can have such
    judgments: everybody else is served a candidate once.
    """
    j = _alias(judgment)
    return f"""EXISTS (
    SELECT 1 FROM annotate_judgment same JOIN projects_criterion its ON its.id = same.criterion_id
    WHERE {is_counted("same")} AND same.id <> {j}.id AND same.annotator_id = {j}.annotator_id
      AND same.candidate_id = {j}.candidate_id
      AND its.key = (SELECT k.key FROM projects_criterion k WHERE k.id = {j}.criterion_id))"""


def is_submitted(assignment: str) -> str:
    """Return SQL: whether an assignment is submitted and was not rejected."""
    return f"{_alias(assignment)}.state IN ('submitted', 'approved')"


def was_submitted(assignment: str) -> str:
    """Return SQL: whether an assignment was submitted, whatever was decided on it."""
    return f"{_alias(assignment)}.state IN ('submitted', 'approved', 'rejected')"


def was_finished(assignment: str) -> str:
    """Return SQL: whether an assignment was ended by its annotator, who submitted or returned it."""
    return f"{_alias(assignment)}.state IN ('submitted', 'approved', 'rejected', 'returned')"


def is_begun_for(assignment: str, participant: str) -> str:
    """Return SQL: whether an assignment is of a participant's set: begun since they joined this panel, and no later."""
    a, p = _alias(assignment), _alias(participant)
    return f"""({a}.annotator_id = {p}.membership_id AND {a}.id > {p}.work_after AND NOT EXISTS (
    SELECT 1 FROM annotate_panelparticipant later
    WHERE later.membership_id = {p}.membership_id AND later.joined_at > {p}.joined_at
      AND later.work_after < {a}.id))"""


def seconds_spent(assignment: str) -> str:
    """Return SQL: the seconds that a submitted HIT took: as the page measured, but no longer than the HIT was open.

    The page's times can be forged. Where it measured none, or times that contradict each other, the HIT took as long as
    it was open, an hour at most.
    """
    a = _alias(assignment)
    return f"""least(
    greatest(extract(epoch FROM {a}.submitted_at - {a}.opened_at), 0),
    coalesce(nullif(CASE WHEN NOT {a}.has_odd_times THEN {a}.active_seconds END, 0), 3600))::float8"""


def counts_toward_caps(assignment: str) -> str:
    """Return SQL: whether an assignment uses up its annotator's caps: not if returned, expired or withdrawn."""
    return f"{_alias(assignment)}.state NOT IN ('returned', 'expired', 'withdrawn')"


def most_hits(batch: str) -> str:
    """Return SQL: how many HITs of a batch one annotator may rate in all, by its cap and its share; NULL for any."""
    b = _alias(batch)
    # 0.29 * 100 is 28.999… as a float, and has to allow 29 HITs. Everyone may rate at least one.
    return f"""least({b}.max_hits_per_annotator, CASE WHEN {b}.max_share IS NOT NULL
        THEN greatest(1, floor({b}.max_share * {b}.n_hits + 1e-9))::int END)"""


def is_marked_counted(assignment: str) -> str:
    """Return SQL: whether the mark of an assignment lets it count: neither surplus nor excluded."""
    return f"{_alias(assignment)}.mark IN ('counted', 'late')"


def is_work(hit: str) -> str:
    """Return SQL: whether a HIT collects judgments, and was not made to check or to train annotators."""
    return f"{_alias(hit)}.purpose = 'work'"


def can_be_taken(hit: str) -> str:
    """Return SQL: whether an open place of a HIT can be taken: it has items, and its annotator, if any, is active.

    A HIT for everyone needs an ordinary item; a HIT of controls alone is for one person and needs any item.
    """
    h = _alias(hit)
    return f"""(
    EXISTS (SELECT 1 FROM annotate_item i WHERE i.hit_id = {h}.id AND {is_in_use("i")}
            AND (NOT {is_work(h)} OR {is_item("i")}))
    AND ({h}.reserved_for_id IS NULL OR EXISTS (
        SELECT 1 FROM projects_membership m
        WHERE m.id = {h}.reserved_for_id AND {is_member("m")} AND m.is_annotator)))"""


def is_new_to(*, hit: str, annotator: str) -> str:
    """Return SQL: whether an annotator has had neither a HIT nor, in another HIT, one of its candidates.

    `annotator` is SQL for an id. Each OFFSET 0 keeps the planner from turning its subquery into a join: the conditions
    are checked for the few HITs at the head of the queue, by index, and not for all HITs of the batch. A test holds the
    plan.
    """
    h = _alias(hit)
    return f"""(NOT EXISTS (
        SELECT 1 FROM annotate_assignment a WHERE a.hit_id = {h}.id AND a.annotator_id = {annotator} OFFSET 0)
      AND NOT EXISTS (
        SELECT 1 FROM annotate_item i
        CROSS JOIN LATERAL (
          SELECT i2.hit_id FROM annotate_item i2 WHERE i2.candidate_id = i.candidate_id OFFSET 0) same
        CROSS JOIN LATERAL (
          SELECT 1 FROM annotate_assignment a
          WHERE a.hit_id = same.hit_id AND a.annotator_id = {annotator} OFFSET 0) mine
        WHERE i.hit_id = {h}.id OFFSET 0))"""


def is_item(item: str) -> str:
    """Return SQL: whether an item asks about a candidate and is not a control."""
    return f"{_alias(item)}.control = 'none'"


def is_in_use(item: str) -> str:
    """Return SQL: whether an item was not retired, as those of withdrawn candidates and dropped controls are."""
    return f"{_alias(item)}.retired_at IS NULL"


def is_judgeable(candidate: str, passage: str) -> str:
    """Return SQL: whether a candidate may be judged and reported: neither it nor its passage is withdrawn."""
    return f"({_alias(candidate)}.withdrawn_at IS NULL AND {_alias(passage)}.withdrawn_at IS NULL)"


def is_rated_itself(candidate: str) -> str:
    """Return SQL: whether a candidate is rated itself, and does not have the ratings of an identical one."""
    return f"{_alias(candidate)}.identical_to_id IS NULL"


def is_judgeable_of_datasets(candidate: str) -> str:
    """Return SQL: whether a candidate of %(datasets)s may be judged, without a join with its question and passage.

    Few questions belong to withdrawn passages, so these are subtracted: half the time of a join of every candidate.
    """
    c = _alias(candidate)
    return f"""({c}.withdrawn_at IS NULL AND NOT EXISTS (
    SELECT FROM projects_passage p JOIN projects_question q ON q.passage_id = p.id
    WHERE q.id = {c}.question_id AND p.withdrawn_at IS NOT NULL AND p.dataset_id = ANY(%(datasets)s)))"""


def is_identified(member: str) -> str:
    """Return SQL: whether it is known who judged: imported judgments may not name their annotator."""
    return f"{_alias(member)}.kind <> 'unknown'"


def is_member(member: str) -> str:
    """Return SQL: whether a member is still in the project, active or suspended but not removed."""
    return f"{_alias(member)}.standing <> 'removed'"


def rates_here(member: str) -> str:
    """Return SQL: whether a member rates in the app, as a person or simulated; others are names in imported files."""
    return f"{_alias(member)}.kind IN ('person', 'simulated')"


def is_active_annotator(member: str) -> str:
    """Return SQL: whether a member annotates and is neither suspended nor removed; imported annotators are active."""
    m = _alias(member)
    return f"({m}.standing = 'active' AND {m}.is_annotator)"


def is_let_in(session: str) -> str:
    """Return SQL: whether a participant's session was let in; one that is not may be somebody else's with their ids."""
    return f"{_alias(session)}.access <> 'held'"


def is_under_way(batch: str) -> str:
    """Return SQL: whether a batch is open or paused, so that HITs of it may still be taken."""
    return f"{_alias(batch)}.state IN ('open', 'paused')"


def is_turned(criterion: str) -> str:
    """Return SQL: whether values are turned round so that more is better; turned categories would be other ones."""
    c = _alias(criterion)
    return f"({c}.is_reversed AND ({c}.level <> 'nominal' OR {c}.high - {c}.low < 2))"


def is_collected(batch: str) -> str:
    """Return SQL: whether a batch is rated in the app and was not imported."""
    return f"{_alias(batch)}.kind <> 'imported'"


def is_erased(member: str) -> str:
    """Return SQL: whether a member was a person whose account is deleted, as `Membership.is_erased` tells it."""
    m = _alias(member)
    return f"({m}.kind = 'person' AND {m}.user_id IS NULL)"


def is_unused_trial(batch: str) -> str:
    """Return SQL: whether a batch is a trial whose judgments no full batch counts."""
    b = _alias(batch)
    return f"""({b}.kind = 'trial' AND NOT EXISTS (
    SELECT 1 FROM annotate_batch f WHERE f.trial_id = {b}.id AND {uses_trial("f")}))"""


def uses_trial(batch: str) -> str:
    """Return SQL: whether a full batch counts the judgments of its trial as its own."""
    return f"{_alias(batch)}.use_of_trial = 'count'"


def is_admitted(*, batch: str, annotator: str) -> str:
    """Return SQL: whether the qualification test lets an annotator be served a batch; `annotator` is SQL for an id."""
    b = _alias(batch)
    return f"""(NOT {b}.requires_qualification OR NOT EXISTS (
      SELECT 1 FROM annotate_qualificationtest t WHERE t.project_id = {b}.project_id AND t.state = 'open'
        AND NOT EXISTS (
          SELECT 1 FROM annotate_qualification q WHERE q.annotator_id = {annotator} AND q.is_qualified
            AND (q.until IS NULL OR q.until > now())
            AND (t.on_new_rubric = 'keep' OR q.rubric_id = t.rubric_id))))"""


def lacks_survey(moment: str, *, project: str, annotator: str) -> str:
    """Return SQL: whether a project asks a survey that an annotator has yet to answer; both are SQL for ids."""
    return f"""(EXISTS (
      SELECT 1 FROM annotate_survey s
      WHERE s.project_id = {project} AND s.moment = '{_alias(moment)}' AND s.ended_at IS NULL)
    AND NOT EXISTS (
      SELECT 1 FROM annotate_surveyresponse a WHERE a.annotator_id = {annotator} AND a.moment = '{_alias(moment)}'))"""


def is_screened_out(*, response: str, annotator: str) -> str:
    """Return SQL: whether an answer in a survey ended an annotator's visit.

    `response` is the alias that their answers get, `annotator` SQL for an id.
    """
    r = _alias(response)
    return f"""EXISTS (
      SELECT 1 FROM annotate_surveyresponse {r} WHERE {r}.annotator_id = {annotator} AND {r}.is_screened_out)"""


def _alias(name: str) -> str:
    """Return the alias. It becomes part of the statement unescaped, so anything but an identifier raises ValueError."""
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"“{name}” is no alias of a table.")
    return name
