"""Learned metrics as jobs: their queue, what they cost, and runs that are cancelled, killed or misled."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from config import env
from measures.metrics import score_slice
from measures.neural import folders, installed
from projects.errors import Refused
from projects.jobs import queue
from projects.jobs.running import AttemptSuperseded, Cancelled
from projects.models import Membership, Project, Reference
from results.learned import checkpoints, computing_time
from results.learned.usable_models import is_learned
from results.metrics import computing
from results.metrics.registry import load_metrics
from results.models import MetricRun
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.measures.neural.tiny_models import TinyModels
from tests.results.judged_batches import answer

pytestmark = pytest.mark.django_db

BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "transformers", "tokenizers", "safetensors"}:
            raise ImportError(name + " is blocked")

sys.meta_path.insert(0, Block())
import django
django.setup()
import config.urls
import results.tasks
from measures.neural.environment import SETUP
from results.metrics.registry import load_metrics
assert all(load_metrics()[name].make(model="x").lacks() == SETUP for name in ("bert_score", "bi_encoder", "sas"))
print("served")
"""


@pytest.fixture
def corpus(project: Project, settings: Settings, tmp_path: Path) -> Project:
    """Six candidates of three questions, in parts of two."""
    settings.SHARED_DIR = tmp_path
    passage = make_passage(make_dataset(project, "narrative"), "p1", text="The cat sat on the mat. " * 9)
    for name, reference in (("mat", "on the mat"), ("cat", "the cat"), ("door", "the door of the house")):
        question = make_question(passage, name, references=(reference,))
        make_candidates(question, external_id=f"{name}-right", text=reference)
        make_candidates(question, external_id=f"{name}-wrong", text="a dog")
    return project


@pytest.fixture
def model(registered_models: TinyModels, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> str:
    settings.MODELS_DIR = registered_models.folder
    monkeypatch.setattr(checkpoints, "PART", 2)
    return registered_models.register("bert")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The parts that were scored, by every attempt."""
    found: list[Any] = []

    def score(metric: Any, answers: Any, on_progress: Any) -> Any:
        found.append(answers.candidates)
        return score_slice(metric, answers, on_progress)

    monkeypatch.setattr(computing, "score_slice", score)
    return found


def request(corpus: Project, actor: Membership, model: str, name: str = "bi_encoder") -> MetricRun:
    return computing.request_run(project=corpus, actor=actor, name=name, settings={"model": model})


def stop_after(n: int, error: Exception) -> Callable[[int, int], None]:
    def on_progress(done: int, _total: int) -> None:
        if done >= n:
            raise error

    return on_progress


def test_a_run_waits_in_its_queue_and_names_model_and_device(
    corpus: Project, researcher: Membership, model: str, registered_models: TinyModels
) -> None:
    run = request(corpus, researcher, model)
    assert run.queue_name == queue.NEURAL_QUEUE
    assert (
        computing.request_run(project=corpus, actor=researcher, name="exact_match", settings={}).queue_name == "scoring"
    )
    assert request(corpus, researcher, model) == run
    assert computing.run(run.pk) == "done"
    run.refresh_from_db()
    assert (run.n_scored, run.n_refused) == (6, 0)
    scores = dict(run.scores.values_list("candidate__external_id", "value"))
    assert scores["mat-right"] == pytest.approx(1, abs=1e-6)
    assert scores["mat-wrong"] is not None
    assert scores["mat-wrong"] < 1
    digest = folders.read_folder(registered_models.folder / model).short_digest
    assert f"|model:{model}|" in run.signature
    assert f"|sha256:{digest}|" in run.signature
    assert "|device:cpu|" in run.signature
    assert not checkpoints.folder().joinpath(str(run.pk)).exists()


def test_a_killed_run_goes_on_where_it_was(
    corpus: Project, researcher: Membership, model: str, parts: list[Any]
) -> None:
    run = request(corpus, researcher, model)
    # The worker is taken for dead in the last of three parts; another one computes only that.
    with pytest.raises(AttemptSuperseded):
        computing.compute(run, stop_after(5, AttemptSuperseded()))
    assert len(parts) == 3
    assert computing.run(run.pk) == "done"
    assert len(parts) == 4
    resumed = list(run.scores.order_by("candidate").values_list("value", flat=True))

    whole = request(corpus, researcher, model)
    assert computing.run(whole.pk) == "done"
    # Other batches round in another way.
    anew = list(whole.scores.order_by("candidate").values_list("value", flat=True))
    assert anew == pytest.approx(resumed, abs=1e-6)


def test_what_changed_since_is_computed_anew(
    corpus: Project, researcher: Membership, model: str, parts: list[Any]
) -> None:
    run = request(corpus, researcher, model)
    with pytest.raises(AttemptSuperseded):
        computing.compute(run, stop_after(5, AttemptSuperseded()))
    Reference.objects.filter(text="on the mat").update(text="a dog")
    kept = sorted(checkpoints.folder().joinpath(str(run.pk)).iterdir())
    # Both are cut off, as when the machine stops while they are written: which of them is asked for, its hash decides.
    for n_bytes, path in zip((0, 40), kept, strict=True):
        path.write_bytes(path.read_bytes()[:n_bytes])
    assert computing.run(run.pk) == "done"
    assert len(parts) > 3 + 1
    scores = dict(run.scores.values_list("candidate__external_id", "value"))
    assert scores["mat-wrong"] == pytest.approx(1, abs=1e-6)


def test_a_cancelled_run_leaves_nothing_and_orphans_are_deleted(
    corpus: Project, researcher: Membership, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = request(corpus, researcher, model)
    compute = computing.compute
    monkeypatch.setattr(computing, "compute", lambda job, _on: compute(job, stop_after(2, Cancelled())))
    assert computing.run(run.pk) == "cancelled"
    assert not run.scores.exists()
    assert not checkpoints.folder().joinpath(str(run.pk)).exists()
    live = MetricRun.objects.create(
        project=corpus, origin="computed", metric="sas", title="SAS", subject="1" * 64, requested_by=researcher
    )
    for pk in (live.pk, 0):
        checkpoints.folder().joinpath(str(pk)).mkdir(parents=True)
    checkpoints.delete_orphans()
    assert [path.name for path in checkpoints.folder().iterdir()] == [str(live.pk)]


def test_a_model_that_changed_or_went_after_the_request_fails_the_run_with_its_reason(
    corpus: Project, researcher: Membership, model: str, registered_models: TinyModels
) -> None:
    name = registered_models.describe(registered_models.build("bert", name="changing"))
    weights = registered_models.folder / name / "model.safetensors"
    run = request(corpus, researcher, name)
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    assert computing.run(run.pk) == "failed"
    run.refresh_from_db()
    assert "model.safetensors has changed since the model was added" in run.error
    (weights.parent / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(Refused, match="can hold code"):
        request(corpus, researcher, name)
    with pytest.raises(Refused, match=r"there is no model “\.\./outside”"):
        request(corpus, researcher, "../outside")
    with pytest.raises(Refused, match="no model is chosen"):
        request(corpus, researcher, "")


def test_the_page_offers_models_with_their_cost_and_says_without_torch_how_to_set_up(
    corpus: Project,
    researcher: Membership,
    model: str,
    client_of: Callable[[Membership], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = reverse("results:metric-new", args=[corpus.slug])
    client = client_of(researcher)
    text = client.get(page).content.decode()
    assert f'<option value="{model}"' in text
    assert "(time not known yet)" in text

    run = request(corpus, researcher, model)
    computing.run(run.pk)
    MetricRun.objects.update(report={**MetricRun.objects.get().report, "per_second": 0.05})
    assert f"{model} (about 2 minutes)" in client.get(page).content.decode()
    known = answer("score", "--list")["metrics"]
    (listed,) = [each for each in known if each["name"] == "bi_encoder"]
    assert model in listed["settings"]["model"]["choices"]

    sent = {"use:bi_encoder": "on", "bi_encoder:model": model, "bi_encoder:pooling": "mean"}
    assert client.post(page, sent).status_code == 302
    assert MetricRun.objects.latest("pk").settings["model"] == model
    assert client.post(page, {**sent, "bi_encoder:model": "../x"}).status_code == 422

    monkeypatch.setattr(installed, "is_installed", lambda: False)
    text = client.get(page).content.decode()
    assert text.count("metric-choice is-lacking") >= 5
    assert text.count("which make neural installs") == 2, "Once below the learned metrics, and below LERC."
    assert client.post(page, sent).status_code == 422


def test_costs_are_estimated_from_the_texts_and_the_speed_of_the_model(
    corpus: Project, model: str, registered_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folders.read_folder(registered_models.folder / model)
    monkeypatch.setattr(computing_time, "read_speeds", lambda: {folder.digest: {"tokens_per_second": 2}})
    tokens = {
        name: computing_time.count_tokens(corpus, load_metrics()[name].metric, folder)
        for name in ("bi_encoder", "passage_cross_encoder", "qa_score")
    }
    # 6 answers and 3 references against the passage with each answer.
    assert 30 < tokens["bi_encoder"] < 80
    assert tokens["passage_cross_encoder"] > 5 * tokens["bi_encoder"]
    found = computing_time.estimate(corpus, "bi_encoder", load_metrics()["bi_encoder"].metric, folder)
    assert found is not None
    assert found.seconds == computing_time.PAUSE_SECONDS + tokens["bi_encoder"] / 2
    assert [computing_time.format_seconds(each) for each in (2, 100, 9000)] == ["5 seconds", "2 minutes", "2.5 hours"]


def test_only_metrics_with_models_are_learned() -> None:
    learned = {name for name, each in load_metrics().items() if is_learned(each.metric)}
    assert {"bert_score", "bi_encoder", "sas", "qa_score"} <= learned
    assert not learned & {"exact_match", "rouge_l", "bleu_4", "meteor_1_5", "gleu"}


def test_a_site_without_torch_starts_and_says_what_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        cwd=env.BASE_DIR,
        env=env.inherit(DJANGO_SETTINGS_MODULE="config.settings"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "served\n", done.stderr
