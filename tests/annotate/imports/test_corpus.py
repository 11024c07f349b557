"""Candidates into a project: linked to what is there, written whole or not at all."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotate.imports import api, corpus, writing
from annotate.models import Batch, Import, Judgment
from projects.errors import Refused
from projects.importing import CheckReport, FileRefused, Options
from projects.models import Candidate, Dataset, LogEntry, Membership, MinimalPair, Passage, Project, Question, Reference
from tests import processes
from tests.factories import make_batch
from tests.page_reader import condense
from tests.people import SignIn

HEADER = "passage_id,passage,question_id,question,reference,id,candidate,source,split\n"
ROWS = "".join(
    f"p{n // 4},Text {n // 4},q{n // 2},Question {n // 2}?,Reference {n // 2},c{n},Answer {n},m{n % 2},train\n"
    for n in range(8)
)
TABLES = (Dataset, Passage, Question, Reference, Candidate, MinimalPair, Batch, Import, Judgment)


@pytest.fixture
def take(project: Project, owner: Membership, tmp_path: Path) -> Any:
    def take(content: str | bytes, name: str = "answers.csv", **options: Any) -> CheckReport:
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return writing.import_now(
            project=project, path=path, name=name, folder=tmp_path / "spool", actor=owner, options=Options(**options)
        )

    return take


def counts() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in TABLES}


def verify() -> None:
    call_command("verify", "--json", "--no-count")


def test_every_row_is_written_as_it_was_counted(take: Any, project: Project, owner: Membership) -> None:
    report = take(HEADER + ROWS)
    assert (report.passages, report.questions, report.references, report.candidates) == (2, 4, 4, 8)
    assert counts() | {"Import": 1} == counts()
    assert Passage.objects.count() == 2
    candidate = Candidate.objects.select_related("question__passage__dataset").get(external_id="c5")
    assert (candidate.text, candidate.source, candidate.metadata) == ("Answer 5", "m1", {})
    assert (candidate.question.external_id, candidate.question.passage.external_id) == ("q2", "p1")
    assert candidate.dataset_id == candidate.question.dataset_id == candidate.question.passage.dataset_id
    assert candidate.question.passage.split == "train"
    assert candidate.question.references.get().position == 0
    job = Import.objects.get()
    assert (job.number, job.state, job.step, job.requested_by) == (1, "done", "write", owner)
    entry = LogEntry.objects.get(act="import candidates")
    assert entry.after is not None
    assert entry.after["candidates"] == 8
    verify()


def test_texts_come_back_exactly(take: Any) -> None:
    texts = ['a\tb\\n\\N\r\nc"d', "\\", "\\.", "é e\u0301 \u202e 😀", " spaces ", "\\N", "{}", "%s %%"]
    rows = [
        {"id": f"c{n}", "passage": text, "question": text, "reference": text, "candidate": text, "note": [text]}
        for n, text in enumerate(texts)
    ]
    take(json.dumps(rows), "a.json")
    for n, text in enumerate(texts):
        candidate = Candidate.objects.get(external_id=f"c{n}")
        assert candidate.text == candidate.question.text == candidate.question.passage.text == text
        assert candidate.question.references.get().text == text
        assert candidate.metadata == {"note": [text]}


def test_types_entities_documents_and_numbers_are_written(take: Any) -> None:
    documents = [{"title": "T", "text": "A"}]
    row = {
        "id": "a",
        "passage": documents,
        "question": "Q",
        "candidate": "C",
        "question_type": "entity",
        "dataset_kind": "span",
    }
    take(
        json.dumps([row | {"entities": ["x", 'y "z"'], "span": "s", "rank": 3, "confidence": 0.25}]),
        "a.json",
        dataset="d",
    )
    candidate = Candidate.objects.get()
    question = candidate.question
    assert (candidate.rank, candidate.confidence) == (3, 0.25)
    assert (question.type, question.entities, question.span) == ("entity", ["x", 'y "z"'], "s")
    assert (question.passage.documents, question.passage.text) == (documents, "")
    assert (candidate.dataset.name, candidate.dataset.kind) == ("d", "span")


def test_the_same_file_again_is_refused_with_its_number(take: Any) -> None:
    take(HEADER + ROWS)
    before = counts()
    with pytest.raises(Refused, match="already imported as #1"):
        take(HEADER + ROWS)
    assert counts() == before


def test_a_new_systems_answers_are_linked_to_known_passages_and_questions(take: Any) -> None:
    take(HEADER + ROWS)
    more = HEADER + "p0,Text 0,q1,Question 1?,Reference 1,n1,New,m9,\np0,,q0,Question 0?,,n2,New,m9,\n"
    report = take(more)
    assert report.linked == {"passages": 1, "questions": 2}
    assert (Passage.objects.count(), Question.objects.count(), Reference.objects.count()) == (2, 4, 4)
    assert Candidate.objects.get(external_id="n1").question.external_id == "q1"


def test_a_file_without_texts_of_passages_links_them_by_id(take: Any) -> None:
    take(HEADER + ROWS)
    take("passage_id,question_id,question,id,candidate\np1,q3,Question 3?,n1,New\n")
    assert Candidate.objects.get(external_id="n1").question.passage.text == "Text 1"


def test_further_references_of_known_questions_are_written_and_warned_of_before(
    take: Any, project: Project, tmp_path: Path
) -> None:
    take(HEADER + ROWS)
    take(HEADER.replace("split", "scores") + "p2,Text 2,q4,Question 4?,R,c8,A,m,4;5\n", with_scores=True)
    Candidate.objects.filter(question__external_id__in=("q2", "q3", "q4")).update(withdrawn_at=timezone.now())
    make_batch(project, datasets=("main",))
    more = "".join(
        f"p{n // 2},Text {n // 2},q{n},Question {n}?,{reference},n{n},New,m9,\n"
        for n, reference in enumerate(("Another", "Reference 1", "Another", "", "Another"))
    )
    path = tmp_path / "more"
    path.write_text(HEADER + more + "p9,Text 9,q9,Question 9?,Another,n9,New,m9,\n")
    checked = writing.check_file(project=project, path=path, name="more.csv", folder=tmp_path / "spool")
    linked = {"passages": 3, "questions": 5, "questions_with_further_references": 3}
    assert checked.report.linked == linked | {"rated_questions_with_further_references": 2}
    warnings = {warned.reason: warned.n for warned in checked.report.warnings}
    assert warnings == {corpus.ADDS_REFERENCES: 3, corpus.ADDS_TO_RATED: 2}, "One has no rating, one no new reference."
    assert checked.report.warnings[1].lines == (2, 6)
    written = writing.write(project=project, checked=checked, actor=None)
    assert (written.linked, written.warnings) == (checked.report.linked, checked.report.warnings)
    references = Question.objects.get(external_id="q0").references.values_list("position", "text")
    assert list(references) == [(0, "Reference 0"), (1, "Another")]


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("p0,Other text,q9,Q,R,n1,New,m,", "passage", "a different text"),
        ("p0,Text 0,q0,Other question,R,n1,New,m,", "question", "a different text or another passage"),
        ("p1,Text 1,q0,Question 0?,R,n1,New,m,", "question", "a different text or another passage"),
        ("p0,Text 0,q0,Question 0?,R,c1,New,m,", "candidate", "already in the project"),
        ("p0,Text 0,q0,Question 0?,R,n1,New,m,dev", "split", "in “dev” here and in “train”"),
    ],
)
def test_what_contradicts_the_project_is_refused_with_its_line(take: Any, row: str, column: str, message: str) -> None:
    take(HEADER + ROWS)
    before = counts()
    with pytest.raises(FileRefused) as caught:
        take(HEADER + "p9,Nine,q9,Question 9?,R,n0,Fine,m,\n" + row.replace("q9", "q8") + "\n")
    problem = caught.value.problems[0]
    assert (problem.line, problem.column) == (3, column)
    assert message in problem.reason
    assert counts() == before


def test_without_ids_the_exact_text_is_who_a_passage_is(take: Any) -> None:
    take(HEADER + ROWS)
    header = "passage,question,reference,candidate,source\n"
    take(header + "Text 0,Question 0?,Reference 0,By text,m7\nText 0,A new question?,R,By text,m7\n")
    assert Passage.objects.count() == 2
    assert Question.objects.filter(passage__external_id="p0").count() == 3
    take(header + "Text 0,Question 0?,Reference 0,By text,m8\nText 2,Question 0?,R,By text,m8\n")
    assert (Passage.objects.count(), Candidate.objects.filter(text="By text").count()) == (3, 4)
    with pytest.raises(FileRefused, match="already in the project"):
        take(header + "Text 0,Question 0?,Reference 0,Answer 0,m0\n")


def test_a_candidate_that_becomes_its_own_reference_gives_a_warning(take: Any) -> None:
    header = "id,passage,question,reference,candidate\n"
    warnings = take(header + "a,P,Q,One,Two\nb,P,Q,Two,Three\nc,P,Q,One,Four\n").as_dict()["warnings"]
    assert warnings[-1] == "A candidate is one of its question's merged references (line 2)."
    assert len(take(header + "d,P2,Q,One,One\n").warnings) == 0


def test_a_question_of_the_project_gets_no_more_references_than_a_file_may_give_it(take: Any) -> None:
    header = "id,passage,question,reference,candidate\n"
    take(header + "".join(f"c{n},P,Q,R{n},A{n}\n" for n in range(998)))
    take(f"{header}d1,P,Q,R998,B1\nd2,P,Q,R5,B2\n")
    with pytest.raises(FileRefused) as caught:
        take(f"{header}e1,P,Q,R7,B3\ne2,P,Q,R999,B4\ne3,P,Q,R1000,B5\ne4,P,Q,R1001,B6\n")
    assert [(each.line, each.column, each.lines) for each in caught.value.problems] == [(4, "reference", (4, 5))]
    assert caught.value.problems[0].reason == "its question would have more than 1,000 references in the project"
    take(f"{header}e1,P,Q,R7,B3\ne2,P,Q,R999,B4\n")
    assert list(Reference.objects.order_by("position").values_list("position", flat=True)) == list(range(1000))
    # What is there already adds nothing.
    take(f"{header}f1,P,Q,R7,B7\n")


def test_two_datasets_keep_their_ids_apart(take: Any) -> None:
    take(HEADER + ROWS, dataset="one")
    take(HEADER + ROWS, dataset="two")
    assert Candidate.objects.filter(external_id="c1").count() == 2


def test_minimal_pairs_keep_their_scores(take: Any) -> None:
    pair = {"context": "P", "question": "Q", "reference": "R", "candidate1": "A", "candidate2": "B"}
    take(json.dumps({"d": {"x": pair | {"score1": 4.5, "score2": 2}}}), "pairs.json")
    made = MinimalPair.objects.get()
    assert (made.candidate_1.text, made.candidate_2.text, made.score_1, made.score_2) == ("A", "B", 4.5, 2.0)
    assert made.candidate_1.external_id == "x-1"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
def test_a_write_that_is_stopped_anywhere_leaves_nothing(
    project: Project, owner: Membership, tmp_path: Path, share: float
) -> None:
    class Stopped(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= share * total:
            raise Stopped

    path = tmp_path / "file"
    path.write_text(HEADER + ROWS)
    before = counts()
    checked = writing.check_file(project=project, path=path, name="a.csv", folder=tmp_path / "spool")
    assert counts() == before
    with pytest.raises(Stopped):
        writing.write(project=project, checked=checked, actor=owner, on_progress=stop)
    assert counts() == before

    def fenced() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        writing.write(project=project, checked=checked, actor=owner, finish=fenced)
    assert counts() == before
    assert writing.write(project=project, checked=checked, actor=owner).candidates == 8


def test_a_check_that_is_stopped_leaves_no_spool(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(HEADER + ROWS)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writing.check_file(project=project, path=path, name="a.csv", folder=tmp_path / "spool", on_progress=stop)
    assert not (tmp_path / "spool").exists()


def test_a_project_that_is_deleted_meanwhile_takes_nothing(project: Project, owner: Membership, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(HEADER + ROWS)
    checked = writing.check_file(project=project, path=path, name="a.csv", folder=tmp_path / "spool")
    Project.objects.update(deleted_at=timezone.now())
    with pytest.raises(Refused, match="deleted"):
        writing.write(project=project, checked=checked, actor=owner)
    assert not Candidate.objects.exists()


def test_a_check_says_what_the_project_would_refuse(take: Any, project: Project, tmp_path: Path) -> None:
    take(HEADER + ROWS)
    path = tmp_path / "file"
    path.write_text(HEADER + ROWS + "p9,Nine,q9,Q,R,c9,A,m,\n")
    with pytest.raises(FileRefused) as caught:
        writing.check_file(project=project, path=path, name="a.csv", folder=tmp_path / "spool")
    assert caught.value.total == 8
    assert not (tmp_path / "spool").exists()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_at_once_write_one_import(tmp_path: Path, transactional_db: None) -> None:
    from tests.factories import make_membership, make_project

    project = make_project("twice")
    actor = make_membership(project, role=Membership.Role.OWNER)
    path = tmp_path / "file"
    path.write_text(HEADER + ROWS)
    results: list[str] = []
    together = threading.Barrier(2)

    def run(number: int) -> None:
        try:
            checked = writing.check_file(
                project=project, path=path, name="a", folder=tmp_path / f"s{number}", options=Options(format="csv")
            )
            together.wait(processes.PATIENCE)
            writing.write(project=project, checked=checked, actor=actor)
            results.append("written")
        except Refused as refusal:
            results.append(refusal.message)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(processes.PATIENCE)
    assert sorted(results) == ["This file was already imported as #1.", "written"]
    assert Candidate.objects.count() == 8


def test_the_command_prints_one_json_object(project: Project, owner: Membership, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(HEADER.replace("candidate,", "said,") + ROWS)
    flags = ["--project", project.slug, "--json", "--map", "said=candidate", "--dataset", "d", "--drop-equal", "exact"]
    call_command("import_candidates", str(path), *flags, "--dry-run")
    answer = json.loads(capsys.readouterr().out)
    assert (answer["candidates"], answer["dry_run"]) == (8, True)
    assert not Candidate.objects.exists()
    call_command("import_candidates", str(path), *flags)
    answer = json.loads(capsys.readouterr().out)
    wanted = {"passages": 2, "questions": 4, "references": 4, "candidates": 8, "judgments": 0}
    assert {name: answer[name] for name in wanted} == wanted
    assert answer["removed"] == {"equal_to_reference": 0, "both_numbers": 0}
    assert Dataset.objects.get().name == "d"


def test_the_command_prints_sentences_and_no_empty_headings(
    project: Project, owner: Membership, tmp_path: Path, capsys: Any
) -> None:
    path, skipped = tmp_path / "answers.csv", tmp_path / "skipped.csv"
    path.write_text(HEADER + ROWS + "p9,Text 9,q9,,Reference,c9,Answer 9,m0,train\n")
    given = (str(path), "--project", project.slug, "--dry-run")
    call_command("import_candidates", *given, "--skip-wrong-rows", str(skipped))
    report = capsys.readouterr().out
    assert "skipped rows:\n  - line 10, column “question”: is empty\n" in report
    assert not any(heading in report for heading in ("made:", "labels:", "warnings:", "()"))


def test_pipes_are_named_in_two_ways(project: Project, owner: Membership, tmp_path: Path) -> None:
    # Commas and pipes are as frequent, so that only the option tells.
    (tmp_path / "answers.csv").write_text("question|candidate\nWho, when?|Ann, at nine\n")
    for name in ("bar", "pipe"):
        given = (str(tmp_path / "answers.csv"), "--project", project.slug, "--dry-run", "--delimiter")
        call_command("import_candidates", *given, name)
        with pytest.raises(CommandError):
            call_command("import_candidates", *given, "comma")
    assert {api.DELIMITERS[name] for name in ("bar", "pipe")} == {"|"}


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["missing.csv"], 1),
        (["answers.csv", "--map", "poem=candidate"], 1),
        (["answers.csv", "--map", "candidate=poem"], 2),
        (["answers.csv", "--map", "candidate"], 2),
        (["answers.csv", "--format", "docx"], 2),
        (["answers.csv", "--delimiter", "space"], 2),
        (["answers.csv", "--encoding", "rot13"], 2),
    ],
)
def test_the_command_says_by_its_exit_what_was_wrong(
    project: Project, owner: Membership, tmp_path: Path, flags: list[str], code: int
) -> None:
    (tmp_path / "answers.csv").write_text(HEADER + ROWS)
    with pytest.raises(CommandError) as caught:
        call_command("import_candidates", str(tmp_path / flags[0]), "--project", project.slug, *flags[1:])
    assert caught.value.returncode == code or (code == 2 and "--" in str(caught.value))
    assert not Candidate.objects.exists()


def test_answers_that_are_imported_later_take_the_ratings_of_identical_ones(
    take: Any, project: Project, client_of: SignIn, owner: Membership
) -> None:
    Project.objects.update(rates_identical_once=True)
    take(HEADER + ROWS)
    assert not Candidate.objects.exclude(identical_to=None).exists()
    of_a_new_system = "".join(
        f"p{n // 4},Text {n // 4},q{n // 2},Question {n // 2}?,Reference {n // 2},new{n},{text},new,train\n"
        for n, text in ((0, "Answer 0"), (2, "Answer 0"), (4, "Another"))
    )
    take(HEADER + of_a_new_system, "new.csv")
    assert dict(
        Candidate.objects.exclude(identical_to=None).values_list("external_id", "identical_to__external_id")
    ) == {"new0": "c0"}, "the other is the answer to another question"
    verify()
    rows = client_of(owner).get(reverse("api:candidate-list", args=[project.slug]) + "?source=new").json()["results"]
    assert [row["identical_to"] for row in rows] == ["c0", None, None]
    page = client_of(owner).get(reverse("annotate:passage-show", args=[project.slug, Passage.objects.all()[0].pk]))
    assert "has the ratings of <bdi>m0</bdi>" in condense(page.content.decode())
