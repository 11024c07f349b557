"""Every kind of metric evaluation: one module each, with its form fields, figures, tables and charts."""

from results.studies.kinds import (
    correlation,
    largest_errors,
    minimal_pairs,
    pairwise,
    redundancy,
    significance,
    soft,
    sweep,
    systems,
    top_n,
    within_groups,
)
from results.studies.kinds.kind import About, Figures, Kind, Section

MODULES = (
    correlation,
    within_groups,
    pairwise,
    systems,
    soft,
    significance,
    sweep,
    minimal_pairs,
    top_n,
    redundancy,
    largest_errors,
)
KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in MODULES}
"""Kinds by the name that is stored with an evaluation, in the order in which they are offered."""

__all__ = ["KINDS", "About", "Figures", "Kind", "Section"]
