"""Dividing the candidates of one passage into HITs, and drawing a sample of passages.

Nothing here knows the database: ids in, ids out. docs/decisions/0002 explains the rules.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import ceil
from random import Random

Group = Sequence[int]
"""The candidates of one question, in their canonical order."""

SEARCH_STEPS = 2_000
"""Steps after which the search for an arrangement of whole questions gives up: a few milliseconds for a passage."""
SEARCH_QUESTIONS = 200
"""Questions of a passage up to which that search is tried; it is as deep as there are questions."""
CLOSING_SIZE = 4_000
"""The part of a sample, in candidates, that is fitted exactly; the rest before it is taken as it comes."""
CLOSING_PASSAGES = 2_000
"""Passages among which that part is fitted; with these two numbers it takes well under a second."""


def cut_passage(groups: Sequence[Group], hit_size: int, apart: Mapping[int, int] | None = None) -> list[list[int]]:
    """Divide the candidates of one passage, given by question, into as few HITs as possible.

    The HITs are as even as whole questions allow. A question is divided only if the search finds no arrangement that
    keeps it whole within those HITs; divided questions even the HITs out (11 become 6 and 5).

    `apart` maps each candidate of a minimal pair to the other one: the two are never in one HIT, so a passage with a
    pair has at least two HITs. A question with a pair is halved beforehand, because it must be divided anyway.
    """
    parts = _halve_questions(groups, apart) if apart else groups
    sizes = [len(part) for part in parts]
    n_hits = max(ceil(sum(sizes) / hit_size), 2 if apart else 0)
    if n_hits <= 1:
        return [[candidate for group in groups for candidate in group]] if n_hits else []
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    # Largest first into the emptiest HIT usually keeps all questions whole and the HITs even. If not, an exhaustive
    # search is tried; if that fails too, filling the fullest first leaves the fewest questions to be divided.
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
        # Halving each question with a pair does not ensure it: two halves may have been put into one HIT.
        hits = _PairSeparator(groups, hits, hit_size, apart).separate()
    return _sort_canonically(groups, hits)


def _arrange(
    sizes: Sequence[int], order: Sequence[int], n_hits: int, hit_size: int, *, prefer: Callable[..., int]
) -> tuple[list[list[int]], list[int]]:
    """Put whole questions into HITs, each into the emptiest (or fullest) with room; also return those without one."""
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
    """Arrange whole questions with backtracking; return None if nothing is found within the limits."""
    if sizes[order[0]] > hit_size or len(order) > SEARCH_QUESTIONS:
        return None
    loads = [0] * n_hits
    chosen_hit = [-1] * len(order)
    steps = 0

    def put(depth: int) -> bool:
        nonlocal steps
        if depth == len(order):
            return True
        size = sizes[order[depth]]
        seen = set()
        # The emptiest HIT first, which leads to even HITs. Where it has no room, none has.
        for place in sorted(range(n_hits), key=loads.__getitem__):
            if loads[place] + size > hit_size:
                return False
            # Two HITs with the same load are interchangeable: trying the second one would repeat the first's search.
            if loads[place] in seen:
                continue
            steps += 1
            if steps > SEARCH_STEPS:
                return False
            seen.add(loads[place])
            loads[place] += size
            chosen_hit[depth] = place
            if put(depth + 1):
                return True
            loads[place] -= size
        return False

    if not put(0):
        return None
    bins: list[list[int]] = [[] for _ in range(n_hits)]
    for depth, index in enumerate(order):
        bins[chosen_hit[depth]].append(index)
    return bins


def _divide(index: int, size: int, shares: list[dict[int, tuple[int, int]]]) -> None:
    """Distribute a question's candidates over the HITs so that these become as even as possible."""
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


def _halve_questions(groups: Sequence[Group], apart: Mapping[int, int]) -> list[Group]:
    """Halve each question with a pair, with one of the pair in each half.

    Successive pairs alternate, so that the better candidates are not all in the same half.
    """
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


class _PairSeparator:
    """Separates minimal pairs that fell into one HIT, touching as few other questions as possible.

    One of the two moves to a HIT with room, or is swapped with a candidate there. A swap always exists: a HIT as full
    as this one cannot consist only of partners of what is here, because two of those here are a pair themselves.
    """

    def __init__(self, groups: Sequence[Group], hits: list[list[int]], hit_size: int, apart: Mapping[int, int]) -> None:
        self.hits, self.hit_size, self.apart = hits, hit_size, apart
        self.question = {candidate: index for index, group in enumerate(groups) for candidate in group}
        self.home = {candidate: place for place, hit in enumerate(hits) for candidate in hit}

    def separate(self) -> list[list[int]]:
        for one in sorted(self.apart):
            if self.home[one] == self.home[self.apart[one]]:
                # The one imported later moves; either could, and this makes the result the same each time.
                self._move_away(max(one, self.apart[one]))
        return self.hits

    def _move_away(self, candidate: int) -> None:
        here = self.home[candidate]
        others = sorted((place for place in range(len(self.hits)) if place != here), key=self._load)
        if self._load(others[0]) < min(self._load(here), self.hit_size):
            self._move(candidate, others[0])
            self._even_out(others[0], here)
            return
        # A swap may not bring in a candidate whose partner stays here: it would unite another pair.
        swaps = [
            (self._compute_cost(other, here, candidate), place, other)
            for place in others
            for other in self.hits[place]
            if self.home[self.apart.get(other, other)] != here
        ]
        _compute_cost, place, other = min(swaps)
        self._move(other, here)
        self._move(candidate, place)

    def _compute_cost(self, other: int, here: int, candidate: int) -> int:
        """Return how undesirable a swap is: 0 if it separates another pair too, 3 if it divides another question."""
        partner = self.apart.get(other, other)
        if partner != other and self.home[partner] == self.home[other]:
            return 0
        if self.question[other] == self.question[candidate]:
            return 1
        return 2 if self._has_question(here, self.question[other]) else 3

    def _even_out(self, low: int, high: int) -> None:
        """Even two HITs out with candidates of questions that are divided between them anyway."""
        for candidate in reversed(self.hits[high][:]):
            if self._load(high) - self._load(low) < 2:
                return
            if (
                self._has_question(low, self.question[candidate])
                and self.home[self.apart.get(candidate, candidate)] != low
            ):
                self._move(candidate, low)

    def _has_question(self, place: int, question: int) -> bool:
        return any(self.question[candidate] == question for candidate in self.hits[place])

    def _move(self, candidate: int, place: int) -> None:
        self.hits[self.home[candidate]].remove(candidate)
        self.hits[place].append(candidate)
        self.home[candidate] = place

    def _load(self, place: int) -> int:
        return len(self.hits[place])


def _sort_canonically(groups: Sequence[Group], hits: Sequence[Sequence[int]]) -> list[list[int]]:
    place = {candidate: place for place, candidate in enumerate(chain.from_iterable(groups))}
    return sorted((sorted(hit, key=place.__getitem__) for hit in hits if hit), key=lambda hit: place[hit[0]])


def sample_passages(sizes: Mapping[str, Mapping[int, int]], n_candidates: int, seed: int) -> set[int]:
    """Draw whole passages with about this number of candidates, keeping each dataset's share.

    `sizes` gives the number of candidates of each passage, by dataset. The same seed and sizes give the same sample.
    What one dataset misses by, the next makes up for; datasets come by size, so that the largest closes the gap.
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
        taken = _choose_nearest(passages, sizes[dataset], target)
        chosen.update(taken)
        n_chosen += sum(sizes[dataset][passage] for passage in taken)
    return chosen


def _choose_nearest(passages: list[int], sizes: Mapping[int, int], target: int) -> list[int]:
    """Return passages whose sizes sum to the number nearest the target, preferring those first in the given order.

    A subset sum over big integers: bit s of a number says that the sum s can be reached. Shifting by a passage's size
    adds that passage to all sums at once, so that thousands of passages take milliseconds.
    """
    taken = []
    position = 0
    while target > CLOSING_SIZE and position < len(passages):
        taken.append(passages[position])
        target -= sizes[passages[position]]
        position += 1
    if target <= 0:
        return taken
    rest = passages[position : position + CLOSING_PASSAGES]
    # Sums beyond the target by more than the largest passage can't be nearest to it; cutting them off keeps numbers
    # short.
    within = (1 << (target + max((sizes[passage] for passage in rest), default=0) + 1)) - 1
    reached = [1]  # bit s of reached[i]: the sum s can be made of the first i passages
    for passage in rest:
        reached.append((reached[-1] | reached[-1] << sizes[passage]) & within)
        # The target is reached exactly, so further passages can't improve on it.
        if reached[-1] >> target & 1:
            break
    # Back from the sum to the passages: one was taken if the sum could not be made without it.
    best = _find_nearest_bit(reached[-1], target)
    for depth in range(len(reached) - 1, 0, -1):
        if not reached[depth - 1] >> best & 1:
            taken.append(rest[depth - 1])
            best -= sizes[rest[depth - 1]]
    return taken


def _find_nearest_bit(bits: int, target: int) -> int:
    below = (bits & ((1 << (target + 1)) - 1)).bit_length() - 1
    above = bits >> (target + 1)
    if not above:
        return below
    first_above = target + (above & -above).bit_length()
    return below if target - below <= first_above - target else first_above
