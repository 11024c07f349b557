"""`manage.py publish` of a set that an earlier version has frozen."""

from pathlib import Path

import pytest

from projects.models import Membership, Project
from results.models import JudgmentSet
from results.sets import freezing, parquet, readme
from tests.results.judged_batches import answer, canonical
from tests.results.sets.frozen_sets import freeze, list_names, read
from tests.results.sets.test_publishing import ASKED, refuse


@pytest.fixture
def older(project: Project, manager: Membership, monkeypatch: pytest.MonkeyPatch) -> JudgmentSet:
    """A set that was frozen by a version without cards."""
    canonical(project)
    with monkeypatch.context() as earlier:
        earlier.setattr(readme, "write_cards", lambda *_: "")
        earlier.setattr(parquet, "write_tables", lambda *_: None)
        return freeze(project, manager)


def test_an_older_set_gets_its_cards_in_the_folder_alone(older: JudgmentSet, tmp_path: Path, no_hub: None) -> None:
    from datasets import load_dataset
    from mlcroissant import Dataset

    made = older
    assert not {"croissant.json", "CITATION.cff", "aggregated.parquet"} & set(list_names(made))
    before = freezing.find_path(made).read_bytes()
    folder = tmp_path / "out"
    asked = (*ASKED, "--to-folder", str(folder))
    assert "can't be read as an author" in refuse(*asked, "--author", "Anna")
    output = answer(*asked, "--author", "Berg, Anna", "--licence", "CC-BY-4.0", "--language", "en")
    tables = [f"{name}.parquet" for name in ("aggregated", "annotators", "candidates", "passages")]
    added = sorted(["CITATION.cff", "citation.bib", "croissant.json", *tables])
    assert output["added"] == ["README.md", *added]
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\npretty_name: ")
    assert "license: cc-by-4.0" in text
    assert "This set was frozen without cards." in text
    assert text.endswith(read(made, "README.md").decode())
    assert "family-names: Berg" in (folder / "CITATION.cff").read_text()
    for name in set(list_names(made)) - {"README.md"}:
        assert (folder / name).read_bytes() == read(made, name), name
    assert freezing.find_path(made).read_bytes() == before
    loaded = load_dataset(str(folder), "aggregated", split="train", cache_dir=str(tmp_path / "cache"))
    assert len(list(loaded)) == len(list(Dataset(jsonld=folder / "croissant.json").records("aggregated")))
    answer(*asked)  # again, over its own folder, and without names
    assert "family-names" not in (folder / "CITATION.cff").read_text()
