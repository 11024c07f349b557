"""What catalogues read of a set: its files as the Hub's library and Croissant's load them, and the card's header."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import archive, freezing
from results.sets.cards import name_size
from results.sets.licences import LICENCES
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.results.exports.test_long import NASTY
from tests.results.exports.test_mocha import rich
from tests.results.judged_batches import canonical, judge
from tests.results.sets.frozen_sets import freeze, lines, read, table


def unpack(made: JudgmentSet, folder: Path) -> Path:
    return archive.unpack(
        freezing.find_path(made),
        folder,
        inside=made.facts["folder"],
        files=freezing.find_files(made),
        is_packed=False,
    )


def read_header(text: str) -> dict[str, Any]:
    start, header, _rest = text.split("---\n", 2)
    assert start == ""
    content: dict[str, Any] = yaml.safe_load(header)
    return content


@pytest.fixture
def nasty(project: Project) -> Project:
    """A project with what files go wrong with: empty cells, numbers as ids, formulas, lists and objects."""
    rich(project)
    canonical(project)
    dataset = make_dataset(project, "007")
    question = make_question(make_passage(dataset, "@p", text="نص"), "-1", references=("=ref", "مرجع"), text="1e5")
    for n, text in enumerate(NASTY):
        (candidate,) = make_candidates(question, 1, external_id=f"00{n}", text=text, source=text)
        judge(project, {candidate: {make_membership(project): 3.0}})
    return project


def test_a_set_is_loaded_as_the_hub_loads_it(nasty: Project, manager: Membership, tmp_path: Path, no_hub: None) -> None:
    from datasets import load_dataset

    made = freeze(nasty, manager, licence="CC-BY-4.0", languages=("en", "ar"))
    folder = unpack(made, tmp_path / "out")
    header = read_header((folder / "README.md").read_text(encoding="utf-8"))
    assert header["pretty_name"] == "Bridges, judgment set 1: First"
    assert (header["license"], header["language"]) == ("cc-by-4.0", ["en", "ar"])
    assert header["size_categories"] == ["n<1K"]
    names = [config["config_name"] for config in header["configs"]]
    assert names == ["judgments", "aggregated", "annotators", "candidates", "passages"]

    def load(*name: str) -> list[dict[str, Any]]:
        return list(load_dataset(str(folder), *name, split="train", cache_dir=str(tmp_path / "cache")))

    judgments, rows = load(), lines(made, "long.jsonl")
    assert [row["candidate_id"] for row in judgments] == [row["candidate_id"] for row in rows]
    assert [row["source"] for row in judgments] == [row["source"] for row in rows], "No text is guarded or changed."
    scores, cells = load("aggregated"), table(made, "aggregated.csv")
    assert {row["dataset"] for row in scores} >= {"007"}, "An id that looks like a number stays a text."
    for row, cell in zip(scores, cells, strict=True):
        for name in ("mean", "sd", "z_mean", "n"):
            assert (row[name] is None) == (cell[name] == "")
            assert row[name] is None or float(cell[name]) == row[name]
    candidates = {(row["dataset"], row["candidate_id"]): row for row in load("candidates")}
    for line in lines(made, "candidates.jsonl"):
        row = candidates[line["dataset"], line["candidate_id"]]
        for name in ("question", "candidate", "entities", "references", "adjudicated"):
            assert row[name] == line[name]
        assert (row["metadata"] and json.loads(row["metadata"])) == line["metadata"]
    assert [row["documents"] for row in load("passages")] == [row["documents"] for row in lines(made, "passages.jsonl")]
    assert len(load("annotators")) == len(table(made, "annotators.csv"))


def test_croissant_is_valid_and_its_records_are_those_of_the_set(
    nasty: Project, manager: Membership, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant

    made = freeze(nasty, manager, authors=("van der Berg, Anna", "{A & B}"), licence="CC0-1.0")
    folder = unpack(made, tmp_path / "out")
    described = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    assert described.metadata.issues.errors == set()
    assert described.metadata.issues.warnings == set()
    assert caplog.messages == [], "Nothing is said against the context or a column."
    assert described.metadata.license == [LICENCES["CC0-1.0"].url]
    for name, source in (("judgments", lines(made, "long.jsonl")), ("candidates", lines(made, "candidates.jsonl"))):
        records = list(described.records(name))
        assert len(records) == len(source)
        for record, row in zip(records, source, strict=True):
            for key, value in record.items():
                assert same(value, row[key.removeprefix(f"{name}/")]), key
    assert sum(1 for _ in described.records("aggregated")) == len(table(made, "aggregated.csv"))
    hashes = {file["name"]: file["sha256"] for file in made.files}
    listed = json.loads(read(made, "croissant.json"))["distribution"]
    assert {each["@id"]: each["sha256"] for each in listed}.items() <= hashes.items()


def same(found: Any, stored: Any) -> bool:
    """Whether a record says what a file of JSON lines does."""
    if isinstance(found, pd.Timestamp):
        return pd.isna(found) if stored is None else found == pd.Timestamp(stored)
    if isinstance(found, bytes):
        found = found.decode()
    if found is None or (isinstance(found, float) and math.isnan(found)) or found is pd.NaT:
        return stored is None
    return bool(found == stored) or (isinstance(stored, dict) and json.loads(found) == stored)


def test_without_texts_or_terms_the_card_is_smaller(project: Project, manager: Membership, tmp_path: Path) -> None:
    canonical(project)
    made = freeze(project, manager, with_texts=False)
    header = read_header(read(made, "README.md").decode())
    assert header["license"] == "unknown"
    assert "language" not in header
    assert [each["config_name"] for each in header["configs"]] == [
        "judgments",
        "aggregated",
        "annotators",
        "candidates",
    ]
    assert header["configs"][0] == {"config_name": "judgments", "default": True, "data_files": "judgments.parquet"}
    assert "license" not in json.loads(read(made, "croissant.json"))


@pytest.mark.parametrize(
    ("n", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (99_999, "10K<n<100K"),
        (10**6, "1M<n<10M"),
        (10**8, "100M<n<1B"),
    ],
)
def test_sizes_are_those_of_the_hub(n: int, size: str) -> None:
    assert name_size(n) == size
