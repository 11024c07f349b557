"""Pre-training on the three-way task, from a file that a command is given."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from measures.neural.lerc.inputs import SEGMENTS, Vocabulary
from measures.neural.lerc.rows import Choice
from measures.neural.lerc.settings import Settings
from projects.errors import Refused
from projects.jobs.running import OnProgress
from results.models import Training
from results.training import files
from results.training.training_plan import TrainingPlan

FILE = "pretraining.jsonl"
FIELDS = ("passage", "question", "answer_1", "answer_2")
EPOCHS = 4
"""As in MOCHA (Chen et al., 2020)."""
LONGEST_LINE = 10_000_000


def describe(path: Path) -> dict[str, Any]:
    """Return name, SHA-256 and number of rows of a file of the task. Raises Refused for the first wrong line."""
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        n = sum(1 for _row in read(path))
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    if n < 30:
        raise Refused(f"{path.name} has {n} rows. Pre-training needs 30 or more.")
    return {"name": path.name, "sha256": sha256, "n": n}


def read(path: Path) -> Iterator[Choice]:
    """Yield the rows of a file: one JSON object a line. Raises Refused for the first wrong line."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), start=1):
            if not line.strip():
                continue
            try:
                found = orjson.loads(line)
                texts = {name: found[name] for name in FIELDS}
                label = found["label"]
            except (ValueError, KeyError, TypeError) as error:
                raise Refused(
                    f"{path.name}, line {number}: each line is a JSON object with {', '.join(FIELDS)} and label."
                ) from error
            if not all(isinstance(each, str) for each in texts.values()) or label not in (0, 1, 2):
                raise Refused(
                    f"{path.name}, line {number}: passage, question and answers must be texts, and label 0 (the first "
                    "answer is right), 1 (the second) or 2 (both)."
                )
            yield Choice(**texts, label=label)


def keep(training: Training, path: Path) -> None:
    """Keep the file with the checkpoints, so that the training can go on without it."""
    shutil.copyfile(path, files.find_work(training) / FILE)


def count_rows(plan: TrainingPlan) -> int:
    """Return the rows that pre-training goes through, as the cost of a training is counted."""
    return int(plan.pretraining.get("n", 0)) * EPOCHS * len(plan.lerc.rates) if plan.pretraining else 0


def run(plan: TrainingPlan, loaded: Any, work: Path, on_progress: OnProgress) -> tuple[Any, int, dict[str, Any] | None]:
    """Pre-train the encoder. Returns its weights, the rows gone through, and what is said of it, if any."""
    if not plan.pretraining:
        return None, 0, None
    from measures.neural.lerc import checkpoints, learning_tasks, network, training

    path, own = work / FILE, work / "pretraining"
    if not path.is_file():
        raise Refused("The file of the pre-training is gone. Request the training again with it.")
    settings = Settings(
        inputs=SEGMENTS,
        rates=plan.lerc.rates,
        seeds=plan.lerc.seeds[:1],
        epochs=EPOCHS,
        batch_size=plan.lerc.batch_size,
        max_length=plan.lerc.max_length,
    )
    layout = network.read_layout(loaded, settings.max_length)
    task = learning_tasks.make_choice_task(
        list(read(path)), settings, Vocabulary(loaded.tokeniser, layout), seed=plan.seed
    )
    own.mkdir(exist_ok=True)
    found = training.train(
        task,
        settings,
        make_network=network.make_networks(loaded, n_outputs=learning_tasks.N_CLASSES),
        layout=layout,
        folder=own,
        fingerprint=str(plan.pretraining["sha256"]) + plan.digest,
        on_progress=on_progress,
    )
    best = next(run for run in found.runs if (run.rate, run.seed) == (found.rate, found.seed))
    about = {**plan.pretraining, "rate": found.rate, "accuracy": best.score, "epoch": best.best + 1}
    return checkpoints.read_encoder(own), training.count_rows(task, settings), about
