"""Retiring: a set that should no longer be used is marked, with the reason and its replacement; its files stay."""

from dataclasses import replace

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotate.models.conditions import LEAVERS, REMOVALS
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project
from results.models import JudgmentSet
from results.sets import freezing, studies
from results.sets.settings import Settings

NOTE = "RETIRED.md"
"""The file that marks the downloads of a retired set."""
TAKEN_OUT = (
    "After the set was frozen, an annotator withdrew consent or deleted their account, and their work or their answers "
    "to surveys were removed."
)
WHY_LENGTH = 2_000
SLACK_SECONDS = 10
"""How long before the snapshot a withdrawal may be timed that the snapshot does not see yet."""


@transaction.atomic
def retire(
    *, judgment_set: JudgmentSet, actor: Membership | None, why: str, replacement: JudgmentSet | None = None
) -> None:
    """Mark a frozen set as retired; `actor` None is the system. Raises Refused. Locks the set."""
    why = why.strip()
    if not why:
        raise Refused("Enter the reason for retiring the set. Its readers will see it.")
    if len(why) > WHY_LENGTH:
        raise Refused(f"The reason is longer than {WHY_LENGTH:,} characters.")
    locked = _lock(judgment_set)
    if not locked.is_frozen:
        raise Refused("Only a frozen set can be retired.")
    if locked.retired_at is not None:
        raise Refused("This set is retired already.")
    if replacement is not None:
        _refuse_replacement(judgment_set, replacement)
    JudgmentSet.objects.filter(pk=judgment_set.pk).update(
        retired_at=Now(), retired_by=actor, retired_why=why, successor=replacement
    )
    _log(Act.RETIRE_JUDGMENT_SET, judgment_set, actor, replacement, why=why)
    judgment_set.refresh_from_db()


@transaction.atomic
def choose_replacement(*, judgment_set: JudgmentSet, actor: Membership, replacement: JudgmentSet) -> None:
    """Name a frozen set as the replacement of a retired one that has none. Raises Refused. Locks the set."""
    _refuse_replaced(_lock(judgment_set))
    _refuse_replacement(judgment_set, replacement)
    JudgmentSet.objects.filter(pk=judgment_set.pk).update(successor=replacement)
    _log(Act.REPLACE_JUDGMENT_SET, judgment_set, actor, replacement)


def find_replacements(judgment_set: JudgmentSet) -> QuerySet[JudgmentSet]:
    """Return the sets that can replace this one, the newest first: frozen, not retired, nor about to be."""
    project = judgment_set.project
    found = project.judgment_sets.frozen().filter(retired_at=None)
    return found.exclude(pk__in=[judgment_set.pk, *find_taken_out(project)])


@transaction.atomic
def request_successor(*, judgment_set: JudgmentSet, actor: Membership) -> JudgmentSet:
    """Request the replacement of a retired set: the same name and settings, the present judgments. Raises Refused.

    Metric evaluations that a set can no longer hold are left out. A replacement that failed is queued once more. Locks
    the set.
    """
    locked = _lock(judgment_set)
    _refuse_replaced(locked)
    if locked.successor is not None:
        freezing.start_again(judgment_set=locked.successor)
        return locked.successor
    settings = Settings.from_dict(judgment_set.settings)
    successor = freezing.request_set(
        project=judgment_set.project,
        actor=actor,
        name=judgment_set.name,
        settings=replace(settings, studies=studies.keep_usable(judgment_set.project, settings.studies)),
    )
    JudgmentSet.objects.filter(pk=judgment_set.pk).update(successor=successor)
    why = explain_left_out(judgment_set, successor)
    _log(Act.REPLACE_JUDGMENT_SET, judgment_set, actor, successor, why=why)
    return successor


def explain_left_out(judgment_set: JudgmentSet, successor: JudgmentSet) -> str:
    """Return which metric evaluations of a set its replacement leaves out and why; empty if it has all."""
    before, kept = (Settings.from_dict(each.settings).studies for each in (judgment_set, successor))
    left_out = [str(number) for number in before if number not in kept]
    if not left_out:
        return ""
    return (
        "Metric evaluations left out, as they were deleted or an annotator has removed work since they ran: "
        f"{', '.join(left_out)}."
    )


def retire_taken_out() -> int:
    """Retire every frozen set with what an annotator has removed since; return their number."""
    found = JudgmentSet.objects.select_related("project").filter(pk__in=find_taken_out())
    for judgment_set in found:
        retire(judgment_set=judgment_set, actor=None, why=TAKEN_OUT)
    return len(found)


def find_taken_out(project: Project | None = None) -> list[int]:
    """Return the ids of frozen sets, not retired yet, with judgments or answers that an annotator has removed since."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN_OUT, {"project": project.pk if project else None, "slack": SLACK_SECONDS})
        return [row[0] for row in cursor.fetchall()]


def retirement_note(judgment_set: JudgmentSet) -> bytes:
    """Return the text of RETIRED.md, which is beside the files of a retired set."""
    assert judgment_set.retired_at is not None
    successor = judgment_set.successor
    replacement = "It has no replacement yet."
    if successor is not None and successor.is_frozen:
        too = ", which is retired too" if successor.retired_at is not None else ""
        replacement = f"It is replaced by judgment set {successor.number}, “{successor.name}”{too}."
    return (
        f"# Judgment set {judgment_set.number} is retired\n\n"
        f"“{judgment_set.name}” was retired on {judgment_set.retired_at:%Y-%m-%d}: {judgment_set.retired_why}\n\n"
        f"{replacement}\n\n"
        "Do not use it for new work, and do not pass it on. Its other files are unchanged.\n"
    ).encode()


def _refuse_replaced(judgment_set: JudgmentSet) -> None:
    if judgment_set.retired_at is None:
        raise Refused("Only a retired set can be replaced.")
    successor = judgment_set.successor
    if successor is not None and (successor.is_frozen or successor.is_live):
        raise Refused(f"It is replaced by judgment set {successor.number} already.")


def _refuse_replacement(judgment_set: JudgmentSet, replacement: JudgmentSet) -> None:
    if not find_replacements(judgment_set).filter(pk=replacement.pk).exists():
        raise Refused(
            f"Judgment set {replacement.number} can’t be the replacement. Choose a frozen set that is not retired."
        )


def _log(
    act: Act, judgment_set: JudgmentSet, actor: Membership | None, replacement: JudgmentSet | None, why: str = ""
) -> None:
    after = {"successor": replacement.number} if replacement is not None else None
    log.record(judgment_set.project, actor, act, judgment_set, after=after, why=why)


def _lock(judgment_set: JudgmentSet) -> JudgmentSet:
    # PostgreSQL cannot lock the nullable side of an outer join, and the project needs no lock.
    rows = JudgmentSet.objects.select_for_update(no_key=True, of=("self",)).select_related("successor", "project")
    return rows.get(pk=judgment_set.pk)


# A set stores the pseudonyms of everyone behind its files, and of those whose answers to surveys it has, which earlier
# versions did not. Withdrawals are compared with its snapshot; one that was timed just before may have been committed
# after, hence the slack. Retiring a set once too often is harmless, missing one is not.
_TAKEN_OUT = f"""
SELECT s.id FROM results_judgmentset s
WHERE s.frozen_at IS NOT NULL AND s.retired_at IS NULL
  AND (%(project)s::bigint IS NULL OR s.project_id = %(project)s)
  AND (EXISTS (
    SELECT FROM {REMOVALS} r JOIN projects_membership m ON m.id = r.membership_id
    WHERE m.project_id = s.project_id
      AND r.removed_at > s.frozen_at - make_interval(secs => %(slack)s)
      AND s.facts->'annotators' ? m.pseudonym)
  OR (s.settings->>'with_surveys')::boolean AND EXISTS (
    SELECT FROM {LEAVERS} l JOIN projects_membership m ON m.id = l.membership_id
    WHERE m.project_id = s.project_id
      AND l.left_at > s.frozen_at - make_interval(secs => %(slack)s)
      AND coalesce(s.facts->'surveyed', s.facts->'annotators') ? m.pseudonym))
ORDER BY s.id"""
