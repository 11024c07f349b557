"""Makes the pictures of the docs anew, from a demo project with a fixed seed: `make screenshots`.

With a folder in SCREENSHOTS, pictures of every page of the demo go there as well: wide and on a phone, light and dark.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Avg
from playwright.sync_api import Page

from annotate.models import Judgment
from config import env
from projects.models import Project, User
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import start, wait_for_keys

SEED = 7
MOST_BYTES = 250_000
DOCS = env.BASE_DIR / "docs" / "img"
SIZES = {"wide": WIDE, "phone": PHONE}
LOOKS = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]

IN_THE_DOCS = {
    "overview": "",
    "data": "data/",
    "import": "data/imports/1/",
    "batch": "batches/2/",
    "agreement": "agreement/",
    "export": "export/",
    "people": "people/",
}
OF_MANAGERS = {
    **IN_THE_DOCS,
    "candidates": "data/candidates/",
    "questions": "data/questions/",
    "passages": "data/passages/",
    "split": "data/split/",
    "imports": "data/imports/",
    "import-new": "data/imports/new/",
    "batches": "batches/",
    "batch-new": "batches/new/",
    "batch-wanted": "batches/2/judgments/",
    "hit": "batches/1/hits/1/",
    "preview": "batches/1/hits/1/preview/",
    "remarks": "remarks/",
    "invitations": "people/invitations/",
    "invitation-new": "people/invitations/new/",
    "log": "log/",
    "settings": "settings/",
    "rubric": "rubric/",
}
OF_ANNOTATORS = {"desk": "desk/", "instructions": "instructions/", "history": "history/"}


@pytest.fixture
def demo(live_site: object) -> Project:
    call_command("demo", seed=SEED)
    return Project.objects.get()


def test_pictures_of_the_docs(signed_in: SignedIn, demo: Project) -> None:
    page = signed_in(user("demo-manager"), **look("wide", "light"))
    for name, path in IN_THE_DOCS.items():
        take(page, demo, path, DOCS / f"{name}.png")
    rate(signed_in(user("demo-annotator-1"), **look("wide", "light")), demo, "rating-page")
    rate(signed_in(user("demo-annotator-1"), **look("wide", "dark")), demo, "rating-page-dark")
    rate(signed_in(user("demo-annotator-2"), **look("phone", "light")), demo, "rating-page-phone")
    heavy = [path.name for path in DOCS.glob("*.png") if path.stat().st_size > MOST_BYTES]
    assert heavy == []


@pytest.mark.skipif("SCREENSHOTS" not in os.environ, reason="SCREENSHOTS names no folder.")
@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_pictures_of_every_page(signed_in: SignedIn, demo: Project, size: str, scheme: str) -> None:
    folder = Path(os.environ["SCREENSHOTS"])
    for username, pages in (("demo-owner", OF_MANAGERS), ("demo-annotator-1", OF_ANNOTATORS)):
        page = signed_in(user(username), **look(size, scheme))
        for name, path in pages.items():
            take(page, demo, path, folder / f"{name}-{size}-{scheme}.png", full_page=True)


def rate(page: Page, project: Project, name: str) -> None:
    """The rating page with two answers given; a second visit goes on with the first one's HIT."""
    page.goto(f"{project.get_absolute_url()}desk/")
    if page.get_by_role("link", name="Go on rating").count():
        page.get_by_role("link", name="Go on rating").click()
    else:
        start(page, project)
        wait_for_keys(page)
        for _ in range(2):
            page.keyboard.press(fair_value(page.locator(".item.is-current .candidate").inner_text()))
        page.get_by_text("Saved", exact=True).wait_for()
    wait_for_keys(page)
    page.wait_for_timeout(500)  # the page glides to the current item
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.screenshot(path=DOCS / f"{name}.png")


def fair_value(candidate: str) -> str:
    """What the others gave, so that the picture shows no nonsense."""
    given = Judgment.objects.filter(candidate__text=candidate).aggregate(mean=Avg("value"))["mean"]
    return str(round(given or 3))


def take(page: Page, project: Project, path: str, to: Path, *, full_page: bool = False) -> None:
    answer = page.goto(f"{project.get_absolute_url()}{path}", wait_until="networkidle")
    assert answer is not None
    assert answer.ok, path
    to.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=to, full_page=full_page)


def look(size: str, scheme: str) -> dict[str, Any]:
    return {"viewport": SIZES[size], "color_scheme": scheme}


def user(username: str) -> User:
    return User.objects.get(username=username)
