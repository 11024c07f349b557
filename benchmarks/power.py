"""How many bad and good annotators the quality alerts flag: `manage.py simulate` without the database.

Run: .venv/bin/python -m benchmarks.power [--seeds 1-20] [--worlds tuned|unseen] [--annotators 20]

Texts, temperaments, figures and thresholds are those of the command; only serving and storing are left out, so that
many seeds can be run. HITs are assigned depth first, and every annotator submits one HIT per round, as in the command.
Degraded and repeated items come at the planned rate, after their originals were rated two HITs before.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOMENTS = (3, 5, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-10", help="such as 1-10, or 7")
    parser.add_argument("--worlds", choices=("tuned", "unseen"), default="tuned")
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--overlap", type=int, nargs="+", default=[3, 1])
    parser.add_argument("--controls", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    for overlap in options.overlap:
        for controls in options.controls:
            tally = Tally()
            for seed in seeds:
                run(seed, overlap, controls, options.annotators, options.worlds, tally)
            tally.show(overlap, controls)


@dataclass
class Tally:
    """How many annotators were flagged, by HITs done, type of annotator and kind of alert."""

    n: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    flagged: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    kinds: dict[tuple[int, str], dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    ever: set[tuple[int, int]] = field(default_factory=set)

    def add(self, moment: int, way: str, kinds: Sequence[str]) -> None:
        self.n[moment, way] += 1
        self.flagged[moment, way] += bool(kinds)
        for kind in kinds:
            self.kinds[moment, way][kind] += 1

    def share(self, moment: int, ways: Sequence[str]) -> tuple[int, int]:
        return sum(self.flagged[moment, way] for way in ways), sum(self.n[moment, way] for way in ways)

    def show(self, overlap: int, controls: int) -> None:
        from demo.simulating.worlds import BAD_WAYS, GOOD_WAYS

        for moment in sorted({moment for moment, _ in self.n}):
            bad, good = self.share(moment, BAD_WAYS), self.share(moment, GOOD_WAYS)
            by_way = " ".join(
                f"{way.split()[0]} {self.flagged[moment, way]}/{self.n[moment, way]}" for way in (*BAD_WAYS, *GOOD_WAYS)
            )
            print(
                f"overlap {overlap} controls {controls} after {moment:2d}: caught {bad[0] / bad[1]:.3f} of {bad[1]}, "
                f"wrongly flagged {good[0] / good[1]:.3f} of {good[1]}   ({by_way})",
                flush=True,
            )
            for way in (*BAD_WAYS, *GOOD_WAYS):
                if self.kinds[moment, way] and os.environ.get("POWER_KINDS"):
                    print("      ", way, dict(self.kinds[moment, way]))


def run(seed: int, overlap: int, controls: int, n_annotators: int, worlds: str, tally: Tally) -> None:
    """Simulate one group of annotators in one arrangement, and count the flagged ones at each moment."""
    from demo.simulating.worlds import TUNED, UNSEEN, choose_world

    world = choose_world(seed, TUNED if worlds == "tuned" else UNSEEN)
    crew = Crew(seed, world, overlap, controls, n_annotators)
    for moment in range(1, max(MOMENTS) + 1):
        crew.work_round()
        if moment in MOMENTS:
            for worker, kinds in crew.check():
                tally.add(moment, worker.temperament.name, kinds)


class Crew:
    """Annotators who rate generated texts, and their quality figures."""

    def __init__(self, seed: int, world: Any, overlap: int, controls: int, n_annotators: int) -> None:
        from demo.simulating.arrangements import HIT_SIZE, PLANS
        from demo.simulating.texts import write_texts
        from demo.simulating.worlds import recruit

        self.rng = np.random.default_rng([seed, overlap, controls])
        self.plan, self.overlap = PLANS[controls], overlap
        n_hits = -(-n_annotators * max(MOMENTS) // overlap) + overlap
        self.passages = write_texts(n_hits, HIT_SIZE - self.plan.room, mix=world.mix, rng=self.rng)
        self.workers = recruit(world, n_annotators, self.rng)
        self.free = [overlap] * n_hits
        self.done: list[list[int]] = [[] for _ in self.workers]
        self.rated: list[dict[int, float]] = [{} for _ in self.workers]
        self.assignments: list[list[Any]] = [[] for _ in self.workers]
        self.controls: list[list[Any]] = [[] for _ in self.workers]
        self.asked_again: list[set[int]] = [set() for _ in self.workers]
        self._number()

    def _number(self) -> None:
        from annotate.quality.evidence import Text

        self.items: list[list[tuple[int, Any, Any]]] = []
        self.texts: dict[int, Any] = {}
        self.seen: dict[int, tuple[Any, Any, int]] = {}
        number = 0
        for place, passage in enumerate(self.passages):
            here = []
            for question in passage.questions:
                for answer in question.answers:
                    number += 1
                    here.append((number, question, answer))
                    self.texts[number] = Text(
                        answer.text, list(question.references), len(question.text), len(passage.text)
                    )
                    self.seen[number] = (question, answer, place)
            self.items.append(here)

    def work_round(self) -> None:
        for who in self.rng.permutation(len(self.workers)):
            hit = next(h for h, n in enumerate(self.free) if n and h not in self.done[who])
            self.free[hit] -= 1
            self._rate(int(who), hit)
            self._ask_again(int(who))

    def _rate(self, who: int, hit: int) -> None:
        from annotate.quality.evidence import TimedAssignment

        order = [self.items[hit][int(place)] for place in self.rng.permutation(len(self.items[hit]))]
        for number, question, answer in order:
            self.rated[who][number] = self._score(who, answer.text, question.references, answer.worth)
        self.done[who].append(hit)
        layout = [number for number, _, _ in order]
        assignment = 1 + who * 1000 + len(self.done[who])
        self.assignments[who].append(TimedAssignment(assignment, layout, [20.0] * len(layout)))
        for text, references, worth, expected in self._known(hit):
            score = self._score(who, text, references, worth)
            self._control(who, "known_answer", score, expected=expected)

    def _known(self, hit: int) -> Iterator[tuple[str, tuple[str, ...], float, list[float]]]:
        questions = self.passages[hit].questions
        for _ in range(self.plan.known_per_hit):
            question = questions[int(self.rng.integers(len(questions)))]
            others = [text for other in questions if other is not question for text in other.references]
            if self.rng.random() < 0.5:
                text = question.references[int(self.rng.integers(len(question.references)))]
                yield text, question.references, 1.0, [4.0, 5.0]
            else:
                yield others[int(self.rng.integers(len(others)))], question.references, 0.0, [1.0, 1.0]

    def _ask_again(self, who: int) -> None:
        from demo.simulating.texts import worth_when_degraded
        from measures.degrading import DegradedText, PhraseBook, degrade
        from measures.token_overlap import token_f1

        n_hits = len(self.done[who])
        asked = [control.kind for control in self.controls[who]]
        old = [number for hit in self.done[who][: -self.plan.distance + 1 or None] for number, _, _ in self.items[hit]]
        n = int(self.plan.degraded_per_hit * n_hits) - asked.count("degraded")
        if n >= 2 and n_hits > self.plan.distance:
            book = PhraseBook.of(
                [(0, text) for passage in self.passages for q in passage.questions for text in q.references]
            )
            for number in self.rng.permutation(old):
                question, answer, _ = self.seen[int(number)]
                is_good = any(token_f1(answer.text, text) >= 0.5 for text in question.references)
                if n == 0 or not is_good or number in self.asked_again[who]:
                    continue
                made = degrade(answer.text, references=question.references, phrases=book, passage=1, rng=self.rng)
                if isinstance(made, DegradedText):
                    worth = worth_when_degraded(answer.worth, answer.text, made.text)
                    score = self._score(who, made.text, question.references, worth)
                    self._control(who, "degraded", score, source=int(number))
                    self.asked_again[who].add(int(number))
                    n -= 1
        if self.plan.repeats_every and n_hits % self.plan.repeats_every == 0 and n_hits > self.plan.distance:
            for number in self.rng.choice(old, self.plan.repeats, replace=False):
                question, answer, _ = self.seen[int(number)]
                score = self._score(who, answer.text, question.references, answer.worth)
                self._control(who, "repeat", score, source=int(number))

    def _control(
        self, who: int, kind: str, score: float, *, expected: list[float] | None = None, source: int | None = None
    ) -> None:
        from annotate.quality.evidence import Control

        item = 1_000_000 + len(self.controls[who])
        ranges = {"correctness": expected} if expected else None
        self.controls[who].append(Control(kind, item, score, {"correctness": score}, ranges, source, source))

    def _score(self, who: int, text: str, references: tuple[str, ...], worth: float) -> float:
        from demo.annotators import Seen

        seems = self.workers[who].temperament.judgement.rate(Seen(text, references, worth, 40), self.rng)
        return 1.0 + round(4 * min(1.0, max(0.0, seems)))

    def check(self) -> Iterator[tuple[Any, list[str]]]:
        """Yield each annotator with the kinds of their serious findings."""
        from measures.quality.crowd import summarise_crowd
        from measures.quality.findings import find
        from measures.quality.thresholds import Thresholds

        everyone = self.figures()
        for who, worker in enumerate(self.workers):
            crowd = summarise_crowd([each for other, each in enumerate(everyone) if other != who], span=4.0)
            yield worker, [found.kind for found in find(everyone[who], crowd, Thresholds()) if found.is_serious]

    def figures(self) -> list[Any]:
        from annotate.quality.evidence import QualityScale, Scores, WorkRecord
        from annotate.quality.figures import PreparedScores, compute_figures
        from measures.quality.thresholds import Thresholds

        rows = [
            (who, number, score, assignment.assignment_id)
            for who, assignments in enumerate(self.assignments)
            for assignment in assignments
            for number in assignment.layout
            for score in [self.rated[who][number]]
        ]
        passages = {number: place for place, items in enumerate(self.items) for number, _, _ in items}
        table = np.array(rows, np.float64)
        candidates, unit = np.unique(table[:, 1].astype(np.int64), return_inverse=True)
        scores = Scores(
            annotator=table[:, 0].astype(np.int64),
            unit=unit.astype(np.int64),
            score=table[:, 2],
            assignment=table[:, 3].astype(np.int64),
            item=table[:, 1].astype(np.int64),
            passage=np.array([passages[number] for _, number, _, _ in rows], np.int64),
            annotators=list(range(len(self.workers))),
            candidates=candidates,
        )
        scale = QualityScale((1,), frozenset(["correctness"]), 1.0, 5.0, False, "ordinal")
        comparison = PreparedScores(scores, scale)
        thresholds = Thresholds()
        everyone = []
        for who in range(len(self.workers)):
            record = WorkRecord(
                assignments=self.assignments[who], n_submitted=len(self.assignments[who]), controls=self.controls[who]
            )
            everyone.append(compute_figures(who, comparison, record, self.texts, thresholds))
        return everyone


if __name__ == "__main__":
    main()
