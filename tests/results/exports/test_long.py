"""The long and the aggregated file: what they hold, safe in a spreadsheet, the same bytes again."""

import csv
import hashlib
import io
import json
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotate.frames.criteria_in_use import criteria_in_use
from annotate.models import Assignment, Judgment, Remark
from annotate.reviews.adjudication import adjudicate, set_rule
from config import env
from measures.gold_scores import gold_scores
from measures.rubric import Scale, ScaleKind
from projects.database.csv import FORMULA_STARTS, guard_sql, unguard_text
from projects.models import Candidate, Criterion, Membership, Project, User
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from results.management.commands import export_judgments
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question, make_rubric
from tests.processes import environment
from tests.results.judged_batches import ask, canonical, judge, take_file

UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def exported(project: Project, form: str, **over: Any) -> bytes:
    file = io.BytesIO()
    choices = Choices(project=project, **over)
    n_rows = write(make_statement(form, choices), file)
    assert n_rows == len(list(csv.reader(io.StringIO(file.getvalue().decode(), newline="")))) - 1
    return file.getvalue()


def list_rows(project: Project, form: str = "long", **over: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(project, form, **over).decode(), newline="")))


def test_one_row_per_judgment_with_all_that_is_known_of_it(project: Project) -> None:
    batch = canonical(project)
    rows = list_rows(project)
    assert len(rows) == Judgment.objects.count() == 41
    judgment = Judgment.objects.get(candidate__external_id="unit-11")
    (row,) = [row for row in rows if row["candidate_id"] == "unit-11"]
    assert UTC.fullmatch(row.pop("submitted_at"))
    assert UTC.fullmatch(row.pop("judged_at"))
    assert UTC.fullmatch(row.pop("opened_at"))
    assert row == {
        "dataset": "canonical",
        "split": "test",
        "passage_id": "canonical-1",
        "question_id": "canonical-q1",
        "candidate_id": "unit-11",
        "source": "odd",
        "is_withdrawn": "no",
        "criterion": "correctness",
        "is_reversed": "no",
        "value": "3",
        "is_cannot_judge": "no",
        "is_counted": "yes",
        "not_counted_reason": "",
        "is_flagged": "no",
        "shown_position": "1",
        "seconds": "4.5",
        "batch": str(batch.number),
        "batch_kind": "full",
        "hit": "12",
        "rubric_version": "1",
        "annotator": judgment.annotator.pseudonym,
        "annotator_kind": "person",
        "assignment": str(judgment.assignment.uuid),
        "assignment_state": "submitted",
        "mark": "counted",
        "is_blind": "yes",
        "has_odd_times": "no",
        "active_seconds": "4.5",
        "wall_seconds": "6.000",
    }


def test_what_does_not_count_is_there_with_the_reason_and_controls_are_not(project: Project) -> None:
    canonical(project)
    (candidate, other) = make_candidates(make_question(make_passage(make_dataset(project))), 2)
    judge(project, {candidate: {make_membership(project): 2.0}}, counted=False)
    judge(project, {candidate: {make_membership(project): 3.0}}, control="repeat")
    judge(project, {candidate: {make_membership(project): None}}, not_blind=True)
    judge(project, {other: {make_membership(project): 4.0}})
    Candidate.objects.filter(pk=other.pk).update(withdrawn_at=timezone.now())
    rows = [row for row in list_rows(project) if row["dataset"] != "canonical"]
    assert [(row["value"], row["is_counted"], row["not_counted_reason"], row["mark"]) for row in rows[:2]] == [
        ("2", "no", "surplus", "surplus"),
        ("", "yes", "", "counted"),
    ]
    assert [row["is_cannot_judge"] for row in rows] == ["no", "yes", "no"]
    assert [row["is_blind"] for row in rows] == ["yes", "no", "yes"]
    assert [row["is_withdrawn"] for row in rows] == ["no", "no", "yes"]
    aggregated = {row["candidate_id"]: row for row in list_rows(project, "aggregated")}
    assert other.external_id not in aggregated
    assert aggregated[candidate.external_id]["n"] == "0"
    assert aggregated[candidate.external_id]["mean"] == ""
    assert aggregated[candidate.external_id]["undefined"] == "no mean: nobody could judge it"


def test_rows_come_in_the_order_of_their_bytes(project: Project) -> None:
    for name in ("b", "B", "ä", "a"):
        question = make_question(make_passage(make_dataset(project, name)))
        for external_id in ("2", "10", "é", "Z"):
            (candidate,) = make_candidates(question, 1, external_id=external_id)
            judge(project, {candidate: {make_membership(project): 3.0}})
    rows = [(row["dataset"].encode(), row["candidate_id"].encode()) for row in list_rows(project)]
    assert len(rows) == 16
    assert rows == sorted(rows)


@pytest.mark.parametrize("form", ["long", "aggregated"])
def test_two_exports_without_writes_are_the_same_bytes(project: Project, form: str) -> None:
    canonical(project)
    first = exported(project, form, with_texts=True)
    Judgment.objects.update(value=1)
    changed = exported(project, form, with_texts=True)
    assert changed != first
    assert exported(project, form, with_texts=True) == changed
    assert timezone.now().strftime("%Y").encode() not in exported(project, "aggregated")


NASTY = [
    "=1+1",
    "+1",
    "-1+2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "＋1",
    "－1",
    "＠a",
    "'=1",
    "''@x",
    "'quoted'",
    "-5",
    "-5.25",
    "5",
    "-",
    'a "quoted", text\nover lines',
    "plain",
    "<script>alert(1)</script>",
    "\u202ertl",
    "\\.",
    "NULL",
]


def test_texts_from_outside_are_no_formulas_and_come_back(project: Project) -> None:
    dataset = make_dataset(project, "=cmd|' /C calc'!A0")
    passage = make_passage(dataset, "@p", text="=passage", split="+split")
    question = make_question(passage, "-q1", references=("=reference", "second"), text="@question")
    for n, text in enumerate(NASTY):
        (candidate,) = make_candidates(question, 1, external_id=f"{text.strip()}{n}", text=text, source=text)
        judge(project, {candidate: {make_membership(project): 3.0}})
    for form in ("long", "aggregated"):
        rows = list_rows(project, form, with_texts=True)
        outside = ("dataset", "split", "passage_id", "question_id", "candidate_id", "source", "passage", "question")
        cells = [row[name] for row in rows for name in (*outside, "references", "candidate")]
        formulas = {
            cell for cell in cells if cell.startswith(FORMULA_STARTS) and not re.fullmatch(r"-?\d+(\.\d+)?", cell)
        }
        assert formulas == set()
        assert sorted(unguard_text(row["candidate"]) for row in rows) == sorted(NASTY)
        assert sorted(unguard_text(row["source"]) for row in rows) == sorted(NASTY)
        assert {unguard_text(row["dataset"]) for row in rows} == {dataset.name}
        assert {row["references"] for row in rows} == {'["=reference", "second"]'}
        assert "-5" in {row["candidate"] for row in rows}


def test_only_plain_numbers_are_spared() -> None:
    assert [unguard_text(text) for text in ("'=1", "''=1", "'a", "'-5", "-5", "")] == [
        "=1",
        "'=1",
        "'a",
        "-5",
        "-5",
        "",
    ]
    assert "=" in guard_sql("x.name")


def test_numbers_stay_numbers(project: Project) -> None:
    canonical(project)
    rubric = make_rubric(project)
    rubric.criteria.update(low=-5, high=5)
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project))), 1)
    judge(project, {candidate: {make_membership(project): -4.5}}, rubric=rubric)
    row = next(row for row in list_rows(project) if row["candidate_id"] == candidate.external_id)
    assert row["value"] == "-4.5"


def test_texts_and_comments_only_where_asked(project: Project) -> None:
    canonical(project)
    assignment = Assignment.objects.order_by("id")[0]
    Remark.objects.create(
        assignment=assignment, item_id=assignment.layout[0], is_flagged=True, comment="=Hello", cannot_judge_reason="?"
    )
    plain = exported(project, "long").decode()
    assert "Hello" not in plain
    assert "Candidate answer" not in plain
    assert plain.count(",yes,1,4.5,") == 1, "the flag is there without the comment"
    rows = list_rows(project, with_comments=True, with_texts=True)
    assert [row["comment"] for row in rows if row["comment"]] == ["'=Hello"]
    assert all("Candidate answer" in row["candidate"] for row in rows)


def test_aggregated_rows_are_the_gold_scores(project: Project) -> None:
    canonical(project)
    Criterion.objects.update(is_reversed=True)
    long = pd.DataFrame([{"unit": row["candidate_id"], "value": 6 - float(row["value"])} for row in list_rows(project)])
    gold = gold_scores(long).to_dict("index")
    rows = list_rows(project, "aggregated")
    assert [row["candidate_id"] for row in rows] == sorted(map(str, gold))
    for row in rows:
        expected = gold[row["candidate_id"]]
        assert int(row["n"]) == expected["n"] == len(row["scores"].split("|")) == len(row["raters"].split("|"))
        assert float(row["mean"]) == pytest.approx(expected["mean"], abs=1e-15)
        assert float(row["median"]) == expected["median"]
        if expected["n"] > 1:
            assert float(row["sd"]) == pytest.approx(expected["sd"], abs=1e-12)
        else:
            assert (row["sd"], row["undefined"]) == ("", "no sd: one judgment")
        assert (row["criterion"], row["scale_low"], row["scale_high"]) == ("correctness", "1", "5")


def test_points_and_a_slider_of_the_same_ends_are_two_scales(project: Project, manager: Membership) -> None:
    """Also for one person: a judgment on the slider replaces an earlier one there, and none on points."""
    person, other = make_membership(project), make_membership(project)
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project))), 1)
    judge(project, {candidate: {person: 2.0, other: 4.0}})
    for value in (4.5, 3.5):
        ask(project, correctness=Scale(kind=ScaleKind.CONTINUOUS, low=1, high=5))
        batch = judge(project, {candidate: {person: value}})
    slider = criteria_in_use(project, batch)[0]
    adjudicate(project=project, actor=manager, candidate=candidate, criterion=slider, value=5)
    columns = ("scale_kind", "scale_low", "scale_high", "n", "mean", "adjudicated", "gold")
    rows = [[row[name] for name in columns] for row in list_rows(project, "aggregated")]
    assert rows == [["continuous", "1", "5", "1", "3.5", "5", "3.5"], ["ordinal", "1", "5", "2", "3", "", "3"]]
    set_rule(project=project, actor=manager, wins=True)
    assert [row["gold"] for row in list_rows(project, "aggregated")] == ["5", "3"]


def test_a_choice_of_batches_and_criterion(project: Project) -> None:
    first = canonical(project)
    rubric = make_rubric(project, "yang")
    candidate = project.datasets.get().candidates.order_by("external_id")[0]
    second = judge(project, {candidate: {make_membership(project): 2.0}}, rubric=rubric)
    for form, n in (("long", 41), ("aggregated", 12)):
        assert len(list_rows(project, form, batches=(first,))) == n
        assert len(list_rows(project, form, criterion="correctness")) == n
        assert len(list_rows(project, form, batches=(second,))) == 1
        assert len(list_rows(project, form, batches=(first, second))) == n + 1
        assert len(list_rows(project, form)) == n + 1


def test_batches_may_be_named_in_either_way(project: Project, capfd: Any) -> None:
    batches = [canonical(project)]
    for _ in range(2):
        candidate = project.datasets.get().candidates.all()[0]
        batches.append(judge(project, {candidate: {make_membership(project): 3.0}}))
    wanted = exported(project, "long", batches=tuple(batches[:2])).decode()
    for flags in (["--batch", "1", "2"], ["--batch", "1", "--batch", "2"]):
        call_command("export_judgments", "--project", "bridges", "--format", "long", *flags)
        assert capfd.readouterr().out == wanted


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("arguments", [["export_judgments", "--format", "long"], ["agreement"]])
def test_a_reader_who_leaves_ends_the_command_quietly(project: Project, arguments: list[str]) -> None:
    """As in `export_judgments … | head`."""
    canonical(project)
    command = [sys.executable, "manage.py", *arguments, "--project", "bridges"]
    process = subprocess.Popen(
        command, cwd=env.BASE_DIR, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, "")


def test_nobody_is_named(project: Project) -> None:
    canonical(project)
    for n, person in enumerate(Membership.objects.filter(judgments__isnull=False).distinct()):
        person.imported_name = f"planted-name-{n}"
        person.save()
        User.objects.filter(memberships=person).update(username=f"planted-user-{n}", email=f"planted-{n}@example.org")
    for form in ("long", "aggregated", "mocha"):
        file = io.BytesIO()
        write(make_statement(form, Choices(project=project, with_texts=True, with_comments=True)), file)
        assert b"planted" not in file.getvalue()
        assert b"a-" in file.getvalue()


def test_another_projects_rows_are_not_in_the_file(project: Project) -> None:
    from tests.factories import make_project

    canonical(make_project("other"))
    assert list_rows(project) == list_rows(project, "aggregated") == []


def test_the_command_writes_the_file_whole_or_not_at_all(project: Project, tmp_path: Path, capfd: Any) -> None:
    canonical(project)
    path = tmp_path / "long.csv"
    call_command("export_judgments", "--project", "bridges", "--format", "long", "--output", str(path), "--json")
    assert path.read_bytes() == exported(project, "long")
    assert '"n_rows": 41' in capfd.readouterr().out
    call_command("export_judgments", "--project", "bridges", "--format", "aggregated")
    assert capfd.readouterr().out.encode() == exported(project, "aggregated")
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export_judgments", "--project", "bridges", "--format", "long", "--output", "/nowhere/x.csv")
    with pytest.raises(CommandError, match="Choose one of: correctness"):
        call_command("export_judgments", "--project", "bridges", "--format", "long", "--criterion", "x")
    with pytest.raises(CommandError) as wrong:
        call_command("export_judgments", "--project", "bridges", "--format", "long", "--json")
    assert wrong.value.returncode == 2
    assert list(tmp_path.iterdir()) == [path]


def test_the_command_leaves_links_devices_and_pipes_what_they_are(
    project: Project, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    wanted = exported(project, "long")

    def export(path: Path) -> dict[str, Any]:
        call_command("export_judgments", "--project", "bridges", "--format", "long", "--output", str(path), "--json")
        answer: dict[str, Any] = json.loads(capfd.readouterr().out)
        return answer

    (tmp_path / "folder").mkdir()
    target, link, pipe = tmp_path / "folder" / "target.csv", tmp_path / "link.csv", tmp_path / "pipe"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        export(link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (wanted, 0o640)
    target.chmod(0o600)
    export(target)
    assert target.stat().st_mode & 0o777 == 0o600, "a file keeps who may read it"

    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    answer = export(pipe)
    reader.join(10)
    assert read == [wanted]
    assert (answer["n_bytes"], answer["sha256"]) == (len(wanted), hashlib.sha256(wanted).hexdigest())
    for n_bytes in (1024 * 1024, 16):  # full at the end, and while the database writes
        monkeypatch.setattr(export_judgments, "BUFFER_BYTES", n_bytes)
        with pytest.raises(CommandError, match=r"^/dev/full cannot be written: No space left on device\.$"):
            export(Path("/dev/full"))
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    with pytest.raises(CommandError, match=r"folder cannot be written: Is a directory\.$"):
        export(tmp_path / "folder")
    assert {path.name for path in tmp_path.rglob("*")} == {"folder", "target.csv", "link.csv", "pipe"}


def test_sums_do_not_depend_on_the_order_in_which_a_database_reads_the_judgments(project: Project) -> None:
    """Another server, or a restored backup, reads the rows in another order; sums of floats depend on it."""
    make_rubric(project)
    candidates = make_candidates(make_question(make_passage(make_dataset(project))), 2)
    annotators = [make_membership(project) for _ in range(6)]
    scores = [1.1, 4.7, 2.3, 3.3, 1.9, 2.2]
    for order, candidate in ((1, candidates[0]), (-1, candidates[1])):
        # The members' order is the same, so that the values come to the sum the other way round.
        judge(project, {candidate: dict(zip(annotators, scores[::order], strict=True))})
    first, second = list_rows(project, "aggregated")
    assert [first[name] for name in ("mean", "sd", "gold")] == [second[name] for name in ("mean", "sd", "gold")]
    file = io.BytesIO()
    write(make_statement("mocha", Choices(project=project)), file)
    ((_, one), (_, two)) = next(iter(json.loads(file.getvalue()).values())).items()
    assert one["score"] == two["score"]


def test_what_was_not_collected_here_has_no_times_and_nameless_scores_no_annotator(
    project: Project, owner: Membership, tmp_path: Path
) -> None:
    entries = {
        "named": {"scores": [5, 1], "raters": ["kim", "lee"]},
        "nameless": {"scores": [2, 3]},
    }
    base = {"context": "P", "question": "Q", "reference": "R"}
    content = {"d": {key: {**base, "candidate": key, "metadata": entry} for key, entry in entries.items()}}
    take_file(project, json.dumps(content), "mocha.json", tmp_path, with_scores=True)
    rows = list_rows(project)
    assert [(row["candidate_id"], row["annotator_kind"], bool(row["annotator"])) for row in rows] == [
        ("named", "imported", True),
        ("named", "imported", True),
        ("nameless", "unknown", False),
        ("nameless", "unknown", False),
    ]
    for name in ("opened_at", "submitted_at", "judged_at", "seconds", "shown_position"):
        assert {row[name] for row in rows} == {""}
    raters = {row["candidate_id"]: (row["scores"], row["raters"] != "") for row in list_rows(project, "aggregated")}
    assert raters["nameless"] == ("2|3", False)
    assert sorted(raters["named"][0]) == sorted("5|1")
    assert raters["named"][1]
