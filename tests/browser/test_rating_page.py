"""The rating page as annotators use it: by keyboard, offline, after a crash, twice, without JavaScript."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import Page, Request, Route, ViewportSize, expect

from annotate.models import Assignment, Draft, Judgment, Remark
from projects.models import Membership
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import ZOOMED, SignedIn
from tests.browser.rating import go_offline, intercept, start, wait_for_keys, wait_for_the_rest
from tests.people import start_session
from tests.processes import wait_until

SAVED = "Saved"
NOT_SAVED = re.compile(r"kept on this device$")
KEPT = "Object.keys(localStorage).filter((key) => key.startsWith('concord:work:')).length"


def saved(page: Page) -> Any:
    return expect(page.locator("[data-saved]"))


def counted(page: Page) -> Any:
    return expect(page.locator("[data-count]"))


def choose(page: Page, place: int, value: int) -> None:
    page.locator(f"input[name='a{place}-correctness'][value='{value}']").check(force=True)


def stored_values() -> list[float | None]:
    """By place in the layout."""
    assignment = Assignment.objects.submitted().get()
    by_item = dict(Judgment.objects.filter(assignment=assignment).values_list("item_id", "value"))
    return [by_item[item] for item in assignment.layout]


def drafted() -> dict[str, Any]:
    return {place: entry["correctness"][0] for place, entry in Draft.objects.get().answers["answers"].items()}


@pytest.fixture
def page(signed_in: SignedIn, annotator: Membership) -> Page:
    """The first of two HITs, open on the rating page."""
    open_batch(annotator.project, n_hits=2, n_items=3)
    opened = signed_in(annotator.user)
    start(opened, annotator.project)
    wait_for_keys(opened)
    return opened


def test_a_hit_is_rated_and_sent_by_keyboard_alone(page: Page) -> None:
    first = page.url
    page.keyboard.press("5")
    page.keyboard.press("4")
    page.keyboard.press("k")
    page.keyboard.press("2")
    page.keyboard.press("1")
    counted(page).to_have_text("3")
    saved(page).to_have_text(SAVED)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 2, 1]
    counted(page).to_have_text("0")


def test_a_rating_is_sent_at_once_and_those_that_follow_fast_together(page: Page) -> None:
    sent: list[Any] = []

    def keep(request: Request) -> None:
        if "/draft/" in request.url:
            sent.append(request.post_data_json)

    page.on("request", keep)
    page.clock.install(time=timezone.now())
    page.clock.pause_at(timezone.now() + timedelta(minutes=1))
    page.keyboard.press("5")
    saved(page).to_have_text(SAVED)
    page.keyboard.press("4")
    page.keyboard.press("2")
    counted(page).to_have_text("3")
    page.clock.run_for(1_000)
    saved(page).to_have_text(SAVED)
    assert drafted() == {"0": 5, "1": 4, "2": 2}
    assert [list(body["answers"]) for body in sent] == [["0"], ["1", "2"]]


def test_arrows_move_and_do_not_change_a_rating(page: Page) -> None:
    page.keyboard.press("3")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".item.is-current")).to_have_attribute("data-place", "2")
    counted(page).to_have_text("1")
    expect(page.locator("input[name='a0-correctness'][value='3']")).to_be_checked()


def test_letters_comment_flag_and_refuse_to_judge(page: Page) -> None:
    page.keyboard.press("5")
    page.keyboard.press("c")
    page.keyboard.type("jk 12 fx?")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    page.keyboard.press("4")
    page.keyboard.press("x")
    page.keyboard.type("Not readable")
    page.keyboard.press("Enter")
    counted(page).to_have_text("3")
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, None]
    layout = Assignment.objects.submitted().get().layout
    remarks = {layout.index(remark.item_id): remark for remark in Remark.objects.all()}
    assert (remarks[1].comment, remarks[1].is_flagged) == ("jk 12 fx?", True)
    assert remarks[2].cannot_judge_reason == "Not readable"


def test_the_keys_are_shown_and_closed_again(page: Page) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("5")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    counted(page).to_have_text("0")


def test_a_submit_with_gaps_lists_them_and_each_line_leads_there(page: Page) -> None:
    page.keyboard.press("4")
    page.get_by_role("button", name="Submit ratings").click()
    missing = page.locator("[data-missing]")
    expect(missing).to_be_focused()
    expect(missing).to_contain_text("2 answers still need a rating.")
    expect(page.locator("[data-announcement]")).to_have_text("2 answers still need a rating.")
    assert missing.get_by_role("link").all_inner_texts() == ["Answer 2", "Answer 3"]
    missing.get_by_role("link", name="Answer 3").click()
    expect(page.locator("#item2")).to_be_focused()
    page.keyboard.press("3")
    expect(page.locator("#item1")).to_be_focused()
    assert missing.get_by_role("link").all_inner_texts() == ["Answer 2"]
    page.keyboard.press("Control+Enter")
    page.keyboard.press("j")
    expect(page.locator("#item1")).to_be_focused()
    page.keyboard.press("2")
    expect(missing).to_be_hidden()
    assert not Assignment.objects.submitted().exists()
    page.keyboard.press("Control+Enter")
    counted(page).to_have_text("0")
    assert stored_values() == [4, 2, 3]


def test_saved_is_shown_only_after_the_server_confirmed(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    intercept(page, "**/draft/", hold)
    page.keyboard.press("5")
    saved(page).to_have_text("Saving…")
    page.wait_for_timeout(800)
    saved(page).to_have_text("Saving…")
    assert not Draft.objects.exists()
    held[0].continue_()
    saved(page).to_have_text(SAVED)
    assert drafted() == {"0": 5}


def test_answers_given_offline_are_kept_and_sent_when_the_network_is_back(page: Page) -> None:
    page.keyboard.press("5")
    saved(page).to_have_text(SAVED)
    go_offline(page)
    page.keyboard.press("4")
    page.keyboard.press("3")
    saved(page).to_have_text(NOT_SAVED)
    counted(page).to_have_text("3")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-announcement]")).to_have_text("Will be submitted when you're back online.")
    first = page.url
    page.context.set_offline(False)
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, 3]


REFUSE_DRAFTS = """() => {
  const real = window.fetch;
  window.isInTrouble = true;
  window.fetch = async (url, options) => {
    const isRefused = window.isInTrouble && String(url).endsWith("/draft/");
    return isRefused ? new Response("later", { status: 503 }) : real(url, options);
  };
}"""


def test_a_server_in_trouble_is_tried_again(page: Page) -> None:
    page.evaluate(REFUSE_DRAFTS)
    page.keyboard.press("5")
    saved(page).to_have_text(NOT_SAVED)
    page.evaluate("() => { window.isInTrouble = false; }")
    saved(page).to_have_text(SAVED)
    assert drafted() == {"0": 5}


def test_a_crash_while_offline_loses_nothing(page: Page, annotator: Membership) -> None:
    address = page.url
    go_offline(page)
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.type("half a sent")
    saved(page).to_have_text(NOT_SAVED)
    again = page.context.new_page()
    page.close(run_before_unload=False)
    again.context.set_offline(False)
    again.goto(address)
    wait_for_keys(again)
    counted(again).to_have_text("1")
    expect(again.locator("[name=comment1]")).to_have_value("half a sent")
    saved(again).to_have_text(SAVED)
    assert drafted() == {"0": 2}


def test_a_reload_shows_the_draft_of_the_server(page: Page) -> None:
    page.keyboard.press("4")
    saved(page).to_have_text(SAVED)
    page.evaluate("localStorage.clear()")
    page.reload()
    wait_for_keys(page)
    counted(page).to_have_text("1")
    expect(page.locator("input[name='a0-correctness'][value='4']")).to_be_checked()


def test_a_second_tab_shows_what_the_first_has_rated(page: Page) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    wait_for_keys(other)
    page.keyboard.press("4")
    saved(page).to_have_text(SAVED)
    other.keyboard.press("j")
    other.keyboard.press("2")
    saved(other).to_have_text(SAVED)
    counted(other).to_have_text("2")
    assert drafted() == {"0": 4, "1": 2}


def test_two_clicks_send_once(page: Page) -> None:
    for digit in "543":
        page.keyboard.press(digit)
    saved(page).to_have_text(SAVED)
    first = page.url
    page.locator(".rate-end [data-submit]").dblclick(no_wait_after=True)
    page.wait_for_url(lambda url: url != first)
    assert Judgment.objects.count() == 3
    expect(page.get_by_role("heading", name="Rate 3 answers")).to_be_visible()


def test_nothing_stays_on_the_device_after_submitting(page: Page) -> None:
    page.keyboard.press("5")
    assert page.evaluate(KEPT) == 1
    for digit in "54":
        page.keyboard.press(digit)
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert page.evaluate(KEPT) == 0


def test_signing_out_sends_the_answers_first_and_wipes_them(page: Page) -> None:
    # Until the menu is open: on a slow machine the next attempt would have succeeded before the mark was read.
    trouble = ["the network is down"]
    intercept(page, "**/draft/", lambda route: route.abort() if trouble else route.continue_())
    page.keyboard.press("5")
    saved(page).to_have_text(NOT_SAVED)
    page.locator(".menu > summary").click()
    trouble.clear()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    assert page.evaluate(KEPT) == 0
    assert drafted() == {"0": 5}


def test_an_answer_that_is_saved_while_somebody_signs_out_leaves_nothing_on_the_device(page: Page) -> None:
    held: list[Route] = []
    intercept(page, "**/draft/", lambda route: route.continue_() if held else held.append(route))
    # Signing out takes a while.
    page.evaluate("() => { HTMLFormElement.prototype.submit = () => (window.isSigningOut = true); }")
    page.keyboard.press("5")
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_function("() => window.isSigningOut")
    assert page.evaluate(KEPT) == 0
    with page.expect_response("**/draft/"):
        held[0].continue_()
    saved(page).to_have_text(SAVED)
    assert page.evaluate(KEPT) == 0
    assert drafted() == {"0": 5}


def test_signing_out_asks_when_the_answers_cannot_be_sent(page: Page) -> None:
    intercept(page, "**/draft/", lambda route: route.abort())
    page.keyboard.press("5")
    saved(page).to_have_text(NOT_SAVED)
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Sign out").dblclick()
    page.get_by_role("button", name="Stay signed in").press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_focused()
    assert page.evaluate(KEPT) == 1
    assert "/work/" in page.url


def test_what_another_person_left_on_the_device_is_wiped(
    page: Page, annotator: Membership, other_annotator: Membership
) -> None:
    intercept(page, "**/draft/", lambda route: route.abort())
    page.keyboard.press("5")
    saved(page).to_have_text(NOT_SAVED)
    assert page.evaluate(KEPT) == 1
    assert other_annotator.user is not None
    sign_in(page, start_session(other_annotator.user))
    other = page.context.new_page()
    other.goto("/desk/")
    expect(other.get_by_role("heading", name="Your desk")).to_be_visible()
    wait_until(lambda: other.evaluate(KEPT) == 0)


def test_a_tab_whose_person_has_changed_keeps_nothing(
    page: Page, annotator: Membership, other_annotator: Membership
) -> None:
    assert other_annotator.user is not None
    sign_in(page, start_session(other_annotator.user))
    page.keyboard.press("5")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    assert page.evaluate(KEPT) == 0
    assert not Draft.objects.exists()


def test_a_submit_waits_while_the_server_can_not_say_who_is_signed_in(page: Page) -> None:
    for key in "543":
        page.keyboard.press(key)
    saved(page).to_have_text(SAVED)
    asked = []

    def restart(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=503) if len(asked) == 1 else route.continue_()

    intercept(page, "**/session/", restart)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, 3]
    assert len(asked) == 2


def test_a_submit_from_a_tab_whose_person_has_changed_changes_nothing(page: Page, other_annotator: Membership) -> None:
    for key in "543":
        page.keyboard.press(key)
    saved(page).to_have_text(SAVED)
    assert other_annotator.user is not None
    sign_in(page, start_session(other_annotator.user))
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    assert page.evaluate(KEPT) == 0
    assert not Assignment.objects.submitted().exists()


def test_a_lost_session_keeps_the_answers_until_one_signs_in_again(page: Page, annotator: Membership) -> None:
    wait_for_the_rest(page)
    page.wait_for_load_state("networkidle")  # a late answer to the lost session would take the new one's cookie away
    Session.objects.all().delete()
    page.keyboard.press("5")
    saved(page).to_contain_text("You're signed out. Your ratings are kept on this device.")
    expect(page.get_by_role("link", name="Sign in in a new tab")).to_have_attribute("target", "_blank")
    page.keyboard.press("4")
    assert annotator.user is not None
    sign_in(page, start_session(annotator.user))
    page.evaluate("dispatchEvent(new Event('focus'))")
    saved(page).to_have_text(SAVED)
    page.keyboard.press("3")
    counted(page).to_have_text("3")
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, 3]


def test_a_low_screen_shows_the_way_to_sign_in_to_whoever_submits_signed_out(page: Page, annotator: Membership) -> None:
    page.set_viewport_size(ViewportSize(width=ZOOMED["width"], height=ZOOMED["height"]))
    wait_for_the_rest(page)
    page.wait_for_load_state("networkidle")
    Session.objects.all().delete()
    for digit in "543":
        page.keyboard.press(digit)
    way_in = page.get_by_role("link", name="Sign in in a new tab")
    expect(way_in).to_be_attached()
    page.locator("form#rating .rate-end [data-submit]").click()
    expect(page.locator("[data-announcement]")).to_have_text("Not submitted yet. Your ratings are kept on this device.")
    expect(way_in).to_be_in_viewport()
    expect(way_in).to_be_focused()


def test_whoever_writes_goes_on_writing_when_a_submit_that_waited_stops(page: Page, annotator: Membership) -> None:
    wait_for_the_rest(page)
    page.wait_for_load_state("networkidle")
    go_offline(page)
    for digit in "543":
        page.keyboard.press(digit)
    page.locator("form#rating .rate-end [data-submit]").click()
    expect(page.locator("[data-announcement]")).to_contain_text("submitted")
    page.locator("#item0 summary", has_text="Comment").click()
    comment = page.locator("[name=comment0]")
    comment.press_sequentially("half a sen")
    Session.objects.all().delete()
    page.context.set_offline(False)
    expect(page.locator("[data-announcement]")).to_have_text("Not submitted yet. Your ratings are kept on this device.")
    page.keyboard.type("tence")
    expect(comment).to_be_focused()
    expect(comment).to_have_value("half a sentence")


@pytest.mark.parametrize(("label", "field"), [("Comment", "comment1"), ("Can't be judged", "cannot1")])
def test_letters_typed_after_a_click_on_a_label_are_text_and_no_shortcuts(page: Page, label: str, field: str) -> None:
    summary, text = page.locator("#item1 summary", has_text=label), page.locator(f"[name={field}]")
    summary.click()
    page.keyboard.type("fix x")
    expect(text).to_have_value("fix x")
    expect(page.locator("input[name^=flag]:checked")).to_have_count(0)
    expect(text).to_be_in_viewport(ratio=1)
    summary.click()
    expect(text).to_be_hidden()
    summary.press("Enter")
    page.keyboard.type("!")
    expect(text).to_have_value("fix x!")


def test_a_stale_token_is_renewed(page: Page) -> None:
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    page.keyboard.press("5")
    saved(page).to_have_text(SAVED)
    page.keyboard.press("4")
    page.keyboard.press("3")
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, 3]


def test_a_token_that_became_stale_since_the_last_draft_is_renewed_by_the_submit(page: Page) -> None:
    for key in "543":
        page.keyboard.press(key)
    saved(page).to_have_text(SAVED)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)
    first = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    assert stored_values() == [5, 4, 3]


def test_a_hit_is_returned_with_a_reason(page: Page) -> None:
    page.locator("summary", has_text="Return HIT").click()
    page.get_by_label("Why?").fill("Too sad")
    page.locator(".give-back").get_by_role("button", name="Return HIT").click()
    page.get_by_role("dialog").get_by_role("button", name="Return HIT").click()
    page.wait_for_url("**/desk/")
    returned = Assignment.objects.get(state=Assignment.State.RETURNED)
    assert returned.return_reason == "Too sad"


def test_it_works_without_javascript(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user, java_script_enabled=False)
    start(page, annotator.project)
    choose(page, 0, 5)
    choose(page, 1, 4)
    page.get_by_role("button", name="Submit ratings").click()
    expect(page.get_by_role("alert")).to_contain_text("One answer still needs a rating.")
    expect(page.locator("#e2")).to_have_text("Not rated yet.")
    expect(page.locator("input[name='a1-correctness'][value='4']")).to_be_checked()
    choose(page, 2, 1)
    page.get_by_role("button", name="Submit ratings").click()
    page.wait_for_url("**/desk/")
    assert stored_values() == [5, 4, 1]


def sign_in(page: Page, session_key: str) -> None:
    url = re.sub(r"(https?://[^/]+).*", r"\1", page.url)
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session_key, "url": url}])
