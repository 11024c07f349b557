from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Page, expect

from annotate.attempts import attempts
from annotate.models import Attempt, QualificationItem
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.qualification.factories import make_test, take
from tests.browser import looks
from tests.browser.axe import serious_faults
from tests.browser.conftest import SignedIn
from tests.browser.rating import wait_for_keys
from tests.factories import make_membership, make_user

START = "/p/bridges/qualification/"
MANAGERS = [
    "test/",
    "test/settings/",
    "test/items/new/",
    "test/items/file/",
    "test/items/candidates/",
    "test/attempts/",
]


def listen(page: Page, refused: list[str]) -> None:
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)


def rate_all(page: Page, key: str) -> None:
    """Every text by keyboard: the same key for each item, then on to the next text or to the end."""
    for _ in range(2):
        wait_for_keys(page)
        for _ in range(page.locator(".item").count()):
            page.keyboard.press(key)
        address = page.url
        page.keyboard.press("Control+Enter")
        expect(page).not_to_have_url(address)


def test_who_fails_first_passes_at_the_second_attempt_by_keyboard(
    project: Project, annotator: Membership, signed_in: SignedIn
) -> None:
    open_batch(project)
    make_test(project, n_items=5, feedback="full")
    page = signed_in(annotator.user)
    page.goto("/desk/")
    expect(page.get_by_role("button", name="Start rating")).to_have_count(0)
    page.get_by_role("link", name="Take the test").click()
    page.get_by_role("button", name="Start the test").click()
    expect(page.get_by_text("Text 1 of 2")).to_be_visible()
    rate_all(page, "2")
    expect(page.get_by_role("heading", name="You didn't pass this time")).to_be_visible()
    expect(page.get_by_text("0 of 5 correct. The pass mark is 4.")).to_be_visible()
    assert page.locator(".explained-item.is-wrong").count() == 5
    page.get_by_role("link", name="Back to the test").click()
    page.get_by_role("button", name="Start the test").click()
    rate_all(page, "4")
    expect(page.get_by_role("heading", name="You passed")).to_be_visible()
    page.get_by_role("link", name="Back to your desk").click()
    page.get_by_role("button", name="Start rating").click()
    expect(page.locator("#rate")).to_be_visible()
    assert list(Attempt.objects.order_by("n").values_list("state", "n_right")) == [("failed", 0), ("passed", 5)]


def test_a_reload_and_a_second_tab_lose_nothing(project: Project, annotator: Membership, signed_in: SignedIn) -> None:
    make_test(project, n_items=4)
    page = signed_in(annotator.user)
    page.goto(START)
    page.get_by_role("button", name="Start the test").click()
    wait_for_keys(page)
    page.keyboard.press("3")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    other = page.context.new_page()
    other.goto(START)
    other.get_by_role("link", name="Continue the test").click()
    wait_for_keys(other)
    expect(other.locator("[data-count]")).to_have_text("1")
    other.keyboard.press("3")
    expect(other.get_by_text("Saved", exact=True)).to_be_visible()
    page.reload()
    wait_for_keys(page)
    expect(page.locator("[data-count]")).to_have_text("2")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Text 2 of 2")).to_be_visible()
    page.get_by_role("link", name="Previous text").click()
    wait_for_keys(page)
    expect(page.locator("[data-count]")).to_have_text("2")
    assert Attempt.objects.count() == 1


def test_when_time_is_up_a_test_is_submitted_as_it_is(
    project: Project, annotator: Membership, signed_in: SignedIn
) -> None:
    make_test(project, n_items=4, time_limit_minutes=10)
    attempt = attempts.begin(annotator=annotator)
    Attempt.objects.update(due_at=timezone.now() - timedelta(seconds=5))
    page = signed_in(annotator.user)
    page.goto(f"{START}attempts/{attempt.uuid}/?page=1")
    wait_for_keys(page)
    expect(page.locator("[data-due-text]")).to_have_text("Time is up. Submit what you have.")
    page.keyboard.press("4")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Text 2 of 2")).to_be_visible()
    wait_for_keys(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/result/")
    attempt.refresh_from_db()
    assert (attempt.state, attempt.n_right) == ("failed", 1)


def test_the_preview_follows_what_is_typed(project: Project, manager: Membership, signed_in: SignedIn) -> None:
    make_test(project, is_open=False)
    page = signed_in(manager.user)
    refused: list[str] = []
    listen(page, refused)
    page.goto(f"{START}test/items/new/")
    page.get_by_role("textbox", name="Question").fill("Why so late?")
    expect(page.locator(".preview h2", has_text="Why so late?")).to_be_visible()
    page.get_by_label("Answer to rate").fill("It rained.")
    expect(page.locator(".preview .candidate", has_text="It rained.")).to_be_visible()
    page.get_by_label("Correct rating").fill("4")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Item added.")).to_be_visible()
    assert QualificationItem.objects.filter(question="Why so late?").exists()
    assert refused == []


def test_the_pages_are_accessible_and_fit(
    project: Project,
    manager: Membership,
    annotator: Membership,
    signed_in: SignedIn,
) -> None:
    test = make_test(project, n_practice=2, feedback="full", time_limit_minutes=30)
    failed = take(annotator, n_right=2)
    take(make_membership(project, make_user()), n_right=4)
    open_one = attempts.begin(annotator=annotator)
    item = test.items.earliest("pk")
    theirs = [
        *MANAGERS,
        f"test/items/{item.pk}/",
        f"test/people/{annotator.pseudonym}/",
        f"test/attempts/{failed.uuid}/",
    ]
    mine = ["", f"attempts/{open_one.uuid}/", f"attempts/{failed.uuid}/result/"]
    refused: list[str] = []
    for who, paths in ((manager, theirs), (annotator, mine)):
        page = signed_in(who.user)
        listen(page, refused)
        for number, path in enumerate(paths):
            for width in looks.visit(page, f"{START}{path}", is_phone_first=number % 2 == 1):
                assert serious_faults(page) == [], f"{path} at {width} pixels"
                assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert refused == []
