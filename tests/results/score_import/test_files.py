"""Files of scores by other metrics: what is matched, each wrong row by its line and value, and what is taken."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from projects.errors import Refused
from projects.importing import FileRefused, Options, isolated
from projects.models import Candidate, Membership, MinimalPair, Project
from projects.processes.requests import Ended
from projects.web import uploads
from results.models import MetricRun, MetricScore, ScoreFile
from results.score_import import importing
from results.score_import.problems import KINDS
from results.score_import.reading import Read, list_names, read_scores
from results.score_import.rows import list_reasons
from tests.factories import make_candidates, make_dataset, make_passage, make_question
from tests.projects.importing.test_archives import xlsx
from tests.results.exports.test_mocha import exported as export
from tests.results.metrics.samples import receive

pytestmark = pytest.mark.django_db

TEN_WRONG = """candidate_id,bleurt,text
a,0.5,fine
b,nan,one
c,"0,5",two
d,Infinity,three
e,n/a,four
ghost,0.1,five
a,0.9,six
gone,0.2,seven
both,0.3,eight
,0.4,nine
f,0.6
g,-1.5e-3,fine
"""
"""A file with ten wrong rows, from line 3 to line 12."""


@pytest.fixture
def corpus(project: Project) -> Project:
    """Candidates a to h in one dataset, one of them withdrawn, and `both` in two."""
    for dataset in (make_dataset(project, "narrative"), make_dataset(project, "cosmos")):
        question = make_question(make_passage(dataset))
        make_candidates(question, external_id="both")
        if dataset.name == "narrative":
            for name in [*"abcdefgh", "gone"]:
                make_candidates(question, external_id=name, text=f"answer {name}")
    Candidate.objects.filter(external_id="gone").update(withdrawn_at="2026-01-01T00:00Z")
    return project


def read(project: Project, folder: Path, content: str | bytes, name: str = "scores.csv", **over: Any) -> Read:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_scores(
        project=project,
        path=path,
        name=name,
        options=Options(**over),
        problems_path=folder / "problems.csv",
        on_progress=lambda _done, _total: None,
    )


def scores(found: Read, column: str = "bleurt") -> dict[str, float]:
    values = found.columns[column].values.tolist()
    return {found.candidates.find_name(place)[1]: value for place, value in enumerate(values) if not math.isnan(value)}


def test_each_of_ten_wrong_rows_is_named_with_line_and_value(corpus: Project, tmp_path: Path) -> None:
    found = read(corpus, tmp_path, TEN_WRONG)
    assert scores(found) == {"a": 0.5, "g": -0.0015}
    named = {
        (each["line"], kind, each["value"], each["reason"])
        for kind, listed in found.report["problems"].items()
        for each in listed
        if kind != "missing"
    }
    assert named == {
        (3, "not a number", "nan", "is “nan”, not a number"),
        (4, "not a number", "0,5", "has a decimal comma; choose comma as the decimal mark, or use a point"),
        (5, "not a number", "Infinity", "is “Infinity”, not a number"),
        (6, "not a number", "n/a", "is “n/a”, not a number"),
        (7, "unknown", "ghost", "matches no candidate of the project"),
        (8, "duplicate", "0.9", "is on line 2 already; the first score is used"),
        (9, "withdrawn", "gone", "is a withdrawn candidate"),
        (10, "ambiguous", "both", "is an id in several datasets; add a column “dataset”"),
        (11, "unreadable", "", "the ID is empty"),
        (12, "unreadable", "", "too few cells: 2 instead of 3"),
    }
    assert found.report["counts"] == dict(zip(KINDS, (2, 1, 1, 1, 1, 4, 4), strict=True))
    assert [each["id"] for each in found.report["problems"]["missing"]] == ["both", "f", "h", "both"]
    with (tmp_path / "problems.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 14
    assert ["3", "bleurt", "not a number", "", "b", "nan"] in [list(row.values())[:-1] for row in rows]


def test_imported_scores_list_reasons_and_replace_the_run_of_that_name(
    corpus: Project, owner: Membership, tmp_path: Path
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(TEN_WRONG)
    job, (run,) = take(corpus, path)
    found_rows = {
        row["candidate__external_id"]: row["reason"] or row["value"]
        for row in run.scores.values("candidate__external_id", "value", "reason").exclude(candidate__external_id="both")
    }
    assert found_rows == {
        "a": 0.5, "g": -0.0015, "f": "no score in the file", "h": "no score in the file", "b": "not a number: “nan”",
        "c": "not a number: “0,5”", "d": "not a number: “Infinity”", "e": "not a number: “n/a”",
    }  # fmt: skip
    assert (run.origin, run.metric, run.n_scored, run.n_refused, run.file) == ("uploaded", "bleurt", 2, 8, job)
    assert run.report["reasons"] == {"no score in the file": 4, "not a number": 4}
    assert importing.find_problems_file(job).is_file()
    path.write_text("candidate_id,bleurt\na,1\n")
    _job, (newer,) = take(corpus, path)
    assert list(MetricRun.objects.all()) == [newer]
    assert MetricScore.objects.exclude(value=None).get().value == 1.0
    assert corpus.log.filter(act="take scores").count() == 2


def test_scores_come_as_mochas_predictions_also_of_pairs(corpus: Project, tmp_path: Path) -> None:
    question = corpus.datasets.get(name="cosmos").questions.get()
    (first,), (second,) = (make_candidates(question, external_id=f"pair-{half}") for half in (1, 2))
    MinimalPair.objects.create(question=question, candidate_1=first, candidate_2=second, score_1=5, score_2=1)
    sent = {
        "narrative": {"a": {"pred_score": 4.5, "score": 3}, "both": {"pred_score": 1}},
        "cosmos": {"pair": {"pred_score1": 3, "pred_score2": 2.5}, "both": {"pred_score": 2}, "a": {"pred_score": 9}},
    }
    found = read(corpus, tmp_path, json.dumps(sent), "lerc.json")
    assert list_names(found.report["columns"]) == {"pred_score": "lerc"}
    values = found.columns["pred_score"].values
    found_rows = {
        found.candidates.find_name(place): values[place]
        for place in range(len(values))
        if values[place] == values[place]
    }
    assert found_rows == {
        ("narrative", "a"): 4.5, ("narrative", "both"): 1, ("cosmos", "both"): 2,
        ("cosmos", "pair-1"): 3, ("cosmos", "pair-2"): 2.5,
    }  # fmt: skip
    (unknown,) = found.report["problems"]["unknown"]
    assert unknown["reason"] == "is a candidate of another dataset"


def test_predictions_of_a_pair_come_under_the_key_of_the_export(corpus: Project, tmp_path: Path) -> None:
    question = corpus.datasets.get(name="narrative").questions.get()
    # The candidate “a” has the key of the pair, so the export keeps the ending.
    (first,), (second,) = (make_candidates(question, external_id=f"a-{half}") for half in (1, 2))
    MinimalPair.objects.create(question=question, candidate_1=first, candidate_2=second)
    keys = [key for key, entry in json.loads(export(corpus))["narrative"].items() if "candidate1" in entry]
    for key in (*keys, "a"):
        sent = {"narrative": {key: {"pred_score1": 3, "pred_score2": 2.5}}}
        found = read(corpus, tmp_path, json.dumps(sent), f"{key}.json")
        assert scores(found, "pred_score") == {"a-1": 3, "a-2": 2.5}
    assert keys == ["a-1"]
    # A pair whose bare id is the key of the other.
    nested = [make_candidates(question, external_id=f"a-1-{half}")[0] for half in (1, 2)]
    MinimalPair.objects.create(question=question, candidate_1=nested[0], candidate_2=nested[1])
    keys = [key for key, entry in json.loads(export(corpus))["narrative"].items() if "candidate1" in entry]
    sent = {"narrative": {key: {"pred_score1": n, "pred_score2": n + 0.5} for n, key in enumerate(keys)}}
    found = read(corpus, tmp_path, json.dumps(sent), "both.json")
    assert keys == ["a-1", "a-1-1"]
    assert scores(found, "pred_score") == {"a-1": 0, "a-2": 0.5, "a-1-1": 1, "a-1-2": 1.5}


def test_a_line_of_json_may_hold_nan_as_python_writes_it(corpus: Project, tmp_path: Path) -> None:
    lines = '{"id": "a", "dataset": "narrative", "x": NaN}\n{"id": "b", "x": 1e999}\n{"id": "c", "x": true}\n'
    found = read(corpus, tmp_path, lines + '{"id": "d", "x": 0.25, "late": 3}\n', "scores.jsonl")
    assert scores(found, "x") == {"d": 0.25}
    assert scores(found, "late") == {"d": 3}
    found_rows = [(each["line"], each["value"], each["reason"]) for each in found.report["problems"]["not a number"]]
    assert found_rows == [
        (1, "NaN", "is NaN, which means no score"),
        (2, "Infinity", "is not finite"),
        (3, "true", "is true or false, not a number"),
    ]


def test_a_score_whose_square_is_not_finite_is_named_and_left_out(
    corpus: Project, owner: Membership, tmp_path: Path
) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "a", "x": -1e200}\n{"id": "b", "x": 1' + "0" * 120 + '}\n{"id": "c", "x": 9e99}\n')
    _job, (run,) = take(corpus, path)
    stored = dict(run.scores.exclude(reason="no score in the file").values_list("candidate__external_id", "reason"))
    assert stored == {"a": "too large: “-1e+200”", "b": "too large: “1e+120”", "c": ""}
    assert (run.n_scored, run.report["summary"]["high"]) == (1, 9e99)
    found = read(corpus, tmp_path, 'candidate_id,x,y\na,"1e999",1\nb,2,1\n')
    (problem,) = found.report["problems"]["not a number"]
    assert problem["reason"] == "is too large: a score lies between -1e+100 and 1e+100"


def test_a_candidate_with_an_empty_cell_has_no_score_in_the_file(corpus: Project, tmp_path: Path) -> None:
    found = read(corpus, tmp_path, "candidate_id,bleurt,other\na,,1\nb,2,3\n")
    reasons = dict(list_reasons(found.columns["bleurt"]))
    place = next(at for at in reasons if found.candidates.find_name(at)[1] == "a")
    assert reasons[place] == "no score in the file", "the file has the candidate"


def test_text_with_a_decimal_comma_is_read_beside_numbers_of_excel(corpus: Project, tmp_path: Path) -> None:
    sheet = xlsx(["id", "bleurt"], ["a", 0.25], ["b", "0,5"], ["c", "1,234"])
    found = read(corpus, tmp_path, sheet, "scores.xlsx")
    assert scores(found) == {"a": 0.25, "b": 0.5}
    assert [each["reason"] for each in found.report["problems"]["not a number"]] == [
        "may be a decimal or thousands; choose the decimal mark"
    ]
    chosen = read(corpus, tmp_path, sheet, "scores.xlsx", decimal="comma")
    assert scores(chosen) == {"a": 0.25, "b": 0.5, "c": 1.234}, "numbers have a point whatever mark is chosen"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "scores.csv", "the file is empty"),
        (b"bleurt\n1\n", "scores.csv", "no column for the candidate's ID"),
        (b"id,text\na,b\n", "scores.csv", "no column holds scores"),
        (b"id;m\na;1,234\nb;2,345\n", "scores.csv", "“1,234” may be a decimal or thousands; choose the decimal mark"),
        (b"id\na\n", "scores.csv", "IDs and no scores"),
        (b"id,bleurt\n", "scores.csv", "the file has a header but no rows"),
        (b'{"narrative": {"a": {"pred_score": 1}, "b": {"pred', "scores.json", "invalid JSON"),
        (b'{"narrative": {"a": {"pred_score": 1, "pred_score": 2}}}', "scores.json", "duplicate key"),
        (b"id,bleurt\nd\xc3\xa9\xc3\xa9j\xe0,1\n", "scores.csv", "invalid UTF-8"),
        (b'id,bleurt\na,"1\n', "scores.csv", "never closed"),
        (b"\x89PNG\r\n", "scores.csv", "a picture"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_whole(
    corpus: Project, tmp_path: Path, content: bytes, name: str, message: str
) -> None:
    with pytest.raises(FileRefused) as refused:
        read(corpus, tmp_path, content, name)
    assert message in str(refused.value.problems[0])
    assert not (tmp_path / "problems.csv").exists()


def test_encodings_byte_order_marks_and_a_chosen_dataset_are_understood(corpus: Project, tmp_path: Path) -> None:
    made = "dataset,id,bleurt,rank\r\n,both,1,3\r\nnarrative,both,2,4\r\n"
    for content in (made.encode("utf-8-sig"), made.encode("utf-16")):
        found = read(corpus, tmp_path, content, dataset="cosmos")
        assert np.nansum(found.columns["bleurt"].values) == 3, "each in its dataset"
        assert found.report["counts"]["ambiguous"] == 0
        assert list_names(found.report["columns"]) == {"bleurt": "bleurt"}, "a rank is offered, not taken unasked"


def test_names_of_metrics_are_listed_once_each(corpus: Project, owner: Membership, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("id,x,y\na,1,2\n")
    for names in ({}, {"x": "same", "y": "same"}, {"z": "z"}, {"x": ""}, {"x": "n" * 61}):
        with pytest.raises(Refused):
            take(corpus, path, names)
    assert not ScoreFile.objects.exists()
    assert not MetricRun.objects.exists()


def take(project: Project, path: Path, names: dict[str, str] | None = None) -> tuple[ScoreFile, list[MetricRun]]:
    return importing.import_now(
        project=project,
        path=path,
        options=Options(),
        choose=lambda report: list_names(report["columns"]) if names is None else names,
        on_progress=lambda _done, _total: None,
    )


def test_the_import_takes_the_rows_of_the_check(
    corpus: Project, owner: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Ended] = []
    monkeypatch.setattr(isolated.program, "on_end", ended.append)
    job = receive(corpus, owner, TEN_WRONG)
    report = job.report
    assert len(ended) == 1
    importing.request_import(job=job, actor=owner, names={"bleurt": "BLEURT"})
    importing.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.report) == (ScoreFile.State.DONE, report)
    assert MetricRun.objects.get().n_scored == 2
    assert len(ended) == 1
    assert not list(uploads.folder().glob(f"{job.stored_name or 'none'}*.rows"))
