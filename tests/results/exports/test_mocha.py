"""MOCHA's JSON: it is MOCHA's, and it imports again to the same thing."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from annotate.models import Adjudication, Batch, Judgment
from annotate.reviews.adjudication import set_rule
from projects.errors import Refused
from projects.importing import Kind
from projects.models import Candidate, Criterion, Membership, MinimalPair, Passage, Project, Question, Reference
from projects.rubric.rubrics import describe_criterion
from results.exports.formats import Choices, make_statement
from results.exports.streaming import write
from tests.factories import (
    make_candidates,
    make_dataset,
    make_membership,
    make_passage,
    make_project,
    make_question,
    make_rubric,
)
from tests.people import SignIn
from tests.results.judged_batches import HUNDRED, ask, canonical, judge, judge_on_slider, take_file

SPECIMEN = "mocha_specimen"


def exported(project: Project, **over: Any) -> bytes:
    file = io.BytesIO()
    write(make_statement("mocha", Choices(project=project, **over)), file)
    return file.getvalue()


def test_an_entry_is_as_mocha_writes_it(project: Project) -> None:
    canonical(project)
    made = json.loads(exported(project))
    entry = made["canonical"]["unit-02"]
    assert list(made) == ["canonical"]
    assert len(made["canonical"]) == 12
    assert list(entry) == ["context", "question", "reference", "candidate", "score", "metadata"]
    assert entry["score"] == 3
    assert entry["metadata"]["scores"] == [3, 3, 3, 3]
    assert len(entry["metadata"]["raters"]) == 4
    assert entry["metadata"]["source"] == "odd" or entry["metadata"]["source"] == "even"
    assert entry["metadata"]["concord"]["split"] == "dev"
    assert made["canonical"]["unit-01"]["score"] == 2.25


def state(project: Project) -> dict[str, Any]:
    """What a project holds, without names of people."""
    candidates = Candidate.objects.filter(dataset__project=project)
    fields = ("external_id", "text", "source", "opinion", "rank", "confidence", "metadata", "question__external_id")
    questions = Question.objects.filter(dataset__project=project)
    judgments = Judgment.objects.filter(candidate__dataset__project=project, is_counted=True)
    scores: dict[str, list[Any]] = {}
    for external_id, value in judgments.values_list("candidate__external_id", "value").order_by("value"):
        scores.setdefault(external_id, []).append(value)
    return {
        "datasets": sorted(project.datasets.values_list("name", "kind")),
        "passages": sorted(
            map(
                repr,
                Passage.objects.filter(dataset__project=project).values_list(
                    "external_id", "title", "text", "documents", "split"
                ),
            )
        ),
        "questions": sorted(
            map(repr, questions.values_list("external_id", "text", "type", "entities", "span", "passage__external_id"))
        ),
        "references": sorted(
            Reference.objects.filter(question__in=questions)
            .annotate(asked=F("question__external_id"))
            .values_list("asked", "text", "opinion")
        ),
        "candidates": sorted(map(repr, candidates.values_list(*fields))),
        "pairs": sorted(
            MinimalPair.objects.filter(question__in=questions).values_list(
                "candidate_1__external_id", "candidate_2__external_id", "phenomenon", "score_1", "score_2"
            )
        ),
        "scores": scores,
    }


def rich(project: Project) -> None:
    """Everything that a corpus may hold."""
    rich = make_dataset(project, "rich", kind="span")
    passage = make_passage(rich, "p1", title="A title", split="dev", text='Text with "quotes", \\ and\nlines\t\u2028 ü')
    question = make_question(passage, "q1", references=(), type="yes-no", entities=["A", 'B "b"'], span="Text")
    Reference.objects.bulk_create(
        Reference(question=question, position=place, text=text, opinion=opinion)
        for place, (text, opinion) in enumerate((("Yes.", "Yes"), ("No.", "No"), ("=1+1", "")), start=1)
    )
    full = make_candidates(question, 1, external_id="full", opinion="Yes", rank=2, confidence=0.25, source="m")[0]
    full.metadata = {"seed": 7, "nested": {"a": [1, None]}, "text": "=1"}
    full.save()
    listed = make_passage(
        rich, "p2", text="", documents=[{"title": "One", "text": "First"}, {"title": "", "text": "2"}]
    )
    (bare,) = make_candidates(make_question(listed, "q2", references=()), 1, external_id="bare", source="")
    people = [make_membership(project) for _ in range(2)]
    judge(project, {full: {people[0]: 5.0, people[1]: 4.0}, bare: {people[0]: 1.0}})


def test_it_imports_again_to_the_same_thing(project: Project, owner: Membership, tmp_path: Path) -> None:
    rich(project)
    first = exported(project)
    other = make_project("again")
    make_membership(other, role=Membership.Role.OWNER)
    take_file(other, first, "again.json", tmp_path, with_scores=True)
    assert state(other) == state(project)
    second = json.loads(exported(other))
    for entries in (json.loads(first), second):
        for entry in entries["rich"].values():
            entry["metadata"].pop("raters", None)
            entry["metadata"].get("scores", []).sort()
    assert second == json.loads(first) | second


def test_as_many_columns_as_a_file_may_have_come_back(project: Project, owner: Membership, tmp_path: Path) -> None:
    rich(project)
    own = {f"column {n}": n for n in range(200)}
    Candidate.objects.filter(external_id="full").update(metadata=own)
    other = make_project("again")
    make_membership(other, role=Membership.Role.OWNER)
    take_file(other, exported(project), "again.json", tmp_path, with_scores=True)
    assert Candidate.objects.in_project(other).get(external_id="full").metadata == own


def test_what_it_does_not_hold_is_said_on_the_page(
    project: Project, manager: Membership, owner: Membership, client_of: SignIn, tmp_path: Path
) -> None:
    canonical(project)
    counted, other = Judgment.objects.order_by("pk")[:2]
    Judgment.objects.filter(pk=counted.pk).update(judged_at="2026-03-01T10:00Z")
    Judgment.objects.filter(pk=other.pk).update(is_counted=False, not_counted_reason="rejected")
    again = make_project("again")
    make_membership(again, role=Membership.Role.OWNER)
    take_file(again, exported(project), "again.json", tmp_path, with_scores=True)
    judgments = Judgment.objects.filter(candidate__dataset__project=again)
    assert (judgments.count(), judgments.filter(judged_at__isnull=False).count()) == (40, 0)
    page = " ".join(client_of(manager).get("/p/bridges/export/").content.decode().split())
    assert "It can be imported again with its texts, scores and raters. Times, comments, flags and judgments" in page


def test_minimal_pairs_and_nameless_scores_come_back(project: Project, owner: Membership, tmp_path: Path) -> None:
    base = {"context": "P", "question": "Q", "reference": "R"}
    content = {
        "d": {
            "pair": {**base, "candidate1": "A", "candidate2": "B", "score1": 5.0, "score2": 2.0},
            "nameless": {**base, "candidate": "C", "score": 2.5, "metadata": {"scores": [4, 1], "source": "gpt2"}},
            "open": {**base, "candidate": "D", "metadata": {"source": "mhpg"}},
        }
    }
    take_file(project, json.dumps(content), "mocha.json", tmp_path, with_scores=True)
    first = exported(project)
    made = json.loads(first)["d"]
    assert set(made) == {"pair", "nameless", "open"}
    assert {key: made["pair"][key] for key in ("candidate1", "candidate2", "score1", "score2")} == {
        "candidate1": "A",
        "candidate2": "B",
        "score1": 5,
        "score2": 2,
    }
    assert made["nameless"]["metadata"]["scores"] == [4, 1], "in the order of the file"
    assert "raters" not in made["nameless"]["metadata"]
    assert "score" not in made["open"]
    assert "scores" not in made["open"]["metadata"]
    other = make_project("again")
    make_membership(other, role=Membership.Role.OWNER)
    take_file(other, first, "again.json", tmp_path, with_scores=True)
    assert state(other) == state(project)
    assert exported(other) == first


def test_a_pair_and_a_candidate_of_one_id_have_keys_of_their_own(
    project: Project, owner: Membership, tmp_path: Path
) -> None:
    base = {"context": "P", "question": "Q", "reference": "R"}
    pair = {**base, "candidate1": "A", "candidate2": "B", "score1": 5.0, "score2": 2.0}
    take_file(project, json.dumps({"d": {"1": {**base, "candidate": "C"}}}), "train.json", tmp_path)
    # Their candidates are 1-1 and 1-2, 1-1-1 and 1-1-2, 2-1 and 2-2.
    pairs = {"1": pair, "1-1": {**pair, "candidate1": "D"}, "2": {**pair, "candidate1": "E"}}
    take_file(project, json.dumps({"d": pairs, "e": {"1": pair}}), "minimal_pairs.json", tmp_path)
    first = exported(project)
    entries = json.loads(first, object_pairs_hook=list)
    assert [(dataset, [key for key, _entry in found]) for dataset, found in entries] == [
        ("d", ["1", "1-1", "1-1-1", "2"]), ("e", ["1"]),
    ]  # fmt: skip
    other = make_project("again")
    make_membership(other, role=Membership.Role.OWNER)
    take_file(other, first, "again.json", tmp_path)
    texts = Candidate.objects.filter(dataset__name="d").order_by("text").values_list("text", flat=True)
    assert list(texts.filter(dataset__project=other)) == list(texts.filter(dataset__project=project))
    assert MinimalPair.objects.filter(question__dataset__project=other).count() == 4


@pytest.mark.parametrize("name", ["train.json", "dev.json", "test_no_labels.json", "minimal_pairs.json"])
def test_real_mocha_instances_come_back(
    project: Project, owner: Membership, tmp_path: Path, squality_dir: Path, name: str
) -> None:
    content = (squality_dir / SPECIMEN / name).read_bytes()
    take_file(project, content, name, tmp_path, with_scores=True)
    made = json.loads(exported(project))
    for dataset, entries in json.loads(content).items():
        for key, entry in entries.items():
            back = made[dataset][key]
            back["metadata"].pop("concord")
            back["metadata"] = back["metadata"] or None
            assert {k: v for k, v in back.items() if v is not None} == entry


def test_no_candidates_make_an_empty_object(project: Project) -> None:
    dataset = make_dataset(project)
    judge(project, {})
    assert dataset.candidates.count() == 0
    assert json.loads(exported(project)) == {}


def test_another_projects_candidates_are_not_in_the_file(project: Project) -> None:
    canonical(make_project("other"))
    assert json.loads(exported(project)) == {}


def test_the_same_bytes_again_and_only_the_batch_asked_for(project: Project) -> None:
    batch = canonical(project)
    (other,) = make_candidates(make_question(make_passage(make_dataset(project, "more"))), 1)
    second = judge(project, {other: {make_membership(project): 1.0}})
    assert exported(project) == exported(project)
    assert set(json.loads(exported(project))) == {"canonical", "more"}
    assert set(json.loads(exported(project, batches=(batch,)))) == {"canonical"}
    assert set(json.loads(exported(project, batches=(second,)))) == {"more"}


def test_one_file_holds_one_criterion(project: Project, owner: Membership, tmp_path: Path) -> None:
    canonical(project)
    rows = "candidate_id,annotator,correctness,fluency\nunit-00,x,5,80\nunit-01,x,4,20\n"
    criteria = ("correctness=correctness:1-5", "fluency=fluency:0-100")
    take_file(project, rows, "more.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=criteria)
    with pytest.raises(Refused, match="Choose one: "):
        exported(project)
    fluency = json.loads(exported(project, criterion="fluency"))["canonical"]
    assert fluency["unit-00"]["metadata"]["scores"] == [80]
    assert "scores" not in fluency["unit-02"]["metadata"]
    correctness = json.loads(exported(project, criterion="correctness"))["canonical"]
    assert sorted(correctness["unit-00"]["metadata"]["scores"]) == [1, 1, 1, 5]


def test_one_file_holds_one_scale_which_is_asked_of_the_batches_that_are_named(project: Project) -> None:
    """A criterion asked on 1 to 5, on 0 to 100, and on 1 to 5 again, beside another one on 0 to 100."""
    points = canonical(project)
    rated = {Candidate.objects.get(external_id="unit-02"): {make_membership(project): 2.0}}
    slider = judge_on_slider(project, rated)
    spec = describe_criterion(points.rubric.criteria.get())
    again = judge(project, rated, rubric=ask(project, correctness=spec.scale, fluency=HUNDRED))
    batches = {"points": points, "slider": slider, "again": again}

    def export(*names: str) -> Any:
        chosen = tuple(batches[name] for name in names)
        return json.loads(exported(project, criterion="correctness", batches=chosen))["canonical"]

    assert export("points")["unit-02"]["metadata"]["scores"] == [3, 3, 3, 3]
    assert export("slider")["unit-02"]["metadata"]["scores"] == [2]
    assert sorted(export("points", "again")["unit-02"]["metadata"]["scores"]) == [2, 3, 3, 3, 3]
    several = re.escape("“Correctness” was asked on several scales (points 1 to 5; slider 0 to 100), which one file")
    for names in ((), ("points", "slider"), ("slider", "again")):
        with pytest.raises(Refused, match=several):
            export(*names)
    # A trial is left out, except where it is named.
    Batch.objects.filter(pk=slider.pk).update(kind="trial")
    assert sorted(export()["unit-02"]["metadata"]["scores"]) == [2, 3, 3, 3, 3]
    with pytest.raises(Refused, match=several):
        export("points", "slider")


def test_squality_comes_back_with_the_same_scores(
    project: Project, owner: Membership, tmp_path: Path, squality_dir: Path
) -> None:
    import gzip

    content = gzip.decompress((squality_dir / "mocha_format.json.gz").read_bytes())
    take_file(project, content, "squality.json", tmp_path, with_scores=True)
    made, given = json.loads(exported(project))["squality"], json.loads(content)["squality"]
    assert set(made) == set(given)
    for key, entry in given.items():
        assert sorted(made[key]["metadata"]["scores"]) == sorted(entry["metadata"]["scores"])
        assert made[key]["score"] == pytest.approx(entry["score"], abs=1e-4)
        for name in ("context", "question", "reference", "candidate"):
            assert made[key][name] == entry[name]


def test_an_adjudicated_score_is_that_of_the_exported_scale(project: Project, manager: Membership) -> None:
    """The criterion was asked on 1 to 5, and again on 0 to 100."""
    batch = canonical(project)
    candidate = Candidate.objects.get(external_id="unit-02")
    criterion = batch.rubric.criteria.get()
    newer = make_rubric(project).criteria.get()
    Criterion.objects.filter(pk=newer.pk).update(kind="slider", low=0, high=100)
    for each, value in ((criterion, 2), (newer, 80)):
        Adjudication.objects.create(candidate=candidate, criterion=each, adjudicator=manager, value=value)
    set_rule(project=project, actor=manager, wins=True)
    text = exported(project, batches=(batch,)).decode()
    assert text.count('"unit-02":') == 1
    assert json.loads(text)["canonical"]["unit-02"]["score"] == 2
