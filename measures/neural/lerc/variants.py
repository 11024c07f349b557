"""Which trainings a table of MOCHA takes: one for each dataset left out, for each set of inputs, for each share."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from measures.neural.lerc.inputs import SEGMENTS
from measures.neural.lerc.rows import Parts, Row, keep_share, part_rows


class TablePlan(StrEnum):
    """What is trained: one model, or several for a table."""

    ALL = "all"
    OOD = "ood"
    ABLATIONS = "ablations"
    LEARNING_CURVE = "learning-curve"


SHARES = (0.125, 0.25, 0.5, 0.75, 1.0)
"""Of the passages of training, for a learning curve."""
ABLATIONS = (
    ("reference",),
    ("candidate",),
    ("reference", "candidate"),
    ("question", "reference", "candidate"),
    SEGMENTS,
)
"""The inputs of table 6 of MOCHA, in its order."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One training of a plan.

    Attributes
    ----------
    label : str
        Its name in tables.
    inputs : tuple of str
        The segments of its input.
    held_out : str
        The dataset that it does not learn from; empty if it learns from all.
    share : float
        Of the passages of training.
    """

    label: str
    inputs: tuple[str, ...] = SEGMENTS
    held_out: str = ""
    share: float = 1.0

    def part(self, rows: Sequence[Row], *, seed: int) -> Parts:
        """Return its rows of training, dev and test."""
        parts = part_rows(rows, held_out=self.held_out)
        train = parts.train if self.share == 1 else keep_share(parts.train, self.share, seed=seed)
        return Parts(train, parts.dev, parts.test)


def list_variants(
    plan: TablePlan, datasets: Sequence[str], *, inputs: tuple[str, ...] = SEGMENTS, held_out: str = ""
) -> list[Variant]:
    """Return the trainings of a plan.

    Parameters
    ----------
    plan : TablePlan
        What is wanted.
    datasets : sequence of str
        Those with judged answers.
    inputs : tuple of str
        The segments of the input, except for ablations.
    held_out : str
        A dataset that no training learns from, except where each is left out in turn.

    Returns
    -------
    list of Variant
        At least one.

    Raises
    ------
    ValueError
        Leaving out a dataset leaves none.

    Examples
    --------
    >>> [each.held_out for each in list_variants(TablePlan.OOD, ["a", "b"])]
    ['a', 'b']
    >>> [each.label for each in list_variants(TablePlan.LEARNING_CURVE, ["a"])][:2]
    ['LERC, 12.5 %', 'LERC, 25 %']
    """
    if held_out and held_out not in datasets:
        raise ValueError(f"There is no dataset “{held_out}” to leave out. There are: {', '.join(datasets)}.")
    if (plan is TablePlan.OOD or held_out) and len(datasets) < 2:
        raise ValueError("Leaving out a dataset needs two or more datasets with judged answers.")
    if plan is TablePlan.OOD:
        return [Variant(label=f"LERC without {name}", inputs=inputs, held_out=name) for name in datasets]
    if plan is TablePlan.ABLATIONS:
        return [Variant(label=f"LERC: {', '.join(own)}", inputs=own, held_out=held_out) for own in ABLATIONS]
    if plan is TablePlan.LEARNING_CURVE:
        return [
            Variant(label=f"LERC, {100 * share:g} %", inputs=inputs, held_out=held_out, share=share) for share in SHARES
        ]
    return [Variant(label="LERC", inputs=inputs, held_out=held_out)]
