"""Judgments from files: an imported batch that is full from the first moment, by annotators who cannot sign in."""

import io
import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Count

from annotate.imports import known_judgments, writing
from annotate.models import Assignment, Batch, Hit, Import, Item, Judgment
from projects.errors import Refused
from projects.importing import CheckReport, CriterionColumn, FileRefused, Kind, Options
from projects.models import Candidate, Criterion, Membership, MinimalPair, Project, Rubric
from projects.rubric.rubrics import current_rubric

CANDIDATES = "id,passage,question,reference,candidate\n" + "".join(
    f"c{n},Text {n // 3},Q{n // 3},R,A{n}\n" for n in range(6)
)


@pytest.fixture
def take(project: Project, owner: Membership, tmp_path: Path) -> Any:
    def take(
        content: str,
        name: str = "a.csv",
        *,
        criteria: tuple[str, ...] = (),
        kind: Kind = Kind.JUDGMENTS,
        **options: Any,
    ) -> CheckReport:
        path = tmp_path / "file"
        path.write_text(content)
        made = Options(criteria=tuple(map(CriterionColumn.parse, criteria)), **options)
        return writing.import_now(
            project=project, path=path, name=name, folder=tmp_path / "spool", actor=owner, options=made, kind=kind
        )

    return take


@pytest.fixture
def candidates(take: Any) -> None:
    take(CANDIDATES, kind=Kind.CANDIDATES)


def mocha(**scores: list[float]) -> str:
    base = {"context": "P", "question": "Q", "reference": "R", "candidate": "C"}
    return json.dumps(
        {"d": {name: base | {"candidate": name, "metadata": {"scores": each}} for name, each in scores.items()}}
    )


def held() -> list[tuple[Any, ...]]:
    rows = Judgment.objects.values_list("candidate__external_id", "annotator__imported_name", "criterion__key", "value")
    return sorted(rows)


def verify() -> None:
    call_command("verify", "--json", "--no-count")


def alpha(key: str, level: Any, domain: list[float]) -> float:
    """From value counts, by the package, so that nothing of ours but the import is under test."""
    counts = (
        Judgment.objects.filter(criterion__key=key, is_counted=True)
        .values("candidate", "value")
        .annotate(n=Count("pk"))
    )
    units = sorted({row["candidate"] for row in counts})
    table = np.zeros((len(units), len(domain)), dtype=int)
    for row in counts:
        table[units.index(row["candidate"]), domain.index(row["value"] or 0.0)] = row["n"]
    return float(krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=level))


TABLE = """passage;question;reference;answer;system;rater;correctness
The ferry leaves at nine.;When does the ferry leave?;at nine;at nine;t5;anna;5
The ferry leaves at nine.;When does the ferry leave?;at nine;at nine;t5;ben;4
The ferry leaves at nine.;When does the ferry leave?;at nine;at nine;bart;anna;3
The ferry leaves at nine.;Where does it leave?;at the pier;at nine;t5;anna;1
"""


def test_a_table_with_a_row_for_each_rating_is_imported_twice(take: Any, project: Project) -> None:
    """First as candidates, without the rows that repeat one, then as judgments of the texts: it has no ids."""
    report = take(TABLE, kind=Kind.CANDIDATES, skip_wrong_rows=True)
    assert (report.candidates, report.judgments) == (3, 0)
    report = take(TABLE, criteria=("correctness=correctness:1-5",))
    assert (report.judgments, report.annotators) == (4, 2)
    rows = Judgment.objects.order_by("value").values_list(
        "candidate__question__text", "candidate__source", "annotator__imported_name", "value"
    )
    when, where = "When does the ferry leave?", "Where does it leave?"
    assert list(rows) == [
        (where, "t5", "anna", 1),
        (when, "bart", "anna", 3),
        (when, "t5", "ben", 4),
        (when, "t5", "anna", 5),
    ]


@pytest.mark.parametrize(
    ("head", "row", "reason"),
    [
        (
            "candidate;question;system",
            "at noon;When does the ferry leave?;t5",
            "no candidate “at noon” of this question",
        ),
        (
            "candidate;question;system",
            "at nine;When does the ferry leave?;gpt",
            "no candidate “at nine” of this question",
        ),
        ("candidate;question", "at nine;When does the ferry leave?", "“at nine” names 2 candidates of this question"),
        ("candidate", "at nine", "the column seems to contain texts: map the column of questions too"),
        ("candidate", "at noon", "no candidate “at noon” in the project$"),
    ],
)
def test_texts_that_name_no_single_candidate_are_refused(take: Any, head: str, row: str, reason: str) -> None:
    take(TABLE, kind=Kind.CANDIDATES, skip_wrong_rows=True)
    with pytest.raises(FileRefused, match=reason):
        take(f"{head};rater;correctness\n{row};anna;3\n", criteria=("correctness=correctness:1-5",))
    assert not Judgment.objects.exists()


def test_another_column_can_be_mapped_to_what_was_rated(take: Any, candidates: None) -> None:
    text = "question,answer,key,rater,correctness\nWhatever,yes,c0,anna,3\n"
    mapping = {"key": "candidate_id", "answer": "ignore"}
    with pytest.raises(FileRefused, match="for IDs, ignore the column of questions"):
        take(text, criteria=("correctness=correctness:1-5",), mapping=mapping)
    take(text, criteria=("correctness=correctness:1-5",), mapping={**mapping, "question": "ignore"})
    assert held() == [("c0", "anna", "correctness", 3.0)]


NUMBERS = "id,passage,question,candidate\n2,P,How many?,3\n3,P,How many?,4\n4,P,How few?,2\n"


def test_an_answer_that_is_the_id_of_another_candidate_is_a_text(take: Any) -> None:
    take(NUMBERS, kind=Kind.CANDIDATES)
    take("question,candidate,rater,correctness\nHow few?,2,anna,5\n", criteria=("correctness=correctness:1-5",))
    assert held() == [("4", "anna", "correctness", 5.0)]
    for row, reason in (
        ("How few?,3", "no candidate “3” of this question"),  # the ID of a candidate of another question
        ("How many?,3", "“3” names 2 candidates of this question"),  # one by its text, one by its ID
    ):
        with pytest.raises(FileRefused, match=reason):
            take(f"question,candidate,rater,correctness\n{row},anna,5\n", criteria=("correctness=correctness:1-5",))
    assert len(held()) == 1


def test_a_column_named_candidate_may_have_ids_beside_questions(take: Any, candidates: None) -> None:
    question = Candidate.objects.get(external_id="c0").question.text
    take(f"candidate,question,rater,correctness\nc0,{question},anna,3\n", criteria=("correctness=correctness:1-5",))
    assert held() == [("c0", "anna", "correctness", 3.0)]


def test_a_wide_file_becomes_a_closed_batch_that_is_full(
    candidates: None, take: Any, project: Project, owner: Membership
) -> None:
    report = take("id,rater,correctness\nc0,w1,4\nc1,w1,5\nc0,w2,1\nc4,w2,2\n")
    assert (report.judgments, report.annotators) == (4, 2)
    batch = Batch.objects.get()
    assert (batch.kind, batch.state, batch.judgments, batch.cents_per_hit, batch.created_by) == (
        "imported",
        "closed",
        2,
        0,
        owner,
    )
    assert (batch.n_hits, batch.n_items, batch.rubric) == (2, 3, current_rubric(project))
    assert batch.rubric.frozen_at is not None
    assert list(Hit.objects.values_list("number", "places_wanted", "places_open", "places_done")) == [
        (1, 2, 0, 2),
        (2, 1, 0, 1),
    ]
    assert held() == [
        ("c0", "w1", "correctness", 4.0),
        ("c0", "w2", "correctness", 1.0),
        ("c1", "w1", "correctness", 5.0),
        ("c4", "w2", "correctness", 2.0),
    ]
    assert set(Assignment.objects.values_list("state", "holds_place", "mark", "active_seconds", "due_at")) == {
        ("submitted", True, "counted", None, None)
    }
    for assignment in Assignment.objects.all():
        assert list(assignment.judgments.order_by("item__position").values_list("item", flat=True)) == assignment.layout
    made = Membership.objects.exclude(pk=owner.pk)
    assert set(made.values_list("kind", "role")) == {("imported", "annotator")}
    assert not made.exclude(user=None).exists()
    assert Import.objects.filter(batch=batch).count() == 1
    verify()


def test_a_long_file_with_times_and_two_criteria_makes_a_rubric_version(
    candidates: None, take: Any, project: Project
) -> None:
    rows = "c0,w1,correctness,4,2026-03-01T12:00:00Z\nc0,w1,fluency,7,\nc1,w1,fluency,1,\n"
    take("candidate_id,annotator,criterion,value,time\n" + rows, criteria=("fluency:1-7",))
    rubric = Batch.objects.get().rubric
    assert (rubric.version, rubric.is_imported) == (2, True)
    assert [(each.key, each.low, each.high, each.kind) for each in rubric.criteria.all()] == [
        ("correctness", 1, 5, "ordinal"),
        ("fluency", 1, 7, "ordinal"),
    ]
    assert current_rubric(project) == Rubric.objects.get(version=1)
    times = Judgment.objects.filter(judged_at__isnull=False).values_list("judged_at", flat=True)
    assert [time.isoformat() for time in times if time] == ["2026-03-01T12:00:00+00:00"]
    take("candidate_id,annotator,fluency\nc2,w1,3\n")
    assert Batch.objects.get(number=2).rubric == rubric
    verify()


def test_two_points_are_nominal_more_are_ordinal_and_many_an_interval(candidates: None, take: Any) -> None:
    named = ("yes=is_right:0-1", "five=clarity:1-5", "slider=overall:0-100")
    take("id,rater,yes,five,slider\nc0,w1,1,4,80\n", criteria=named)
    found = {each.key: each.level for each in Batch.objects.get().rubric.criteria.all()}
    assert found == {"is_right": "nominal", "clarity": "ordinal", "overall": "interval"}


def test_points_may_be_categories(candidates: None, take: Any) -> None:
    take("id,rater,error,mood\nc0,w1,2,1\nc1,w1,0,3\n", criteria=("error=error:0-2:nominal", "mood=mood:1-3"))
    assert dict(Criterion.objects.filter(key__in=["error", "mood"]).values_list("key", "level")) == {
        "error": "nominal",
        "mood": "ordinal",
    }
    # One that the project knows keeps its level.
    take("id,rater,error\nc2,w1,1\n", criteria=("error=error:0-2",))
    assert Judgment.objects.filter(criterion__level="nominal").count() == 3
    with pytest.raises(Refused, match="“mood” isn't nominal in this project"):
        take("id,rater,mood\nc2,w1,1\n", criteria=("mood=mood:1-3:nominal",))
    with pytest.raises(Refused, match="a nominal criterion has at most 11 points"):
        CriterionColumn.parse("error:0-100:nominal")
    assert str(CriterionColumn.parse("a=error:0-2:nominal")) == "a=error:0-2:nominal"
    assert str(CriterionColumn.parse("error:-1-2")) == "error:-1-2"


def test_one_key_has_one_scale_in_a_project(candidates: None, take: Any) -> None:
    with pytest.raises(Refused, match="from 1 to 5 in this project, not from 0 to 100"):
        take("id,rater,score\nc0,w1,80\n", criteria=("score=correctness:0-100",))
    assert not Batch.objects.exists()


def test_scores_without_raters_are_held_by_slots(take: Any) -> None:
    report = take(mocha(a=[5, 4], b=[1]), "a.json", kind=Kind.CANDIDATES, with_scores=True)
    assert (report.candidates, report.judgments, report.annotators, report.most_unnamed) == (2, 3, 0, 2)
    kinds = Membership.objects.filter(user=None).values_list("kind", "imported_name")
    assert sorted(kinds) == [("unknown", "Unknown annotator 1"), ("unknown", "Unknown annotator 2")]
    verify()


def test_mochas_own_file_is_a_judgments_file_too(take: Any) -> None:
    take(mocha(a=[5], b=[1]), "a.json", kind=Kind.CANDIDATES)
    report = take(mocha(a=[5, 4], b=[]), "a.json")
    assert (report.judgments, Candidate.objects.count()) == (2, 2)
    assert held() == [
        ("a", "Unknown annotator 1", "correctness", 5.0),
        ("a", "Unknown annotator 2", "correctness", 4.0),
    ]
    verify()


def test_a_file_with_mean_scores_alone_says_that_it_has_no_judgments(take: Any) -> None:
    entries = json.loads(mocha(a=[], b=[]))
    entries["d"]["a"]["score"] = 4.5
    said = "The file has no scores to import as judgments"
    for with_scores in (True, False):
        report = take(json.dumps(entries), "a.json", kind=Kind.CANDIDATES, with_scores=with_scores)
        assert (report.candidates, report.judgments) == (2, 0)
        assert any(str(each).startswith(said) for each in report.warnings) == with_scores
        Candidate.objects.all().delete()


@pytest.mark.parametrize("key", ["ease", "score"])
def test_the_mean_beside_mochas_scores_is_nobodys_rating(take: Any, key: str) -> None:
    take(mocha(a=[5], b=[1]), "a.json", kind=Kind.CANDIDATES)
    entries = json.loads(mocha(a=[50, 41]))
    entries["d"]["a"]["score"] = 45.5
    entries["d"]["a"]["metadata"]["raters"] = ["ann", "bob"]
    # Given as a new criterion, and then as one that the project knows.
    take(json.dumps(entries), "a.json", criteria=(f"{key}:0-100",), rater_criterion=key)
    entries["d"] = {"b": entries["d"]["a"]}
    take(json.dumps(entries), "a.json", rater_criterion=key)
    assert held() == [(each, name, key, value) for each in "ab" for name, value in (("ann", 50.0), ("bob", 41.0))]


def test_a_file_of_known_candidates_may_add_judgments_only(take: Any) -> None:
    take(mocha(a=[5], b=[1]), "a.json", kind=Kind.CANDIDATES)
    with pytest.raises(FileRefused, match="already in the project"):
        take(mocha(a=[5], b=[1], c=[2]), "a.json", kind=Kind.CANDIDATES, with_scores=True)
    report = take(mocha(a=[5], b=[1]), "a.json", kind=Kind.CANDIDATES, with_scores=True)
    assert (report.candidates, report.judgments, Candidate.objects.count()) == (0, 2, 2)
    changed = mocha(a=[5, 5]).replace('"candidate": "a"', '"candidate": "A"')
    with pytest.raises(FileRefused, match="a different text"):
        take(changed, "a.json", kind=Kind.CANDIDATES, with_scores=True)


def test_a_judgment_that_is_there_is_skipped_if_equal_and_refused_if_not(candidates: None, take: Any) -> None:
    take("id,rater,correctness\nc0,w1,4\n")
    report = take("id,rater,correctness\nc0,w1,4\nc1,w1,3\n")
    assert (report.judgments, report.skipped) == (1, {"already_counted": 1})
    with pytest.raises(FileRefused) as caught:
        take("id,rater,correctness\nc2,w1,4\nc1,w1,5\n")
    assert (caught.value.problems[0].line, Judgment.objects.count()) == (3, 2)
    with pytest.raises(Refused, match="Nothing is left"):
        take("id,rater,correctness,x\nc0,w1,4,\n")
    verify()


def test_the_same_judgment_twice_in_a_file_is_taken_once(candidates: None, take: Any) -> None:
    with pytest.raises(FileRefused) as caught:
        take("id,rater,correctness\nc0,w1,4\nc1,w1,4\nc0,w1,5\n")
    assert caught.value.problems[0].line == 4
    assert "another value on line 2" in caught.value.problems[0].reason
    report = take("id,rater,correctness\nc0,w1,4\nc1,w1,4\nc0,w1,4\n")
    assert (report.judgments, report.skipped) == (2, {"repeated": 1})


def test_an_annotator_under_both_of_their_names_in_a_file_is_one(candidates: None, take: Any, project: Project) -> None:
    """As in a file merged from the original one and an export."""
    take("id,rater,correctness\nc0,w1,4\n")
    pseudonym = Membership.objects.get(imported_name="w1").pseudonym
    with pytest.raises(FileRefused) as caught:
        take(f"id,rater,correctness\nc1,w1,4\nc1,{pseudonym},5\n")
    assert "another value on line 2" in caught.value.problems[0].reason
    report = take(f"id,rater,correctness\nc1,w1,4\nc1,{pseudonym},4\n")
    assert (report.judgments, report.skipped) == (1, {"repeated": 1})


def test_a_criterion_is_the_same_one_across_rubric_versions(candidates: None, take: Any) -> None:
    take("id,rater,correctness\nc0,w1,4\n")
    report = take("id,rater,c,f\nc0,w1,4,2\n", criteria=("c=correctness:1-5", "f=fluency:1-7"))
    assert (report.judgments, report.skipped) == (1, {"already_counted": 1})


def test_unknown_candidates_are_refused_with_their_lines(candidates: None, take: Any) -> None:
    with pytest.raises(FileRefused) as caught:
        take("id,rater,correctness\nc0,w1,4\nzz,w1,3\nC0,w1,3\n")
    assert [(problem.line, problem.column) for problem in caught.value.problems] == [
        (3, "candidate_id"),
        (4, "candidate_id"),
    ]


def test_an_id_that_two_datasets_have_needs_the_dataset(take: Any) -> None:
    for name in ("one", "two"):
        take(CANDIDATES, kind=Kind.CANDIDATES, dataset=name)
    with pytest.raises(FileRefused, match="in 2 datasets"):
        take("id,rater,correctness\nc0,w1,4\n")
    take("id,dataset,rater,correctness\nc0,two,w1,4\n")
    take("id,rater,correctness\nc0,w1,3\n", dataset="one")
    assert sorted(Judgment.objects.values_list("candidate__dataset__name", "value")) == [("one", 3.0), ("two", 4.0)]


def test_nobody_can_import_the_judgments_of_a_person(candidates: None, take: Any, annotator: Membership) -> None:
    with pytest.raises(FileRefused, match="person of this project"):
        take(f"id,rater,correctness\nc0,{annotator.pseudonym},4\n")


def test_a_name_is_not_both_an_annotator_and_a_slot(candidates: None, take: Any) -> None:
    take("id,correctness\nc0,4\n")
    with pytest.raises(FileRefused, match="use another name"):
        take("id,rater,correctness\nc1,Unknown annotator 1,4\n")


def test_a_passage_with_many_candidates_is_cut(take: Any) -> None:
    rows = "".join(f"c{n},One text,Q{n // 7},R,A{n}\n" for n in range(250))
    take("id,passage,question,reference,candidate\n" + rows, kind=Kind.CANDIDATES)
    take("id,rater,correctness\n" + "".join(f"c{n},w{n % 3},{1 + n % 5}\n" for n in range(250)))
    assert list(Hit.objects.order_by("number").annotate(n=Count("items")).values_list("n", "places_wanted")) == [
        (100, 3),
        (100, 3),
        (50, 3),
    ]
    assert Item.objects.filter(position__gte=100).count() == 0
    verify()


def test_krippendorffs_example_gives_his_numbers(take: Any) -> None:
    table = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    take("id,question,candidate\n" + "".join(f"u{n},Q,Unit {n}\n" for n in range(12)), kind=Kind.CANDIDATES)
    cells = [
        (f"u{n}", "ABCD"[coder], value)
        for coder, row in enumerate(table)
        for n, value in enumerate(row)
        if value != "."
    ]
    assert len(cells) == 41
    take(
        "unit,coder,value\n" + "".join(f"{unit},{coder},{value}\n" for unit, coder, value in cells),
        criteria=("code:1-5",),
    )
    found = [round(alpha("code", level, [1, 2, 3, 4, 5]), 3) for level in ("nominal", "ordinal", "interval", "ratio")]
    assert found == [0.743, 0.815, 0.849, 0.797]


def test_the_command_takes_criteria_and_prints_one_json_object(
    candidates: None, project: Project, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,who,c,o\nc0,w1,4,55.5\nc1,w1,2,0\n")
    flags = ["--project", project.slug, "--json", "--map", "who=annotator"]
    criteria = ["--criterion", "c=correctness:1-5", "--criterion", "o=overall:0-100"]
    call_command("import_judgments", str(path), *flags, *criteria, "--dry-run")
    assert json.loads(capsys.readouterr().out)["judgments"] == 4
    assert not Judgment.objects.exists()
    call_command("import_judgments", str(path), *flags, *criteria)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["judgments"], answer["annotators"], Judgment.objects.count()) == (4, 1, 4)
    with pytest.raises(CommandError) as caught:
        call_command("import_judgments", str(path), *flags, *criteria)
    assert caught.value.returncode == 1
    assert "already imported as #3" in str(caught.value) or "already imported as #2" in str(caught.value)


def test_real_judgments_give_the_numbers_beside_them(
    project: Project, owner: Membership, squality_dir: Path, tmp_path: Path
) -> None:
    import gzip

    whole = tmp_path / "mocha_format.json"
    whole.write_bytes(gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes()))
    call_command("import_candidates", str(whole), "--project", project.slug, "--with-scores", "--json")
    assert (Candidate.objects.count(), Judgment.objects.count()) == (300, 900)
    criteria = [
        *("correctness_1to5=correctness:1-5", "coverage_1to5=coverage:1-5", "overall_1to5=overall:1-5"),
        *("correctness=correctness_100:0-100", "coverage=coverage_100:0-100", "overall=overall_100:0-100"),
    ]
    flags = [flag for each in criteria for flag in ("--criterion", each)]
    call_command("import_judgments", str(squality_dir / "ratings.csv"), "--project", project.slug, "--json", *flags)
    assert Judgment.objects.count() == 900 * 6
    five, hundred = [1.0, 2.0, 3.0, 4.0, 5.0], [float(value) for value in range(101)]
    assert [round(alpha("correctness", level, five), 4) for level in ("ordinal", "interval", "nominal")] == [
        0.4355,
        0.3913,
        0.2379,
    ]
    assert [round(alpha(f"{key}_100", "interval", hundred), 4) for key in ("correctness", "coverage", "overall")] == [
        0.4587,
        0.7813,
        0.7983,
    ]
    verify()


def test_the_real_files_of_mocha_import(project: Project, owner: Membership, squality_dir: Path) -> None:
    for path in sorted((squality_dir / "mocha_specimen").glob("*.json")):
        call_command("import_candidates", str(path), "--project", project.slug, "--with-scores", "--json")
    assert (Candidate.objects.count(), Judgment.objects.count()) == (5, 4)
    pair = MinimalPair.objects.get()
    assert (pair.score_1, pair.score_2, pair.candidate_1.text) == (5.0, 2.0, "They want to repurpose that room")
    verify()


def test_a_second_rating_of_a_candidate_is_refused_or_chosen(take: Any, candidates: None, project: Project) -> None:
    header = "id,annotator,criterion,value,time\n"
    content = header + "".join(
        f"c{n},a,correctness,{value},{time}\n"
        for n, value, time in (
            (0, 1, ""), (0, 5, ""), (0, 5, ""),
            (1, 2, "2026-03-02T00:00:00"), (1, 3, "2026-03-01T00:00:00"),
            (2, 4, ""), (2, 4, ""),
        )
    )  # fmt: skip
    with pytest.raises(FileRefused) as caught:
        take(content)
    assert [(each.line, each.n) for each in caught.value.problems] == [(3, 2), (5, 1)]
    assert "choose which counts" in str(caught.value)
    for repeated, expected in (("first", [1.0, 3.0, 4.0]), ("last", [5.0, 2.0, 4.0])):
        with transaction.atomic():
            report = take(content, repeated=repeated)
            assert [row[3] for row in held()] == expected
            assert report.skipped == {"repeated": 4}
            transaction.set_rollback(True)


def test_empty_ratings_of_a_long_file_are_missing_values(take: Any, candidates: None) -> None:
    report = take("id,annotator,criterion,value\nc0,a,correctness,1\nc0,b,correctness,\nc1,b,correctness,5\n")
    assert report.skipped == {"empty_ratings": 1}
    assert [row[3] for row in held()] == [1.0, 5.0]


def test_an_unknown_criterion_is_said_once_with_its_count(take: Any, candidates: None) -> None:
    with pytest.raises(FileRefused) as caught:
        take("id,annotator,criterion,value\n" + "".join(f"c{n % 6},a{n},mood,1\n" for n in range(2_142)))
    assert [(each.reason[:26], each.n) for each in caught.value.problems] == [("unknown criterion “mood”; ", 2_142)]


def test_judgments_before_any_candidate_are_refused_in_one_sentence(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,rater1\n" + "".join(f"c{n},3\n" for n in range(5)), encoding="utf-8")
    with pytest.raises(CommandError) as raised:
        call_command("import_judgments", str(path), "--project", project.slug, "--criterion", "ease:1-5")
    assert str(raised.value) == "a.csv: the project has no candidates yet; import these first, and then their judgments"


def test_the_command_takes_the_options_of_the_page(candidates: None, project: Project, tmp_path: Path) -> None:
    path, skipped = tmp_path / "a.csv", tmp_path / "skipped.csv"
    path.write_bytes(
        "sep=;\r\nid;rater1;rater2;\r\nc0;süß;7,5;\r\nc0;schlecht;1;\r\nc9;1;1;\r\nc2;1\r\n".encode("windows-1252")
    )
    flags = ["--criterion", "ease:0-100", "--label", "süß=100", "--label", "schlecht=0", "--repeated", "first"]
    with pytest.raises(CommandError, match="line 6: too few cells"):
        call_command("import_judgments", str(path), "--project", project.slug, *flags, "--json")
    out = io.StringIO()
    call_command(
        "import_judgments", str(path), "--project", project.slug, *flags, "--skip-wrong-rows", str(skipped), "--json",
        stdout=out,
    )  # fmt: skip
    report = json.loads(out.getvalue())
    assert report["skipped"] == {"wrong_rows": 2, "repeated": 2}
    assert held() == [("c0", "rater1", "ease", 100.0), ("c0", "rater2", "ease", 7.5)]
    assert skipped.read_text().splitlines()[1:] == [
        "5,candidate_id: no candidate “c9” in the project,c9,1,1",
        "6,too few cells: 2 instead of 3",
    ]


@pytest.mark.usefixtures("candidates")
def test_a_candidate_has_no_more_annotators_than_a_batch_counts(take: Any) -> None:
    most = known_judgments.MOST_ANNOTATORS
    rows = "".join(f"c0,w{n:05},4\nc1,w{n:05},4\n" for n in range(most))
    with pytest.raises(FileRefused) as caught:
        take(f"id,rater,correctness\n{rows}c1,w99999,4\n")
    assert [(each.line, each.column) for each in caught.value.problems] == [(2 * most + 2, "annotator")]
    assert caught.value.problems[0].reason == "“c1” has judgments of more than 32,767 annotators"
    assert not Batch.objects.exists()
