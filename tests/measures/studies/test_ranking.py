"""Ranks that metrics share: by hand, and two that do not differ share one."""

from itertools import combinations, permutations

import numpy as np

from measures.studies.ranking import find_ranks


def test_ranks_by_hand() -> None:
    p = {("a", "c"): 0.01, ("c", "a"): 1.0, ("a", "b"): 0.2, ("b", "c"): None}
    assert find_ranks(["a", "b", "c"], p) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert find_ranks(["a", "b"], {("a", "b"): 0.0499}) == {"a": (1, 1), "b": (2, 2)}
    assert find_ranks(["a"], {}) == {"a": (1, 1)}


def test_metrics_that_do_not_differ_share_a_rank_where_wider_leads_are_the_surer() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        heights = dict(zip("abcdefg", rng.random(7), strict=True))
        p = {pair: 0.01 if heights[pair[0]] - heights[pair[1]] > 0.3 else 0.5 for pair in permutations(heights, 2)}
        ranks = find_ranks(list(heights), p)
        for one, other in combinations(heights, 2):
            shares = ranks[one][0] <= ranks[other][1] and ranks[other][0] <= ranks[one][1]
            assert shares or abs(heights[one] - heights[other]) > 0.3, (one, other)
