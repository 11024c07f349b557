"""Retiring: a set that should not be used any more says so, with the reason and its successor; its files stay."""

from django.db import connection, transaction
from django.db.models.functions import Now

from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project
from results.models import JudgmentSet
from results.sets import freezing
from results.sets.settings import Settings

NOTE = "RETIRED.md"
"""What says so in the downloads of a retired set."""
TAKEN_OUT = "An annotator withdrew their consent after it was frozen, and took their work out."
SLACK_SECONDS = 10
"""A withdrawal may be written down a moment before the snapshot that does not see it yet."""


@transaction.atomic
def retire(*, made: JudgmentSet, actor: Membership | None, why: str) -> None:
    """Mark a frozen set as retired; `actor` None is the system. Raises Refused. Locks the set."""
    why = why.strip()
    if not why:
        raise Refused("Say why the set is retired: its readers will want to know.")
    locked = _lock(made)
    if not locked.is_frozen:
        raise Refused("Only a frozen set can be retired.")
    if locked.retired_at is not None:
        raise Refused("This set is retired already.")
    JudgmentSet.objects.filter(pk=made.pk).update(retired_at=Now(), retired_by=actor, retired_why=why)
    log.record(made.project, actor, Act.RETIRE_JUDGMENT_SET, made, why=why)
    made.refresh_from_db()


@transaction.atomic
def request_successor(*, made: JudgmentSet, actor: Membership) -> JudgmentSet:
    """Ask for the successor of a retired set: the same name and settings, the judgments of now. Raises Refused.

    A successor that did not come about is queued once more. Locks the set.
    """
    locked = _lock(made)
    if locked.retired_at is None:
        raise Refused("Only a retired set has a successor.")
    if locked.successor is not None:
        if locked.successor.is_frozen or locked.successor.is_live:
            raise Refused(f"Its successor is judgment set {locked.successor.number}.")
        freezing.start_again(made=locked.successor)
        return locked.successor
    successor = freezing.request_set(
        project=made.project, actor=actor, name=made.name, settings=Settings.from_dict(made.settings)
    )
    JudgmentSet.objects.filter(pk=made.pk).update(successor=successor)
    return successor


def retire_taken_out() -> int:
    """Retire every frozen set that holds judgments which their annotator has taken out since; how many there were."""
    found = JudgmentSet.objects.select_related("project").filter(pk__in=find_taken_out())
    for made in found:
        retire(made=made, actor=None, why=TAKEN_OUT)
    return len(found)


def find_taken_out(project: Project | None = None) -> list[int]:
    """The ids of frozen sets, not retired yet, with judgments that their annotator has taken out since."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN_OUT, {"project": project.pk if project else None, "slack": SLACK_SECONDS})
        return [row[0] for row in cursor.fetchall()]


def retirement_note(made: JudgmentSet) -> bytes:
    """What stands in RETIRED.md beside the files of a retired set."""
    assert made.retired_at is not None
    successor = made.successor
    then = (
        f"It is succeeded by judgment set {successor.number}, “{successor.name}”."
        if successor is not None and successor.is_frozen
        else "It has no successor yet."
    )
    return (
        f"# Judgment set {made.number} is retired\n\n"
        f"“{made.name}” was retired on {made.retired_at:%Y-%m-%d}: {made.retired_why}\n\n{then}\n\n"
        "Do not use it for new work, and do not pass it on. Its other files are as they were frozen.\n"
    ).encode()


def _lock(made: JudgmentSet) -> JudgmentSet:
    rows = JudgmentSet.objects.select_for_update(no_key=True, of=("self",)).select_related("successor", "project")
    return rows.get(pk=made.pk)


_TAKEN_OUT = """
SELECT s.id FROM results_judgmentset s
WHERE s.frozen_at IS NOT NULL AND s.retired_at IS NULL
  AND (%(project)s::bigint IS NULL OR s.project_id = %(project)s)
  AND EXISTS (
    SELECT FROM projects_consentacceptance a JOIN projects_membership m ON m.id = a.membership_id
    WHERE m.project_id = s.project_id AND a.is_taken_out
      AND a.withdrawn_at > s.frozen_at - make_interval(secs => %(slack)s)
      AND s.facts->'annotators' ? m.pseudonym)
ORDER BY s.id"""
