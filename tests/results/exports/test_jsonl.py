"""The long file as JSON lines: the rows of the CSV file, with every text exactly as it is."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotate.models import Assignment, Judgment, Remark
from projects.database.csv import FORMULA_STARTS, unguard_text
from projects.importing import Kind
from projects.models import Candidate, Membership, Project
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_project, make_question
from tests.results.exports.test_long import NASTY, list_rows
from tests.results.judged_batches import canonical, judge, take_file

FLAGS = ("is_withdrawn", "is_reversed", "is_cannot_judge", "is_counted", "is_flagged", "is_blind", "has_odd_times")
JSON_CELLS = ("documents", "entities", "references", "metadata")


def exported(project: Project, **over: Any) -> bytes:
    file = io.BytesIO()
    n_rows = write(make_statement("jsonl", Choices(project=project, **over)), file)
    assert n_rows == file.getvalue().count(b"\n")
    return file.getvalue()


def read_lines(project: Project, **over: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported(project, **over).split(b"\n")[:-1]]


def as_cells(line: dict[str, Any]) -> dict[str, str]:
    """A line as the CSV file writes it, before the guard."""
    cells = {}
    for name, value in line.items():
        if value is None:
            cells[name] = ""
        elif isinstance(value, bool):
            cells[name] = "yes" if value else "no"
        else:
            cells[name] = value if isinstance(value, str) else json.dumps(value)
    return cells


def comparable(row: dict[str, str]) -> dict[str, Any]:
    """A row of either file, distinguished only by the content of the file: 3, 3.0 and 3.000 are one number."""
    found: dict[str, Any] = dict(row)
    for name in ("value", "seconds", "active_seconds", "wall_seconds", "confidence", *JSON_CELLS):
        if found.get(name):
            found[name] = json.loads(found[name])
    return found


def corpus(project: Project) -> None:
    dataset = make_dataset(project, "=cmd|' /C calc'!A0")
    passage = make_passage(dataset, "@p", text="=passage", split="+split", title="-title")
    listed = make_passage(dataset, "p2", text="", documents=[{"title": "=One", "text": "First\r\n"}])
    question = make_question(passage, "-q1", references=("=reference", "second"), text="@question", span="=span")
    bare = make_question(listed, "q2", references=(), entities=["=A", 'B "b"'], type="entity")
    person = make_membership(project)
    made = make_candidates(bare, 1, external_id="bare", rank=2, confidence=0.25, metadata={"=k": ["=v", None, 1.5]})
    for n, text in enumerate(NASTY):
        made += make_candidates(question, 1, external_id=f"{text}{n}", text=text, source=text, opinion=text[:20])
    judge(project, {candidate: {person: 3.0} for candidate in made})


def test_a_line_is_a_row_of_the_csv_file(project: Project) -> None:
    canonical(project)
    corpus(project)
    candidate = Candidate.objects.get(external_id="unit-00")
    judge(project, {candidate: {make_membership(project): None}}, counted=False, not_blind=True)
    Candidate.objects.filter(external_id="unit-01").update(withdrawn_at=timezone.now())
    assignment = Assignment.objects.order_by("id")[0]
    Remark.objects.create(
        assignment=assignment, item_id=assignment.layout[0], is_flagged=True, comment="=Hello", cannot_judge_reason="?"
    )
    asked: list[dict[str, Any]] = [{}, {"with_texts": True}, {"with_texts": True, "with_comments": True}]
    for choices in asked:
        lines = read_lines(project, **choices)
        rows = list_rows(project, **choices)
        assert len(lines) == Judgment.objects.count()
        assert [list(line) for line in lines] == [list(row) for row in rows], "the same columns in the same order"
        assert [comparable(as_cells(line)) for line in lines] == [
            comparable({name: unguard_text(cell) for name, cell in row.items()}) for row in rows
        ]
    assert {type(line[flag]) for line in lines for flag in FLAGS} == {bool}
    assert lines[-1].keys() >= {"comment", "passage"}


def test_every_text_is_exactly_as_it_came(project: Project) -> None:
    corpus(project)
    lines = read_lines(project, with_texts=True)
    texts = [line for line in lines if line["question_id"] == "-q1"]
    for name in ("candidate", "source"):
        assert sorted(line[name] for line in texts) == sorted(NASTY)
    assert sorted(line["candidate_id"] for line in texts) == sorted(f"{text}{n}" for n, text in enumerate(NASTY))
    assert {line["passage"] for line in texts} == {"=passage"}
    assert {(line["title"], line["span"]) for line in texts} == {("-title", "=span")}
    assert texts[0]["references"] == ["=reference", "second"]
    (bare,) = [line for line in lines if line["candidate_id"] == "bare"]
    assert bare["documents"] == [{"title": "=One", "text": "First\r\n"}]
    assert (bare["entities"], bare["question_type"]) == (["=A", 'B "b"'], "entity")
    assert (bare["metadata"], bare["rank"], bare["confidence"]) == ({"=k": ["=v", None, 1.5]}, 2, 0.25)
    assert sum(line["candidate"].startswith(FORMULA_STARTS) for line in texts) > 8, "no guard is before a text"


def test_the_same_state_is_the_same_bytes_and_texts_only_where_asked(project: Project) -> None:
    canonical(project)
    assert exported(project, with_texts=True) == exported(project, with_texts=True)
    assert b"Candidate answer" in exported(project, with_texts=True)
    assert b"Candidate answer" not in exported(project)
    assert exported(make_project("other")) == b""


def test_its_judgments_import_again(project: Project, owner: Membership, tmp_path: Path) -> None:
    canonical(project)
    lines = read_lines(project)
    other = make_project("again")
    make_membership(other, role=Membership.Role.OWNER)
    dataset = make_dataset(other, "canonical")
    question = make_question(make_passage(dataset))
    for external_id in sorted({line["candidate_id"] for line in lines}):
        make_candidates(question, 1, external_id=external_id)
    take_file(other, exported(project), "long.jsonl", tmp_path, kind=Kind.JUDGMENTS)
    names = ("candidate_id", "criterion", "value")
    again = [tuple(line[name] for name in names) for line in read_lines(other)]
    assert sorted(again) == sorted(tuple(line[name] for name in names) for line in lines)
    assert len({line["annotator"] for line in read_lines(other)}) == 4


@pytest.mark.usefixtures("owner")
def test_it_can_be_had_by_command_and_on_the_page(
    project: Project, researcher: Membership, client_of: Callable[[Membership], Client], capfd: Any
) -> None:
    canonical(project)
    wanted = exported(project, with_texts=True)
    call_command("export_judgments", "--project", "bridges", "--format", "jsonl", "--texts")
    assert capfd.readouterr().out.encode() == wanted
    client = client_of(researcher)
    assert "export/long.jsonl" in client.get("/p/bridges/export/").content.decode()
    response = client.get("/p/bridges/export/long.jsonl?texts=on")
    assert b"".join(response.streaming_content) == wanted  # type: ignore[attr-defined]
    assert response["Content-Type"] == "application/jsonl"
    assert response["Content-Disposition"] == 'attachment; filename="bridges-long.jsonl"'
