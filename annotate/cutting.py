"""Cutting: how the candidates of one passage become HITs, and which passages a sample takes.

Nothing here knows the database: ids in, ids out.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from random import Random

Group = Sequence[int]
"""The candidates of one question, in their canonical order."""

SEARCH_STEPS = 2_000
SEARCH_QUESTIONS = 200
CLOSING_SIZE = 4_000
CLOSING_PASSAGES = 2_000


def cut_passage(groups: Sequence[Group], hit_size: int) -> list[list[int]]:
    """Cut the candidates of one passage, given by question, into as few HITs as can hold them.

    The HITs are as even as whole questions allow. A question is divided only where no arrangement that the
    search finds keeps it whole within those HITs; divided ones level the HITs out (11 become 6 and 5).
    """
    sizes = [len(group) for group in groups]
    n_hits = ceil(sum(sizes) / hit_size)
    if n_hits <= 1:
        return [[candidate for group in groups for candidate in group]] if n_hits else []
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    bins, left = _arrange(sizes, order, n_hits, hit_size, prefer=min)
    if left and (found := _search(sizes, order, n_hits, hit_size)):
        bins, left = found, []
    elif left:
        bins, left = _arrange(sizes, order, n_hits, hit_size, prefer=max)
    shares = [{index: (0, sizes[index]) for index in members} for members in bins]
    for index in left:
        _divide(index, sizes[index], shares)
    return _in_canonical_order(groups, shares)


def _arrange(
    sizes: Sequence[int], order: Sequence[int], n_hits: int, hit_size: int, *, prefer: Callable[..., int]
) -> tuple[list[list[int]], list[int]]:
    """Whole questions into HITs, each into the emptiest (or fullest) that has room; also those that found none."""
    bins: list[list[int]] = [[] for _ in range(n_hits)]
    loads = [0] * n_hits
    left = []
    for index in order:
        fitting = [place for place in range(n_hits) if loads[place] + sizes[index] <= hit_size]
        if not fitting:
            left.append(index)
            continue
        place = prefer(fitting, key=loads.__getitem__)
        loads[place] += sizes[index]
        bins[place].append(index)
    return bins, left


def _search(sizes: Sequence[int], order: Sequence[int], n_hits: int, hit_size: int) -> list[list[int]] | None:
    """The same, but going back where a question fits nowhere; None if nothing is found in a few thousand steps."""
    if sizes[order[0]] > hit_size or len(order) > SEARCH_QUESTIONS:
        return None
    loads = [0] * n_hits
    place_of = [-1] * len(order)
    steps = 0

    def put(depth: int) -> bool:
        nonlocal steps
        if depth == len(order):
            return True
        size = sizes[order[depth]]
        seen = set()
        for place in sorted(range(n_hits), key=loads.__getitem__):
            if loads[place] + size > hit_size:
                return False
            if loads[place] in seen:
                continue
            steps += 1
            if steps > SEARCH_STEPS:
                return False
            seen.add(loads[place])
            loads[place] += size
            place_of[depth] = place
            if put(depth + 1):
                return True
            loads[place] -= size
        return False

    if not put(0):
        return None
    bins: list[list[int]] = [[] for _ in range(n_hits)]
    for depth, index in enumerate(order):
        bins[place_of[depth]].append(index)
    return bins


def _divide(index: int, size: int, shares: list[dict[int, tuple[int, int]]]) -> None:
    """Give a question's candidates to the HITs so that these come out as level as they can."""
    loads = [sum(end - start for start, end in share.values()) for share in shares]
    given = [0] * len(shares)
    for _ in range(size):
        emptiest = min(range(len(shares)), key=lambda place: loads[place] + given[place])
        given[emptiest] += 1
    start = 0
    for place, n in enumerate(given):
        if n:
            shares[place][index] = (start, start + n)
            start += n


def _in_canonical_order(groups: Sequence[Group], shares: list[dict[int, tuple[int, int]]]) -> list[list[int]]:
    in_order = sorted((share for share in shares if share), key=lambda share: min((i, *share[i]) for i in share))
    return [
        [candidate for i in sorted(share) for candidate in groups[i][share[i][0] : share[i][1]]] for share in in_order
    ]


def sample_passages(sizes: Mapping[str, Mapping[int, int]], n_candidates: int, seed: int) -> set[int]:
    """Choose whole passages so that their candidates come nearest to a number, with each dataset's share kept.

    `sizes` gives the candidates of each passage by dataset. The order of its keys decides nothing but what the
    seed does with it. What one dataset misses by, the next makes up for.
    """
    rng = Random(seed)  # noqa: S311 - to be repeated, not to be secret
    total = sum(sum(passages.values()) for passages in sizes.values())
    chosen: set[int] = set()
    n_seen = n_chosen = 0
    for dataset in sorted(sizes, key=lambda name: (sum(sizes[name].values()), name)):
        passages = list(sizes[dataset])
        rng.shuffle(passages)
        n_seen += sum(sizes[dataset].values())
        target = round(min(n_candidates, total) * n_seen / total) - n_chosen
        taken = _nearest(passages, sizes[dataset], target)
        chosen.update(taken)
        n_chosen += sum(sizes[dataset][passage] for passage in taken)
    return chosen


def _nearest(passages: list[int], sizes: Mapping[int, int], target: int) -> list[int]:
    """Passages, the first in the given order preferred, whose sizes sum to the number nearest the target."""
    taken = []
    position = 0
    while target > CLOSING_SIZE and position < len(passages):
        taken.append(passages[position])
        target -= sizes[passages[position]]
        position += 1
    if target <= 0:
        return taken
    rest = passages[position : position + CLOSING_PASSAGES]
    within = (1 << (target + max((sizes[passage] for passage in rest), default=0) + 1)) - 1
    reached = [1]  # bit s of reached[i]: the sum s can be made of the first i passages
    for passage in rest:
        reached.append((reached[-1] | reached[-1] << sizes[passage]) & within)
        if reached[-1] >> target & 1:
            break
    best = _nearest_bit(reached[-1], target)
    for depth in range(len(reached) - 1, 0, -1):
        if not reached[depth - 1] >> best & 1:
            taken.append(rest[depth - 1])
            best -= sizes[rest[depth - 1]]
    return taken


def _nearest_bit(bits: int, target: int) -> int:
    below = (bits & ((1 << (target + 1)) - 1)).bit_length() - 1
    above = bits >> (target + 1)
    if not above:
        return below
    first_above = target + (above & -above).bit_length()
    return below if target - below <= first_above - target else first_above
