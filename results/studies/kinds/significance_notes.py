"""What tables and caveats of a comparison of metrics say of its tests."""

from measures.corrections import least_resamples
from measures.studies.significance import PRule
from results.scope.gold_settings import SIGNIFICANCE_LEVEL
from results.studies.kinds.kind import Figures

P_RULE = "p_rule"


def note_correction(figures: Figures) -> list[str]:
    """Return what files say of Holm's correction; those of an earlier evaluation say nothing of it, as before."""
    return [explain_correction(figures)] if "n_pairs" in figures else []


def explain_correction(figures: Figures) -> str:
    if "n_pairs" not in figures:
        return "Holm's correction counts every ordered pair."
    n = figures["n_pairs"]["bootstrap"]
    return (
        f"p (Holm) is two-sided and corrected over {n:,} unordered pair{'' if n == 1 else 's'}; it stands in the "
        "favoured direction, and the other has 1."
    )


def warn_of_few_resamples(figures: Figures) -> list[str]:
    """Return a warning where no difference of metrics can be significant with so few resamples."""
    if figures.get(P_RULE) != PRule.PLUS_ONE:
        return []
    n_tests = 2 * figures["n_pairs"]["bootstrap"]
    defined = [
        round(figures["n_resamples"] * (1 - pair["bootstrap"]["undefined_share"]))
        for pair in figures["pairs"]
        if "reason" not in pair["bootstrap"]
    ]
    n = max(defined, default=0)
    if not n_tests or n_tests / (n + 1) < SIGNIFICANCE_LEVEL:
        return []
    return [
        (
            f"Too few resamples: with {n:,}, the smallest p that Holm's correction gives is {n_tests / (n + 1):.4f}, "
            f"so no difference can be significant at {SIGNIFICANCE_LEVEL:.2f} by the bootstrap. Use at least "
            f"{least_resamples(n_tests, alpha=SIGNIFICANCE_LEVEL):,} resamples."
        )
    ]


def explain_p_rule(figures: Figures) -> str:
    if figures.get(P_RULE) == PRule.PLUS_ONE:
        return (
            "The bootstrap's p is (k + 1) / (B + 1), where the first metric is not better in k of B defined resamples, "
            "so it is never 0."
        )
    return (
        f"The bootstrap's p is k / B. A p of 0 means that none of {figures['n_resamples']:,} resamples contradicts the "
        "difference; it is not exact."
    )
