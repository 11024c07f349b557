"""Where a run of the tests has its files."""

from pathlib import Path

from tests.processes import make_folder, remove_leftovers


def test_folders_of_checkouts_that_are_gone_are_deleted_and_others_stay(tmp_path: Path) -> None:
    for name, checkout in (("here", tmp_path), ("gone", tmp_path / "gone-since")):
        (make_folder(tmp_path / name) / "checkout").write_text(str(checkout))
    make_folder(tmp_path / "new")
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"here", "new"}
