"""Sign-flip test of paired differences, for many pairs at once."""

from functools import lru_cache

import numpy as np

from measures.patterns import Floats, Ints
from measures.rounding import ON_SCALE

MOST_ENUMERATED = 16
"""Up to this many groups every pattern of signs is tried; beyond, random ones."""
N_PATTERNS = 9_999
"""With the observed signs these are 10,000, so that the smallest p is 0.0001."""
_CELLS_AT_A_TIME = 2_000_000
"""Patterns are made in blocks of about this many signs (16 MB), which bounds memory and changes no result."""


def sign_flip_p(sums: Floats, *, rng: np.random.Generator, n_patterns: int = N_PATTERNS) -> Floats:
    """Test whether the differences of each pair are symmetric around 0, by the signs of whole groups.

    Parameters
    ----------
    sums : ndarray of float64, shape (C, P)
        The sum of the differences in each of C groups (passages), for each of P pairs; 0 where a pair has no
        difference in a group. All finite.
    rng : numpy.random.Generator
        The source of randomness. All pairs use the same patterns; each has one sign a group.
    n_patterns : int
        The number of random patterns.

    Returns
    -------
    ndarray of float64, shape (P,)
        Two-sided p: the share of patterns in which the sum over groups is as far from 0 as the observed one, or
        farther. With at most 16 groups that are not 0 it is exact, as all patterns are tried; otherwise
        ``(k + 1) / (B + 1)`` with B random patterns. Groups that sum to 0 change no pattern's sum, and no p.

    References
    ----------
    R. A. Fisher (1935), The Design of Experiments, section 21; A. C. Davison and D. V. Hinkley (1997), Bootstrap
    Methods and their Application, section 4.2.

    Examples
    --------
    >>> sums = np.array([[2.0, -1, 3, 1.5, 2.5, 1]]).T
    >>> sign_flip_p(sums, rng=np.random.default_rng(1)).tolist()
    [0.09375]
    """
    found = np.ones(sums.shape[1])
    n_groups = (sums != 0).sum(axis=0)
    is_few = n_groups <= MOST_ENUMERATED
    for pair in np.flatnonzero(is_few):
        found[pair] = _enumerate(sums[sums[:, pair] != 0, pair])
    if not is_few.all():
        found[~is_few] = _draw(sums[:, ~is_few], rng, n_patterns)
    return found


def _enumerate(sums: Floats) -> float:
    if not len(sums):
        return 1.0
    flipped = np.abs(_list_patterns(len(sums)) @ sums)
    return float((flipped >= abs(sums.sum()) - ON_SCALE).mean())


@lru_cache(maxsize=MOST_ENUMERATED)
def _list_patterns(n: int) -> Floats:
    """Return all patterns of n signs in which the first is positive: turned round, each gives the same distance."""
    bits: Ints = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n)) & 1
    return (1 - 2 * bits).astype(np.float64)


def _draw(sums: Floats, rng: np.random.Generator, n_patterns: int) -> Floats:
    n_groups = len(sums)
    observed = np.abs(sums.sum(axis=0)) - ON_SCALE
    reached = np.zeros(sums.shape[1])
    block = max(1, min(n_patterns, _CELLS_AT_A_TIME // max(sums.shape)))
    n_bytes = -(-n_groups // 8)
    for start in range(0, n_patterns, block):
        size = min(block, n_patterns - start)
        # Eight signs to a random byte: drawing a number for each sign would take longer than the sums.
        drawn = np.frombuffer(rng.bytes(size * n_bytes), np.uint8).reshape(size, n_bytes)
        signs = 1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=n_groups)
        reached += (np.abs(signs @ sums) >= observed).sum(axis=0)
    p: Floats = (reached + 1) / (n_patterns + 1)
    return p
