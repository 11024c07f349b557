"""One HIT in two tabs, and two HITs in two tabs: the first submit stays, and no answer crosses over."""

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Draft, Judgment
from annotate.moderation import members
from annotate.moderation.members import Exclusion
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.browser.axe import serious_faults
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import intercept, start, wait_for_keys
from tests.factories import make_membership, make_project

SAVED = "Saved"


def rate_all(page: Page, digits: str) -> None:
    """One digit an item, from the first."""
    wait_for_keys(page)
    for place, digit in enumerate(digits):
        page.locator(f"#item{place}").focus()
        page.keyboard.press(digit)
    expect(page.locator("[data-count]")).to_have_text(str(len(digits)))


def list_values(assignment: Assignment) -> list[float | None]:
    by_item = dict(Judgment.objects.filter(assignment=assignment).values_list("item_id", "value"))
    return [by_item.get(item) for item in assignment.layout]


def second_tab(page: Page) -> Page:
    other = page.context.new_page()
    other.goto(page.url)
    wait_for_keys(other)
    return other


def submit(page: Page) -> None:
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)


def test_a_second_submit_of_the_same_answers_is_already_saved(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=2)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    rate_all(page, "543")
    expect(page.locator("[data-saved]")).to_have_text(SAVED)
    other = second_tab(page)
    expect(other.locator("[data-count]")).to_have_text("3")
    submit(page)
    submit(other)
    expect(other.get_by_text("Those ratings were already saved.")).to_be_visible()
    assert other.url == page.url
    assert list_values(Assignment.objects.submitted().get()) == [5, 4, 3]


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_second_submit_of_other_answers_shows_both(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    open_batch(annotator.project, n_hits=2)
    page = signed_in(annotator.user, viewport=viewport)
    start(page, annotator.project)
    wait_for_keys(page)
    other = signed_in(annotator.user, viewport=viewport)  # another device: it hears nothing of the first
    other.goto(page.url)
    wait_for_keys(other)
    rate_all(page, "543")
    submit(page)
    rate_all(other, "542")
    expect(other.locator("[data-saved]")).to_have_text("You already submitted this HIT.")
    other.keyboard.press("c")
    other.keyboard.insert_text("A second thought " + "of some length " * 20 + "y" * 200)
    with other.expect_response(lambda response: response.request.method == "POST") as answer:
        other.keyboard.press("Control+Enter")
    assert answer.value.status == 409
    expect(other.get_by_role("heading", name="You already submitted this HIT")).to_be_visible()
    changed = other.locator(".differs")
    assert changed.all_inner_texts()[0].split() == ["Correctness", "3", "2"]
    assert "A second thought" in changed.nth(1).inner_text()
    assert other.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert other.evaluate("localStorage.length") == 0
    assert serious_faults(other) == []
    assert list_values(Assignment.objects.submitted().get()) == [5, 4, 3]


def test_two_projects_in_two_tabs_keep_apart(signed_in: SignedIn, annotator: Membership) -> None:
    """Each key goes to the HIT whose tab it was pressed in, on this device and on the server."""
    elsewhere = make_membership(make_project("rivers"), annotator.user)
    one = signed_in(annotator.user)
    other = one.context.new_page()
    for page, membership in ((one, annotator), (other, elsewhere)):
        open_batch(membership.project, n_hits=1)
        start(page, membership.project)
        wait_for_keys(page)
    for page, digit in ((one, "5"), (other, "1"), (other, "2"), (one, "4"), (one, "3"), (other, "3")):
        page.keyboard.press(digit)
    for page in (one, other):
        expect(page.locator("[data-saved]")).to_have_text(SAVED)
    drafted = {
        draft.assignment.annotator_id: [
            answers["correctness"][0] for _, answers in sorted(draft.answers["answers"].items())
        ]
        for draft in Draft.objects.select_related("assignment")
    }
    assert drafted == {annotator.pk: [5, 4, 3], elsewhere.pk: [1, 2, 3]}
    submit(other)
    assert one.evaluate("localStorage.length") == 1
    submit(one)
    assert list_values(Assignment.objects.get(annotator=annotator)) == [5, 4, 3]
    assert list_values(Assignment.objects.get(annotator=elsewhere)) == [1, 2, 3]


def test_an_open_page_tells_somebody_who_was_removed_at_their_next_answer(
    signed_in: SignedIn, annotator: Membership, manager: Membership
) -> None:
    """It is kept all the same, and so it still is when the page comes back into view."""
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("4")
    bar = expect(page.locator("[data-saved]"))
    bar.to_have_text("Saved")
    members.remove(target=annotator, actor=manager, why="Poor.", exclusion=Exclusion())
    page.keyboard.press("2")
    bar.to_contain_text("Your membership in this project has ended. Your work is kept.")
    expect(page.locator("[data-announcement]")).to_contain_text("has ended")
    assert len(Draft.objects.get().answers["answers"]) == 2
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.keyboard.press("3")
    bar.to_contain_text("has ended")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Your ratings weren't submitted")).to_be_visible()
    page.get_by_role("link", name="Back to your desk").click()
    expect(page.get_by_role("heading", name="Past projects")).to_be_visible()


def test_two_tabs_follow_each_other_before_anything_is_saved(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    other = second_tab(page)
    for tab in (page, other):
        intercept(tab, "**/draft/", lambda route: route.abort())
    page.locator("#item0").focus()
    page.keyboard.press("5")
    expect(other.locator("#item0 input[value='5']")).to_be_checked()
    other.locator("#item1").focus()
    other.keyboard.press("2")
    expect(page.locator("#item1 input[value='2']")).to_be_checked()
    expect(page.locator("[data-count]")).to_have_text("2")


def test_a_tab_says_that_another_has_submitted(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=2)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    rate_all(page, "543")
    expect(page.locator("[data-saved]")).to_have_text(SAVED)
    other = second_tab(page)
    submit(page)
    expect(other.locator("[data-saved]")).to_have_text("Submitted in another tab.")
