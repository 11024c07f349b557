"""Adjudication: the candidates with the largest disagreement, and the scores that managers set.

An adjudicated score is a row of its own and never enters agreement. The project's rule says whether it is the gold
score.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from annotate.frames.criteria_in_use import CriterionInUse
from annotate.frames.kept import Order, fetch_order, keep
from annotate.frames.rating_patterns import IS_NOT_WITHDRAWN, execute_analytic
from annotate.models import Adjudication, QualityRules
from annotate.models.conditions import is_counted, is_identified, is_item
from measures.gold_rules import GoldRule
from measures.rubric import Scale, ScaleKind, check_value
from projects import access, log
from projects.errors import Refused
from projects.models import Act, Candidate, Criterion, Membership, Project

STATES = {
    "waiting": "not adjudicated",
    "settled": "adjudicated",
    "all": "all",
}


@dataclass(frozen=True)
class Disagreement:
    """A candidate with disagreement; the spread is the highest minus the lowest score."""

    candidate_id: int
    n: int
    low: float
    high: float
    mean: float
    sd: float

    @property
    def spread(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Rating:
    """One annotator's score of a candidate; scores without an annotator have no pseudonym."""

    pseudonym: str
    value: float
    comment: str
    is_flagged: bool
    is_blind: bool


class Differences:
    """The candidates of a project whose counted scores on a criterion differ, most first, fetched slice by slice.

    It has what Django's paginator asks of a list. Their order is kept while no judgment changes, so that any page, and
    their number, take no look at them all.
    """

    def __init__(self, project: Project, criterion: CriterionInUse, *, state: str, batch: int | None = None) -> None:
        self.project, self.settings = project, [criterion.ids, state, batch]
        # Only a criterion of several versions can have two scores of one annotator.
        self.judgments = _NEWEST if len(criterion.ids) > 1 else _ONLY
        self.conditions = {"state": _STATES[state], "batch": "" if batch is None else _IN_BATCH}
        self.parameters: dict[str, Any] = {
            "project": project.pk,
            "criteria": list(criterion.ids),
            "batch": batch,
        }

    @cached_property
    def order(self) -> Order:
        return keep(self.project, "differences", self.settings, self._fetch_order)

    def count(self) -> int:
        return len(self.order)

    def __len__(self) -> int:
        return self.count()

    def __getitem__(self, part: slice) -> list[Disagreement]:
        ids = self.order[part]
        with execute_analytic(self._select(only=_ONLY_THESE), {**self.parameters, "only": ids}) as cursor:
            found = {row[0]: Disagreement(*row) for row in cursor.fetchall()}
        return [found[pk] for pk in ids if pk in found]

    def _fetch_order(self) -> Order:
        return fetch_order(
            self._select(), "high - low DESC, sd DESC, candidate_id", self.parameters, key="candidate_id"
        )

    def _select(self, *, only: str = "") -> str:
        return _DIFFERING.format(judgments=self.judgments.format(only=only), **self.conditions)


def fetch_counted_ratings(candidate_ids: list[int], criterion: CriterionInUse) -> dict[int, list[Rating]]:
    """Return the ratings of each candidate, the lowest score first, then by pseudonym."""
    with connection.cursor() as cursor:
        cursor.execute(_RATINGS, {"ids": candidate_ids, "criteria": list(criterion.ids)})
        found: dict[int, list[Rating]] = {}
        for candidate_id, *columns in cursor.fetchall():
            found.setdefault(candidate_id, []).append(Rating(*columns))
    return found


def fetch_adjudications(candidate_ids: list[int], criterion: CriterionInUse) -> dict[int, Adjudication]:
    """Return the adjudicated scores of these candidates, by candidate."""
    rows = Adjudication.objects.filter(candidate__in=candidate_ids, criterion__in=criterion.ids)
    return {row.candidate_id: row for row in rows.select_related("adjudicator").order_by("pk")}


@transaction.atomic
def adjudicate(
    *,
    project: Project,
    actor: Membership,
    candidate: Candidate,
    criterion: CriterionInUse,
    value: float,
    note: str = "",
) -> Adjudication:
    """Set the adjudicated score, on the criterion's scale as annotators see it, replacing any earlier one.

    Raises Refused for a value off the scale, or for a candidate that is withdrawn or that no one has rated. Locks the
    actor, then the candidate, so that of two people at the same time the second replaces the first one's score.
    """
    access.lock_actor(actor)
    # The row locked here is read again: the caller's copy may be of before it was withdrawn.
    candidate = _lock(candidate)
    scale = Scale(kind=ScaleKind(criterion.kind), low=criterion.low, high=criterion.high)
    if wrong := check_value(scale, value):
        raise Refused(wrong)
    if candidate.withdrawn_at is not None or candidate.question.passage.withdrawn_at is not None:
        raise Refused("This candidate is withdrawn.")
    if not candidate.judgments.filter(criterion__in=criterion.ids, is_counted=True, value__isnull=False).exists():
        raise Refused("No one has rated this candidate on this criterion, so there is nothing to adjudicate.")
    before = fetch_adjudications([candidate.pk], criterion).get(candidate.pk)
    newest, *older = criterion.ids
    # A score is turned and placed on a scale as its own version says, so it belongs to the newest one, whose scale was
    # shown. Earlier scores on that scale are replaced; those on another remain the gold scores of that scale.
    on_scale = Criterion.objects.filter(kind=criterion.kind, low=criterion.low, high=criterion.high, pk__in=older)
    Adjudication.objects.filter(candidate=candidate, criterion__in=on_scale).delete()
    stored, _is_new = Adjudication.objects.update_or_create(
        candidate=candidate,
        criterion_id=newest,
        defaults={"adjudicator": actor, "value": value, "note": note.strip(), "adjudicated_at": Now()},
    )
    log.record(
        project,
        actor,
        Act.ADJUDICATE,
        candidate,
        before={"criterion": criterion.key, "value": before.value} if before else None,
        after={"criterion": criterion.key, "value": value},
        why=note.strip(),
    )
    return stored


@transaction.atomic
def withdraw_adjudication(
    *, project: Project, actor: Membership, candidate: Candidate, criterion: CriterionInUse
) -> bool:
    """Remove an adjudicated score, so that the annotators' scores apply again; return False if there was none."""
    access.lock_actor(actor)
    candidate = _lock(candidate)
    found = fetch_adjudications([candidate.pk], criterion).get(candidate.pk)
    if found is None:
        return False
    before = {"criterion": criterion.key, "value": found.value}
    found.delete()
    log.record(project, actor, Act.TAKE_BACK_ADJUDICATION, candidate, before=before)
    return True


def _lock(candidate: Candidate) -> Candidate:
    rows = Candidate.objects.select_for_update(no_key=True, of=("self",)).select_related("question__passage")
    return rows.get(pk=candidate.pk)


@transaction.atomic
def set_rule(*, project: Project, actor: Membership, wins: bool) -> None:
    """Set whether an adjudicated score is the gold score of its candidate."""
    access.lock_actor(actor)
    rules, _is_new = QualityRules.objects.select_for_update().get_or_create(project=project)
    # Saving the same rule again writes no log entry, which would make all figures stale for nothing.
    if rules.adjudication_wins != wins:
        QualityRules.objects.filter(pk=project.pk).update(adjudication_wins=wins)
        after = {"adjudication_wins": wins}
        log.record(project, actor, Act.CHANGE_GOLD_RULE, project, before={"adjudication_wins": not wins}, after=after)


@transaction.atomic
def choose_gold(*, project: Project, actor: Membership, rule: str, with_controls: bool) -> None:
    """Set the rule by which judgments become gold scores, and whether controls enter the annotators' norms."""
    access.lock_actor(actor)
    if rule not in set(GoldRule):
        raise Refused("Unknown rule for gold scores.")
    rules, _new = QualityRules.objects.select_for_update().get_or_create(project=project)
    before = {"gold_rule": rules.gold_rule, "controls_enter_norms": rules.controls_enter_norms}
    after = {"gold_rule": str(rule), "controls_enter_norms": with_controls}
    if before != after:
        QualityRules.objects.filter(pk=project.pk).update(**after)
        log.record(project, actor, Act.CHANGE_GOLD_RULE, project, before=before, after=after)


@dataclass(frozen=True)
class Gold:
    """The rule by which judgments become gold scores in a project."""

    rule: GoldRule = GoldRule.MEAN
    with_controls: bool = True
    adjudication_wins: bool = False


def read_gold_rule(project: Project) -> Gold:
    """Return the project's rule for gold scores; the mean if none was ever set."""
    rules = QualityRules.objects.filter(project=project).first()
    if rules is None:
        return Gold()
    return Gold(GoldRule(rules.gold_rule), rules.controls_enter_norms, rules.adjudication_wins)


def uses_adjudication(project: Project) -> bool:
    """Return whether an adjudicated score is the gold score of its candidate."""
    return QualityRules.objects.filter(project=project, adjudication_wins=True).exists()


# Candidates whose counted scores on a criterion are not all equal. The scores come from an index alone, and whatever
# else is asked of a candidate is asked of those that differ. `criteria` has the ids of the criterion in all versions of
# the rubric; where an annotator rated a candidate under two of them, DISTINCT ON takes the newest judgment, so that
# everyone has one. The filter by batch asks whether the candidate is in the batch; its ratings from other batches are
# shown as well. Equal spreads are ordered by SD and id, which keeps pages stable.
_DIFFERING = f"""
SELECT candidate_id, n, low, high, mean, sd FROM (
    SELECT candidate_id, count(*) AS n, min(value) AS low, max(value) AS high, avg(value) AS mean,
           stddev_samp(value) AS sd
    FROM ({{judgments}}) newest GROUP BY candidate_id HAVING max(value) > min(value)) j
WHERE {IS_NOT_WITHDRAWN} {{state}} {{batch}}
"""
_ONLY = f"""
    SELECT j.candidate_id, j.value FROM annotate_judgment j
    WHERE j.criterion_id = (%(criteria)s::bigint[])[1] AND {is_counted("j")} AND j.value IS NOT NULL {{only}}"""
_NEWEST = f"""
    SELECT DISTINCT ON (j.candidate_id, j.annotator_id) j.candidate_id, j.value FROM annotate_judgment j
    WHERE j.criterion_id = ANY (%(criteria)s) AND {is_counted("j")} AND j.value IS NOT NULL {{only}}
    ORDER BY j.candidate_id, j.annotator_id, j.id DESC"""
_ONLY_THESE = "AND j.candidate_id = ANY (%(only)s)"
_ADJUDICATED = (
    "j.candidate_id IN (SELECT candidate_id FROM annotate_adjudication WHERE criterion_id = ANY (%(criteria)s))"
)
_STATES = {"waiting": f"AND NOT {_ADJUDICATED}", "settled": f"AND {_ADJUDICATED}", "all": ""}
_IN_BATCH = f"""AND EXISTS (
    SELECT 1 FROM annotate_item i JOIN annotate_hit h ON h.id = i.hit_id
    JOIN annotate_batch b ON b.id = h.batch_id AND b.project_id = %(project)s
    WHERE i.candidate_id = j.candidate_id AND {is_item("i")} AND b.number = %(batch)s)"""

# The ratings behind the rows of a page, one for each annotator by the same rule as above. Ratings of a list of scores
# without names belong to placeholder members, whose pseudonyms would look like people; they are left empty.
_RATINGS = f"""
SELECT candidate_id, pseudonym, value, comment, is_flagged, is_blind FROM (
    SELECT DISTINCT ON (j.candidate_id, j.annotator_id) j.candidate_id, j.value, NOT a.not_blind AS is_blind,
           CASE WHEN {is_identified("m")} THEN m.pseudonym ELSE '' END AS pseudonym,
           coalesce(r.comment, '') AS comment, coalesce(r.is_flagged, false) AS is_flagged
    FROM annotate_judgment j JOIN annotate_assignment a ON a.id = j.assignment_id
    JOIN projects_membership m ON m.id = j.annotator_id
    LEFT JOIN annotate_remark r ON r.assignment_id = j.assignment_id AND r.item_id = j.item_id
    WHERE j.candidate_id = ANY (%(ids)s) AND j.criterion_id = ANY (%(criteria)s)
      AND j.is_counted AND j.value IS NOT NULL
    ORDER BY j.candidate_id, j.annotator_id, j.id DESC) newest
ORDER BY candidate_id, value, pseudonym
"""
