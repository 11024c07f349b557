"""LERC on tiny encoders: it learns a rule, goes on where it was killed, and scores from its folder alone."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measures.metrics import Answers, score_slice
from measures.neural.environment import Environment, configure, get_environment
from measures.neural.folders import ModelFolder, describe_folder, read_folder
from measures.neural.lerc.inputs import Vocabulary
from measures.neural.lerc.metric import LercMetric, make_registered
from measures.neural.lerc.rows import Choice, Parts, Row
from measures.neural.lerc.seen import Seen
from measures.neural.lerc.settings import Settings
from measures.neural.model_files import BadFolder
from tests.measures.neural.tiny_models import WORDS, TinyModels

pytestmark = pytest.mark.xdist_group("neural")

SMALL: dict[str, Any] = {"inputs": ("reference", "candidate"), "max_length": 16, "batch_size": 16}


def make_rows(n: int, split: str, *, seed: int = 1, words: int = 6) -> list[Row]:
    """Answers that are right where they are like their reference."""
    draw = random.Random(f"{seed} {split}")
    rows = []
    for number in range(n):
        reference = draw.choice(WORDS[:words])
        is_right = draw.random() < 0.5
        candidate = reference if is_right else draw.choice([each for each in WORDS[:words] if each != reference])
        rows.append(
            Row(key=f"{split}-{number}", dataset="toy", group=f"{split}-{number // 2}", split=split,
                question=f"{split} {number}", reference=reference, candidate=candidate, score=5.0 if is_right else 1.0)
        )  # fmt: skip
    return rows


def make_encoder(models: TinyModels, architecture: Any = "bert", **config: Any) -> ModelFolder:
    path = models.build(architecture, name=f"lerc-{architecture}-{len(models.built)}", **config)
    return describe_folder(path, kind="encoder", source="tests")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads of torch wait for each other by spinning, which takes a busy machine many times as long."""
    before = get_environment()
    configure(Environment(threads=1))
    yield
    configure(before)


class Bench:
    """An encoder with the parts of a training."""

    def __init__(self, folder: ModelFolder, settings: Settings) -> None:
        from measures.neural.lerc.network import make_networks, read_layout
        from measures.neural.loading import load_encoder

        self.settings, self.loaded = settings, load_encoder(folder)
        self.layout = read_layout(self.loaded, settings.max_length)
        self.vocabulary = Vocabulary(self.loaded.tokeniser, self.layout)
        self.make_network = make_networks(self.loaded)

    def train(self, parts: Parts, folder: Path, **over: Any) -> Any:
        from measures.neural.lerc import learning_tasks, training

        folder.mkdir(exist_ok=True)
        task = learning_tasks.make_task(parts, self.settings, self.vocabulary)
        named = {"make_network": self.make_network, "layout": self.layout, "folder": folder, "fingerprint": "tests"}
        return training.train(task, self.settings, **{**named, **over})


def read_best(folder: Path) -> dict[str, Any]:
    from measures.neural.lerc.checkpoints import find_weights
    from measures.neural.lerc.network import read_tensors

    return read_tensors(find_weights(folder))


def test_it_learns_that_an_answer_like_its_reference_is_right(tiny_models: TinyModels, tmp_path: Path) -> None:
    encoder = make_encoder(tiny_models, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    bench = Bench(encoder, Settings(**SMALL, rates=(5e-3,), seeds=(1,), epochs=5, augments=False))
    parts = Parts(make_rows(400, "train"), make_rows(60, "dev"), make_rows(200, "test"))
    found = bench.train(parts, tmp_path / "work")
    gold = [row.score for row in parts.test]
    assert np.corrcoef(found.predictions[1]["test"], gold)[0, 1] > 0.9
    assert found.runs[0].losses[-1] < found.runs[0].losses[0] / 2

    # Saved, loaded and asked as any metric is: the same scores, and none for answers that it has seen.
    from measures.neural.lerc.checkpoints import find_weights
    from measures.neural.lerc.scoring import save_model

    saved = save_model(
        tmp_path / "toy", bench.loaded, find_weights(tmp_path / "work"), settings=bench.settings,
        seen=Seen.of(parts.train, parts.dev), card="# Toy\n", details={"set": 1}, trained_on="toys",
    )  # fmt: skip
    assert (saved.kind, saved.revision, saved.details["set"]) == ("lerc", encoder.short_digest, 1)
    rows = [parts.train[0], parts.dev[0], *parts.test]
    answers = Answers(
        candidates=[row.candidate for row in rows], references=[[row.reference] for row in rows],
        questions=[row.question for row in rows], passages=[""] * len(rows),
    )  # fmt: skip
    before = get_environment()
    configure(replace(before, find_trained={saved.digest: saved.path}.get))
    try:
        for seen, n_refused in (("leave_out", 2), ("keep_tuning", 1), ("score", 0)):
            metric = make_registered("lerc:toy", digest=saved.digest).make(seen=seen)
            assert metric.lacks() == ""
            with metric.ready():
                scores = score_slice(metric, answers)
            assert sum(map(bool, scores.reasons)) == n_refused
            assert scores.values[2:] == pytest.approx(found.predictions[1]["test"], abs=1e-5)
        reasons = scores.reasons
        assert reasons == ("",) * len(rows)
        # Weights that were changed are never loaded.
        with (saved.path / "lerc-head.safetensors").open("r+b") as file:
            file.seek(-4, 2)
            file.write(b"1234")
        metric = make_registered("lerc:toy", digest=saved.digest).make()
        with pytest.raises(BadFolder, match="has changed"), metric.ready():
            pass
        assert "is gone" in LercMetric(model="toy", digest="0" * 64).lacks()
    finally:
        configure(before)


def test_a_training_that_was_killed_twice_ends_with_the_same_weights(tiny_models: TinyModels, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    bench = Bench(make_encoder(tiny_models), Settings(**SMALL, rates=(1e-3, 2e-3), seeds=(1, 2), epochs=2))
    parts = Parts(make_rows(48, "train"), make_rows(20, "dev"), make_rows(20, "test"))
    whole, killed = bench.train(parts, tmp_path / "whole"), tmp_path / "killed"

    def stop_at(n: int) -> Any:
        calls = iter(range(1, 1_000))

        def stop(done: int, total: int) -> None:
            if next(calls) == n:
                raise KilledError

        return stop

    for n in (7, 40):  # within the first epoch of all; then within one of the second rate
        with pytest.raises(KilledError):
            bench.train(parts, killed, on_progress=stop_at(n))
    seen: list[tuple[int, int]] = []
    again = bench.train(parts, killed, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1], "progress ends at its total"
    assert (again.runs, again.rate, again.seed) == (whole.runs, whole.rate, whole.seed)
    for seed in (1, 2):
        for part in ("dev", "test"):
            assert np.array_equal(again.predictions[seed][part], whole.predictions[seed][part])
    first, second = read_best(tmp_path / "whole"), read_best(killed)
    assert first.keys() == second.keys()
    assert all(bool((first[name] == second[name]).all()) for name in first)
    # What is done is not done again, and other settings are not gone on with.
    n_before = len(seen)
    assert bench.train(parts, killed, on_progress=lambda done, total: seen.append((done, total))).runs == whole.runs
    assert len(seen) - n_before == 4
    bench.settings = Settings(**SMALL, rates=(1e-3,), seeds=(1,), epochs=1)
    assert len(bench.train(parts, killed).runs) == 1


def test_two_trainings_at_once_end_as_one_after_the_other(tiny_models: TinyModels, tmp_path: Path) -> None:
    encoder, settings = make_encoder(tiny_models), Settings(**SMALL, rates=(1e-3,), seeds=(1,), epochs=1)
    parts = Parts(make_rows(48, "train"), make_rows(20, "dev"), make_rows(20, "test"))
    first, second = Bench(encoder, settings), Bench(encoder, settings)
    alone = first.train(parts, tmp_path / "alone")
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(bench.train, parts, tmp_path / name) for bench, name in ((first, "a"), (second, "b"))]
    for each in started:
        assert np.array_equal(each.result().predictions[1]["test"], alone.predictions[1]["test"])


def test_padding_and_the_order_of_texts_change_no_score(tiny_models: TinyModels) -> None:
    from measures.neural.lerc.inputs import Inputs
    from measures.neural.lerc.network import predict

    texts = ["", "cat", "the cat sat on the mat " * 40, "\N{GRINNING FACE} cat", "[SEP] cat [CLS]", "猫"]
    for architecture in ("bert", "roberta"):
        bench = Bench(make_encoder(tiny_models, architecture), Settings(max_length=64))
        rows = [
            [("passage", one), ("question", "who"), ("reference", other), ("candidate", one)]
            for one in texts
            for other in texts
        ]
        inputs, network = Inputs(rows, bench.vocabulary), bench.make_network(1)
        assert inputs.lengths.max() <= 64

        def score(size: int, given: Inputs, network: Any = network, bench: Bench = bench) -> Any:
            found = np.zeros(len(given))
            for places, outputs in predict(network, given, bench.layout, batch_size=size):
                found[places] = outputs[:, 0]
            return found

        alone = score(1, inputs)
        assert np.isfinite(alone).all()
        assert score(8, inputs) == pytest.approx(alone, abs=1e-5)
        assert score(8, Inputs(rows[::-1], bench.vocabulary))[::-1] == pytest.approx(alone, abs=1e-5)
        # A text of a special token is a text: it ends no segment.
        separators = [int((inputs[row][0] == bench.layout.separator).sum()) for row in range(len(rows))]
        assert set(separators) == {4}


def test_pre_training_leads_to_other_weights_and_scores_accuracy(tiny_models: TinyModels, tmp_path: Path) -> None:
    from measures.neural.lerc import checkpoints, learning_tasks, training
    from measures.neural.lerc.network import make_networks

    settings = Settings(max_length=32, rates=(1e-3,), seeds=(1,), epochs=1, batch_size=16)
    bench = Bench(make_encoder(tiny_models), settings)
    rows = [
        Choice(passage=f"the cat {n}", question="who", answer_1=WORDS[n % 9], answer_2=WORDS[n % 7], label=n % 3)
        for n in range(40)
    ]
    task = learning_tasks.make_choice_task(rows, settings, bench.vocabulary, seed=1)
    assert len(task.train) + len(task.dev) == 40
    assert len(task.dev) == 4
    (tmp_path / "pre").mkdir()
    found = training.train(
        task, settings, make_network=make_networks(bench.loaded, n_outputs=3), layout=bench.layout,
        folder=tmp_path / "pre", fingerprint="tests",
    )  # fmt: skip
    assert found.runs[0].score in {0.0, 0.25, 0.5, 0.75, 1.0}
    weights = checkpoints.read_encoder(tmp_path / "pre")
    before = bench.loaded.model.state_dict().keys()
    assert weights.keys() == before


def test_what_cannot_be_trained_is_refused(tiny_models: TinyModels, tmp_path: Path) -> None:
    bench = Bench(make_encoder(tiny_models), Settings(**SMALL))
    rows = make_rows(6, "train")
    with pytest.raises(ValueError, match="no row to learn from"):
        bench.train(Parts([], rows, rows), tmp_path / "a")
    with pytest.raises(ValueError, match="fewer than three"):
        bench.train(Parts(rows, rows[:2], rows), tmp_path / "b")
    from measures.neural.lerc.scoring import load_trained
    from measures.neural.loading import load_encoder

    masked = describe_folder(tiny_models.build("bert", "masked", name="lerc-masked"), kind="masked")
    with pytest.raises(BadFolder, match="not lerc"):
        load_trained(masked)
    assert load_encoder(read_folder(masked.path)).limit == 512
