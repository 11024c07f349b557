"""A participant of a panel, on a phone, from the link to the code; and the survey that they answer."""

import re

import pytest
from playwright.sync_api import Page, expect

from annotate.panels import panel_links
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.panels.samples import make_panel, session_id, session_of
from tests.annotate.surveys.samples import FREE, make_survey
from tests.browser import axe
from tests.browser.conftest import PHONE, SignedIn
from tests.browser.rating import wait_for_keys
from tests.factories import make_consent

pytestmark = pytest.mark.django_db(transaction=True)
PARTICIPANT = "5f8a0123456789abcdef0123"


def look(page: Page) -> None:
    """Nothing is too wide, axe finds nothing, and no address tells who it is."""
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], page.url
    assert axe.faults(page) == [], page.url
    assert PARTICIPANT not in page.url
    assert session_id(PARTICIPANT) not in page.url


def test_from_the_link_to_the_code(signed_in: SignedIn, project: Project, manager: Membership) -> None:
    text = make_consent(project)
    panel = make_panel(manager, return_url="")
    open_batch(project, n_hits=1, consent=text)
    make_survey(manager)
    make_survey(manager, FREE, moment="after")
    page = signed_in(None, viewport=PHONE)
    page.goto(panel_links.make_path(panel) + f"?participant={PARTICIPANT}&session={session_id(PARTICIPANT)}")
    look(page)
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_label("How old are you?")).to_be_visible()
    look(page)
    page.get_by_label("How old are you?").fill("34")
    page.get_by_label("What is your first language?").select_option("de")
    page.locator("main button.button--primary").click()
    page.get_by_role("button", name="Start rating").click()
    wait_for_keys(page)
    for button in page.locator("input[type=radio][value='4']").all():
        button.check(force=True)
    page.locator("form#rating .rate-end [data-submit]").click()
    expect(page.get_by_label("Anything else?")).to_be_visible()
    look(page)
    page.get_by_label("Anything else?").fill("No.")
    page.locator("main button.button--primary").click()
    expect(page.get_by_text("CODE-completed")).to_be_visible()
    look(page)
    page.reload()
    expect(page.get_by_text("CODE-completed")).to_be_visible()
    assert session_of(panel, PARTICIPANT).state == "finished"


def test_a_question_shows_what_its_kind_has(signed_in: SignedIn, project: Project, owner: Membership) -> None:
    page = signed_in(owner.user)
    page.goto(f"/p/{project.slug}/surveys/before/edit/")
    question = page.locator(".survey-question").first
    answers, lowest, label = (
        question.get_by_label(re.compile(f"^{name}"))
        for name in ("Answers", "Lowest value", "Label of the lowest value")
    )
    for kind, shown in {
        "choice": (True, False, False),
        "number": (False, True, False),
        "scale": (False, True, True),
        "text": (False, False, False),
    }.items():
        question.get_by_label("Kind").select_option(kind)
        assert (answers.is_visible(), lowest.is_visible(), label.is_visible()) == shown, kind
