"""Training on a frozen set: its cost first, then the model, its figures, and the metric that it becomes."""

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from config.backups.stored_files import list_with_derived
from measures.neural.folders import ModelFolder, read_folder
from projects.errors import Refused
from projects.jobs import queue, running
from projects.models import LogEntry, Membership, Passage, Project
from results.metrics import computing as scoring
from results.metrics.registry import find_metric, load_metrics
from results.models import JudgmentSet, MetricRun, Training
from results.sets import freezing
from results.training import computing, files, requesting
from results.training.forms import TrainingForm
from results.training.reading import read_set
from results.training.tables import list_charts, list_tables
from results.training.training_plan import TrainingPlan
from tests.factories import make_candidates, make_membership, make_project, make_question
from tests.measures.neural.tiny_models import TinyModels
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import judge
from tests.results.sets.frozen_sets import freeze
from tests.results.studies.factories import list_candidates
from tests.results.training.factories import add_encoder, do, judge_toys, make_plan, request, train

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("neural")]

TRAININGS = "/p/bridges/trainings/"


def send(client: Client, **over: Any) -> Any:
    sent = {
        "name": "ours", "set": 1, "criterion": "correctness", "encoder": "tiny", "table": "all", "splits": "set",
        "inputs": ["reference", "candidate"], "max_length": 16, "epochs": 1, "batch_size": 16, "rates": "3e-3",
        "seeds": "1", **over,
    }  # fmt: skip
    return client.post(f"{TRAININGS}new/", sent)


def test_a_researcher_measures_trains_and_scores(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, researcher: Membership, client_of: SignIn
) -> None:
    client = client_of(researcher)
    page = client.get(f"{TRAININGS}new/?set=1").content.decode()
    assert "Measure the cost" in page
    response = send(client)
    training = Training.objects.get()
    assert response.headers["Location"] == training.get_absolute_url()
    # Nothing is trained before the cost is known and somebody starts it.
    do(training)
    assert training.is_estimated, training.error
    (counts,) = (training.estimate or {})["variants"]
    assert [counts[f"n_{part}"] for part in ("train", "dev", "test", "added")] == [24, 12, 12, 0]
    page = client.get(training.get_absolute_url()).content.decode()
    assert "rows a second, measured on this site" in page
    client.post(f"{training.get_absolute_url()}start/")
    do(training)
    assert (training.state, training.step, training.error) == ("done", "train", "")
    result = training.result or {}
    assert result["set"] == {"number": 1, "sha256": frozen.sha256}
    assert not list(files.folder().glob("*.work/*")), "checkpoints are taken away with the end"

    # The model is a folder of its own, with a card, and says what it has seen.
    folder = read_folder(files.find_model(training))
    assert (folder.kind, folder.digest) == ("lerc", training.sha256)
    assert folder.details["held_out"] == "", "no dataset was held out"
    # A backup takes the model with its row.
    stored = f"trainings/{training.stored_name}"
    assert {stored, f"{stored}.model/model.safetensors"} <= list_with_derived()
    card = (folder.path / "README.md").read_text()
    assert frozen.sha256 in card
    assert "| 0.003 | 1 | 1 |" in card
    page = client.get(training.get_absolute_url()).content.decode()
    for table in list_tables(training):
        response = client.get(f"{training.get_absolute_url()}tables/{table.name}.csv")
        assert len(list(csv.reader(io.StringIO(response.content.decode())))) > 1
        assert f"tables/{table.name}.csv" in page
    assert [table.name for table in list_tables(training)] == [
        "overall", "datasets-dev", "sources-dev", "datasets-test", "sources-test", "runs",
    ]  # fmt: skip
    assert [row[0] for row in list_tables(training)[0].rows] == [
        "LERC", "BLEU-1", "BLEU-4", "METEOR (2005)", "ROUGE-L", "Token F1", "chrF",
    ]  # fmt: skip
    assert [chart.name for chart in list_charts(training)] == ["epochs"]
    assert client.get(f"{training.get_absolute_url()}charts/epochs.csv").status_code == 200

    # It is a metric of this project alone; answers of training and dev have no score unless they are asked for.
    assert "lerc:ours" in load_metrics(project)
    other = make_project("elsewhere")
    assert "lerc:ours" not in load_metrics(other)
    with pytest.raises(Refused, match="no metric"):
        find_metric("lerc:ours", other)
    run = scoring.run_now(project=project, name="lerc:ours", settings={})
    assert (run.n_scored, run.report["reasons"]) == (
        12, {"seen in training": 24, "used to choose the learning rate": 12},
    )  # fmt: skip
    assert run.settings["digest"] == training.sha256
    assert "lerc%3Aours" in run.signature
    asked = scoring.run_now(project=project, name="lerc:ours", settings={"seen": "score"})
    assert asked.n_scored == len(list_candidates(project)) == 48
    again = scoring.request_again(run=run, actor=researcher)
    assert again.settings == run.settings

    # Deleting takes the files; scores stay, and nothing can be scored with it any more.
    client.post(f"{training.get_absolute_url()}delete/")
    assert not Training.objects.exists()
    assert MetricRun.objects.filter(metric="lerc:ours", state="done").count() == 2
    assert [each.act for each in LogEntry.objects.filter(object_type="training").order_by("pk")] == [
        "train metric", "delete training",
    ]  # fmt: skip


@pytest.mark.parametrize(("augments", "reasons"), [(True, {"seen in training": 2}), (False, {"seen in training": 1})])
def test_answers_that_are_added_rows_of_training_have_no_score(
    project: Project, encoder: ModelFolder, owner: Membership, augments: bool, reasons: dict[str, int]
) -> None:
    judge_toys(project)
    question = make_question(Passage.objects.filter(split="train")[0], text="Which animal?", references=("dog",))
    (judged,) = make_candidates(question, text="cat")
    judge(project, {judged: {make_membership(project): 3.0}})
    frozen = freeze(project, owner, "Second")
    # The reference as an answer: nobody has judged it, but with added rows the model learns that it deserves a 5.
    added = make_candidates(question, text="dog")[0]
    made = train(project, owner, frozen, encoder, name="ours", augments=augments, seeds=(1,))
    assert made.state == "done", made.error
    run = scoring.run_now(project=project, name="lerc:ours", settings={})
    found = run.scores.filter(candidate__in=[judged, added], value=None)
    assert Counter(found.values_list("reason", flat=True)) == reasons


def test_tables_train_each_variant_and_keep_no_model(
    project: Project,
    frozen: JudgmentSet,
    encoder: ModelFolder,
    owner: Membership,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = train(project, owner, frozen, encoder, name="ood", table="ood", seeds=(1,))
    assert made.state == "done", made.error
    result = made.result or {}
    assert (made.stored_name, [each["held_out"] for each in result["variants"]]) == ("", ["news", "stories"])
    assert [each["n_train"] for each in result["variants"]] == [12, 12]
    # Each answer is scored by the training that did not learn from its dataset, with metrics of words beside it.
    test = result["splits"]["test"]
    assert [part["n"] for part in test["datasets"]] == [6, 6]
    assert list_tables(made)[0].rows[0][0] == "LERC, dataset held out"
    assert "rouge_l" in test["means"]
    assert "lerc:ood" not in load_metrics(project)
    work = files.folder() / f"{made.pk}.work"
    work.mkdir(exist_ok=True)
    monkeypatch.setattr(files, "ORPHAN_SECONDS", -5)
    files.delete_orphans()
    assert not work.exists(), "a table keeps no model, and its checkpoints go too"

    curve = train(project, owner, frozen, encoder, name="curve", table="learning-curve", seeds=(1,))
    assert curve.state == "done", curve.error
    assert [each["n_train"] for each in (curve.result or {})["variants"]] == [4, 6, 12, 18, 24]
    assert [chart.name for chart in list_charts(curve)] == ["shares", "epochs"]
    overall = list_tables(curve)[0]
    assert [row[1] for row in overall.rows][:5] == [4, 6, 12, 18, 24]

    ablations = train(project, owner, frozen, encoder, name="inputs", table="ablations", seeds=(1,))
    assert ablations.state == "done", ablations.error
    assert [row[0] for row in list_tables(ablations)[0].rows][:3] == [
        "LERC: reference", "LERC: candidate", "LERC: reference, candidate",
    ]  # fmt: skip


def test_a_killed_training_goes_on_and_ends_alike(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled in the second run, continued: weights and figures of one that was not."""
    whole = train(project, owner, frozen, encoder, name="whole", augments=True)
    stopped = do(request(project, owner, frozen, encoder, name="stopped", augments=True))
    requesting.start(training=stopped)
    calls = iter(range(1, 1000))
    original = running.Heartbeat.on_progress

    def stop(self: Any, done: int, total: int) -> None:
        if next(calls) == 12:
            raise running.Cancelled
        original(self, done, total)

    monkeypatch.setattr(running.Heartbeat, "on_progress", stop)
    assert do(stopped).state == "cancelled"
    monkeypatch.setattr(running.Heartbeat, "on_progress", original)
    assert (files.find_work(stopped) / "variant-0" / "state.json").is_file(), "the first run is kept"
    requesting.go_on(training=stopped)
    do(stopped)
    assert stopped.state == "done", stopped.error
    assert (stopped.result or {})["variants"] == (whole.result or {})["variants"]
    first, second = (read_folder(files.find_model(each)) for each in (whole, stopped))
    for name in ("model.safetensors", "lerc-head.safetensors"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes()
    with pytest.raises(Refused, match="already finished"):
        requesting.go_on(training=stopped)
    with pytest.raises(Refused, match="no estimate"):
        requesting.start(training=stopped)
    # A second worker with the same message finds nothing to do.
    assert computing.run(stopped.pk) is None
    stray = files.folder() / f"{10**9}.work"
    stray.mkdir()
    monkeypatch.setattr(files, "ORPHAN_SECONDS", -5)
    files.delete_orphans()
    assert not stray.exists()
    assert files.find_model(stopped).is_dir()


def test_what_cannot_be_trained_is_refused_with_the_reason(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, owner: Membership, tiny_models: TinyModels
) -> None:
    def refuse(match: str, made: JudgmentSet = frozen, model: ModelFolder = encoder, **over: Any) -> None:
        with pytest.raises(Refused, match=match):
            request(project, owner, made, model, **over)

    refuse("can't|A name has up to", name="a b")
    refuse("no criterion “style”", criterion="style")
    categories = [each | {"level": "nominal"} for each in frozen.facts["criteria"]]
    frozen.facts |= {"criteria": categories}
    refuse("no criterion “correctness” with scores to learn. It has: none.")
    frozen.refresh_from_db()
    wrong = add_encoder(tiny_models, "cross", "cross")
    refuse("is a cross-encoder", model=wrong)
    refuse("has no texts", made=freeze(project, owner, "No texts", with_texts=False))
    refuse("z scores", made=freeze(project, owner, "Z", gold="z"))
    refuse("belongs to another project", made=JudgmentSet(project=make_project("elsewhere"), number=1))
    waiting = JudgmentSet(project=project, number=9)
    refuse("not frozen yet", made=waiting)
    request(project, owner, frozen, encoder, name="taken")
    refuse("already a training named", name="taken")
    # What only the data tells fails the job with its reason.
    for over, match in (({"held_out": "poems"}, "no dataset “poems”"), ({"held_out": "news"}, "")):
        made = do(request(project, owner, frozen, encoder, name=f"try{len(match)}", **over))
        assert (made.error == "") == (match == "")
        assert match in made.error
    changed = request(project, owner, frozen, encoder, name="changed")
    path = encoder.path / "tokenizer_config.json"
    path.write_text(path.read_text() + " ")
    assert "has " in do(changed).error
    # A set that has gone.
    other = freeze(project, owner, "Gone")
    freezing.find_path(other).unlink()
    refuse("is missing", made=other)


def test_scores_on_another_scale_and_drawn_splits(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, owner: Membership
) -> None:
    judged = read_set(frozen, "correctness")
    assert {row.score for row in judged.rows} <= {1.0, 2.0, 5.0}
    assert judged.datasets == ["news", "stories"]
    assert all(row.reference and row.question for row in judged.rows)
    plan = make_plan(encoder, splits="passages")
    by_split = {row.split for row in plan.split(judged.rows)}
    assert by_split == {"train", "dev", "test"}
    assert TrainingForm(project).fields["splits"].initial == "set"
    Passage.objects.update(split="")
    assert TrainingForm(project).fields["splits"].initial == "passages", "There is no other way then."
    lone = project.judgment_sets.frozen().get()
    assert lone.trainings.count() == 0


def test_the_api_trains_with_every_rate_and_seed_that_was_sent(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, researcher: Membership
) -> None:
    sent = {"name": "grid", "set": 1, "encoder": "tiny", "rates": [1e-05, 0.003], "seeds": [7, 1, 2]}
    made = Script(researcher, can_write=True).send("trainings/", sent).json()
    plan = TrainingPlan.from_dict(made["settings"])
    assert (plan.lerc.rates, plan.lerc.seeds) == ((1e-05, 0.003), (7, 1, 2))


def test_the_api_and_the_command_train_too(
    project: Project, frozen: JudgmentSet, encoder: ModelFolder, researcher: Membership, owner: Membership,
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    script = Script(researcher, can_write=True)
    sent = {"name": "by-script", "set": 1, "encoder": "tiny", "inputs": ["candidate"], "rates": [0.003], "seeds": [1],
            "epochs": 1, "max_length": 16}  # fmt: skip
    made = script.send("trainings/", sent).json()
    assert (made["number"], made["state"], made["step"]) == (1, "queued", "estimate")
    assert script.send("trainings/", {**sent, "set": 99}).status_code == 404
    assert script.read("trainings/")["results"][0]["metric"] == "lerc:by-script"
    training = do(Training.objects.get())
    assert script.read("trainings/1/")["estimate"]["variants"][0]["n_train"] == 24
    queue.cancel(request(project, owner, frozen, encoder, name="other"))
    assert script.send("trainings/1/start/", {}).json()["step"] == "train"
    do(training)
    assert script.read("trainings/1/")["tables"][0] == "overall"
    monkeypatch.setattr(computing, "SPEED_SECONDS", 0.01)
    rows = [
        {"passage": f"p{n}", "question": "q", "answer_1": "cat", "answer_2": "dog", "label": n % 3} for n in range(40)
    ]
    path = tmp_path / "choices.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    shared = [
        "--project",
        "bridges",
        "--set",
        "1",
        "--encoder",
        "tiny",
        "--rates",
        "1e-3",
        "--seeds",
        "1",
        "--epochs",
        "1",
        "--length",
        "16",
    ]
    call_command("train_metric", *shared, "--name", "pre", "--pretrain", str(path), "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["result"]["pretraining"]["n"] == 40
    call_command("train_metric", *shared, "--name", "later", "--estimate")
    assert "Start it with: --resume" in capsys.readouterr().out
    number = Training.objects.get(name="later").number
    call_command("train_metric", "--project", "bridges", "--resume", str(number), "--csv")
    assert "LERC" in capsys.readouterr().out
