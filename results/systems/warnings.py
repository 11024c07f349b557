"""What a reader of system scores has to know, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from measures.jackknife import FEW_UNITS
from results.scope.gold_settings import PASSAGES
from results.scope.human_sources import COUNT_AS_SYSTEMS
from results.scope.passage_counts import warn_of_few_in_parts, warn_of_few_passages


def list_warnings(figures: Mapping[str, Any], human_sources: Sequence[str], *, key: str = "") -> list[str]:
    """Return why the scores of systems on a criterion, or on all, may mislead: categories, human sources, few passages.

    Notes on pairs, such as that no pair can be significant, are stored with the figures.
    """
    scored = {score["source"] for scores in figures["scores"].values() for score in scores}
    found = []
    if warning := warn_of_categories(figures):
        found.append(warning)
    if among := sorted(scored & set(human_sources)):
        found.append(
            f"{COUNT_AS_SYSTEMS}: {', '.join(among)}. They take ranks, and each is compared with each "
            "system, so that more pairs are corrected for. Leave them out or show them apart under “Human sources”, "
            "unless they are systems."
        )
    if only_shared := figures.get("only_shared"):
        found.append(
            f"Only answers that another source gave too are rated of: {', '.join(map(_name, only_shared))}. Their "
            "means say nothing of their other answers: select these sources in a batch as well."
        )
    if warning := _warn_of_few_passages(figures, key):
        found.append(warning)
    return found


def explain_shared(figures: Mapping[str, Any]) -> str:
    """Return how many candidates of each system have the ratings of an identical answer; empty where none has."""
    counted = ", ".join(f"{_name(source)}: {n:,}" for source, n in figures.get("shared", {}).items())
    return f"Candidates with the ratings of an identical answer: {counted}." if counted else ""


def _name(source: str) -> str:
    return source or "unspecified"


def warn_of_categories(figures: Mapping[str, Any]) -> str:
    """Return which criteria were left out of scores of systems, or of a replication, as they have no mean."""
    # Figures of earlier versions have a mean of every criterion.
    if not figures.get("unordered"):
        return ""
    found = ", ".join(name_excluded(figures, "unordered"))
    return f"Excluded because their points are categories without an order, which have no mean: {found}."


def name_excluded(figures: Mapping[str, Any], reason: str) -> list[str]:
    """Return the names of the criteria that were left out for a reason: `left_out` (several scales) or `unordered`."""
    # Figures of earlier versions have names in place of keys, or no names.
    names = figures.get("names", {})
    return [names.get(key, key) for key in figures.get(reason, [])]


def list_notes(figures: Mapping[str, Any], key: str) -> list[str]:
    """Return what files of a table over all criteria say of those that are not in it."""
    return [] if key else list(filter(None, [warn_of_categories(figures)]))


def _warn_of_few_passages(figures: Mapping[str, Any], key: str) -> str:
    """Return the warning of few passages on a criterion, or on all; nothing where they are enough."""
    if figures.get("unit") != PASSAGES:
        return ""
    # Figures of earlier versions do not tell how many passages there are, or only how many in all.
    n, n_effective = figures.get("n_passages", FEW_UNITS), figures.get("n_effective")
    by_criterion = {
        each["key"]: (each["name"], each.get("n_passages", n), each.get("n_effective", n_effective))
        for each in figures["criteria"]
    }
    if key in by_criterion:
        _, n, n_effective = by_criterion[key]
    if warning := warn_of_few_passages(n, n_effective, covering="These scores cover"):
        return warning
    if key not in by_criterion and (warning := warn_of_few_in_parts(by_criterion.values(), noun="Criteria")):
        return warning
    # A system may have answered only a part of the questions.
    systems = ((score["source"], *_count_passages(score)) for score in figures["scores"].get(key, []))
    return warn_of_few_in_parts(systems, noun="Systems")


def _count_passages(score: Mapping[str, Any]) -> tuple[int, float | None]:
    """Return the passages that the intervals of a score left out, 0 where it has none, and as how many they count."""
    intervals = (score[measure]["by_group"] for measure in ("z", "raw"))
    found = ((each.get("n_parts") or 0, each.get("n_effective")) for each in intervals)
    return max(found, key=lambda each: each[0])
