"""Causes of errors: why a metric differs on a candidate, in people's words, kept whatever evaluation lists it."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from projects import log
from projects.errors import Refused
from projects.models import Act, Candidate, Membership, Project, Question
from results.models import ErrorCause, Study

BETWEEN = "|"
"""The character between the subjects of two metrics that are compared."""
CAUSE_LENGTH = 60
MOST_KNOWN = 200
"""The most causes that are suggested while one is typed."""


def set_cause(*, study: Study, actor: Membership, candidate: int, compared: str, cause: str) -> None:
    """Store why the two sides of a list differ on a candidate of it; an empty text deletes the cause.

    Raises Refused for a candidate that is not in the list, and for a text that is too long.
    """
    # The same cause typed with other spaces is the same cause: shares are counted by its text.
    cause = " ".join(cause.split())
    if len(cause) > CAUSE_LENGTH:
        raise Refused(f"The cause is longer than {CAUSE_LENGTH} characters.")
    if candidate not in _find_listed(study, compared):
        raise Refused("This candidate is not in the list.")
    with transaction.atomic():
        # Locked, so that the log tells the right cause before when two people type at once.
        rows = ErrorCause.objects.select_for_update(no_key=True).filter(
            project=study.project, candidate_id=candidate, compared=compared
        )
        before = next((row.cause for row in rows), "")
        # Saving without a change writes nothing into the log.
        if before == cause:
            return
        if cause:
            ErrorCause.objects.update_or_create(
                project=study.project,
                candidate_id=candidate,
                compared=compared,
                defaults={"cause": cause, "by": actor},
            )
        else:
            rows.delete()

        log.record(
            study.project,
            actor,
            Act.NAME_CAUSE_OF_ERROR,
            study,
            before={"cause": before},
            after={"cause": cause, "candidate": candidate, "compared": compared},
        )


def read_causes(project: Project, candidates: Iterable[int]) -> dict[str, Any]:
    """Return the cause of each candidate by what is compared, and all causes of the project by name."""
    rows = ErrorCause.objects.filter(project=project, candidate__in=candidates)
    causes: dict[str, dict[str, str]] = {}
    for compared, candidate, cause in rows.values_list("compared", "candidate_id", "cause"):
        causes.setdefault(compared, {})[str(candidate)] = cause
    known = ErrorCause.objects.filter(project=project).order_by("cause").values_list("cause", flat=True).distinct()
    return {"causes": causes, "causes_known": list(known[:MOST_KNOWN])}


def read_texts(project: Project, candidates: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return question, references and text of each candidate."""
    rows = Candidate.objects.in_project(project).filter(pk__in=candidates).select_related("question")
    found = rows.prefetch_related("question__references")
    return {
        each.pk: {"question": each.question.text, "references": _list_references(each.question), "answer": each.text}
        for each in found
    }


def _list_references(question: Question) -> list[str]:
    return [each.text for each in question.references.all()]


def _find_listed(study: Study, compared: str) -> set[int]:
    lists = study.result["figures"].get("lists", []) if study.result else []
    return {
        each["candidate"]
        for one in lists
        if one["compared"] == compared
        for part in one["parts"].values()
        for each in part
    }
