"""Every metric over 40,000 candidate answers, and BLEU, chrF and ROUGE-L compared with sacrebleu and rouge-score.

Run: .venv/bin/python -m benchmarks.metrics [--candidates 40000] [--rounds 2]

The answers have 3 to 25 random words, five to a question with two references; a third of the questions each has
opinions, entities or neither. The first table gives the seconds of each metric over all of them, from texts to scores;
METEOR is measured on a twentieth. The second gives the seconds of a library for the same answers and tokens, with its
set-up done before, its time divided by ours, and the largest difference of scores. All times are the shortest of
several rounds. No database is used.
"""

import argparse
import random
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from measures.metrics import METRICS, Answers, Metric, make, score_column

Values = list[float] | np.ndarray[Any, np.dtype[np.float64]]
Result = TypeVar("Result")
BY_QUESTION, VOCABULARY = 5, 5_000
SLOW, SLOWER = "meteor", 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    answers = make_answers(options.candidates)
    print(f"{'metric':<18}{'answers':>9}{'seconds':>9}")
    for name in METRICS:
        _measure(make(name), name, answers, options.rounds)
    print(f"\n{'compared with':<34}{'seconds':>9}{'ours':>9}{'times':>7}  difference")
    for title, metric, per_corpus, library in _libraries(answers):
        _compare(title, metric, per_corpus, library, answers, options.rounds)


def make_answers(n: int) -> Answers:
    """Return answers that are their first reference with some words replaced, deleted or added."""
    rng = random.Random(6)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(VOCABULARY)]
    # Zipf's law: the frequency of the k-th word is proportional to 1 / k, as in natural language.
    frequencies = list(accumulate(1 / (k + 3) for k in range(VOCABULARY)))

    def draw(low: int, high: int) -> list[str]:
        return rng.choices(words, cum_weights=frequencies, k=rng.randint(low, high))

    columns: dict[str, list[Any]] = {name: [] for name in Answers.__dataclass_fields__}
    for row in range(n):
        if row % BY_QUESTION == 0:
            first = draw(3, 25)
            references = (" ".join(first), " ".join(draw(3, 25)))
            kind = ("yes-no", "entity", "description")[row // BY_QUESTION % 3]
            entities = (" ".join(first[:2]),)
        kept = [word if rng.random() < 0.7 else draw(1, 1)[0] for word in first if rng.random() < 0.9]
        columns["candidates"].append(" ".join([*kept, *draw(0, 3)]))
        columns["references"].append(references)
        columns["question_types"].append(kind)
        columns["opinions"].append(rng.choice(("Yes", "No", "")))
        columns["reference_opinions"].append(("Yes", "No"))
        columns["entities"].append(entities)
        columns["questions"].append("")
        columns["passages"].append("")
    return Answers(**columns)


def _measure(metric: Metric, name: str, answers: Answers, rounds: int) -> None:
    if missing := metric.lacks():
        print(f"{name:<18}  left out: this machine lacks {missing}.")
        return
    if name.startswith(SLOW):
        answers = answers.only(slice(0, max(1, len(answers) // SLOWER)))
    seconds = min(_timed(lambda: score_column(metric, answers))[0] for _ in range(rounds))
    print(f"{name:<18}{len(answers):>9,}{seconds:>9.2f}", flush=True)


def _libraries(answers: Answers) -> list[tuple[str, Metric, bool, Callable[[], Values]]]:
    """Return for each comparison its title, our metric, whether it is of the corpus, and the library's call."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf = BLEU(tokenize="none", smooth_method="none", force=True), CHRF()
    rouge = RougeScorer(["rougeL"])
    pairs = list(zip(answers.candidates, answers.references, strict=True))
    streams = [list(stream) for stream in zip(*answers.references, strict=True)]
    ours = make("bleu_4", tokeniser="spaces")
    return [
        ("sacrebleu, BLEU-4 of each answer", ours, False,
         lambda: [bleu.corpus_score([text], [[each] for each in texts]).score / 100 for text, texts in pairs]),
        ("sacrebleu, BLEU-4 of the corpus", ours, True,
         lambda: [bleu.corpus_score(list(answers.candidates), streams).score / 100]),
        ("rouge-score, ROUGE-L of each answer", make("rouge_l", aggregation="best", rouge_beta=1), False,
         lambda: [rouge.score_multi(texts, text)["rougeL"].fmeasure for text, texts in pairs]),
        ("sacrebleu, chrF of each answer", make("chrf"), False,
         lambda: [chrf.sentence_score(text, texts).score / 100 for text, texts in pairs]),
    ]  # fmt: skip


def _compare(
    title: str, metric: Metric, per_corpus: bool, library: Callable[[], Values], answers: Answers, rounds: int
) -> None:
    def ours() -> Values:
        found = score_column(metric, answers)
        return [found.over()] if per_corpus else found.values  # type: ignore[list-item]  # there are answers

    # In turn, so that other load on the machine affects both.
    turns = [(_timed(ours), _timed(library)) for _ in range(rounds)]
    seconds, theirs = (min(took for took, _ in each) for each in zip(*turns, strict=True))
    (_, values), (_, wanted) = turns[0]
    difference = np.abs(np.asarray(values) - np.asarray(wanted)).max()
    print(f"{title:<34}{theirs:>9.2f}{seconds:>9.2f}{theirs / seconds:>7.1f}  {difference:.0e}", flush=True)


def _timed(act: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = act()
    return time.perf_counter() - started, result


if __name__ == "__main__":
    main()
