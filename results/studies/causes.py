"""Why a metric went wrong on an answer: causes in people's own words, kept whatever study shows the answer."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from projects import log
from projects.errors import Refused
from projects.models import Act, Candidate, Membership, Project, Question
from results.models import ErrorCause, Study

BETWEEN = "|"
"""Stands between the subjects of two metrics that are compared."""
CAUSE_LENGTH = 60
MOST_KNOWN = 200
"""So many causes are offered to whoever types one."""


def set_cause(*, study: Study, actor: Membership, candidate: int, compared: str, cause: str) -> None:
    """Say why the two sides of a list differ on an answer of it; an empty text takes the cause back.

    Raises Refused for an answer that is not in the list, and for a text that is too long.
    """
    cause = " ".join(cause.split())
    if len(cause) > CAUSE_LENGTH:
        raise Refused(f"The cause is longer than {CAUSE_LENGTH} characters.")
    if candidate not in _listed(study, compared):
        raise Refused("This candidate is not in the list.")
    with transaction.atomic():
        rows = ErrorCause.objects.select_for_update(no_key=True).filter(
            project=study.project, candidate_id=candidate, compared=compared
        )
        before = next((row.cause for row in rows), "")
        if before == cause:
            return
        if cause:
            ErrorCause.objects.update_or_create(
                project=study.project, candidate_id=candidate, compared=compared,
                defaults={"cause": cause, "by": actor},
            )  # fmt: skip
        else:
            rows.delete()
        said = {"candidate": candidate, "compared": compared}
        log.record(
            study.project,
            actor,
            Act.NAME_CAUSE_OF_ERROR,
            study,
            before={"cause": before},
            after={"cause": cause, **said},
        )


def read_causes(project: Project, candidates: Iterable[int]) -> dict[str, Any]:
    """By what is compared and the answer's id the cause that was given; and all causes of the project, by name."""
    rows = ErrorCause.objects.filter(project=project, candidate__in=candidates)
    causes: dict[str, dict[str, str]] = {}
    for compared, candidate, cause in rows.values_list("compared", "candidate_id", "cause"):
        causes.setdefault(compared, {})[str(candidate)] = cause
    known = ErrorCause.objects.filter(project=project).order_by("cause").values_list("cause", flat=True).distinct()
    return {"causes": causes, "causes_known": list(known[:MOST_KNOWN])}


def read_texts(project: Project, candidates: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Question, references and answer of each."""
    rows = Candidate.objects.of(project).filter(pk__in=candidates).select_related("question")
    found = rows.prefetch_related("question__references")
    return {
        each.pk: {"question": each.question.text, "references": _references(each.question), "answer": each.text}
        for each in found
    }


def _references(question: Question) -> list[str]:
    return [each.text for each in question.references.all()]


def _listed(study: Study, compared: str) -> set[int]:
    lists = study.result["figures"].get("lists", []) if study.result else []
    return {
        each["candidate"]
        for one in lists
        if one["compared"] == compared
        for part in one["parts"].values()
        for each in part
    }
