"""Trainings in tests: a judged project whose answers are right where they are like their reference, and its jobs."""

import random
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from django.conf import settings as site

from measures.neural.folders import ModelFolder, describe_folder
from measures.neural.installed import find_model
from measures.neural.lerc.judging import judge, score_words
from measures.neural.lerc.rows import Parts, Row
from measures.neural.lerc.settings import Run, Settings, TrainingResult
from measures.neural.lerc.variants import Variant
from projects.jobs import running
from projects.models import Membership, Project
from results.models import JudgmentSet, Training
from results.training import computing, requesting
from results.training.figures import store_figures, store_variant
from results.training.training_plan import TrainingPlan
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.measures.neural.tiny_models import WORDS, TinyModels
from tests.results.judged_batches import judge as judge_batch
from tests.results.sets.frozen_sets import freeze
from tests.routes import all_routes

QUICK: dict[str, Any] = {
    "inputs": ("reference", "candidate"), "rates": (3e-3,), "seeds": (1, 2), "epochs": 1, "batch_size": 16,
    "max_length": 16, "augments": False,
}  # fmt: skip
"""Settings of a training that takes a moment."""


def judge_toys(project: Project, *, n: int = 12, datasets: tuple[str, ...] = ("news", "stories")) -> JudgmentSet:
    """Judge two answers of each question by two people, split by passage, and freeze the judgments."""
    draw, ratings = random.Random(4), {}
    people = [make_membership(project) for _ in range(2)]
    for name in datasets:
        dataset = make_dataset(project, name)
        for number in range(n):
            split = ("train", "train", "dev", "test")[number % 4]
            passage = make_passage(dataset, f"{name}-{number}", split=split)
            question = make_question(passage, references=(draw.choice(WORDS[:20]),))
            reference = question.references.get().text
            wrong = draw.choice([each for each in WORDS[:20] if each != reference])
            for source, text, value in (("strong", reference, 5), ("weak", wrong, draw.choice([1, 2]))):
                (candidate,) = make_candidates(question, source=source, text=text)
                ratings[candidate] = dict.fromkeys(people, float(value))
    judge_batch(project, ratings)
    owner = project.memberships.filter(role=Membership.Role.OWNER).first() or make_membership(project, role="owner")
    return freeze(project, owner)


def add_encoder(models: TinyModels, name: str = "tiny", kind: Any = "encoder") -> ModelFolder:
    """Put a tiny encoder into the registry of the site."""
    folder = Path(site.MODELS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / name).exists():
        built = models.build("bert", "masked" if kind == "masked" else "encoder", name=f"for-{kind}")
        (folder / name).mkdir()
        for path in built.iterdir():
            (folder / name / path.name).write_bytes(path.read_bytes())
        describe_folder(folder / name, kind=kind)
    return find_model(name)


def make_plan(encoder: ModelFolder, **over: Any) -> TrainingPlan:
    own = {name: over.pop(name) for name in list(over) if name in Settings.__dataclass_fields__}
    return TrainingPlan(encoder=encoder.name, digest=encoder.digest, lerc=Settings(**{**QUICK, **own}), **over)


def request(project: Project, actor: Membership, made: JudgmentSet, encoder: ModelFolder, **over: Any) -> Training:
    named = {"name": "toy", "criterion": "correctness", "table": "all"}
    given = {key: over.pop(key) for key in list(over) if key in named}
    return requesting.request_training(
        project=project, actor=actor, judgment_set=made, plan=make_plan(encoder, **over), **{**named, **given}
    )


def do(training: Training) -> Training:
    """What the worker does."""
    # A heart sees nothing of a test's own transaction, and the speed of a toy need not be known well.
    with mock.patch.object(running, "BEAT_SECONDS", 60), mock.patch.object(computing, "SPEED_SECONDS", 0.01):
        computing.run(training.pk)
    training.refresh_from_db()
    return training


def train(project: Project, actor: Membership, made: JudgmentSet, encoder: ModelFolder, **over: Any) -> Training:
    """A training that has ended, after its estimate."""
    training = do(request(project, actor, made, encoder, **over))
    assert training.is_estimated, training.error
    requesting.start(training=training)
    return do(training)


def training_samples(project: Project, actor: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """Trainings of a project that has a frozen set, for the paths of their pages; nothing is trained."""
    made = project.judgment_sets.frozen().first()
    assert made is not None
    plan = TrainingPlan(encoder="tiny", digest="0" * 64, lerc=Settings(**QUICK))
    estimate = {"variants": [], "n_rows": 10, "rows_per_second": 2.0, "seconds": 5.0, "device": "cpu"}
    rows = [
        Training.objects.create(
            project=project, number=number + 1, name=f"sample-{number}", judgment_set=made, criterion="correctness",
            settings=plan.as_dict(), estimate=estimate, result=_make_result(), step=Training.Step.TRAIN,
            state=Training.State.DONE, requested_by=actor,
        )
        for number in range(1 + n_before)
    ]  # fmt: skip
    names = [route.name for route in all_routes() if route.name.startswith(("results:training-", "api:training-"))]
    return {f"{name} number": rows[-1].number for name in names}


def _make_result() -> dict[str, Any]:
    """Return what a training stores, of figures that nothing was trained for."""
    rows = [
        Row(key=str(n), dataset="news", group=str(n), split="test", reference="cat", candidate="dog", score=1.0 + n % 5)
        for n in range(9)
    ]
    scores = np.array([row.score for row in rows]) + np.tile([0.0, 0.5, -0.5], 3)
    trained = TrainingResult([Run(3e-3, 1, [1.0], [0.5])], 3e-3, 1, {1: {"dev": scores, "test": scores}})
    figures = store_figures(judge(rows, {"LERC": scores, **score_words(rows)}, seed=1, n_resamples=10))
    return {
        "variants": [store_variant(Variant(label="LERC"), Parts(rows, rows, rows), trained)],
        "splits": {"dev": figures, "test": figures},
        "device": "cpu",
        "set": {"number": 1, "sha256": "0" * 64},
        "encoder": {"name": "tiny", "source": "", "licence": "", "digest": "0" * 64},
    }
