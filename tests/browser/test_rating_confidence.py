"""What the page says of saving, what a point means, the rubric over the page, and what is missing at a submit."""

import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from annotate.models import Assignment, Batch, Draft, Judgment, Remark
from annotate.onboarding import instructions
from projects.models import Instructions, Membership, User
from tests.annotate.open_batches import open_batch
from tests.browser.accessibility_tree import read_node
from tests.browser.axe import faults
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import go_offline, intercept, start, wait_for_keys, wait_for_the_rest
from tests.browser.test_rating_keys import scales
from tests.browser.test_rating_look import several_scales
from tests.processes import PATIENCE

OFFLINE = "Offline: {} kept on this device"


def expect_save_status(page: Page) -> Any:
    return expect(page.locator("[data-saving]"))


def opened(page: Page, annotator: Membership) -> Page:
    start(page, annotator.project)
    wait_for_keys(page)
    return page


@pytest.fixture
def page(signed_in: SignedIn, annotator: Membership) -> Page:
    open_batch(annotator.project, n_hits=2, n_items=4)
    return opened(signed_in(annotator.user), annotator)


def test_the_time_of_the_last_save_is_shown_and_not_read_out(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user)
    page.clock.install(time=timezone.now())
    opened(page, annotator)
    page.clock.pause_at(timezone.now() + timedelta(minutes=2))
    page.keyboard.press("5")
    expect_save_status(page).to_have_text("Saved just now")
    for milliseconds, words in ((2_100, "2 s ago"), (5_000, "7 s ago"), (20_000, "20 s ago"), (60_000, "1 min ago")):
        page.clock.run_for(milliseconds)
        expect_save_status(page).to_have_text(f"Saved {words}")
    page.clock.fast_forward(7_200_000)
    expect_save_status(page).to_have_text("Saved 2 h ago")
    assert page.locator("[data-announcement]").text_content() == ""
    assert page.locator("[data-saving]").evaluate("(line) => line.closest('[aria-live], [role=status]')") is None
    page.keyboard.press("4")
    expect_save_status(page).to_have_text("Saved just now")


def test_offline_says_how_many_answers_are_only_here(page: Page) -> None:
    go_offline(page)
    expect_save_status(page).to_have_text("Offline ")
    page.keyboard.press("5")
    expect_save_status(page).to_contain_text(OFFLINE.format("1 rating"))
    for digit in "432":
        page.keyboard.press(digit)
    expect_save_status(page).to_contain_text(OFFLINE.format("4 ratings"))
    page.keyboard.press("z")  # what is taken back is one answer less on the page, and still a change to be sent
    expect_save_status(page).to_contain_text(OFFLINE.format("4 ratings"))
    page.keyboard.press("f")
    expect_save_status(page).to_contain_text(OFFLINE.format("5 changes"))
    assert page.locator("[data-announcement]").text_content() != ""
    page.context.set_offline(False)
    expect_save_status(page).to_have_text("Saved just now")
    expect(page.locator("[data-announcement]")).to_have_text("All changes saved")
    assert {place: entry["correctness"][0] for place, entry in Draft.objects.get().answers["answers"].items()} == {
        "0": 5,
        "1": 4,
        "2": 3,
        "3": None,
    }


def test_answers_that_come_while_one_is_being_saved_go_together(page: Page) -> None:
    sent: list[str] = []
    held: list[Route] = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/draft/") else None)

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    intercept(page, "**/draft/", hold)
    for digit in "5432":
        page.keyboard.press(digit)
    until = time.monotonic() + PATIENCE
    while not held and time.monotonic() < until:
        page.wait_for_timeout(20)  # only meanwhile does Playwright say what was requested
    assert len(sent) == 1
    held[0].continue_()
    expect_save_status(page).to_have_text("Saved just now")
    assert len(sent) == 2
    assert len(Draft.objects.get().answers["answers"]) == 4


def test_what_is_pressed_before_the_script_has_come_is_saved_too(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile(r"/js/rate\.[0-9a-f]*\.?js"), hold)
    page.goto(f"/p/{annotator.project.slug}/desk/")
    page.get_by_role("button", name="Start rating").click(no_wait_after=True)
    page.locator("input[name='a1-correctness'][value='4']").click()
    until = time.monotonic() + PATIENCE
    while not held and time.monotonic() < until:
        page.wait_for_timeout(20)  # only meanwhile does Playwright say what was requested
    assert not Draft.objects.exists()
    held[0].continue_()
    expect_save_status(page).to_have_text("Saved just now")
    assert Draft.objects.get().answers["answers"]["1"]["correctness"][0] == 4


# --- what a point means


def test_a_point_says_what_it_means_where_it_is_and_moves_nothing(page: Page) -> None:
    hint = page.locator(".meaning")
    tall = "document.documentElement.scrollHeight"
    before = page.evaluate(tall)
    point = page.locator("#item0 .point").nth(4)
    wait_for_the_rest(page)
    point.hover()
    expect(hint).to_have_text("5 says what the reference says; extra words are fine")
    assert hint.evaluate("(e) => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight")
    assert page.evaluate(tall) == before
    hint.hover()
    page.wait_for_timeout(400)
    expect(hint).to_be_visible()
    page.keyboard.press("Escape")
    expect(hint).to_be_hidden()
    page.locator("#item1").focus()
    page.keyboard.press("Tab")
    expect(hint).to_contain_text("1 ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(hint).to_contain_text("2 ")
    described = page.locator("#item1 input:checked")
    meaning = re.sub(r"^2\s+", "", hint.inner_text()).strip()
    assert meaning
    assert read_node(described)["description"] == meaning
    page.keyboard.press("Tab")
    expect(hint).to_be_hidden()


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_what_a_point_means_leaves_the_buttons_beside_it_free(
    signed_in: SignedIn, annotator: Membership, language: str
) -> None:
    open_batch(annotator.project, n_hits=1)
    page = opened(signed_in(annotator.user, viewport={"width": 1024, "height": 700}), annotator)
    User.objects.update(language=language)
    page.reload()
    wait_for_the_rest(page)
    comment = page.locator("#item0 [data-extra=comment]")
    comment.locator("summary").click()
    page.keyboard.type("Hm.")
    comment.locator("summary").click()
    expect(comment).not_to_have_attribute("open", "")
    assert comment.locator("summary").evaluate("(each) => getComputedStyle(each, '::after').width") == "8px"
    page.locator("#item0 .point").nth(3).hover()
    hint = page.locator(".meaning").bounding_box()
    assert hint is not None
    for extra in page.locator("#item0 .extra").all():
        box = extra.bounding_box()
        assert box is not None
        is_beside = box["x"] + box["width"] <= hint["x"] or box["x"] >= hint["x"] + hint["width"]
        assert is_beside or box["y"] + box["height"] <= hint["y"] + 4


def test_a_finger_that_stays_reads_and_does_not_rate(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = opened(signed_in(annotator.user, viewport=PHONE, has_touch=True), annotator)
    wait_for_the_rest(page)
    point = page.locator("#item0 .point").nth(1)
    assert hold_down(page, point) == 1
    expect(page.locator(".meaning")).to_contain_text("2 only a little of the right answer is there")
    expect(page.locator("[data-count]")).to_have_text("0")
    page.wait_for_timeout(200)
    point.tap()
    expect(page.locator("[data-count]")).to_have_text("1")
    expect(page.locator(".meaning")).to_be_hidden()


def hold_down(page: Page, point: Any) -> int:
    """Put a finger down for a second; how many lines say what a point means before it is lifted."""
    box = point.bounding_box()
    touch = {"x": box["x"] + 10, "y": box["y"] + 10}
    session = page.context.new_cdp_session(page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
    page.wait_for_timeout(1_000)
    n_hints = page.locator(".meaning").count()
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    return n_hints


# --- the rubric over the page


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_rubric_and_the_instructions_are_one_key_away_also_offline(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    text = Instructions.objects.create(project=annotator.project, version=2, text="Read the *whole* passage.")
    instructions.confirm(annotator=annotator, instructions=text)
    open_batch(annotator.project, n_hits=1, instructions=text)
    page = signed_in(annotator.user, viewport=viewport)
    with page.expect_response(re.compile(r"/instructions/\?hit="), timeout=60_000):
        opened(page, annotator)
    dialog = page.get_by_role("dialog", name="Instructions")
    page.wait_for_timeout(500)
    go_offline(page)
    page.keyboard.press("r")
    expect(dialog).to_contain_text("Same meaning")
    expect(dialog).to_contain_text("Read the whole passage.")
    page.keyboard.press("5")
    expect(page.locator("[data-count]")).to_have_text("0")
    assert faults(page) == []
    page.keyboard.press("r")
    expect(dialog).to_be_hidden()
    page.keyboard.press("5")
    expect(page.locator("[data-count]")).to_have_text("1")


def test_a_browser_that_is_never_idle_brings_the_rubric_too(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user)
    page.add_init_script(
        "window.requestIdleCallback = (act, options) => options?.timeout && setTimeout(act, options.timeout)"
    )
    opened(page, annotator)
    wait_for_the_rest(page)


# --- what is missing


def test_each_criterion_that_is_missing_is_listed_and_led_to(signed_in: SignedIn, annotator: Membership) -> None:
    several_scales(annotator.project)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("7")
    page.keyboard.type("101")
    page.keyboard.press("Control+Enter")
    missing = page.locator("[data-missing]")
    expect(missing).to_be_focused()
    assert missing.get_by_role("link").all_inner_texts() == ["Answer 1", "Overall", "Answer 2"]
    expect(missing).to_contain_text("Use a number from 0 to 100.")
    expect(page.locator("#item0 .errorlist")).to_have_text("Some criteria aren't rated yet.")
    expect(page.locator("#item1 .errorlist")).to_have_text("Not rated yet.")
    assert faults(page) == []
    missing.get_by_role("link", name="Overall").click()
    expect(page.get_by_role("group", name="Overall, answer 1")).to_be_focused()
    page.keyboard.press("Backspace")
    page.keyboard.type("10.5")
    page.keyboard.press("Enter")
    assert missing.get_by_role("link").all_inner_texts() == ["Answer 2"]
    page.locator("#item1 [data-extra=cannot] summary").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#item1 .errorlist")).to_have_text("Write why it can't be judged, or rate it.")
    assert not Assignment.objects.submitted().exists()


def test_without_javascript_the_list_comes_from_the_server(signed_in: SignedIn, annotator: Membership) -> None:
    several_scales(annotator.project)
    page = signed_in(annotator.user, java_script_enabled=False)
    start(page, annotator.project)
    page.locator("input[name='a0-fluency'][value='7']").check(force=True)
    page.locator("[name=a0-overall]").fill("101")
    page.get_by_role("button", name="Submit ratings").click()
    missing = page.get_by_role("alert")
    assert missing.get_by_role("link").all_inner_texts() == ["Answer 1", "Overall", "Answer 2"]
    expect(missing).to_contain_text("101 is outside the scale")
    missing.get_by_role("link", name="Overall").click()
    assert page.url.endswith("#a0-overall")
    expect(page.locator("[id='a0-overall']")).to_be_in_viewport()


# --- sliders, and what cannot be judged


def test_an_untouched_slider_shows_no_thumb(signed_in: SignedIn, annotator: Membership) -> None:
    several_scales(annotator.project)
    page = opened(signed_in(annotator.user), annotator)
    slider = page.get_by_role("slider").first

    def drawn_at(value: int) -> bytes:
        slider.evaluate("(range, value) => { range.value = value; }", value)
        return slider.screenshot()

    assert drawn_at(10) == drawn_at(90), "the thumb is seen"
    slider.press("ArrowRight")
    expect(page.locator("[name=a0-overall]")).to_have_value("91")
    assert drawn_at(10) != drawn_at(90)
    slider.press("Backspace")
    expect(page.locator("[name=a0-overall]")).to_have_value("")
    expect(slider).to_have_attribute("aria-valuetext", "no rating yet")
    page.locator("[name=a0-overall]").focus()
    slider.focus()
    assert slider.evaluate("(range) => range.classList.contains('is-unset')")


def test_one_at_a_time_the_last_act_is_taken_back_and_nothing_missing_goes_on(
    signed_in: SignedIn, annotator: Membership
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3, presentation=Batch.Presentation.ONE)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-missing]")).to_contain_text("One answer still needs a rating.")
    expect(page.locator("[data-missing]").get_by_role("link")).to_have_text("Answer 1")
    page.keyboard.press("4")
    page.keyboard.press("z")
    expect(page.locator("[data-count]")).to_have_text("0")
    for digit in "54":
        page.keyboard.press(digit)
        with page.expect_navigation():
            page.keyboard.press("Control+Enter")
        wait_for_keys(page)
        expect(page.get_by_role("button", name="Undo")).to_be_hidden()
    page.keyboard.press("x")
    page.keyboard.type("The passage doesn't say")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert sorted(Judgment.objects.values_list("value", flat=True), key=str) == [4, 5, None]
    assert Remark.objects.get().cannot_judge_reason == "The passage doesn't say"


def test_what_cannot_be_judged_fills_every_criterion(signed_in: SignedIn, annotator: Membership) -> None:
    scales(annotator.project, (1, 5), (1, 5))
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("3")
    page.keyboard.press("x")
    page.keyboard.type("No sense")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Criterion 0, answer 2")).to_be_focused()
    for digit in "12":
        page.keyboard.press(digit)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert sorted(Judgment.objects.values_list("value", flat=True), key=str) == [1, 2, None, None]
