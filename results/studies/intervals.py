"""Intervals of an evaluation: over which units, by which method, and how captions, notes and caveats say so."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from django import forms

from measures.studies.correlating import Method
from measures.studies.items import MOST_RANKED, N_BLOCKS
from measures.studies.minimal_pairs import WILSON
from results.scope.passage_counts import count_effective, warn_of_few_passages
from results.studies.frame import PASSAGE, Frame, Rows
from results.studies.settings import Settings

OVER = "over"
"""The option that names the unit. Evaluations of earlier versions have none, or chose what to resample."""
PASSAGES, ANSWERS, FISHER_Z = "passages", "answers", "fisher_z"
_SMALL_P = (
    "With so few passages the p-values of the bootstrap and of Williams' test are too small, while the permutation "
    "test over passages keeps its level."
)
_WORDS = {
    PASSAGES: "passages, where candidates share them",
    ANSWERS: "candidates",
    FISHER_Z: "candidates, by Fisher's z",
}


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """How the intervals of an evaluation are computed; stored with its figures.

    `unit` is what is left out, one at a time: passages, or answers where each passage has one, or on request although
    they share passages; then `is_narrowed`. Ranks of very many units leave out `n_blocks` random blocks instead.
    """

    method: Method
    unit: str
    n: int
    is_narrowed: bool
    n_blocks: int | None = None
    n_effective: float | None = None
    """The effective number of passages, which is lower where some weigh more than others."""

    @property
    def by_group(self) -> bool:
        return self.unit == PASSAGES

    @classmethod
    def choose(cls, frame: Frame, settings: Settings, rows: Rows | None = None) -> "Intervals":
        """Return how the intervals of these rows are computed: over passages wherever their answers share one."""
        every = frame.codes(PASSAGE)
        chosen, passages = settings.options.get(OVER, PASSAGES), every if rows is None else every[rows]
        n_answers, n_passages = len(passages), len(np.unique(passages))
        # One unit for all parts of an evaluation, so that their intervals can be compared.
        shares = bool(len(np.unique(every)) < len(every))
        by_passage = shares and chosen == PASSAGES
        n = n_passages if by_passage else n_answers
        return cls(
            method=Method.FISHER_Z if chosen == FISHER_Z else Method.JACKKNIFE,
            unit=PASSAGES if by_passage else ANSWERS,
            n=n,
            is_narrowed=shares and not by_passage,
            n_blocks=N_BLOCKS if n > MOST_RANKED else None,
            n_effective=count_effective(passages) if by_passage else None,
        )

    def store(self) -> dict[str, Any]:
        stored = asdict(self)
        # Only passages have an effective number.
        return stored if self.by_group else {name: each for name, each in stored.items() if name != "n_effective"}

    def store_passages(self, n: int, n_effective: float | None) -> dict[str, Any]:
        """Return what is stored where a measure always leaves out whole passages, of which these `n` enter."""
        return asdict(
            replace(self, unit=PASSAGES, n=n, is_narrowed=False, n_blocks=None, n_effective=n_effective)
        )  # fmt: skip


def make_field(*, with_fisher_z: bool = False) -> dict[str, forms.Field]:
    """Return the form field of the unit, by the name of its option."""
    choices = [(name, words) for name, words in _WORDS.items() if with_fisher_z or name != FISHER_Z]
    field = forms.TypedChoiceField(
        label="Intervals over", choices=choices, initial=PASSAGES, required=False, coerce=str, empty_value=PASSAGES
    )
    return {OVER: field}


def describe_method(
    figures: Mapping[str, Any], settings: Settings, seed: int, *, of_parts: bool = False, wording: int = 1
) -> str:
    """Return how intervals of correlations were computed, as captions have it; a part of a sentence.

    In the first wording one passage was “1 passages”.
    """
    stored = figures.get("intervals")
    if stored is None:
        return f"95 % intervals by the percentile bootstrap, {settings.n_resamples:,} resamples, seed {seed}"
    if stored["method"] == WILSON:
        return "95 % intervals by Wilson's method, of means of datasets by the MOVER"
    n_units = _count_units(stored, wording)
    over = f"over {stored['unit']}" if of_parts else f"over {n_units}"
    if stored["method"] == Method.FISHER_Z:
        return f"95 % intervals {over}, of Pearson by Fisher's z, of ranks by the jackknife with Student's t"
    blocks = f", of ranks from {stored['n_blocks']:,} random blocks of them (seed {seed})" if stored["n_blocks"] else ""
    return f"95 % intervals by the jackknife with Student's t {over}{blocks}"


def name_wilson(words: str) -> str:
    """Return the description of jackknife intervals for those of shares, which take its standard error alone."""
    return words.replace("the jackknife with", "Wilson's method, the jackknife and")


def describe_jackknife(stored: Mapping[str, Any], *, wording: int = 1) -> str:
    """Return the same for Pearson's correlation alone."""
    return f"95 % intervals by the jackknife with Student's t over {_count_units(stored, wording)}"


def _count_units(stored: Mapping[str, Any], wording: int) -> str:
    unit = stored["unit"].removesuffix("s") if stored["n"] == 1 and wording > 1 else stored["unit"]
    return f"{stored['n']:,} {unit}"


def describe_bootstrap(figures: Mapping[str, Any], settings: Settings, seed: int) -> str:
    """Return how intervals of means and differences were computed, as captions have it; a part of a sentence."""
    stored = figures.get("intervals")
    over = f" over {stored['unit']}" if stored and "unit" in stored else ""
    return f"95 % intervals by the percentile bootstrap{over}, {settings.n_resamples:,} resamples, seed {seed}"


def name_units(figures: Mapping[str, Any]) -> str:
    """Return what intervals are over, as notes on pages have it; empty for an evaluation of an earlier version."""
    stored = figures.get("intervals")
    if stored is None:
        return ""
    noun = "passage" if stored["unit"] == PASSAGES else "candidate"
    return f"{stored['n']:,} {noun}{'' if stored['n'] == 1 else 's'}"


def list_caveats(figures: Mapping[str, Any], settings: Settings, seed: int) -> list[str]:
    """Return what to keep in mind of the intervals."""
    if figures.get("intervals") is None:
        sentence = (
            "An earlier version of Concord computed this evaluation: its intervals are percentile bootstraps with "
            f"{settings.n_resamples:,} resamples, seed {seed}. Run it again for jackknife intervals."
        )
        return [sentence, "Candidates of the same passage are not independent: consider intervals over passages."]
    return ["Candidates of the same passage are not independent, so passages are the unit where candidates share them."]


def list_warnings(figures: Mapping[str, Any]) -> list[str]:
    """Return why the intervals may mislead, in sentences for the top of the page and for the command."""
    stored = figures.get("intervals")
    if stored is None or "unit" not in stored:
        return []
    if stored["is_narrowed"]:
        sentence = (
            "Intervals are over candidates, but candidates share passages and are not independent: the intervals are "
            "too narrow."
        )
        return [sentence]
    if stored["unit"] != PASSAGES:
        return []
    # Where no passage counts, nothing is defined, and each cell says why.
    if not stored["n"]:
        return []
    few = warn_of_few_passages(stored["n"], stored.get("n_effective"), covering="These are over")
    # Only a comparison of metrics has these tests, and counts its pairs for each of them.
    return [few, *([_SMALL_P] if isinstance(figures.get("n_pairs"), Mapping) else [])] if few else []
