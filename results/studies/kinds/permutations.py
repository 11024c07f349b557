"""Permutation tests of metrics (PERM) and intervals over systems and passages (BOOT-BOTH), beside the other tests."""

from typing import Any

import numpy as np
from django import forms

from measures.corrections import least_groups
from measures.outcome import Undefined
from measures.studies.permutation import CorrelationLevel, Permutations, Swap, bootstrap_correlations, permute
from measures.studies.significance import correct_pairs
from results.scope.gold_settings import RESAMPLES, SIGNIFICANCE_LEVEL
from results.studies.frame import QUESTION, SOURCE, Frame
from results.studies.kinds.kind import About, Figures, Section
from results.studies.kinds.soft import make_grid
from results.studies.kinds.within_groups import sort_by
from results.studies.settings import Settings
from results.studies.stored import store, store_number
from results.studies.tables import Column, Missing, Table, Value, read_value
from results.studies.warnings import count_lacking, warn_of_unequal_shares

PERMUTATION, LEVEL = "permutation", "level"
OFF = "off"
SWAPS = {
    Swap.INPUTS.value: "passages (the systems are fixed)",
    Swap.SYSTEMS.value: "systems",
    Swap.BOTH.value: "systems and passages",
    Swap.CELLS.value: "single answers",
    OFF: "off",
}
LEVELS = {
    CorrelationLevel.NONE.value: "all answers",
    CorrelationLevel.QUESTION.value: "answers of each question, mean",
    CorrelationLevel.SYSTEM.value: "means of systems",
}


def make_permutation_fields() -> dict[str, forms.Field]:
    return {
        PERMUTATION: forms.ChoiceField(
            label="Permutation test swaps",
            choices=list(SWAPS.items()),
            initial=Swap.INPUTS.value,
            required=False,
            help_text="Choose systems and passages for conclusions about new systems too.",
        ),
        LEVEL: forms.ChoiceField(
            label="Permutation test correlates",
            choices=list(LEVELS.items()),
            initial=CorrelationLevel.NONE.value,
            required=False,
        ),
    }


def permute_metrics(frame: Frame, settings: Settings, seed: int) -> dict[str, Any]:
    """Return the tests of every pair of metrics with Holm's correction; nothing where they are not wanted.

    Evaluations that were requested by earlier versions want none when they are run again.
    """
    swap, level = settings.options.get(PERMUTATION) or OFF, settings.options.get(LEVEL) or CorrelationLevel.NONE.value
    if swap == OFF:
        return {}
    # Means of questions and systems take one score of each system for a question; “all answers” takes every answer.
    grid = make_grid(frame, merges=CorrelationLevel(level) is not CorrelationLevel.NONE)
    found = permute(
        grid, rng=np.random.default_rng(seed), swap=swap, level=level, n_patterns=settings.n_resamples
    )  # fmt: skip
    ends = bootstrap_correlations(
        grid, rng=np.random.default_rng(seed), level=level, n_resamples=min(settings.n_resamples, RESAMPLES)
    )
    return {
        "swap": swap,
        LEVEL: level,
        "is_exact": found.is_exact,
        "n_patterns": found.n_patterns,
        "least_p": found.least_p,
        "n_systems": len(grid.systems),
        "n_passages": grid.n_units,
        "n_merged": grid.n_merged,
        "n_resamples": min(settings.n_resamples, RESAMPLES),
        "values": {name: store_number(each) for name, each in found.values.items()},
        "intervals": {
            name: store(each) if isinstance(each, Undefined) else {"low": each[0], "high": each[1]}
            for name, each in ends.items()
        },
        "pairs": _list_pairs(found),
        **(
            {"lacking": count_lacking(frame.codes(QUESTION), frame.table[SOURCE].to_numpy(str))}
            if level == CorrelationLevel.SYSTEM
            else {}
        ),
    }


def _list_pairs(found: Permutations) -> list[dict[str, Any]]:
    p_values: dict[tuple[str, str], float | None] = {}
    for (first, second), each in found.pairs.items():
        p_values[first, second] = None if isinstance(each, Undefined) else each.p_first
        p_values[second, first] = None if isinstance(each, Undefined) else each.p_second
    corrected = correct_pairs(p_values)
    listed = []
    for (first, second), each in found.pairs.items():
        for one, other in ((first, second), (second, first)):
            tested = store(each) if isinstance(each, Undefined) else {"p": p_values[one, other]}
            listed.append({"first": one, "second": other, **tested, "holm": corrected[one, other]})
    return listed


def read_permuted(figures: Figures, first: str, second: str, *, is_corrected: bool) -> Value:
    """Return the p that the first metric is better."""
    each = next((pair for pair in figures[PERMUTATION]["pairs"] if (pair["first"], pair["second"]) == (first, second)),
                None)  # fmt: skip
    if each is None:
        return None
    if "reason" in each:
        return Missing(each["reason"])
    value: float = each["holm" if is_corrected else "p"]
    return value


def make_boot_section(about: About) -> list[Section]:
    """Return each metric's correlation with its interval over drawn systems and passages."""
    found = about.figures.get(PERMUTATION)
    if not found:
        return []
    columns = [Column("metric", "Metric"), Column("boot_both", f"Pearson, {LEVELS[found[LEVEL]]}", "estimate")]
    rows: list[list[Value]] = []
    for subject in sort_by(about, lambda each: {"value": found["values"][each]}):
        value, ends = found["values"][subject], found["intervals"][subject]
        rows.append(
            [about.labels[subject], read_value({"value": value, "low": ends.get("low"), "high": ends.get("high")})]
        )
    title = "Pearson's r for conclusions about new systems and new passages"
    method = (
        f"95 % intervals by the percentile bootstrap over systems and passages (BOOT-BOTH), "
        f"{found['n_resamples']:,} resamples"
    )
    note = (
        f"95 % CI over {found['n_systems']:,} systems and {found['n_passages']:,} passages, both drawn with "
        "replacement. It is wide by nature: it allows for systems that nobody has seen."
    )
    table = Table("boot-both", title, columns, rows, about.captioned(title, method))
    return [Section("boot-both", "Intervals over systems and passages", table, note=note)]


def explain_permutations(figures: Figures) -> list[str]:
    """Return sentences on how the p-values were computed."""
    found = figures[PERMUTATION]
    patterns = "all" if found["is_exact"] else "random"
    return [f"Swapped: {SWAPS[found['swap']]}; {patterns} {found['n_patterns']:,} patterns."]


def list_permutation_warnings(figures: Figures) -> list[str]:
    """Return the warning about means of systems that have answered different questions."""
    warning = warn_of_unequal_shares(figures.get(PERMUTATION, {}).get("lacking"))
    return [warning] if warning else []


def list_permutation_limits(figures: Figures) -> list[str]:
    found = figures.get(PERMUTATION)
    if not found:
        return []
    sentences = [
        "The permutation test standardises each metric, swaps the scores of two metrics by coins, and counts the "
        "patterns in which the difference of the correlations is at least the observed one. "
        + ("p is their share." if found["is_exact"] else "p is (k + 1) / (B + 1).")
    ]
    if found["n_merged"]:
        sentences.append(
            f"Several answers of a system to one question were averaged ({found['n_merged']:,} times) for the "
            "permutation test and the intervals over systems and passages, so these correlations differ from others."
        )
    n_pairs = sum("reason" not in pair for pair in found["pairs"]) // 2
    least = 2 * n_pairs * found["least_p"]
    if n_pairs and least >= SIGNIFICANCE_LEVEL:
        unit = {Swap.INPUTS.value: "passages", Swap.SYSTEMS.value: "systems"}.get(found["swap"])
        cure = (
            f"It takes {least_groups(n_pairs, alpha=SIGNIFICANCE_LEVEL)} {unit}."
            if unit
            else "It takes more systems or passages."
        )
        if not found["is_exact"]:
            cure = "Use more resamples."
        sentences.append(
            f"The smallest corrected p that the permutation test can give here is {min(1.0, least):.3f}, so no "
            f"difference can be significant at {SIGNIFICANCE_LEVEL:.2f}. {cure}"
        )
    return sentences
