"""An upgrade from an earlier version and the way back, by the commands of the guide, with both versions of the code."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from config import env
from tests import archives, database, processes
from tests.annotate.imports.import_steps import write_mocha

EARLIER = "bb669d6c"
"""The commit that brought `backup` and `restore`; the newest migrations since are `projects` 0017 to 0019."""

N_JUDGMENTS = 300


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The files of the earlier version."""
    packed = tmp_path / "earlier.tar"
    command = ["git", "archive", "--output", str(packed), EARLIER]
    if subprocess.run(command, cwd=env.BASE_DIR, check=False, capture_output=True).returncode:
        pytest.skip("This checkout lacks the history of the project (git fetch --unshallow).")
    archives.unpack(packed, tmp_path / "earlier")
    return tmp_path / "earlier"


@pytest.mark.drill
@pytest.mark.race
def test_an_upgrade_keeps_everything_and_its_backup_leads_back(
    earlier: Path, tmp_path: Path, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> None:
    data, candidates = tmp_path / "data", tmp_path / "mocha.json"
    data.mkdir()
    candidates.write_bytes(write_mocha(N_JUDGMENTS))
    with django_db_blocker.unblock(), database.empty("upgraded") as link:
        link.close()  # a restore wants no other session
        variables = {**processes.environment(), "DATA_DIR": str(data), "ENV_FILE": ""}

        def run(code: Path, *command: str) -> str:
            done = subprocess.run(
                [sys.executable, "manage.py", *command],
                cwd=code,
                env=variables,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
            return done.stdout

        def read_judgments(code: Path) -> str:
            file = tmp_path / "long.csv"
            run(code, "export_judgments", "--project", "bridges", "--format", "long", "--output", str(file))
            content = file.read_bytes()
            assert content.count(b"\n") > N_JUDGMENTS
            return hashlib.sha256(content).hexdigest()

        run(earlier, "migrate")
        run(earlier, "create_account", "olga", "--creates-projects")
        run(earlier, "create_project", "bridges", "--owner", "olga", "--preset", "mocha")
        run(earlier, "import_candidates", str(candidates), "--project", "bridges", "--with-scores")
        before, migrations = read_judgments(earlier), run(earlier, "showmigrations", "--plan")
        run(earlier, "backup", str(tmp_path / "site.tar"))

        run(env.BASE_DIR, "migrate")
        run(env.BASE_DIR, "verify")
        assert run(env.BASE_DIR, "showmigrations", "--plan") != migrations
        assert read_judgments(env.BASE_DIR) == before

        run(earlier, "restore", str(tmp_path / "site.tar"), "--replace")
        run(earlier, "verify")
        assert run(earlier, "showmigrations", "--plan") == migrations
        assert read_judgments(earlier) == before
