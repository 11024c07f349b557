"""What a LERC network learns: predicting scores, or choosing the right answer before that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from measures.correlation import pearson
from measures.neural.lerc.inputs import Inputs, Vocabulary
from measures.neural.lerc.rows import Choice, Parts, Row, augment, toss
from measures.neural.lerc.settings import Settings
from measures.outcome import Undefined
from measures.patterns import Floats

N_CLASSES = 3
"""The first answer is right, the second, or both."""


@dataclass(frozen=True)
class Task:
    """What a network learns: inputs with their targets, and the figure by which epochs and rates are compared."""

    train: Inputs
    targets: Floats
    dev: Inputs
    dev_targets: Floats
    test: Inputs
    compute_loss: Callable[[Tensor, Tensor], Tensor]
    compute_figure: Callable[[Floats, Floats], float | None]


def make_task(parts: Parts, settings: Settings, vocabulary: Vocabulary) -> Task:
    """Return the task of predicting scores, with rows added to those of training where the settings say so."""
    train = list_training_rows(parts, settings)
    return Task(
        train=lay_out_rows(train, settings.inputs, vocabulary),
        targets=np.array([row.score for row in train], np.float64),
        dev=lay_out_rows(parts.dev, settings.inputs, vocabulary),
        dev_targets=np.array([row.score for row in parts.dev], np.float64),
        test=lay_out_rows(parts.test, settings.inputs, vocabulary),
        compute_loss=lambda found, wanted: nn.functional.mse_loss(found[:, 0], wanted),
        compute_figure=_correlate,
    )


def list_training_rows(parts: Parts, settings: Settings) -> list[Row]:
    """Return the rows that a network learns from, the added ones included."""
    return augment(parts.train) if settings.augments else list(parts.train)


def make_choice_task(rows: Sequence[Choice], settings: Settings, vocabulary: Vocabulary, *, seed: int) -> Task:
    """Return the three-way task: which answer is right, the first, the second or both. A tenth of it is dev."""
    tossed = toss(rows, seed=seed)
    passages = sorted({row.passage for row in tossed})
    drawn = np.random.default_rng(seed).permutation(len(passages))[: max(1, round(len(passages) / 10))].tolist()
    held_back = {passages[at] for at in drawn}
    train, dev = ([row for row in tossed if (row.passage in held_back) == is_dev] for is_dev in (False, True))

    def lay_out(part: Sequence[Choice]) -> Inputs:
        # The two answers are where reference and candidate will be.
        texts = (
            {"passage": row.passage, "question": row.question, "reference": row.answer_1, "candidate": row.answer_2}
            for row in part
        )
        return Inputs([[(name, each[name]) for name in settings.inputs] for each in texts], vocabulary)

    return Task(
        train=lay_out(train),
        targets=np.array([row.label for row in train], np.float64),
        dev=lay_out(dev),
        dev_targets=np.array([row.label for row in dev], np.float64),
        test=Inputs([], vocabulary),
        compute_loss=lambda found, wanted: nn.functional.cross_entropy(found, wanted.long()),
        compute_figure=lambda found, wanted: float((found.argmax(axis=1) == wanted).mean()) if len(found) else None,
    )


def lay_out_rows(rows: Sequence[Row], inputs: Sequence[str], vocabulary: Vocabulary) -> Inputs:
    return Inputs([[(name, getattr(row, name)) for name in inputs] for row in rows], vocabulary)


def _correlate(found: Floats, wanted: Floats) -> float | None:
    value = pearson(found[:, 0], wanted)
    return None if isinstance(value, Undefined) else value
