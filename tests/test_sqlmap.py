"""sqlmap attacks every parameter of every address of the API that reads, and those of the lists of pages."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from drf_spectacular.generators import SchemaGenerator

from config.management.commands.serve import web_command
from projects.models import Membership, Project
from tests import processes
from tests.factories import make_batch, make_corpus
from tests.people import SignIn

SQLMAP = "sqlmap==1.10.10 --hash=sha256:32c4b516735c1c1a3183effd0d50a9217c9f22fc9e8b17ca4c4f6a5f2028bd93"
QUIET = ("--batch", "--disable-coloring", "--flush-session", "--ignore-code=*", "--threads=4")
ATTACK = ("--dbms=PostgreSQL", "--level=1", "--risk=1", "--technique=BEUS")
"""By what is true and false, by errors, by UNION and by a second statement; not by time: machines are busy."""
PAGES = {"data/": ("q", "sort", "page"), "batches/": ("q", "sort"), "log/": ("q", "act", "page")}


@pytest.fixture
def sqlmap(tmp_path: Path) -> Path:
    named = tmp_path / "sqlmap.txt"
    named.write_text(SQLMAP, encoding="ascii")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    command = [*pip, "--require-hashes", "--target", str(tmp_path / "sqlmap"), "-r", str(named)]
    if subprocess.run(command, check=False).returncode:
        pytest.skip("sqlmap can't be installed here.")
    return tmp_path / "sqlmap" / "sqlmap" / "sqlmap.py"


@pytest.mark.drill
@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_sqlmap_finds_no_parameter_that_reaches_sql(
    project: Project, owner: Membership, annotator: Membership, client_of: SignIn, sqlmap: Path, tmp_path: Path
) -> None:
    make_corpus(project, n_candidates=3)
    make_batch(project)
    port = processes.free_port()
    _python, _m, *command = web_command(f"127.0.0.1:{port}", workers=1)
    targets = tmp_path / "targets.txt"
    paths = [*list_api(project, annotator), *list_pages(project)]
    targets.write_text("".join(f"http://127.0.0.1:{port}{path}\n" for path in paths), encoding="ascii")
    client = client_of(owner)
    assert {client.get(path).status_code for path in list_pages(project)} == {200}
    assert {client.get(path).status_code for path in list_api(project, annotator)} <= {200, 400, 404, 409}
    with processes.process(*command, "--log-level", "critical", API_REQUESTS_PER_MINUTE="1000000") as server:
        processes.wait_for_port(port, server)
        login = ("--drop-set-cookie", "--cookie", f"session={client.cookies['session'].value}")
        done = subprocess.run(
            [sys.executable, str(sqlmap), "-m", str(targets), *QUIET, *ATTACK, *login, "--output-dir", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
        )
    tested = re.findall(r"(?:GET parameter|testing if GET parameter) '(\w+)'", done.stdout)
    print(f"{len(paths)} addresses, {len(set(tested))} names of parameters")
    assert len(set(tested)) >= 20, done.stdout[-3_000:]
    assert [
        line for line in done.stdout.splitlines() if re.search(r"is vulnerable|identified the following", line)
    ] == []
    assert "500 (Internal Server Error)" not in done.stdout


def list_api(project: Project, annotator: Membership) -> Iterator[str]:
    """An address for each parameter of a query, with a value that it takes."""
    values = {"slug": project.slug, "number": "1", "pseudonym": annotator.pseudonym}
    generator: Any = SchemaGenerator
    for path, methods in generator().get_schema(request=None, public=True)["paths"].items():
        for parameter in methods.get("get", {}).get("parameters", []):
            if parameter["in"] == "query":
                schema = parameter["schema"]
                value = schema.get("enum", [None])[0] or {"integer": "1", "boolean": "true"}.get(schema["type"], "a")
                yield f"{path.format_map(values)}?{urlencode({parameter['name']: value}, quote_via=quote)}"


def list_pages(project: Project) -> Iterator[str]:
    for page, names in PAGES.items():
        for name in names:
            yield f"{project.get_absolute_url()}{page}?{name}=1"
