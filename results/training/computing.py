"""The job of a training: first what it costs, measured; then every training of its plan, and how good they are."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from measures.neural.environment import describe_device
from measures.neural.folders import ModelFolder
from measures.neural.lerc.inputs import Vocabulary
from measures.neural.lerc.judging import judge, score_words
from measures.neural.lerc.rows import Parts, Row
from measures.neural.lerc.seen import Seen
from measures.neural.lerc.settings import Settings, TrainingResult
from measures.neural.lerc.variants import TablePlan, Variant
from measures.neural.model_files import BadFolder
from measures.patterns import Floats
from projects.errors import Refused
from projects.jobs import running
from projects.jobs.running import OnProgress
from projects.models import Membership, Project
from projects.web.uploads import delete_path
from results.models import JudgmentSet, Training
from results.training import card, files, pretraining, requesting
from results.training.figures import HELD_OUT, store_figures, store_variant
from results.training.reading import Judged, read_set
from results.training.training_plan import TrainingPlan

SPEED_SECONDS = 4.0
"""For how long the speed of an encoder is measured."""

Step = Training.Step


def run(pk: int) -> str | None:
    """Do the job, outside of any transaction. Returns the state in which it ended."""
    return _run(pk, act)


def _run(pk: int, do: Callable[[Training, OnProgress], dict[str, Any]]) -> str | None:
    state = running.run(Training, pk, do, is_outside=True)
    training = Training.objects.filter(pk=pk).first()
    if training is not None and training.result is not None:
        # Model and figures are stored with the row. What a kill leaves here, `files.delete_orphans` takes away.
        delete_path(files.find_work(training))
    return state


def act(training: Training, on_progress: OnProgress) -> dict[str, Any]:
    """Estimate or train, whichever the step of the training is; the act of the job."""
    if training.project.deleted_at is not None:
        raise Refused("The project has been deleted.")
    try:
        return _estimate(training, on_progress) if training.step == Step.ESTIMATE else _train(training, on_progress)
    except BadFolder as problem:
        raise Refused(str(problem)) from problem


def train_now(
    *,
    project: Project,
    judgment_set: JudgmentSet,
    criterion: str,
    name: str,
    plan: TrainingPlan,
    table: str,
    actor: Membership,
    pretraining_file: Path | None = None,
    only_estimate: bool = False,
    on_estimate: Callable[[Training], None] = lambda _training: None,
    on_progress: OnProgress = lambda _done, _total: None,
) -> Training:
    """Estimate and train in this process. Raises Refused, also with the error of a failed job."""
    training = requesting.request_training(
        project=project, actor=actor, judgment_set=judgment_set, criterion=criterion, name=name, plan=plan, table=table,
        is_enqueued=False,
    )  # fmt: skip
    if pretraining_file is not None:
        pretraining.keep(training, pretraining_file)
    _run_here(training, on_progress)
    on_estimate(training)
    if only_estimate:
        return training
    requesting.start(training=training, is_enqueued=False)
    return _run_here(training, on_progress)


def go_on_now(*, training: Training, on_progress: OnProgress = lambda _done, _total: None) -> Training:
    """Go on with a training in this process, from its last checkpoint. Raises Refused as `train_now` does."""
    if training.is_estimated:
        requesting.start(training=training, is_enqueued=False)
    else:
        requesting.go_on(training=training, is_enqueued=False)
    return _run_here(training, on_progress)


def _run_here(training: Training, on_progress: OnProgress) -> Training:
    def act_and_report(job: Training, beat: OnProgress) -> dict[str, Any]:
        # Progress goes into the row as well, so that the page shows what a command computes.
        def report(done: int, total: int) -> None:
            beat(done, total)
            on_progress(done, total)

        return act(job, report)

    _run(training.pk, act_and_report)
    training.refresh_from_db()
    if training.is_live:
        raise Refused(f"Training {training.number} is done by a worker already.")
    if training.state != Training.State.DONE:
        raise Refused(training.error or f"Training ended as “{training.get_state_display()}”.")
    return training


@dataclass(frozen=True)
class _Bench:
    """A training with its data and its encoder."""

    training: Training
    plan: TrainingPlan
    judged: Judged
    rows: Sequence[Row]
    variants: Sequence[Variant]
    folder: ModelFolder
    loaded: Any

    def settings(self, variant: Variant) -> Settings:
        return replace(self.plan.lerc, inputs=variant.inputs)

    def part(self, variant: Variant) -> Parts:
        return variant.part(self.rows, seed=self.plan.seed)

    def make_task(self, variant: Variant) -> Any:
        from measures.neural.lerc import learning_tasks, network

        layout = network.read_layout(self.loaded, self.plan.lerc.max_length)
        vocabulary = Vocabulary(self.loaded.tokeniser, layout)
        return learning_tasks.make_task(self.part(variant), self.settings(variant), vocabulary), layout


def _open(training: Training) -> _Bench:
    from measures.neural.loading import load_encoder

    plan = TrainingPlan.from_dict(training.settings)
    judged = read_set(training.judgment_set, training.criterion)
    rows = plan.split(judged.rows)
    variants = plan.list_variants(training.table, rows)
    folder = requesting.find_encoder(plan.encoder)
    if folder.digest != plan.digest:
        raise Refused(f"The encoder “{plan.encoder}” has changed since this training was requested. Request a new one.")
    return _Bench(training, plan, judged, rows, variants, folder, load_encoder(folder))


def _estimate(training: Training, on_progress: OnProgress) -> dict[str, Any]:
    from measures.neural.lerc import network
    from measures.neural.lerc import training as lerc

    bench = _open(training)
    on_progress(0, len(bench.variants) + 1)
    counts, n_steps, speed = [], 0, 0.0
    for place, variant in enumerate(bench.variants, start=1):
        task, layout = bench.make_task(variant)
        n_own = lerc.count_rows(task, bench.settings(variant))
        parts = bench.part(variant)
        counts.append(_count(variant, parts, n_added=len(task.train) - len(parts.train)))
        if not n_steps or len(variant.inputs) > len(bench.variants[0].inputs):
            # The slowest of the variants, or one like them: what is said is rather too much than too little.
            speed = lerc.measure_speed(
                task, bench.settings(variant), make_network=network.make_networks(bench.loaded), layout=layout,
                seconds=SPEED_SECONDS,
            )  # fmt: skip
        n_steps += n_own
        on_progress(place, len(bench.variants) + 1)
    n_pretraining = pretraining.count_rows(bench.plan)
    return {
        "estimate": {
            "variants": counts,
            "n_rows": n_steps + n_pretraining,
            "rows_per_second": speed,
            "seconds": (n_steps + n_pretraining) / speed,
            "device": describe_device(),
            "n_answers": len(bench.rows),
            "n_withdrawn": bench.judged.n_withdrawn,
            "n_of_pairs": bench.judged.n_of_pairs,
            "n_without_gold": bench.judged.n_without_gold,
        }
    }


def _count(variant: Variant, parts: Parts, *, n_added: int) -> dict[str, Any]:
    def count_passages(rows: Sequence[Row]) -> int:
        return len({(row.dataset, row.group) for row in rows})

    return {
        "label": variant.label,
        "n_added": n_added,
        **{f"n_{name}": len(getattr(parts, name)) for name in ("train", "dev", "test")},
        **{f"n_{name}_passages": count_passages(getattr(parts, name)) for name in ("train", "dev", "test")},
    }


def _train(training: Training, on_progress: OnProgress) -> dict[str, Any]:
    from measures.neural.lerc import checkpoints, network
    from measures.neural.lerc import training as lerc

    bench = _open(training)
    work = files.find_work(training)
    before, total = 0, int((training.estimate or {}).get("n_rows", 0))

    def report(done: int, _total: int) -> None:
        on_progress(before + done, max(total, before + done))

    start, n_done, about = pretraining.run(bench.plan, bench.loaded, work, report)
    before += n_done
    # Once for all: each training begins with the weights of the encoder, not with those of the one before.
    make_network = network.make_networks(bench.loaded, start=start)
    found: list[tuple[Variant, Parts, TrainingResult]] = []
    for place, variant in enumerate(bench.variants):
        task, layout = bench.make_task(variant)
        own = work / f"variant-{place}"
        own.mkdir(exist_ok=True)
        trained = lerc.train(
            task,
            bench.settings(variant),
            make_network=make_network,
            layout=layout,
            folder=own,
            fingerprint=orjson.dumps([bench.plan.as_dict(), variant.label]).decode(),
            on_progress=report,
        )
        before += lerc.count_rows(task, bench.settings(variant))
        found.append((variant, bench.part(variant), trained))
        if training.table != TablePlan.ALL:
            # Tables keep no model: the weights of each would fill the disk.
            checkpoints.forget_weights(own)
    result = _describe(bench, found)
    result["pretraining"] = about
    if training.table != TablePlan.ALL:
        return {"result": result}
    return {"result": result, **_save(bench, found[0], result, checkpoints.find_weights(work / "variant-0"))}


def _describe(bench: _Bench, found: Sequence[tuple[Variant, Parts, TrainingResult]]) -> dict[str, Any]:
    """Return what a training stores: each of its runs, and the correlations beside metrics of words."""
    splits: dict[str, Any] = {}
    for split in ("dev", "test"):
        rows, columns = _join(found, split, is_ood=bench.training.table == TablePlan.OOD)
        if rows:
            splits[split] = store_figures(judge(rows, {**columns, **score_words(rows)}, seed=bench.plan.seed))
    return {
        "variants": [store_variant(variant, parts, trained) for variant, parts, trained in found],
        "splits": splits,
        "device": describe_device(),
        "set": {"number": bench.training.judgment_set.number, "sha256": bench.training.judgment_set.sha256},
        "encoder": {
            "name": bench.folder.name, "source": bench.folder.source, "licence": bench.folder.licence,
            "digest": bench.folder.digest,
        },
    }  # fmt: skip


def _join(
    found: Sequence[tuple[Variant, Parts, TrainingResult]], split: str, *, is_ood: bool
) -> tuple[list[Row], dict[str, Floats]]:
    """Return the answers of a split with a column of predictions for each training.

    Where each dataset is left out in turn, one column has for every answer the prediction of the training that did not
    learn from its dataset.
    """
    if not is_ood:
        variant, parts, _trained = found[0]
        rows = _choose(parts, split, variant)
        return rows, {each.label: _predict(own, trained, split, each) for each, own, trained in found}
    rows, predictions = [], []
    for variant, parts, trained in found:
        rows += _choose(parts, split, variant)
        predictions.append(_predict(parts, trained, split, variant))
    return rows, {HELD_OUT: np.concatenate(predictions)}


def _choose(parts: Parts, split: str, variant: Variant) -> list[Row]:
    # Of a held-out dataset all that is predicted is in the test part, under its own split.
    if variant.held_out:
        return [row for row in parts.test if row.split == split]
    return list(getattr(parts, split))


def _predict(parts: Parts, trained: TrainingResult, split: str, variant: Variant) -> Floats:
    own = trained.predictions[trained.seed]
    if variant.held_out:
        return own["test"][[row.split == split for row in parts.test]]
    return own[split]


def _save(
    bench: _Bench, found: tuple[Variant, Parts, TrainingResult], result: Mapping[str, Any], weights: Path
) -> dict[str, Any]:
    """Write the folder of the model, and return what its row stores; a folder that is not stored is left to tidy."""
    from measures.neural.lerc.learning_tasks import list_training_rows
    from measures.neural.lerc.scoring import save_model

    variant, parts, _trained = found
    stored_name = secrets.token_hex(16)
    text = card.write_card(bench.training, bench.plan, result)
    path = files.folder() / f"{stored_name}{files.MODEL}"
    with ExitStack() as undo:
        undo.callback(delete_path, path)
        saved = save_model(
            path,
            bench.loaded,
            weights,
            settings=bench.settings(variant),
            seen=Seen.of(list_training_rows(parts, bench.settings(variant)), parts.dev),
            card=text,
            # The leaderboard shows the correlation on the dataset that the model has not learned from.
            details={"name": bench.training.name, "held_out": variant.held_out, "result": dict(result)},
            trained_on=f"judgment set {result['set']['number']} (SHA-256 {result['set']['sha256']})",
        )
        # The name that the row stores is a file of its own, beside which its folder is: see backups.
        (files.folder() / stored_name).write_text(text, encoding="utf-8")
        undo.pop_all()
    return {"stored_name": stored_name, "sha256": saved.digest, "n_bytes": saved.size}
