"""manage.py score and import_scores: what they answer, store, and refuse with which exit code."""

import json
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from measures.metrics import parse_signature
from projects.models import Candidate, Membership, Project, Reference
from results.metrics.downloading import stream_scores
from results.models import MetricRun, ScoreFile
from results.scope.unspaced_texts import find_unspaced
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.people import SignIn
from tests.projects.api.client import Script
from tests.results.judged_batches import answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def corpus(project: Project, owner: Membership) -> Project:
    question = make_question(make_passage(make_dataset(project, "narrative")), references=("on the mat",))
    make_candidates(question, external_id="right", text="On the mat.")
    make_candidates(question, external_id="wrong", text="a dog")
    return project


def test_several_metrics_are_scored_with_a_setting_that_one_of_them_has(corpus: Project) -> None:
    output = answer("score", "--project", corpus.slug, "--metric", "exact_match", "rouge_1", "--set", "measure=recall")
    scores = {run["metric"]: (run["score"], run["n_scored"], run["settings"].get("measure")) for run in output["runs"]}
    assert scores == {"exact_match": (0.5, 2, None), "rouge_1": (0.5, 2, "recall")}
    assert MetricRun.objects.newest().count() == 2
    assert output["runs"][0]["about"]["versions"]["Concord"]
    signatures = [run["signature"].split("|version:")[0] for run in output["runs"]]
    assert signatures == [
        "exact_match|refs:all|tok:squad",
        "rouge_1|refs:all|tok:alnum|measure:recall|n:1|policy:max|stem:no",
    ]


def test_what_has_no_score_is_printed_with_the_reason(corpus: Project) -> None:
    Reference.objects.all().delete()
    out = StringIO()
    call_command("score", "--project", corpus.slug, "--metric", "exact_match", stdout=out)
    assert out.getvalue().splitlines() == [
        "Exact match: undefined, 0 scored, 2 refused (no reference: 2)",
        f"  {MetricRun.objects.get().signature}",
    ]


def test_texts_without_spaces_between_words_are_counted_where_the_tokeniser_cannot_divide_them(
    corpus: Project, researcher: Membership, client_of: SignIn
) -> None:
    Candidate.objects.filter(external_id="wrong").update(text="九点从旧码头出发")
    says = "1 candidate or its references are in a script without spaces between words, such as Chinese."
    told = {}
    for tokeniser in ("words", "characters"):
        output = answer("score", "--project", corpus.slug, "--metric", "bleu_1", "--set", f"tokeniser={tokeniser}")
        (run,) = output["runs"]
        told[tokeniser] = run["warnings"]
        page = client_of(researcher).get(f"/p/{corpus.slug}/metrics/{run['run']}/").content.decode()
        assert (says in page) == (tokeniser == "words")
    assert told["characters"] == []
    (warning,) = told["words"]
    assert warning == (
        f"{says} The tokeniser “words” does not find the single words of such texts, so scores of them say little. "
        "Compute the metrics with the tokeniser “characters”, or “jieba” for Chinese."
    )
    runs = Script(researcher).read("metrics/")["results"]
    assert [each["warnings"] for each in runs] == [[], told["words"]]
    form = client_of(researcher).get(f"/p/{corpus.slug}/metrics/new/").content.decode()
    assert f"{says} For metrics that compare words, choose the tokeniser" in form
    Candidate.objects.filter(external_id="wrong").update(text="北")
    Reference.objects.update(text="ท่าเรือเก่า")
    assert find_unspaced(corpus).count() == 2
    Reference.objects.update(text="낡은 부두에서 9시 · الساعة التاسعة · à neuf heures")
    assert find_unspaced(corpus).count() == 0


def test_the_list_names_every_metric_with_its_settings_and_what_it_lacks(db: None, outside: ModuleType) -> None:
    listed = {each["name"]: each for each in answer("score", "--list")["metrics"]}
    assert listed["exact_match"]["settings"]["tokeniser"]["default"] == "squad"
    assert listed["likeness"]["settings"]["power"]["default"] == 1
    assert listed["absent"]["lacks"] == "a file named unobtainium.bin"


@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        (["--metric", "exakt"], 1, "no metric “exakt”"),
        (["--metric", "exact_match", "--set", "tokeniser=klingon"], 1, "tokeniser must be one of"),
        (["--metric", "exact_match", "--set", "speed=3"], 2, "has a setting “speed”"),
        (["--metric", "exact_match", "--set", "speed"], 2, "is not KEY=VALUE"),
        (["--metric", "adapted_bleu", "--set", "order=four"], 2, "order is a number"),
    ],
)
def test_a_run_that_is_refused_stores_nothing(corpus: Project, arguments: list[str], code: int, output: str) -> None:
    with pytest.raises(CommandError, match=output) as refused:
        call_command("score", "--project", corpus.slug, *arguments)
    assert refused.value.returncode == code
    assert not MetricRun.objects.exists()


def test_a_file_is_imported_with_the_wrong_rows_named(corpus: Project, tmp_path: Path) -> None:
    path = tmp_path / "bleurt.csv"
    path.write_text("candidate_id,bleurt,rank\nright,0.5,1\nghost,0.1,2\nwrong,n/a,3\n")
    asked = ("import_scores", str(path), "--project", corpus.slug)
    tried = answer(*asked, "--dry-run")
    assert tried["counts"] | {"missing": 0} == {
        "unreadable": 0, "unknown": 1, "ambiguous": 0, "withdrawn": 0, "duplicate": 0, "not a number": 1, "missing": 0,
    }  # fmt: skip
    assert not ScoreFile.objects.exists()
    output = answer(*asked, "--name", "BLEURT 20")
    assert output["metrics"] == {"bleurt": "BLEURT 20"}
    run = MetricRun.objects.get()
    assert (run.pk, run.metric, run.n_scored, run.n_refused) == (output["runs"][0], "BLEURT 20", 1, 1)
    assert parse_signature(run.signature).name == "BLEURT 20", "Its space is escaped, so that lines can be divided."
    scores = b"".join(stream_scores(run, "jsonl", is_head=False)).decode()
    assert {json.loads(line)["signature"] for line in scores.splitlines()} == {run.signature}
    assert read_text(*asked, "--column", "rank") == (
        "bleurt.csv: 3 rows, 2 of candidates of the project\n"
        "  rank: 2 scores, 0 missing, 0 not a number\n"
        "unknown: 1\n  line 3, ghost: matches no candidate of the project\n"
        "not a number: 1\n  line 4, wrong = n/a: is “n/a”, not a number\n"
    )


@pytest.mark.parametrize(
    ("content", "more", "code", "output"),
    [
        ("candidate_id,x\n", [], 1, "has a header but no rows"),
        ("candidate_id,x,y\nright,1,2\n", ["--name", "one"], 2, "--name is for one column"),
        ("candidate_id,x\nright,1\n", ["--column", "z"], 1, "no score in a column “z”"),
        ("candidate_id,x\nghost,1\n", [], 1, "at least one score column"),
    ],
)
def test_a_file_that_gives_nothing_is_refused(
    corpus: Project, tmp_path: Path, content: str, more: list[str], code: int, output: str
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(content)
    with pytest.raises(CommandError, match=output) as refused:
        call_command("import_scores", str(path), "--project", corpus.slug, *more)
    assert refused.value.returncode == code
    assert not ScoreFile.objects.exists()
    assert not MetricRun.objects.exists()


def read_text(*arguments: Any) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()
