"""Ranks of metrics that share a rank unless they differ significantly."""

from collections.abc import Mapping, Sequence


def find_ranks(
    names: Sequence[str], p_better: Mapping[tuple[str, str], float | None], *, alpha: float = 0.05
) -> dict[str, tuple[int, int]]:
    """Return the first and the last rank that each metric may have.

    Parameters
    ----------
    names : sequence of str
        The metrics.
    p_better : mapping of tuple of str to float or None
        For ordered pairs: the corrected p of the test that the first is better; None where undefined, which is no
        difference.
    alpha : float
        The level.

    Returns
    -------
    dict of str to tuple of int
        The first rank is one more than the number of metrics that are significantly better; the last is the number of
        metrics that are not significantly worse, itself included. Two metrics that do not differ significantly share at
        least one rank, unless a third one lies significantly between them. Two that do differ may share one as well,
        through metrics that differ from neither.

    Examples
    --------
    >>> find_ranks(["a", "b", "c"], {("a", "c"): 0.01, ("a", "b"): 0.2, ("b", "c"): 0.3})
    {'a': (1, 2), 'b': (1, 3), 'c': (2, 3)}
    """

    def beats(one: str, other: str) -> bool:
        p = p_better.get((one, other))
        return p is not None and p < alpha

    return {
        name: (
            1 + sum(beats(other, name) for other in names),
            len(names) - sum(beats(name, other) for other in names),
        )
        for name in names
    }
