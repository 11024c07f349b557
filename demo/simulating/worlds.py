"""Worlds: what a simulation assumes about texts and people, with three kinds of good and four of bad annotators."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from demo.annotators import Judgement, Reader, Seen, Temperament
from demo.simulating.texts import Mix

Rng = np.random.Generator
BAD_SHARE = 0.2
BAD_WAYS = ("random", "straight line", "length only", "anti-correlated")
GOOD_WAYS = ("careful", "noisy", "biased")


@dataclass(frozen=True)
class Stretched:
    """Reads with an error, uses the scale narrowly or widely, and is sometimes inattentive."""

    reader: Reader
    stretch: float = 1.0
    lapse_share: float = 0.0

    def rate(self, seen: Seen, rng: Rng) -> float:
        if rng.random() < self.lapse_share:
            return float(rng.uniform())
        seems = self.reader.rate(seen, rng)
        return 0.5 + self.stretch * (seems - 0.5)


@dataclass(frozen=True)
class Guesser:
    """Reads nothing, and gives random scores."""

    def rate(self, seen: Seen, rng: Rng) -> float:
        return float(rng.choice(5)) / 4


@dataclass(frozen=True)
class StraightLiner:
    """Gives nearly everything the same score."""

    value: float
    other_share: float

    def rate(self, seen: Seen, rng: Rng) -> float:
        return float(rng.choice(5)) / 4 if rng.random() < self.other_share else self.value


@dataclass(frozen=True)
class Measurer:
    """Scores by the length of the answer relative to the first reference, or by how close their lengths are."""

    is_by_nearness: bool
    error: float

    def rate(self, seen: Seen, rng: Rng) -> float:
        reference = seen.references[0] if seen.references else ""
        ratio = len(seen.answer.split()) / max(1, len(reference.split()))
        if self.is_by_nearness:
            ratio = min(ratio, 1 / ratio) if ratio else 0.0
            return ratio + rng.normal(0.0, self.error)
        return ratio / 1.5 + rng.normal(0.0, self.error)


@dataclass(frozen=True)
class Contrarian:
    """Reads, and gives the opposite score."""

    reader: Reader

    def rate(self, seen: Seen, rng: Rng) -> float:
        return 1.0 - self.reader.rate(seen, rng)


@dataclass(frozen=True, kw_only=True)
class World:
    """The parameters of a simulation; errors and biases are fractions of the scale, tuples are ranges (from, to).

    Attributes
    ----------
    careful_error, noisy_error, biased_error : tuple of float
        Standard deviation of the ratings of this kind of annotator around the true worth.
    leaning : tuple of float
        Bias of a biased annotator, up or down.
    stretch : tuple of float
        The part of the scale that good annotators use.
    lapse_share : tuple of float
        How often a good annotator is inattentive and gives a random score.
    ways : tuple of float
        Weights of careful, noisy and biased annotators.
    mix : Mix
        The composition of the answers.
    straight_other_share : tuple of float
        How often a straight-liner gives another score.
    length_error, opposite_error : tuple of float
        Errors of annotators who score by length, and of those who give the opposite score.
    name : str
        Name of the world.
    """

    careful_error: tuple[float, float] = (0.08, 0.12)
    noisy_error: tuple[float, float] = (0.18, 0.24)
    biased_error: tuple[float, float] = (0.10, 0.14)
    leaning: tuple[float, float] = (0.12, 0.2)
    stretch: tuple[float, float] = (0.9, 1.1)
    lapse_share: tuple[float, float] = (0.0, 0.03)
    ways: tuple[float, float, float] = (0.5, 0.25, 0.25)
    mix: Mix = field(default_factory=Mix)
    straight_other_share: tuple[float, float] = (0.0, 0.08)
    length_error: tuple[float, float] = (0.0, 0.06)
    opposite_error: tuple[float, float] = (0.1, 0.16)
    name: str = "usual"


TUNED = (
    World(),
    World(name="rougher", careful_error=(0.1, 0.15), noisy_error=(0.2, 0.26), leaning=(0.15, 0.25)),
    World(name="words say less", mix=Mix(good_share=0.35, written_share=0.55), straight_other_share=(0.0, 0.12)),
)
"""The default thresholds were tuned on these."""

UNSEEN = (
    World(name="noisier", careful_error=(0.12, 0.16), noisy_error=(0.22, 0.28), ways=(0.4, 0.4, 0.2)),
    World(name="mostly good texts", mix=Mix(good_share=0.65), leaning=(0.15, 0.22), opposite_error=(0.14, 0.2)),
    World(name="mostly bad texts", mix=Mix(good_share=0.25, written_share=0.5), straight_other_share=(0.05, 0.15)),
    World(name="strong biases", leaning=(0.2, 0.28), ways=(0.4, 0.2, 0.4), length_error=(0.05, 0.1)),
    World(name="narrow scale", stretch=(0.6, 0.8), lapse_share=(0.02, 0.06)),
)
"""These were not used for tuning, and measure the power of the default thresholds."""


@dataclass(frozen=True)
class Worker:
    """An annotator to simulate: the temperament, and whether it is a bad one."""

    temperament: Temperament
    is_bad: bool


def recruit(world: World, n: int, rng: Rng) -> list[Worker]:
    """Return `n` annotators in random order, a fifth of them bad, with the four bad ways as evenly as possible."""
    n_bad = round(BAD_SHARE * n)
    # Starting at a random way keeps the four even over many seeds, when their number is no multiple of four.
    first = int(rng.integers(len(BAD_WAYS)))
    bad = [_bad(BAD_WAYS[(first + place) % len(BAD_WAYS)], world, rng) for place in range(n_bad)]
    good = [_good(way, world, rng) for way in _even(world.ways, n - n_bad)]
    workers = [*(Worker(each, True) for each in bad), *(Worker(each, False) for each in good)]
    return [workers[int(place)] for place in rng.permutation(n)]


def _good(way: str, world: World, rng: Rng) -> Temperament:
    error = {"careful": world.careful_error, "noisy": world.noisy_error, "biased": world.biased_error}[way]
    leaning = float(rng.choice([-1, 1])) * _between(world.leaning, rng) if way == "biased" else 0.0
    reader = Reader(_between(error, rng), leaning)
    return _temperament(way, Stretched(reader, _between(world.stretch, rng), _between(world.lapse_share, rng)), rng)


def _bad(way: str, world: World, rng: Rng) -> Temperament:
    judgement: Judgement
    if way == "random":
        judgement = Guesser()
    elif way == "straight line":
        judgement = StraightLiner(float(rng.choice([0.5, 0.75, 1.0])), _between(world.straight_other_share, rng))
    elif way == "length only":
        judgement = Measurer(bool(rng.random() < 0.5), _between(world.length_error, rng))
    else:
        judgement = Contrarian(Reader(_between(world.opposite_error, rng)))
    return _temperament(way, judgement, rng)


def _temperament(way: str, judgement: Judgement, rng: Rng) -> Temperament:
    """Return a temperament whose pace is drawn from the same range for everybody, so that speed reveals nobody."""
    return Temperament(way, judgement, words_per_second=_between((3.0, 5.0), rng))


def _even(weights: tuple[float, float, float], n: int) -> Iterator[str]:
    """Yield `n` ways in proportion to their weights, by the largest remainders."""
    exact = [weight / sum(weights) * n for weight in weights]
    counts = [int(each) for each in exact]
    for place in sorted(range(len(exact)), key=lambda at: counts[at] - exact[at])[: n - sum(counts)]:
        counts[place] += 1
    for way, count in zip(GOOD_WAYS, counts, strict=True):
        yield from [way] * count


def _between(ends: tuple[float, float], rng: Rng) -> float:
    return float(rng.uniform(*ends))


def choose_world(seed: int, worlds: tuple[World, ...]) -> World:
    """Return the world of a seed: successive seeds take the worlds in turn."""
    return worlds[seed % len(worlds)]
