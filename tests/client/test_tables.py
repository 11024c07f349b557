"""The client's copy of a set's tables: downloaded once, checked by hash, gone on with after a break, and queried."""

import io
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
import requests

from concord_client import ConcordError, ConnectionFailed, RetiredSet
from concord_client import Project as RemoteProject
from concord_client.connection import CHUNK, Connection, read_sha256
from concord_client.frames import read_csv
from concord_client.tables import SetTables, list_tables
from projects.database import csv
from projects.models import Membership, Project
from results.sets import retiring
from tests.client.test_managing import remote
from tests.results.judged_batches import canonical
from tests.results.sets.frozen_sets import freeze

__all__ = ["remote"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The files that were asked for, and from which byte on."""
    seen: list[tuple[str, int]] = []
    send = Connection._send

    def note(self: Connection, method: str, path: str, *args: Any, **options: Any) -> requests.Response:
        if "/files/" in path:
            seen.append((path.rpartition("/")[2], options.get("start", 0)))
        return send(self, method, path, *args, **options)

    monkeypatch.setattr(Connection, "_send", note)
    return seen


def test_a_csv_file_gives_the_texts_as_they_were_and_truths_as_such() -> None:
    texts = ["=1+1", "'=1+1", "''=1", "@x", "＝1", "\t=1", "-5", "- 5", "'quoted'", "'", "", "NA", "plain"]
    lines = [csv.format_row(["dataset", "candidate", "score", "enters"])]
    lines += [csv.format_row(["=d", csv.guard_text(text), 1.5, "no" if text else "yes"]) for text in texts]
    frame = read_csv("".join(lines))
    assert frame["candidate"].fillna("").tolist() == texts
    assert frame["score"].tolist() == [1.5] * len(texts)
    assert frame["enters"].tolist() == [not text for text in texts]
    assert frame[frame["enters"]].shape[0] == 1


@pytest.mark.django_db
def test_tables_are_downloaded_once_and_read_from_disk(
    project: Project, manager: Membership, remote: RemoteProject, tmp_path: Path, asked: list[tuple[str, int]]
) -> None:
    canonical(project)
    made = freeze(project, manager)
    tables = remote.download_tables(made.number, tmp_path / "set")
    assert {"judgments", "aggregated", "candidates"} <= set(tables.paths)
    assert [start for _name, start in asked] == [0] * len(tables.paths)
    n_judgments = len(remote.read_set(made.number, "long.csv"))
    assert tables.open_arrow().count_rows() == n_judgments
    assert "criterion" in tables.open_arrow("judgments").schema.names
    with pytest.raises(ConcordError, match=r"no table “other”\. Choose one of: .*judgments"):
        tables.path("other")

    asked.clear()
    remote.download_tables(made.number, tmp_path / "set")
    assert asked == [], "nothing is downloaded twice"

    # A damaged file is downloaded again, and one that broke off goes on where it was.
    whole = tables.path().read_bytes()
    tables.path().write_bytes(b"x" * len(whole))
    aggregated = tables.path("aggregated")
    part = aggregated.with_name("aggregated.parquet.part")
    part.write_bytes(aggregated.read_bytes()[:100])
    aggregated.unlink()
    again = remote.download_tables(made.number, tmp_path / "set")
    assert sorted(asked) == [("aggregated.parquet", 100), ("judgments.parquet", 0)]
    assert again.path().read_bytes() == whole
    assert again.open_arrow("aggregated").count_rows()
    assert not part.exists()

    # What was there before it broke off was something else: it is not taken for the set.
    aggregated.unlink()
    part.write_bytes(b"x" * 100)
    with pytest.raises(ConcordError, match=r"aggregated.parquet arrived damaged or changed"):
        remote.download_tables(made.number, tmp_path / "set")
    assert remote.download_tables(made.number, tmp_path / "set").open_arrow("aggregated").count_rows()


@pytest.mark.django_db
def test_a_retired_set_is_read_with_a_warning(
    project: Project, manager: Membership, remote: RemoteProject, tmp_path: Path
) -> None:
    canonical(project)
    made, other = freeze(project, manager), freeze(project, manager)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RetiredSet)
        remote.read_set(made.number)
    retiring.retire(judgment_set=made, actor=manager, why="Wrong licence.", replacement=other)
    says = r"Judgment set 1 was retired on \d{4}-\d\d-\d\d: Wrong licence\. Set 2 replaces it\."
    with pytest.warns(RetiredSet, match=says):
        assert len(remote.read_set(made.number))
    with pytest.warns(RetiredSet):
        remote.download_set(made.number, tmp_path / "set.zip")
    with pytest.warns(RetiredSet):
        remote.download_tables(made.number, tmp_path / "set")
    assert "Wrong licence." in (tmp_path / "set" / "RETIRED.md").read_text(encoding="utf-8")


def test_a_download_goes_on_after_its_connection_breaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    content, starts = bytes(range(10)), []

    class Broken:
        """A response that ends after three bytes with an error."""

        def __init__(self, start: int, status: int) -> None:
            self.start, self.status_code = start, status

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def iter_content(self, _size: int) -> Any:
            yield content[self.start : self.start + 3]
            raise requests.exceptions.ChunkedEncodingError("broken off")

    connection = Connection("http://127.0.0.1", "concord_token")

    def send(*_: object, start: int, **__: object) -> Broken:
        starts.append(start)
        return Broken(start, 206 if start else 200)

    monkeypatch.setattr(connection, "_send", send)
    connection.download_rest("file", tmp_path / "file", len(content))
    assert (tmp_path / "file").read_bytes() == content
    assert starts == [0, 3, 6, 9]
    with pytest.raises(ConnectionFailed):
        connection.download_rest("file", tmp_path / "file", 1_000)


def test_answers_that_are_too_short_are_not_asked_for_without_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    connection, answer = Connection("http://127.0.0.1", "concord_token"), requests.Response()
    answer.status_code = 200

    def send(*_: object, **__: object) -> requests.Response:
        answer.raw, answer._content_consumed = io.BytesIO(b"short"), False
        return answer

    monkeypatch.setattr(connection, "_send", send)
    with pytest.raises(ConcordError, match=r"Only 5 of 1,000 bytes have come"):
        connection.download_rest("file", tmp_path / "file", 1_000)
    assert waits == [1, 2, 4, 8]


@pytest.mark.django_db
def test_every_file_of_a_set_is_compared_with_what_was_frozen(
    project: Project, manager: Membership, remote: RemoteProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canonical(project)
    made = freeze(project, manager)
    archive = remote.download_set(made.number, tmp_path / "set.zip")
    assert read_sha256(archive) == made.sha256

    # As what a proxy keeps of an earlier set would.
    iter_content = requests.Response.iter_content
    monkeypatch.setattr(
        requests.Response,
        "iter_content",
        lambda self, size: (chunk[: -1 if size == CHUNK else None] for chunk in iter_content(self, size)),
    )
    with pytest.raises(ConcordError, match=r"set.zip arrived damaged or changed"):
        remote.download_set(made.number, archive)
    assert read_sha256(archive) == made.sha256, "what was there stays"
    with pytest.raises(ConcordError, match=r"long.csv arrived damaged or changed"):
        remote.read_set(made.number, "long.csv")
    with pytest.raises(ValueError, match=r"README.md is no table\. It is in the archive"):
        remote.read_set(made.number, "README.md")


def test_a_name_that_leads_out_of_the_folder_is_refused() -> None:
    listed = {"number": 1, "sha256": "0", "files": [{"name": "../a.parquet"}]}
    with pytest.raises(ConcordError, match="no plain name"):
        list_tables(listed)
    with pytest.raises(ConcordError, match="no Parquet files"):
        list_tables({**listed, "files": [{"name": "long.csv"}]})
    with pytest.raises(ConcordError, match="not frozen"):
        list_tables({**listed, "sha256": ""})


def test_the_libraries_get_the_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither is installed here: what is called of them is in their documentation."""
    views: list[tuple[str, str]] = []

    def read(path: str) -> SimpleNamespace:
        return SimpleNamespace(create_view=lambda name: views.append((name, path)))

    opened = SimpleNamespace(read_parquet=read)
    monkeypatch.setitem(sys.modules, "duckdb", SimpleNamespace(connect=lambda: opened))
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(scan_parquet=lambda path: ("lazy", path)))
    tables = SetTables(tmp_path, {"judgments": tmp_path / "judgments.parquet"})
    assert tables.open_duckdb() is opened
    assert views == [("judgments", str(tmp_path / "judgments.parquet"))]
    assert tables.scan_polars() == ("lazy", tmp_path / "judgments.parquet")
