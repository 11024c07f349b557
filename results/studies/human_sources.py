"""Sources of candidates that people wrote: whether they count as systems in an evaluation."""

from collections.abc import Iterable

from projects.models import Project
from results.metrics.self_references import count_by_source
from results.studies.settings import APART, IN, LEAVE_OUT, Settings

CHOICES = {
    LEAVE_OUT: "leave them out",
    APART: "apart: leave them out, and show their own correlations in segment-level correlation",
    IN: "count them as systems",
}
HUMAN_NAMES = frozenset(
    ("human", "humans", "human-written", "person", "people", "reference", "references", "gold", "ground truth")
)
_MOSTLY = 0.9
"""A source is human if this share of its candidates are references of their questions."""


def find_human_sources(project: Project) -> tuple[str, ...]:
    """Return the sources that people seem to have written: by their name, or as their candidates are references."""
    counts = count_by_source(project)
    return tuple(
        sorted(
            source
            for source, (n, n_references) in counts.items()
            if source.casefold() in HUMAN_NAMES or (source and n_references >= _MOSTLY * n)
        )
    )


def find_earlier_choice(project: Project) -> str:
    """Return what the newest evaluation did with human sources; empty before the first choice."""
    for settings in project.studies.order_by("-number").values_list("settings", flat=True)[:100]:
        if settings.get("humans"):
            return str(settings["humans"])
    return ""


def warn_of_human_sources(settings: Settings, sources: Iterable[str]) -> str:
    """Return the warning about human sources among the systems of these candidates, or nothing."""
    among = sorted(set(sources) & set(settings.human_sources))
    if not among or settings.humans in (LEAVE_OUT, APART):
        return ""
    return (
        f"Human sources count as systems here: {', '.join(among)}. A metric that tells people from systems correlates "
        "highly without telling systems apart. Leave them out or show them apart under “Human sources”."
    )
