"""A HIT of one's own in the browser: read again, changed, kept through a crash and a dead network."""

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Draft, JudgmentRevision
from annotate.work import submitting
from projects.models import Membership
from tests.annotate.open_batches import answered, open_batch
from tests.browser.axe import serious_faults
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import go_offline, wait_for_keys
from tests.browser.test_rating_tabs import list_values, second_tab
from tests.processes import wait_until
from tests.sized_projects import claim

SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])


@pytest.fixture
def done(annotator: Membership) -> Assignment:
    annotator.project.revision_minutes = 30
    annotator.project.save()
    open_batch(annotator.project, n_hits=1, cents_per_hit=50)
    found = claim(annotator)
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=answered(comments={0: "At first sight."}))
    return Assignment.objects.get(uuid=found)


def open_revision(page: Page, done: Assignment) -> Page:
    page.goto(f"/p/{done.annotator.project.slug}/history/{done.uuid}/revision/")
    wait_for_keys(page)
    return page


def rate(page: Page, place: int, digit: str) -> None:
    page.locator(f"#item{place}").focus()
    page.keyboard.press(digit)


@SIZES
def test_from_the_history_to_a_change_and_back(signed_in: SignedIn, done: Assignment, size: dict[str, int]) -> None:
    page = signed_in(done.annotator.user, viewport=size)
    page.goto(f"/p/{done.annotator.project.slug}/history/")
    page.locator("table a").first.click()
    expect(page.locator(".own-answer").first).to_contain_text("4")
    assert serious_faults(page) == []
    page.get_by_role("link", name="Edit it").click()
    wait_for_keys(page)
    assert serious_faults(page) == []
    rate(page, 1, "2")
    expect(page.locator("[data-saved]")).to_have_text("Not applied until you save")
    assert list_values(done) == [4, 4, 4], "nothing is stored before it is sent"
    page.locator(".rate-end [data-submit]").click()
    expect(page.get_by_text("Changes saved.")).to_be_visible()
    expect(page.locator(".own-answer").nth(1)).to_contain_text("2")
    assert list_values(done) == [4, 2, 4]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_unsent_changes_survive_a_crash_and_a_dead_network(signed_in: SignedIn, done: Assignment) -> None:
    page = open_revision(signed_in(done.annotator.user), done)
    rate(page, 0, "1")
    expect(page.locator("[data-saving]")).to_have_attribute("data-state", "saved")
    go_offline(page)
    rate(page, 1, "2")
    expect(page.locator("[data-saving]")).to_have_attribute("data-state", "kept")
    again = page.context.new_page()
    page.close()
    page.context.set_offline(False)
    open_revision(again, done)
    expect(again.locator("#item0 input[value='1']")).to_be_checked()
    expect(again.locator("#item1 input[value='2']")).to_be_checked()
    wait_until(lambda: "1" in Draft.objects.get().answers["answers"])
    again.keyboard.press("Control+Enter")
    expect(again.get_by_text("Changes saved.")).to_be_visible()
    assert list_values(done) == [1, 2, 4]
    assert again.evaluate("Object.keys(localStorage).filter(key => key.includes('work')).length") == 0


def test_of_two_tabs_the_second_is_shown_both_and_its_unsent_change_goes_nowhere(
    signed_in: SignedIn, done: Assignment
) -> None:
    page = open_revision(signed_in(done.annotator.user), done)
    other = second_tab(page)
    rate(page, 0, "1")
    expect(page.locator("[data-saving]")).to_have_attribute("data-state", "saved")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Changes saved.")).to_be_visible()
    rate(other, 0, "2")
    expect(other.locator("[data-saved]")).to_have_text(
        "You edited this HIT in another tab. Reload this page to see what you saved there."
    )
    other.keyboard.press("Control+Enter")
    expect(other.get_by_text("One of 3 differs.")).to_be_visible()
    assert list_values(done) == [1, 4, 4]
    assert not Draft.objects.exists()
    assert JudgmentRevision.objects.count() == 2
    other.get_by_role("link", name="Edit saved ratings").click()
    wait_for_keys(other)
    expect(other.locator("#item0 input[value='1']")).to_be_checked()


def test_a_change_works_without_javascript(signed_in: SignedIn, done: Assignment) -> None:
    page = signed_in(done.annotator.user, java_script_enabled=False)
    page.goto(f"/p/{done.annotator.project.slug}/history/{done.uuid}/revision/")
    page.locator("#item2 input[value='5']").check(force=True)
    page.locator(".rate-end [data-submit]").click()
    expect(page.get_by_text("Changes saved.")).to_be_visible()
    assert list_values(done) == [4, 4, 5]
