"""Training LERC: every learning rate with every seed, from checkpoints where it was interrupted.

What a training draws follows from its seeds alone, step by step, so that one that was killed ends with the same
weights as one that was not, on the same kind of machine.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from measures.neural.lerc.checkpoints import Checkpoints
from measures.neural.lerc.inputs import Inputs, Layout
from measures.neural.lerc.learning_tasks import Task
from measures.neural.lerc.network import Lerc, MakeNetwork, decays, pad, predict
from measures.neural.lerc.settings import Run, Settings, TrainingResult, choose_rate, choose_seed
from measures.patterns import Floats

OnProgress = Callable[[int, int], None]
"""Called after each step with the rows done and all rows; it may raise to stop."""

_POOL = 32
"""Batches that are drawn together and sorted by length, so that little is padded."""
# Dropout draws from the one generator of the process.
_LOCK = threading.Lock()


def train(
    task: Task,
    settings: Settings,
    *,
    make_network: MakeNetwork,
    layout: Layout,
    folder: Path,
    fingerprint: str,
    on_progress: OnProgress = lambda _done, _total: None,
) -> TrainingResult:
    """Train every rate with every seed, and keep the best weights in the folder.

    Parameters
    ----------
    task : Task
        What is learned.
    settings : Settings
        How.
    make_network : callable
        Returns a network for a seed.
    layout : Layout
        Of the encoder.
    folder : Path
        An existing folder for checkpoints. A training of the same fingerprint goes on from the one it finds there.
    fingerprint : str
        Of everything that the result depends on beside task and settings, such as the files of the encoder.
    on_progress : callable
        Called after each step; it may raise to stop, and the last checkpoint stays.

    Returns
    -------
    Trained
        The weights are in the file that `find_weights` returns.

    Raises
    ------
    ValueError
        There is no row to learn from, or fewer than three to choose by.
    """
    if not len(task.train):
        raise ValueError("no row to learn from")
    if len(task.dev) < 3:
        raise ValueError("fewer than three rows of dev")
    with _LOCK:
        checkpoints = Checkpoints(folder, _hash(task, settings, fingerprint))
        return _Training(task, settings, make_network, layout, checkpoints, on_progress).run()


def measure_speed(
    task: Task, settings: Settings, *, make_network: MakeNetwork, layout: Layout, seconds: float = 4.0
) -> float:
    """Return how many rows a second are learned from, measured on rows drawn at random.

    Parameters
    ----------
    task, settings, make_network, layout
        As for `train`; nothing is kept.
    seconds : float
        About how long is measured, after a first step that only warms up.

    Returns
    -------
    float
        Rows a second.
    """
    with _LOCK:
        training = _Training(task, settings, make_network, layout, None, lambda _done, _total: None)
        return training.measure(seconds)


def count_rows(task: Task, settings: Settings) -> int:
    """Return the rows that a training goes through, by which its progress and its cost are counted.

    Predicting a row takes about a third of learning from it.
    """
    each = len(task.train) + len(task.dev) // 3
    return settings.n_runs * (settings.epochs * each + len(task.test) // 3)


class _Training:
    def __init__(
        self,
        task: Task,
        settings: Settings,
        make_network: MakeNetwork,
        layout: Layout,
        checkpoints: "Checkpoints | None",
        on_progress: OnProgress,
    ) -> None:
        self._task, self._settings, self._make_network, self._layout = task, settings, make_network, layout
        self._checkpoints, self._on_progress = checkpoints, on_progress
        self._total, self._done = count_rows(task, settings), 0
        self._n_steps = -(-len(task.train) // settings.batch_size)

    def run(self) -> TrainingResult:
        assert self._checkpoints is not None
        checkpoints, settings = self._checkpoints, self._settings
        for rate in settings.rates:
            for seed in settings.seeds:
                run = checkpoints.find_run(rate, seed)
                if run is not None and checkpoints.is_finished(run):
                    self._pass(settings.epochs * self._per_epoch + len(self._task.test) // 3)
                    continue
                self._train_run(run or checkpoints.start_run(rate, seed))
            checkpoints.close_rate(settings.rates[: settings.rates.index(rate) + 1])
        rate = choose_rate(checkpoints.runs)
        return TrainingResult(
            runs=checkpoints.runs,
            rate=rate,
            seed=choose_seed(checkpoints.runs, rate),
            predictions={seed: checkpoints.read_predictions(rate, seed) for seed in settings.seeds},
        )

    @property
    def _per_epoch(self) -> int:
        return len(self._task.train) + len(self._task.dev) // 3

    def _pass(self, n_rows: int) -> None:
        self._done += n_rows
        self._on_progress(self._done, self._total)

    def _train_run(self, run: Run) -> None:
        assert self._checkpoints is not None
        model = self._make_network(run.seed)
        self._start_at_mean(model)
        optimiser = self._make_optimiser(model)
        if run.losses:
            self._checkpoints.load(model, optimiser)
            self._pass(len(run.losses) * self._per_epoch)
        for epoch in range(len(run.losses), self._settings.epochs):
            run.losses.append(self._train_epoch(model, optimiser, run, epoch))
            figure = self._task.compute_figure(self._predict(model, self._task.dev), self._task.dev_targets)
            self._pass(len(self._task.dev) // 3)
            run.scores.append(figure)
            before = run.scores[run.best]
            if epoch == 0 or (figure is not None and (before is None or figure > before)):
                run.best = epoch
            self._checkpoints.save(run, model, optimiser)
        # The weights of the best epoch predict; those of the last one are not needed any more.
        model.load_state_dict(self._checkpoints.read_best_of_run())
        found = {
            name: self._predict(model, inputs)[:, 0]
            for name, inputs in (("dev", self._task.dev), ("test", self._task.test))
        }
        self._pass(len(self._task.test) // 3)
        self._checkpoints.finish_run(run, found)

    def _train_epoch(self, model: Lerc, optimiser: torch.optim.Optimizer, run: Run, epoch: int) -> float:
        device = next(model.parameters()).device
        model.train()
        total = 0.0
        for step, rows in enumerate(self._draw_batches(run.seed, epoch)):
            self._set_rate(optimiser, run.rate, epoch * self._n_steps + step)
            # Dropout of each step follows from the seed and the step alone.
            torch.manual_seed(_mix(run.seed, epoch, step))
            loss = self._learn(model, optimiser, rows, device)
            total += loss * len(rows)
            self._pass(len(rows))
        return total / len(self._task.train)

    def _learn(self, model: Lerc, optimiser: torch.optim.Optimizer, rows: Sequence[int], device: torch.device) -> float:
        found = model(*pad([self._task.train[row] for row in rows], self._layout, device))
        wanted = torch.tensor(self._task.targets[list(rows)], dtype=torch.float32, device=device)
        loss = self._task.compute_loss(found, wanted)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _draw_batches(self, seed: int, epoch: int) -> Iterator[list[int]]:
        """Yield the batches of an epoch in an order that the seed decides; rows of like length come together."""
        rng, size = np.random.default_rng([seed, epoch]), self._settings.batch_size
        drawn, lengths = rng.permutation(len(self._task.train)).tolist(), self._task.train.lengths
        batches: list[list[int]] = []
        for at in range(0, len(drawn), size * _POOL):
            pool = sorted(drawn[at : at + size * _POOL], key=lambda row: int(lengths[row]))
            batches += [pool[start : start + size] for start in range(0, len(pool), size)]
        for place in rng.permutation(len(batches)).tolist():
            yield batches[place]

    def _predict(self, model: Lerc, inputs: Inputs) -> Floats:
        found = np.zeros((len(inputs), model.head.out_features))
        for rows, outputs in predict(model, inputs, self._layout, batch_size=2 * self._settings.batch_size):
            found[rows] = outputs
            # Says nothing new, but gives a request to stop a chance.
            self._on_progress(self._done, self._total)
        return found

    def _start_at_mean(self, model: Lerc) -> None:
        """Set the bias to the mean score, from which few rows need not lead first."""
        if model.head.out_features == 1:
            with torch.no_grad():
                model.head.bias.fill_(float(self._task.targets.mean()))

    def _make_optimiser(self, model: Lerc) -> torch.optim.Optimizer:
        decayed, others = decays(model)
        groups = [
            {"params": decayed, "weight_decay": self._settings.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=0.0)

    def _set_rate(self, optimiser: torch.optim.Optimizer, rate: float, step: int) -> None:
        """Set the rate of a step: it rises to `rate`, and then falls to 0."""
        n_steps = self._settings.epochs * self._n_steps
        n_rising = int(self._settings.warm_up * n_steps)
        share = (step + 1) / n_rising if step < n_rising else (n_steps - step) / max(1, n_steps - n_rising)
        for group in optimiser.param_groups:
            group["lr"] = rate * share

    def measure(self, seconds: float) -> float:
        model = self._make_network(self._settings.seeds[0])
        optimiser = self._make_optimiser(model)
        device = next(model.parameters()).device
        model.train()
        n_rows, started = 0, time.perf_counter()
        for step, rows in enumerate(self._draw_batches(0, 0)):
            self._learn(model, optimiser, rows, device)
            if step == 0 and self._n_steps > 1:
                started = time.perf_counter()
                continue
            n_rows += len(rows)
            if time.perf_counter() - started > seconds:
                break
        return n_rows / max(1e-9, time.perf_counter() - started)


def _hash(task: Task, settings: Settings, fingerprint: str) -> str:
    """Return a hash of what a checkpoint depends on: one of other rows or settings is not gone on with."""
    found = hashlib.sha256(json.dumps([settings.as_dict(), fingerprint]).encode())
    for inputs, targets in ((task.train, task.targets), (task.dev, task.dev_targets), (task.test, np.zeros(0))):
        found.update(np.ascontiguousarray(targets).tobytes())
        for ids, types in inputs:
            found.update(ids.tobytes() + types.tobytes() + b"|")
    return found.hexdigest()


def _mix(*numbers: int) -> int:
    """Return a seed of torch from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
