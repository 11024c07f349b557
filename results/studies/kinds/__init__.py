"""Every kind of study: one module each, with its form fields, its figures, its tables and its charts."""

from results.studies.kinds import correlation, errors, significance, sweep, systems
from results.studies.kinds.kind import About, Figures, Kind, Section

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (correlation.KIND, systems.KIND, significance.KIND, sweep.KIND, errors.KIND)
}
"""By the name that is stored with a study, in the order in which they are offered."""

__all__ = ["KINDS", "About", "Figures", "Kind", "Section"]
