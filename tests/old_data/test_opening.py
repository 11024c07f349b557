"""A data folder of an earlier version opens: nothing is lost, nothing changes its bytes, every address answers."""

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from pytest_django import DjangoDbBlocker

from results.models import JudgmentSet
from tests.old_data.completeness import NEVER_FILLED, OURS
from tests.old_data.dumps import Dump, last_migrations
from tests.old_data.walking import client_of, status_in_the_end

# One process opens a dump once for all its tests.
pytestmark = pytest.mark.xdist_group("old_data")

OF_ONE_SET = {"README.md", "SHA256SUMS", "changes.json", "datasheet.md", "manifest.json", "set.json"}
"""Files of a set that name it, its number or the time: the same judgments frozen again give others."""
SINCE = {
    *("CITATION.cff", "citation.bib", "croissant.json"),
    *(f"{name}.parquet" for name in ("aggregated", "annotators", "candidates", "metric_scores", "passages")),
}
"""Files that sets hold now and did not at first."""
AGAIN = {"stage": "all", "gold": "z", "comments": True, "blind": True}
FROZEN_AGAIN = {"6a79f4b": {2: {}, 3: {**AGAIN, "study": [14]}}, "cdda9e6": {2: {}, 3: {**AGAIN, "study": [13]}}}
"""Of each dump the sets that can be frozen again, as `freeze` is asked for them."""
COMPUTED = re.compile(r"figures\.json|study-\d+\.(md|tex)")
"""Files of statistics: their intervals and tests have become better since, and their tables have other columns."""


def open_dump(dump: Dump, folder: Path, blocker: DjangoDbBlocker) -> ExitStack:
    with ExitStack() as stack:
        stack.enter_context(blocker.unblock())
        stack.enter_context(dump.restored(folder))
        return stack.pop_all()


OLDEST, *LATER = Dump.all()
IN_SOAK = [OLDEST, *(pytest.param(dump, marks=pytest.mark.drill) for dump in LATER)]
"""What takes long is tried with the oldest dump, whose way is the longest; with all of them in `make soak`."""


@pytest.fixture(scope="module", params=Dump.all(), ids=str)
def opened(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Dump]:
    """A dump that is brought up to date."""
    dump: Dump = request.param
    with open_dump(dump, tmp_path_factory.mktemp("old"), django_db_blocker):
        call_command("migrate", verbosity=0, interactive=False)
        yield dump


@pytest.fixture(scope="module")
def clients(opened: Dump) -> Callable[[str], Client]:
    found: dict[str, Client] = {}

    def client(who: str) -> Client:
        if who not in found:
            found[who] = client_of(who, opened.facts["token"])
        return found[who]

    return client


def test_verify_holds(opened: Dump, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("verify")
    n_rules = capsys.readouterr().out.split()[0]
    assert int(n_rules) >= 44


def test_frozen_sets_have_the_same_bytes(opened: Dump, clients: Callable[[str], Client], tmp_path: Path) -> None:
    known = opened.facts["sets"]
    assert len(known) >= 3
    frozen = JudgmentSet.objects.frozen().filter(number__in=known).select_related("project")
    assert {str(made.number): made.sha256 for made in frozen} == known
    for made in frozen:
        call_command("judgment_set", str(made.number), project=made.project.slug, verify=True)
        if made.retired_at is None:  # what is retired is given with a note
            response: Any = clients("owner").get(f"{made.get_absolute_url()}archive/")
            assert hashlib.sha256(b"".join(response)).hexdigest() == made.sha256
            folder = tmp_path / str(made.number)
            call_command("publish", str(made.number), project=made.project.slug, to_folder=str(folder))
            assert {each["name"] for each in made.files} <= {path.name for path in folder.iterdir()}
            assert (folder / "croissant.json").exists()


@pytest.mark.parametrize("opened", IN_SOAK, indirect=True, ids=str)
@pytest.mark.parametrize("number", [2, 3])
def test_the_same_judgments_give_the_same_files(opened: Dump, number: int, clients: Callable[[str], Client]) -> None:
    asked = FROZEN_AGAIN[str(opened)][number]
    call_command("freeze", project="bay", name="Again", bootstrap=100, **asked)
    old, new = (_read(made, clients("owner")) for made in (JudgmentSet.objects.get(number=number), _newest()))
    assert new.keys() - old.keys() - OF_ONE_SET <= SINCE
    assert old.keys() - new.keys() - OF_ONE_SET == set()
    changed = {name for name in old.keys() - OF_ONE_SET if _content(name, old[name]) != _content(name, new[name])}
    assert {name for name in changed if not COMPUTED.fullmatch(name)} == set()


def _newest() -> JudgmentSet:
    return JudgmentSet.objects.frozen().latest("number")


def _read(made: JudgmentSet, client: Client) -> dict[str, bytes]:
    response: Any = client.get(f"{made.get_absolute_url()}archive/")
    with zipfile.ZipFile(io.BytesIO(b"".join(response))) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _content(name: str, content: bytes) -> Any:
    """What a file says; of one whose bytes also name the program that wrote it, its table."""
    if name == "metrics.json":
        # Signatures of metrics came later.
        columns = json.loads(content)["columns"]
        return [{key: value for key, value in each.items() if key != "signature"} for each in columns]
    if name == "codebook.csv":
        # The words of meanings became better; columns, types, units and values are those of every version.
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
        return [{key: value for key, value in row.items() if key != "meaning"} for row in rows]
    if name.startswith("study-") and name.endswith(".json"):
        # Warnings that pages show, and files have since.
        study = json.loads(content)
        return {**study, "result": {key: value for key, value in study["result"].items() if key != "warnings"}}
    return pq.read_table(io.BytesIO(content)).to_pydict() if name.endswith(".parquet") else content


@pytest.mark.parametrize("opened", IN_SOAK, indirect=True, ids=str)
@pytest.mark.parametrize("who", sorted({each.who for dump in Dump.all() for each in dump.addresses}))
def test_every_address_answers(opened: Dump, who: str, clients: Callable[[str], Client]) -> None:
    paths = [address.path for address in opened.addresses if address.who == who]
    statuses = {path: status_in_the_end(clients(who), path) for path in paths}
    assert {path: status for path, status in statuses.items() if status != 200} == {}


def test_people_sign_in_with_their_old_passwords(opened: Dump) -> None:
    client = Client()
    response = client.post("/sign-in/", {"username": "anna", "password": opened.facts["password"]}, follow=True)
    assert response.status_code == 200
    assert response.wsgi_request.user.get_username() == "anna"


@pytest.mark.parametrize("dump", IN_SOAK, ids=str)
def test_migrations_run_back_and_forth(
    dump: Dump, django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> None:
    with open_dump(dump, tmp_path, django_db_blocker):
        before, rows = last_migrations(), read_tables()
        assert {table for table, (_, digest) in rows.items() if digest is None} <= NEVER_FILLED
        call_command("migrate", verbosity=0, interactive=False)
        for app in OURS:
            call_command("migrate", app, before[app], verbosity=0, interactive=False)
        after = read_tables()
        assert {table: after.get(table) for table in rows if table.startswith(OURS)} == {
            table: found for table, found in rows.items() if table.startswith(OURS)
        }
        call_command("migrate", verbosity=0, interactive=False)
        call_command("verify")


def read_tables() -> dict[str, tuple[list[str], str | None]]:
    """The columns of every table, and a digest of its rows; None where it has none."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            columns = sorted(column.name for column in connection.introspection.get_table_description(cursor, table))
            # A column that was removed and added again comes last, so each row is read by the names of its columns.
            cursor.execute(
                f"SELECT md5(string_agg(jsonb_strip_nulls(to_jsonb(t))::text, '|'"
                f" ORDER BY jsonb_strip_nulls(to_jsonb(t))::text)) FROM {connection.ops.quote_name(table)} t"
            )
            found[table] = (columns, cursor.fetchone()[0])
    return found
