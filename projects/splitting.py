"""Assigning whole passages to train, dev and test, in shares of each dataset's candidates."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from random import Random
from typing import Any

from django.db import connection, transaction
from django.db.models import Count

from projects import log
from projects.errors import Refused
from projects.models import Act, Dataset, Membership, Passage, Project

BATCH = 5_000
"""Passages that one UPDATE changes."""
MOST_SWAPS = 200
"""Limit of the improvements after the greedy placement, so that the preview of a large dataset does not take long."""
MOST_SIZES = 40
"""Different passage sizes of a split, smallest first, that a swap may use: all pairs of them are tried."""


@dataclass(frozen=True, slots=True)
class DatasetSplit:
    """Candidates and passages of one dataset by split, including passages whose split came with their file."""

    dataset: str
    n_candidates: dict[str, int]
    n_passages: dict[str, int]
    n_kept: int

    @property
    def shares(self) -> dict[str, float]:
        total = sum(self.n_candidates.values())
        return {split: n / total if total else 0.0 for split, n in self.n_candidates.items()}


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The split of each passage, before anything is written."""

    seed: int
    datasets: tuple[DatasetSplit, ...]
    assigned: dict[int, str] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "n_assigned": len(self.assigned),
            "datasets": [
                {
                    "dataset": each.dataset,
                    "passages": each.n_passages,
                    "candidates": each.n_candidates,
                    "shares": {split: round(share, 4) for split, share in each.shares.items()},
                    "kept_passages": each.n_kept,
                }
                for each in self.datasets
            ],
        }


def plan_split(
    *, project: Project, shares: Mapping[str, float], seed: int, datasets: Sequence[Dataset] | None = None
) -> SplitPlan:
    """Return the split of each passage without writing it. Passages with a split keep it and count towards its share.

    `shares` are weights by name and need not sum to one. Raises Refused for invalid shares.
    """
    _check_shares(shares)
    assigned: dict[int, str] = {}
    planned = []
    for dataset in datasets if datasets is not None else project.datasets.order_by("name"):
        # Ordered by the id of the file, not of the database: the same seed then gives the same split in another project
        # that imported the same data.
        passages = list(
            Passage.objects.filter(dataset=dataset)
            .annotate(n=Count("questions__candidates"))
            .order_by("external_id")
            .values_list("pk", "split", "n")
        )
        kept = {pk: split for pk, split, _ in passages if split}
        sizes = {pk: n for pk, _, n in passages}
        new = divide(
            {pk: n for pk, n in sizes.items() if pk not in kept},
            shares,
            _count_kept(kept, sizes),
            f"{seed}:{dataset.name}",
        )
        assigned.update(new)
        planned.append(_count(dataset.name, sizes, kept | new, shares, len(kept)))
    return SplitPlan(seed=seed, datasets=tuple(planned), assigned=assigned)


def write_split(*, project: Project, plan: SplitPlan, actor: Membership | None) -> int:
    """Write a plan and return how many passages got a split.

    Raises Refused, with a list, if some of them have got a split since the plan was made.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # one import or split at a time
        ids = sorted(plan.assigned)
        # A split never changes once it is set.
        taken = Passage.objects.filter(pk__in=ids).exclude(split="").order_by("external_id")
        names = [f"{passage.external_id}: {passage.split}" for passage in taken[:100]]
        if names:
            raise Refused(
                "Some passages have been assigned a split in the meantime. Refresh the preview.", details=names
            )
        with connection.cursor() as cursor:
            for start in range(0, len(ids), BATCH):
                some = ids[start : start + BATCH]
                cursor.execute(
                    """UPDATE projects_passage p SET split = s.split
                       FROM unnest(%s::bigint[], %s::text[]) AS s (id, split) WHERE p.id = s.id""",
                    [some, [plan.assigned[pk] for pk in some]],
                )
        log.record(project, actor, Act.SPLIT_PASSAGES, after=plan.as_dict())
    return len(ids)


def divide(
    sizes: Mapping[int, int], shares: Mapping[str, float], filled: Mapping[str, int], seed: str
) -> dict[int, str]:
    """Return the split of each passage, so that the candidates of the splits come as near to the shares as possible.

    Passages are shuffled by the seed and placed largest first, each in the split that misses most; then passages move
    and swap while that brings the sums closer. Passages without candidates are divided by their number.
    """
    order = sorted(sizes)
    Random(seed).shuffle(order)  # noqa: S311 - repeatable, not secret
    full = [(passage, sizes[passage]) for passage in order if sizes[passage]]
    empty = [(passage, 1) for passage in order if not sizes[passage]]
    return _Division(shares, filled).place(full) | _Division(shares, {}).place(empty)


def parse_shares(text: str) -> dict[str, float]:
    """Parse ``train=75,dev=10,test=15`` into weights by name. Raises Refused if a part is invalid or repeated."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _sign, number = part.strip().partition("=")
        try:
            share = float(number)
        except ValueError:
            raise Refused(f"“{part.strip()}” is not valid; use the form train=75.") from None
        if name in shares:
            raise Refused(f"The split “{name}” is listed twice.")
        shares[name] = share
    _check_shares(shares)
    return shares


class _Division:
    """The splits while they are filled: how many candidates each still misses, and its passages by size."""

    def __init__(self, shares: Mapping[str, float], filled: Mapping[str, int]) -> None:
        self._shares = shares
        self._filled = filled
        self._missing: dict[str, float] = {}
        self._held: dict[str, dict[int, list[int]]] = {split: defaultdict(list) for split in shares}

    def place(self, passages: list[tuple[int, int]]) -> dict[int, str]:
        """Return the split of each passage; `passages` are pairs of passage and size in the order drawn by the seed."""
        filled = {split: self._filled.get(split, 0) for split in self._shares}
        total = sum(size for _, size in passages) + sum(filled.values())
        whole = sum(self._shares.values())
        self._missing = {split: share / whole * total - filled[split] for split, share in self._shares.items()}
        # The sort is stable: passages of one size stay in the order drawn by the seed.
        for passage, size in sorted(passages, key=lambda pair: -pair[1]):
            split = max(self._missing, key=lambda name: self._missing[name])
            self._held[split][size].append(passage)
            self._missing[split] -= size
        for _swap in range(MOST_SWAPS):
            if not self._swap_best():
                break
        return {
            passage: split for split, held in self._held.items() for members in held.values() for passage in members
        }

    def _swap_best(self) -> bool:
        """Make the move or swap that lowers the sum of squared misses most; return False if none lowers it."""
        best = (1e-9, "", "", 0, 0)  # a gain below this is rounding, and would swap the same passages for ever
        for giver, taker in permutations(self._held, 2):
            wanted = self._missing[taker] - self._missing[giver]
            for given, back in product(self._sizes(giver), [0, *self._sizes(taker)]):
                # Half of what the sum of squares falls by if `given` goes one way and `back` the other.
                gain = (given - back) * (wanted - given + back)
                if given > back and gain > best[0]:
                    best = (gain, giver, taker, given, back)
        _, giver, taker, given, back = best
        if not giver:
            return False
        self._move(giver, taker, given)
        if back:
            self._move(taker, giver, back)
        return True

    def _sizes(self, split: str) -> list[int]:
        return sorted(size for size, members in self._held[split].items() if members)[:MOST_SIZES]

    def _move(self, giver: str, taker: str, size: int) -> None:
        self._held[taker][size].append(self._held[giver][size].pop())
        self._missing[giver] += size
        self._missing[taker] -= size


def _check_shares(shares: Mapping[str, float]) -> None:
    if len(shares) < 2:
        raise Refused("Enter at least two splits with their shares.")
    for name, share in shares.items():
        if not name.strip() or len(name) > 40:
            raise Refused("A split name must have 1 to 40 characters.")
        if not 0 < share < float("inf"):
            raise Refused(f"The share of “{name}” must be greater than zero.")


def _count_kept(kept: Mapping[int, str], sizes: Mapping[int, int]) -> Counter[str]:
    """Return the candidates of each split in passages that already have one."""
    filled: Counter[str] = Counter()
    for pk, split in kept.items():
        filled[split] += sizes[pk]
    return filled


def _count(
    name: str, sizes: Mapping[int, int], splits: Mapping[int, str], shares: Mapping[str, float], n_kept: int
) -> DatasetSplit:
    names = [*shares, *sorted(set(splits.values()) - set(shares))]
    candidates, passages = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pk, split in splits.items():
        candidates[split] += sizes[pk]
        passages[split] += 1
    return DatasetSplit(name, candidates, passages, n_kept)
