"""The contents of the files of a set: scores by each rule, criteria and scales, texts of every kind, nobody's name."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from annotate.models import Adjudication, Assignment, Judgment, QualityRules, Remark
from measures.agreement import Agreement, krippendorff_alpha
from measures.ceiling import Ceiling, compute_ceiling
from measures.gold_rules import GoldRule
from measures.gold_scores import gold_scores
from measures.standardising import annotator_norms, standardise
from projects.database.csv import FORMULA_STARTS, unguard_text
from projects.models import Candidate, Criterion, Membership, MinimalPair, Project, User
from results.models import JudgmentSet
from results.sets import building, freezing
from results.sets.codebook import columns_by_file
from results.sets.settings import Settings
from results.systems.scores import system_figures
from tests.factories import (
    make_candidates,
    make_dataset,
    make_membership,
    make_passage,
    make_project,
    make_question,
    make_rubric,
)
from tests.results.exports.test_long import NASTY
from tests.results.exports.test_mocha import rich, state
from tests.results.judged_batches import answer, canonical, fill_with_identical_answers, judge, take_file
from tests.results.sets.frozen_sets import freeze, lines, list_names, read, table


def make_frame(made: JudgmentSet, criterion: str = "correctness") -> pd.DataFrame:
    """The long file as somebody with a notebook reads it."""
    rows = [row for row in lines(made, "long.jsonl") if row["enters"] and row["criterion"] == criterion]
    return pd.DataFrame(
        [{"unit": row["candidate_id"], "annotator": row["annotator"], "value": row["score"]} for row in rows]
    )


def test_figures_and_scores_follow_from_the_long_file(project: Project, manager: Membership) -> None:
    canonical(project)
    made = freeze(project, manager)
    frame = make_frame(made)
    figures = json.loads(read(made, "figures.json"))
    (part,) = figures["criteria"]
    found = krippendorff_alpha(frame, level="ordinal")
    assert isinstance(found, Agreement)
    assert part["agreement"]["alpha"] == pytest.approx(found.alpha, abs=1e-12)
    assert part["alpha_by_level"]["nominal"]["alpha"] == pytest.approx(0.743, abs=5e-4)  # as published
    output = answer("agreement", "--project", project.slug, "--unit", "item")
    interval = part["interval_over_candidates"]
    assert [output["alpha"], output["low"], output["high"]] == pytest.approx(
        [part["agreement"]["alpha"], interval["low"], interval["high"]], abs=1e-12
    )
    ceiling = compute_ceiling(frame.assign(group=frame["unit"]))
    assert isinstance(ceiling, Ceiling)
    assert part["reliability"]["reliability"] == pytest.approx(ceiling.reliability)
    assert part["reliability"]["ceiling"] == pytest.approx(ceiling.ceiling)
    gold = gold_scores(frame)
    z = gold_scores(frame.assign(value=standardise(frame, annotator_norms(frame))))
    for row in table(made, "aggregated.csv"):
        unit = row["candidate_id"]
        for name in ("mean", "median"):
            assert float(row[name]) == gold.loc[unit, name]
        assert float(row["z_mean"]) == pytest.approx(z.loc[unit, "mean"], abs=1e-12)
        assert float(row["gold"]) == gold.loc[unit, "mean"]


@pytest.mark.parametrize("gold", GoldRule)
def test_the_gold_score_goes_by_the_rule(project: Project, manager: Membership, gold: GoldRule) -> None:
    canonical(project)
    candidate = Candidate.objects.get(external_id="unit-01")
    Adjudication.objects.create(candidate=candidate, criterion=Criterion.objects.get(), adjudicator=manager, value=5)
    QualityRules.objects.create(project=project, adjudication_wins=True)
    made = freeze(project, manager, gold=gold)
    rows = {row["candidate_id"]: row for row in table(made, "aggregated.csv")}
    column = {GoldRule.MEAN: "mean", GoldRule.MEDIAN: "median", GoldRule.Z: "z_mean"}[gold]
    assert rows["unit-05"]["gold"] == rows["unit-05"][column]
    assert rows["unit-01"]["adjudicated"] == "5"
    assert rows["unit-01"]["gold"] == (rows["unit-01"]["z_mean"] if gold is GoldRule.Z else "5"), "Nobody's z is 5."
    entry = json.loads(read(made, "mocha-dev.json"))["canonical"]["unit-01"]
    assert entry["score"] == float(rows["unit-01"]["gold"])


@pytest.mark.parametrize("controls_in_z", [True, False])
def test_controls_enter_the_mean_and_deviation_of_z_alone(
    project: Project, manager: Membership, controls_in_z: bool
) -> None:
    canonical(project)
    someone = Membership.objects.filter(assignments__judgments__value=5).distinct()[0]
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project))), 1)
    judge(project, {candidate: {someone: 5.0}}, control="repeat")
    made = freeze(project, manager, controls_in_z=controls_in_z)
    (row,) = [row for row in table(made, "annotators.csv") if row["annotator"] == someone.pseudonym]
    own = [
        score
        for name, score in make_frame(made)[["annotator", "value"]].itertuples(index=False)
        if name == someone.pseudonym
    ]
    behind = pd.Series([*own, *([5.0] if controls_in_z else [])])
    assert int(row["n_entering"]) == int(row["n_judgments"]) == len(own)
    assert int(row["n_controls"]) == int(controls_in_z)
    assert float(row["mean"]) == pytest.approx(behind.mean(), abs=1e-12)
    assert float(row["sd"]) == pytest.approx(behind.std(), abs=1e-12)
    assert candidate.external_id not in {line["candidate_id"] for line in table(made, "long.csv")}


def test_means_and_deviations_are_of_all_that_somebody_scored(project: Project, manager: Membership) -> None:
    """What a set leaves out by its choice makes nobody stricter."""
    canonical(project)
    whole = {row["annotator"]: row for row in table(freeze(project, manager), "annotators.csv")}
    for row in table(freeze(project, manager, splits=("dev",)), "annotators.csv"):
        other = whole[row["annotator"]]
        assert (row["mean"], row["sd"], row["n_judgments"]) == (other["mean"], other["sd"], other["n_judgments"])
        assert 0 < int(row["n_entering"]) < int(other["n_entering"])


def test_criteria_and_scales_are_kept_apart(project: Project, manager: Membership) -> None:
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project), split="test")), 1)
    people = [make_membership(project) for _ in range(3)]
    judge(project, {candidate: dict.fromkeys(people, 4.0)})
    rubric = make_rubric(project)
    rubric.criteria.update(low=0, high=100, kind="continuous")
    taste = Criterion.objects.create(
        rubric=rubric, position=7, key="taste", name="Taste", low=1, high=5, is_reversed=True
    )
    judge(
        project,
        {candidate: dict.fromkeys(people[:2], 75.0)},
        rubric=rubric,
        criterion=rubric.criteria.get(key="correctness"),
    )
    judge(project, {candidate: dict.fromkeys(people[1:], 1.0)}, rubric=rubric, criterion=taste)
    made = freeze(project, manager)
    found = {(row["criterion"], row["scale_high"]): row for row in table(made, "aggregated.csv")}
    assert {key: (row["n"], row["mean"]) for key, row in found.items()} == {
        ("correctness", "5"): ("3", "4"),
        ("correctness", "100"): ("2", "75"),
        ("taste", "5"): ("2", "5"),
    }
    assert {name for name in list_names(made) if name.startswith("mocha")} == {
        f"mocha-{stem}-{split}.json"
        for stem in ("correctness-ordinal-1-to-5", "correctness-continuous-0-to-100", "taste")
        for split in ("test", "test-no-scores")
    }
    scales = {(row["annotator"], row["scale_high"]) for row in table(made, "annotators.csv")}
    assert len(scales) == 5, "Means and deviations are of one scale each."
    only = freeze(project, manager, criteria=("taste",))
    assert {row["criterion"] for row in table(only, "long.csv")} == {"taste"}


def test_the_newer_of_two_judgments_by_one_person_enters(project: Project, manager: Membership) -> None:
    (candidate,) = make_candidates(make_question(make_passage(make_dataset(project))), 1)
    someone = make_membership(project)
    judge(project, {candidate: {someone: 1.0}})
    judge(project, {candidate: {someone: 5.0}}, rubric=make_rubric(project))
    made = freeze(project, manager)
    assert [(row["value"], row["enters"], row["left_out_reason"]) for row in lines(made, "long.jsonl")] == [
        (1, False, "judged anew"),
        (5, True, None),
    ]
    assert made.facts["left_out"] == {"judged anew": 1}


def test_nameless_scores_are_nobodys_and_keep_their_order(project: Project, owner: Membership, tmp_path: Path) -> None:
    rows = [
        {"question": "Q?", "reference": "R", "candidate": f"Answer {n}", "id": f"c{n}", "scores": [5, n, 1]}
        for n in range(1, 4)
    ]
    take_file(project, json.dumps(rows), "a.json", tmp_path, with_scores=True)
    made = freeze(project, owner)
    assert [row["scores"] for row in table(made, "aggregated.csv")] == ["5|1|1", "5|2|1", "5|3|1"]
    assert {row["annotator"] for row in lines(made, "long.jsonl")} == {None}
    assert {(row["raters"], row["undefined"]) for row in table(made, "aggregated.csv")} == {
        ("", "no z: some annotators are unknown")
    }
    assert table(made, "annotators.csv") == []
    assert made.facts["criteria"][0]["agreement"]["n_annotators"] is None
    assert b"how many people gave them is unknown" in read(made, "datasheet.md")
    ((_dataset, entries),) = json.loads(read(made, "mocha-other.json")).items()
    assert "raters" not in entries["c1"]["metadata"]


def test_every_text_comes_back_and_none_is_a_formula(project: Project, manager: Membership) -> None:
    texts = [*NASTY, "مرحبا بالعالم", "שלום \u202b(עולם)\u202c", "e\u0301 \u2028 \x01"]
    dataset = make_dataset(project, "=cmd|' /C calc'!A0")
    question = make_question(
        make_passage(dataset, "@p", text="نص"), "-q", references=("=ref", "مرجع"), text="@question"
    )
    for n, text in enumerate(texts):
        (candidate,) = make_candidates(question, 1, external_id=f"{text.strip()}{n}", text=text, source=text)
        judge(project, {candidate: {make_membership(project): 3.0}})
    made = freeze(project, manager)
    assert sorted(line["candidate"] for line in lines(made, "candidates.jsonl")) == sorted(texts)
    assert sorted(row["source"] for row in lines(made, "long.jsonl")) == sorted(texts)
    entries = json.loads(read(made, "mocha-other.json"))[dataset.name]
    assert sorted(entry["candidate"] for entry in entries.values()) == sorted(texts)
    for name in ("long.csv", "aggregated.csv", "wide.csv"):
        rows = table(made, name)
        assert sorted(unguard_text(row["source"]) for row in rows) == sorted(texts), name
        cells = {row[column] for row in rows for column in ("dataset", "source", "candidate_id", "question_id")}
        assert [cell for cell in cells if cell.startswith(FORMULA_STARTS) and not re.fullmatch(r"-[\d.]+", cell)] == []


def test_comments_are_in_it_only_where_asked(project: Project, manager: Membership) -> None:
    canonical(project)
    assignment = Assignment.objects.earliest("pk")
    Remark.objects.create(assignment=assignment, item_id=assignment.layout[0], is_flagged=True, comment="I am Ann")
    plain, ticked = freeze(project, manager), freeze(project, manager, with_comments=True)
    assert not any(b"I am Ann" in read(plain, name) for name in list_names(plain))
    assert [row["comment"] for row in lines(ticked, "long.jsonl") if row["comment"]] == ["I am Ann"]
    assert b"people may have written personal data" in read(ticked, "datasheet.md")


def test_no_file_names_a_person(project: Project, manager: Membership, tmp_path: Path) -> None:
    canonical(project)
    for n, user in enumerate(User.objects.all()):
        User.objects.filter(pk=user.pk).update(
            username=f"planted-{n}", email=f"planted-{n}@example.org", first_name="Planted", last_name=f"Person{n}"
        )
    content = "candidate_id,annotator,value\nunit-01,planted worker,3\n"
    from projects.importing import Kind

    make_membership(project, role=Membership.Role.OWNER)
    take_file(project, content, "a.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=("value=correctness:1-5",))
    made = freeze(project, manager, with_comments=True)
    with zipfile.ZipFile(freezing.find_path(made)) as archive:
        found = [name for name in archive.namelist() if b"lanted" in archive.read(name)]
    assert found == []
    assert b'"imported"' in read(made, "long.jsonl")


def test_withdrawn_candidates_are_in_the_long_file_alone(project: Project, manager: Membership) -> None:
    canonical(project)
    Candidate.objects.filter(external_id="unit-02").update(withdrawn_at="2026-01-01T00:00Z")
    made = freeze(project, manager)
    assert made.facts["left_out"] == {"withdrawn": 4}
    rows = [row for row in lines(made, "long.jsonl") if row["candidate_id"] == "unit-02"]
    assert {(row["is_withdrawn"], row["enters"]) for row in rows} == {(True, False)}
    assert "unit-02" not in {row["candidate_id"] for row in table(made, "aggregated.csv")}
    assert "unit-02" not in json.loads(read(made, "mocha-dev.json"))["canonical"]


def test_without_texts_there_are_ids_alone(project: Project, manager: Membership) -> None:
    canonical(project)
    made = freeze(project, manager, with_texts=False)
    assert not [name for name in list_names(made) if name.startswith(("mocha", "passages"))]
    with zipfile.ZipFile(freezing.find_path(made)) as archive:
        assert not [name for name in archive.namelist() if b"The cat sat" in archive.read(name)]


def test_ratings_of_programs_are_not_called_human(project: Project, manager: Membership) -> None:
    canonical(project)
    citation = freeze(project, manager).facts["citation"]
    assert re.search(r"41 human judgments of answers to questions, frozen on [0-9-]{10} with Concord 0\.", citation)
    Membership.objects.filter(judgments__isnull=False).update(kind=Membership.Kind.SIMULATED, user=None)
    made = freeze(project, manager)
    assert "41 judgments of answers to questions, some by simulated annotators, frozen" in made.facts["citation"]
    assert "41 judgments of answers to questions, some by simulated annotators" in read(made, "CITATION.cff").decode()
    assert made.facts["citation"] in read(made, "README.md").decode()
    assert b"uman judgments" not in read(made, "README.md")


def test_the_lines_that_load_a_set_name_what_it_has(project: Project, manager: Membership) -> None:
    canonical(project)
    made = freeze(project, manager)
    readme = read(made, "README.md").decode()
    (ids,) = re.findall(r"ids <- c\((.*)\)", readme)
    files = re.findall(r'read\.csv\("(.*?)", na\.strings = "", colClasses = texts\)', readme)
    assert files == ["long.csv", "aggregated.csv"]
    for file in files:
        header = next(csv.reader(io.StringIO(read(made, file).decode())))
        assert set(re.findall(r'"(.*?)"', ids)) == {name for name in header if name.endswith("_id")}
    for file in re.findall(r'read_parquet\("(.*?)"\)', readme):
        assert file in list_names(made)


def test_parquet_is_the_long_file(project: Project, manager: Membership, tmp_path: Path) -> None:
    canonical(project)
    made = freeze(project, manager)
    (tmp_path / "j.parquet").write_bytes(read(made, "judgments.parquet"))
    frame = pd.read_parquet(tmp_path / "j.parquet")
    rows = lines(made, "long.jsonl")
    assert list(frame.columns) == list(rows[0])
    for name in ("candidate_id", "annotator", "score", "enters", "batch"):
        assert frame[name].tolist() == [row[name] for row in rows]
    assert str(frame["submitted_at"].dtype) == "datetime64[us, UTC]"
    assert frame["left_out_reason"].isna().all()


@pytest.mark.parametrize("over", [{}, {"with_comments": True, "with_texts": False}])
def test_the_codebook_has_every_column_and_no_other(
    project: Project, manager: Membership, over: dict[str, Any]
) -> None:
    rich(project)
    made = freeze(project, manager, **over)
    for files, columns in columns_by_file(Settings(**over)).items():
        for name in files.split(", "):
            if name.endswith(".csv"):
                found = next(csv.reader(io.StringIO(read(made, name).decode(), newline="")))
                found = [each for each in found if not each[-1].isdigit()]
            elif name.endswith(".jsonl"):
                found = list(lines(made, name)[0])
            else:
                continue
            assert found == [each.name for each in columns if not each.name.endswith("…")], name
    book = table(made, "codebook.csv")
    assert all(row["meaning"].endswith(".") and row["type"] for row in book)


def as_imported(made: JudgmentSet, folder: Path) -> Project:
    """A fresh project with every MOCHA file of a set that has scores."""
    other = make_project()
    make_membership(other, role=Membership.Role.OWNER)
    for name in list_names(made):
        if name.startswith("mocha") and "no-scores" not in name:
            take_file(other, read(made, name), name, folder, with_scores=True)
    return other


def test_mocha_files_import_again_to_the_same_thing(project: Project, manager: Membership, tmp_path: Path) -> None:
    rich(project)
    canonical(project)
    question = make_question(make_passage(make_dataset(project, "pairs"), split="test"), "pq")
    first, second = (make_candidates(question, 1, external_id=f"pair-{n}")[0] for n in (1, 2))
    MinimalPair.objects.create(
        question=question, candidate_1=first, candidate_2=second, phenomenon="negation", score_1=5, score_2=2
    )
    people = [make_membership(project) for _ in range(2)]
    judge(project, {first: dict.fromkeys(people, 5.0), second: {people[0]: 1.0, people[1]: 2.0}})
    made = freeze(project, manager)
    assert {name for name in list_names(made) if name.startswith("mocha")} == {
        *("mocha-dev.json", "mocha-test.json", "mocha-test-no-scores.json"),
        *("mocha-minimal_pairs.json", "mocha-other.json"),
    }
    other = as_imported(made, tmp_path)
    assert state(other) == state(project)
    again = freeze(other, other.memberships.get(role=Membership.Role.OWNER))
    assert figures(again) == figures(made), "The same agreement, to the last digit."
    bare = json.loads(read(made, "mocha-test-no-scores.json"))
    assert not {"score", "scores", "raters"} & set(json.dumps(bare).replace('"', " ").split())


def figures(made: JudgmentSet) -> Any:
    names = ("agreement", "interval_over_candidates", "alpha_by_level", "by", "n_judgments", "n_candidates")
    return [{name: part[name] for name in names} for part in made.facts["criteria"]]


def test_the_published_alphas_of_squality(
    project: Project, owner: Membership, squality_dir: Path, tmp_path: Path
) -> None:
    from projects.importing import Kind

    take_file(project, (squality_dir / "items.jsonl").read_bytes(), "items.jsonl", tmp_path)
    columns = tuple(
        f"{name}{ending}={name}{ending.replace('_', '')}:{scale}"
        for name in ("correctness", "coverage", "overall")
        for ending, scale in (("_1to5", "1-5"),)
    )
    take_file(
        project, (squality_dir / "ratings.csv").read_bytes(), "r.csv", tmp_path, kind=Kind.JUDGMENTS, criteria=columns
    )
    made = freeze(project, owner)
    alphas = {
        part["criterion"]: round(part["alpha_by_level"]["ordinal"]["alpha"], 4) for part in made.facts["criteria"]
    }
    assert alphas == {"correctness1to5": 0.4355, "coverage1to5": 0.7362, "overall1to5": 0.7336}
    assert made.facts["n_annotators"] == 4
    scores = pd.DataFrame(table(made, "aggregated.csv"))
    scores = scores[scores["criterion"] == "correctness1to5"]
    means = scores.assign(mean=scores["mean"].astype(float)).groupby("source")["mean"].mean().round(3).to_dict()
    assert means == {"bart": 2.393, "bart-dpr": 2.873, "human": 4.913}
    counts = pd.Series([row["value"] for row in lines(made, "long.jsonl") if row["criterion"] == "correctness1to5"])
    assert counts.value_counts().sort_index().tolist() == [217, 94, 96, 104, 389]
    assert Judgment.objects.count() == 2700


@pytest.mark.parametrize(("level", "warns"), [("nominal", True), ("ordinal", False)])
def test_the_datasheet_warns_of_means_of_categories(
    project: Project, manager: Membership, level: str, warns: bool
) -> None:
    canonical(project)
    Criterion.objects.update(level=level)
    assert (b"categories without an order" in read(freeze(project, manager), "datasheet.md")) == warns


def test_candidates_with_the_judgments_of_an_identical_one_have_a_file_of_their_own(
    project: Project, manager: Membership, tmp_path: Path
) -> None:
    fill_with_identical_answers(project, is_once=True)
    made = freeze(project, manager)
    rows = table(made, "identical_answers.csv")
    marked = Candidate.objects.exclude(identical_to=None).values_list(
        "external_id", "source", "question__external_id", "identical_to__external_id"
    )
    assert {(row["candidate_id"], row["source"], row["question_id"], row["rated_as"]) for row in rows} == set(marked)
    assert len(rows) == 7
    rated = {row["candidate_id"] for row in table(made, "long.csv")}
    assert {row["rated_as"] for row in rows} <= rated
    assert not {row["candidate_id"] for row in rows} & rated, "each judgment is in the long file once"
    # As the README says, the mean of a system is over the judgments of its candidates and of those that these repeat.
    scores = pd.DataFrame(table(made, "long.csv"))[["candidate_id", "source", "score"]].astype({"score": float})
    shared = pd.DataFrame(rows)[["rated_as", "source"]].rename(columns={"rated_as": "candidate_id"})
    whole = pd.concat([scores, shared.merge(scores.drop(columns="source"), on="candidate_id")])
    means = whole.groupby("source")["score"].mean()
    figures = system_figures(project, {"stage": "full", "batch": None, "blind": False, "controls": False})
    assert {each["source"]: each["raw"]["mean"] for each in figures["scores"][""]} == pytest.approx(means.to_dict())
    assert [row["column"] for row in table(made, "codebook.csv") if row["file"] == "identical_answers.csv"] == [
        *("dataset", "split", "passage_id", "question_id", "candidate_id", "source", "rated_as")
    ]
    assert "`identical_answers.csv`" in read(made, "README.md").decode()
    names = ("long.jsonl", "long.csv", "candidates.jsonl", "passages.jsonl", "annotators.csv", "set.json")
    folder = tmp_path / "again"
    folder.mkdir()
    for name in (*names, "identical_answers.csv"):
        (folder / name).write_bytes(read(made, name))
    building.derive(folder, building.Progress(lambda done, total: None, 58))
    assert all(path.read_bytes() == read(made, path.name) for path in folder.iterdir())


def test_a_project_that_rates_each_answer_has_no_such_file(project: Project, manager: Membership) -> None:
    fill_with_identical_answers(project, is_once=False)
    made = freeze(project, manager)
    assert "identical_answers.csv" not in list_names(made)
    assert "identical" not in read(made, "README.md").decode()
