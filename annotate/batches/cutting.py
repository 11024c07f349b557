"""Cutting: how the candidates of one passage become HITs, and which passages a sample takes.

Nothing here knows the database: ids in, ids out.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import ceil
from random import Random

Group = Sequence[int]
"""The candidates of one question, in their canonical order."""

SEARCH_STEPS = 2_000
SEARCH_QUESTIONS = 200
CLOSING_SIZE = 4_000
CLOSING_PASSAGES = 2_000


def cut_passage(groups: Sequence[Group], hit_size: int, apart: Mapping[int, int] | None = None) -> list[list[int]]:
    """Cut the candidates of one passage, given by question, into as few HITs as can hold them.

    The HITs are as even as whole questions allow. A question is divided only where no arrangement that the
    search finds keeps it whole within those HITs; divided ones level the HITs out (11 become 6 and 5).

    `apart` names, of each candidate of a minimal pair, the other one: the two are never in one HIT, so a passage with
    a pair has two HITs at least. A question with a pair is halved beforehand, for it has to be divided anyway.
    """
    parts = _halved(groups, apart) if apart else groups
    sizes = [len(part) for part in parts]
    n_hits = max(ceil(sum(sizes) / hit_size), 2 if apart else 0)
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
    hits = [[candidate for i in share for candidate in parts[i][slice(*share[i])]] for share in shares]
    if apart:
        hits = _Parting(groups, hits, hit_size, apart).part()
    return _in_canonical_order(groups, hits)


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


def _halved(groups: Sequence[Group], apart: Mapping[int, int]) -> list[Group]:
    """Questions with a pair in two halves, one of the pair in each; of two pairs in turn, so that good ones mix."""
    parts: list[Group] = []
    n_pairs = 0
    for group in groups:
        halves: tuple[list[int], list[int]] = ([], [])
        for candidate in group:
            partner = apart.get(candidate)
            if partner in halves[0] or partner in halves[1]:
                halves[partner in halves[0]].append(candidate)
            elif partner is not None:
                halves[n_pairs % 2].append(candidate)
                n_pairs += 1
        is_paired = bool(halves[0] or halves[1])
        for candidate in group:
            if candidate not in apart and is_paired:
                halves[len(halves[1]) < len(halves[0])].append(candidate)
        parts += halves if is_paired else (group,)
    return parts


class _Parting:
    """Takes minimal pairs apart that fell into one HIT, and touches as few other questions as it can.

    One of the two goes to a HIT with room, or changes places with a candidate there. There always is one: a HIT as
    full as this one cannot hold nothing but partners of what is left here, as two of those left are a pair themselves.
    """

    def __init__(self, groups: Sequence[Group], hits: list[list[int]], hit_size: int, apart: Mapping[int, int]) -> None:
        self.hits, self.hit_size, self.apart = hits, hit_size, apart
        self.question = {candidate: index for index, group in enumerate(groups) for candidate in group}
        self.home = {candidate: place for place, hit in enumerate(hits) for candidate in hit}

    def part(self) -> list[list[int]]:
        for one in sorted(self.apart):
            if self.home[one] == self.home[self.apart[one]]:
                self._take_away(max(one, self.apart[one]))
        return self.hits

    def _take_away(self, candidate: int) -> None:
        here = self.home[candidate]
        others = sorted((place for place in range(len(self.hits)) if place != here), key=self._load)
        if self._load(others[0]) < min(self._load(here), self.hit_size):
            self._move(candidate, others[0])
            self._level(others[0], here)
            return
        swaps = [
            (self._cost(other, here, candidate), place, other)
            for place in others
            for other in self.hits[place]
            if self.home[self.apart.get(other, other)] != here
        ]
        _cost, place, other = min(swaps)
        self._move(other, here)
        self._move(candidate, place)

    def _cost(self, other: int, here: int, candidate: int) -> int:
        """How little a change of places is wanted: not at all where it parts another pair too."""
        partner = self.apart.get(other, other)
        if partner != other and self.home[partner] == self.home[other]:
            return 0
        if self.question[other] == self.question[candidate]:
            return 1
        return 2 if self._has(here, self.question[other]) else 3

    def _level(self, low: int, high: int) -> None:
        """Even two HITs out by candidates of questions that are divided between them anyway."""
        for candidate in reversed(self.hits[high][:]):
            if self._load(high) - self._load(low) < 2:
                return
            if self._has(low, self.question[candidate]) and self.home[self.apart.get(candidate, candidate)] != low:
                self._move(candidate, low)

    def _has(self, place: int, question: int) -> bool:
        return any(self.question[candidate] == question for candidate in self.hits[place])

    def _move(self, candidate: int, place: int) -> None:
        self.hits[self.home[candidate]].remove(candidate)
        self.hits[place].append(candidate)
        self.home[candidate] = place

    def _load(self, place: int) -> int:
        return len(self.hits[place])


def _in_canonical_order(groups: Sequence[Group], hits: Sequence[Sequence[int]]) -> list[list[int]]:
    place = {candidate: place for place, candidate in enumerate(chain.from_iterable(groups))}
    return sorted((sorted(hit, key=place.__getitem__) for hit in hits if hit), key=lambda hit: place[hit[0]])


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
