"""Sources of candidates that people may have written: whether they count as systems where systems are compared."""

from collections.abc import Iterable, Mapping
from functools import partial

from django.db import transaction

from annotate.frames.kept import keep
from annotate.frames.rating_patterns import execute_analytic
from annotate.models.conditions import is_judgeable_of_datasets
from projects import log
from projects.errors import Refused
from projects.models import Act, Membership, Project

LEAVE_OUT, APART, IN = (choice.value for choice in Project.HumanSources)
CHOICES: dict[str, str] = dict(Project.HumanSources.choices)
HUMAN_NAMES = frozenset(
    ("human", "humans", "human-written", "person", "people", "reference", "references", "gold", "ground truth")
)
SPACES = " \t\n\r\f\v\u00a0\u2003\u3000"
"""White space around a text, which makes it no other one."""
_MOSTLY = 0.9
"""A source counts as human if this share of its candidates are references of their questions."""
COUNT_AS_SYSTEMS = "Sources that people may have written count as systems here"
SAYS_SO = (COUNT_AS_SYSTEMS, "Human sources count as systems here")
"""How warnings about such sources begin: now, and where an earlier version stored them with results."""


def explain_human_sources(project: Project) -> dict[str, str]:
    """Return the sources that people may have written, each with the reason: its name, or that it has references."""
    return explain_counts(count_by_source(project))


def explain_counts(counts: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return the same from what `count_by_source` returns."""
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
        "telling systems apart. Leave them out or show them apart, unless they are systems."
    )


def count_by_source(project: Project) -> dict[str, tuple[int, int]]:
    """Return for each source the number of its candidates, and of those that are a reference of their question."""
    return keep(project, "sources", "", partial(_count_by_source, project))


def _count_by_source(project: Project) -> dict[str, tuple[int, int]]:
    with execute_analytic(_COUNT_BY_SOURCE, {"datasets": project.find_ids().datasets, "spaces": SPACES}) as cursor:
        return {source: (n, n_references) for source, n, n_references in cursor.fetchall()}


# All texts are compared by one join: a look at the references of each candidate took a second for 300,000.
_COUNT_BY_SOURCE = f"""
WITH reference AS (
    SELECT DISTINCT r.question_id, btrim(r.text, %(spaces)s) AS plain
    FROM projects_question q JOIN projects_reference r ON r.question_id = q.id WHERE q.dataset_id = ANY(%(datasets)s))
SELECT c.source, count(*), count(r.question_id)
FROM projects_candidate c
LEFT JOIN reference r ON r.question_id = c.question_id AND r.plain = btrim(c.text, %(spaces)s)
WHERE c.dataset_id = ANY(%(datasets)s) AND {is_judgeable_of_datasets("c")}
GROUP BY c.source
"""
