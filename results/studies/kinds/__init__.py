"""Every kind of study: one module each, with its form fields, its figures, its tables and its charts."""

from results.studies.kinds import correlation, errors, pairs, significance, sweep, systems
from results.studies.kinds.kind import About, Figures, Kind, Section

MODULES = (correlation, systems, significance, sweep, pairs, errors)
KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in MODULES}
"""By the name that is stored with a study, in the order in which they are offered."""

__all__ = ["KINDS", "About", "Figures", "Kind", "Section"]
