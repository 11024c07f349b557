"""The ceiling of an evaluation in words: how reliable the gold scores are, and what more judgments would change."""

from collections.abc import Mapping
from typing import Any

from measures.ceiling import Design
from projects.language.amounts import format_score
from results.studies.kinds.kind import About
from results.studies.tables import ONE_PERSON

_DESIGNS = {
    Design.ONE_WAY.value: "raters differ between candidates",
    Design.CROSSED.value: "the same raters judged every candidate",
}


def explain_ceiling(about: About) -> list[str]:
    """Return sentences for the note of a table; none for an evaluation that was stored without the ceiling."""
    found = about.reliability
    if found is None:
        return []
    if "reason" in found:
        return [f"No ceiling: {found['reason']}."]
    sentences = [describe_reliability(found)]
    if "reason" in found["interval"]:
        sentences.append(f"The ceiling has no interval: {found['interval']['reason']}.")
    else:
        sentences.append(
            f"95 % CI of the ceiling over {found['interval']['n_units']:,} "
            f"{'passages' if found['n_groups'] < found['n_units'] else 'candidates'}."
        )
    return [*sentences, f"“{ONE_PERSON}” is no upper bound for a metric.", *_explain_draws(about)]


def _explain_draws(about: About) -> list[str]:
    # The brackets of all other rows are confidence intervals.
    if "n_draws" not in about.one_against_others:
        return []
    n = about.one_against_others["n_draws"]
    return [f"Its brackets hold 95 % of {n:,} draws of one judgment of each candidate."]


def describe_reliability(found: Mapping[str, Any]) -> str:
    """Return the reliability of gold scores, and the ceiling that other numbers of judgments would give."""
    single, reliability = (format_score(found[name], 3) for name in ("single", "reliability"))
    words = (
        "The ceiling is the highest Pearson's r that a metric can reach with these gold scores: the square root of "
        f"their reliability, {reliability} (single judgment {single}; "
        f"{_DESIGNS[found['design']]})."
    )
    if not found["predictions"]:
        return words
    more = ", ".join(f"{each['n_judgments']}: {each['ceiling']:.3f}" for each in found["predictions"])
    return f"{words} Ceiling by number of judgments: {more}."
