"""Sources of candidates that people may have written: whether they count as systems where systems are compared."""

from collections.abc import Iterable

from django.db import transaction

from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project
from results.scope.self_references import count_by_source

LEAVE_OUT, APART, IN = (choice.value for choice in Project.HumanSources)
CHOICES: dict[str, str] = dict(Project.HumanSources.choices)
HUMAN_NAMES = frozenset(
    ("human", "humans", "human-written", "person", "people", "reference", "references", "gold", "ground truth")
)
_MOSTLY = 0.9
"""A source counts as human if this share of its candidates are references of their questions."""
COUNT_AS_SYSTEMS = "Human sources count as systems here"
"""How warnings about human sources begin, also those that are stored with results."""


def explain_human_sources(project: Project) -> dict[str, str]:
    """Return the sources that people may have written, each with the reason: its name, or that it has references."""
    counts = count_by_source(project)
    found = {}
    for source, (n, n_references) in sorted(counts.items()):
        if source.casefold() in HUMAN_NAMES:
            found[source] = f"The name “{source}” suggests that people wrote its candidates."
        elif source and n_references >= _MOSTLY * n:
            found[source] = (
                f"{n_references:,} of {n:,} candidates of {source} are references, so people may have written them."
            )
    return found


def find_human_sources(project: Project) -> tuple[str, ...]:
    """Return the sources that people may have written."""
    return tuple(explain_human_sources(project))


def keep_choice(*, project: Project, actor: Membership | None, choice: str) -> None:
    """Keep what was chosen with the project, for all later comparisons. Raises Refused for an unknown choice."""
    if choice not in CHOICES:
        raise Refused(f"Choose one of: {', '.join(CHOICES)}.", field="humans")
    with transaction.atomic():
        before = Project.objects.select_for_update(no_key=True).get(pk=project.pk).human_sources
        if before == choice:
            return
        Project.objects.filter(pk=project.pk).update(human_sources=choice)
        after = {"human_sources": choice}
        log.record(project, actor, Act.CHOOSE_HUMAN_SOURCES, project, before={"human_sources": before}, after=after)
    project.human_sources = choice


def warn_of_human_sources(choice: str, human_sources: Iterable[str], sources: Iterable[str]) -> str:
    """Return the warning about human sources among the systems of these candidates, or nothing."""
    among = sorted(set(sources) & set(human_sources))
    if not among or choice in (LEAVE_OUT, APART):
        return ""
    return (
        f"{COUNT_AS_SYSTEMS}: {', '.join(among)}. A metric that tells people from systems correlates highly without "
        "telling systems apart. Leave them out or show them apart."
    )
