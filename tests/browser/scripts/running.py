"""Tests of ES modules that need no page: run by node, or by the browser where there is no node."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import playwright
from django.conf import settings
from playwright.sync_api import Browser, Route

HERE = Path(__file__).parent
FILES = sorted(path.stem for path in HERE.glob("test_*.js"))
NAME = re.compile(r'^test\("([^"]+)"', re.MULTILINE)
SITE = "http://modules.test"
"""No such host is asked: what a page asks of it is read from the folder."""
TYPES = {".js": "text/javascript", ".html": "text/html"}

Results = dict[str, str]
"""What each test of a file threw, by its name; nothing where it passed."""


def names_in(file: str) -> list[str]:
    return NAME.findall((HERE / f"{file}.js").read_text(encoding="utf-8"))


def lay_out(folder: Path) -> None:
    """Copy the scripts and their tests in the same layout, as modules to every node."""
    shutil.copytree(settings.BASE_DIR / "static" / "js", folder / "static" / "js")
    shutil.copytree(HERE, write_home(folder), ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    (folder / "package.json").write_text('{"type": "module"}', encoding="ascii")
    (folder / "index.html").write_text('<!doctype html><html lang="en"><title>Modules</title>', encoding="ascii")


def write_home(folder: Path) -> Path:
    return folder / HERE.relative_to(settings.BASE_DIR)


def find_node() -> str | None:
    """Return the machine's node, or else the one that Playwright brings."""
    brought = Path(playwright.__file__).with_name("driver") / "node"
    return shutil.which("node") or (str(brought) if brought.exists() else None)


def run_in_node(node: str, folder: Path, file: str) -> Results:
    done = subprocess.run(
        [node, "run.js", f"./{file}.js"],
        cwd=write_home(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found: Results = json.loads(done.stdout)
    return found


def run_in_browser(browser: Browser, folder: Path, file: str) -> Results:
    def answer(route: Route) -> None:
        path = folder / (route.request.url.removeprefix(f"{SITE}/") or "index.html")
        if path.is_file():
            route.fulfill(body=path.read_text(encoding="utf-8"), content_type=TYPES[path.suffix])
        else:
            route.fulfill(status=404)

    with browser.new_context() as context:
        context.route("**/*", answer)
        page = context.new_page()
        page.goto(f"{SITE}/index.html")
        path = HERE.relative_to(settings.BASE_DIR).as_posix()
        run = "async ([path, file]) => (await import(`/${path}/checking.js`)).run(`./${file}.js`)"
        found: Any = page.evaluate(run, [path, file])
    return dict(found)
