"""Pictures of every page of the demo project, wide and on a phone: `make screenshots`.

All of them go to the folder that SCREENSHOTS names (default: var/screenshots); the main ones, wide and light,
to docs/img as well.
"""

import os
from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page

from config import env
from projects.models import Project, User
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import start

OF_MANAGERS = {
    "overview": "",
    "data": "data/",
    "candidates": "data/candidates/",
    "questions": "data/questions/",
    "passages": "data/passages/",
    "splits": "data/split/",
    "imports": "data/imports/",
    "import-new": "data/imports/new/",
    "batches": "batches/",
    "batch": "batches/1/",
    "batch-new": "batches/new/",
    "hit": "batches/1/hits/1/",
    "remarks": "remarks/",
    "agreement": "agreement/",
    "export": "export/",
    "people": "people/",
    "invitations": "people/invitations/",
    "log": "log/",
    "settings": "settings/",
    "settings-edit": "settings/edit/",
    "rubric": "rubric/",
    "instructions-edit": "instructions/edit/",
}
OF_ANNOTATORS = {"desk": "desk/", "instructions": "instructions/", "history": "history/"}
IN_THE_DOCS = {"overview", "data", "batch", "agreement", "desk", "rating"}

FOLDER = Path(os.environ.get("SCREENSHOTS", "var/screenshots"))
LOOKS = [(size, scheme) for size in ("wide", "phone") for scheme in ("light", "dark")]


@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_pictures(signed_in: SignedIn, size: str, scheme: str) -> None:
    call_command("demo")
    project = Project.objects.get()
    look = {"viewport": PHONE if size == "phone" else WIDE, "color_scheme": scheme}
    missing = []
    page = signed_in(None, **look)
    page.goto("/sign-in/")
    _keep(page, "sign-in", size, scheme)
    for username, pages in (("demo-owner", OF_MANAGERS), ("demo-annotator-1", OF_ANNOTATORS)):
        page = signed_in(User.objects.get(username=username), **look)
        for name, path in pages.items():
            answer = page.goto(f"{project.get_absolute_url()}{path}")
            if answer is None or not answer.ok:
                missing.append(name)
            _keep(page, name, size, scheme)
    start(page, project)
    _keep(page, "rating", size, scheme)
    assert missing == []


def _keep(page: Page, name: str, size: str, scheme: str) -> None:
    page.wait_for_load_state("networkidle")
    folder = env.BASE_DIR / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=name != "rating")
    if name in IN_THE_DOCS and (size, scheme) == ("wide", "light"):
        docs = env.BASE_DIR / "docs" / "img"
        docs.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=docs / f"{name}.png")
