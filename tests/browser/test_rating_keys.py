"""The keys of the rating page: digits, number pad, clearing, taking back, and where the page goes next."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Draft, Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership, Project, User
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import open_batch
from tests.browser.accessibility_tree import read_node
from tests.browser.conftest import LAPTOP, PHONE, SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.processes import wait_until

Ends = tuple[int, int]


def scales(
    project: Project, *ends: Ends, anchors: dict[int, str] | None = None, kind: ScaleKind = ScaleKind.ORDINAL
) -> None:
    """A rubric of criteria c0, c1 … with these ends."""
    create_rubric(
        project,
        name="Scales",
        preset="custom",
        criteria=[
            CriterionSpec(
                key=f"c{n}",
                name=f"Criterion {n}",
                statement="",
                scale=Scale(kind=kind, low=low, high=high),
                anchors=anchors or {},
                level=Level.ORDINAL,
            )
            for n, (low, high) in enumerate(ends)
        ],
    )


@pytest.fixture
def page(signed_in: SignedIn, annotator: Membership) -> Page:
    """Five items with the default scale of five points."""
    open_batch(annotator.project, n_hits=1, n_items=5)
    return opened(signed_in(annotator.user), annotator)


def opened(page: Page, annotator: Membership) -> Page:
    page.emulate_media(reduced_motion="reduce")
    start(page, annotator.project)
    wait_for_keys(page)
    return page


def current(page: Page) -> Any:
    return expect(page.locator(".item.is-current"))


def checked(page: Page, place: int, key: str = "correctness") -> str | None:
    found = page.locator(f"input[name='a{place}-{key}']:checked")
    return found.input_value() if found.count() else None


def drafted() -> dict[str, dict[str, Any]]:
    answers = Draft.objects.get().answers["answers"]
    return {place: {key: value for key, (value, _) in entries.items()} for place, entries in answers.items()}


NUMBER_PAD = """([key, code]) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", {key, code, location: 3, bubbles: true, cancelable: true}))"""
OTHER_LAYOUT = """([key, code, more]) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", {key, code, bubbles: true, cancelable: true, ...more}))"""


def press_on(page: Page, key: str, code: str, **more: bool) -> None:
    """A key as a keyboard of another layout reports it: what it writes, and where it is."""
    page.evaluate(OTHER_LAYOUT, [key, code, more])


@pytest.mark.parametrize(
    ("key", "code", "value"),
    [
        ("4", "Numpad4", "4"),  # with NumLock
        ("٤", "Numpad4", "4"),  # an Arabic layout
        ("٤", "Digit4", "4"),
        ("'", "Digit4", "4"),  # a French layout: digits with Shift
        ("ArrowLeft", "Numpad4", "5"),  # without NumLock it is an arrow: from no answer to the far end
    ],
)
def test_the_number_pad_and_other_layouts_rate(page: Page, key: str, code: str, value: str) -> None:
    page.evaluate(NUMBER_PAD, [key, code])
    assert checked(page, 0) == value


def test_a_key_held_down_rates_once(page: Page) -> None:
    page.keyboard.down("3")
    for _ in range(4):
        page.keyboard.down("3")
    page.keyboard.up("3")
    current(page).to_have_attribute("data-place", "1")
    assert [checked(page, place) for place in range(5)] == ["3", None, None, None, None]


def test_the_same_digit_clears_and_stays(page: Page) -> None:
    page.keyboard.press("3")
    page.keyboard.press("k")
    page.keyboard.press("3")
    assert checked(page, 0) is None
    current(page).to_have_attribute("data-place", "0")
    expect(page.locator("[data-announcement]")).to_have_text("Answer 1: rating cleared.")
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    wait_until(lambda: drafted() == {"0": {"correctness": None}})


@pytest.mark.parametrize("key", ["Backspace", "Delete", "Space"])
def test_an_answer_is_cleared_by_key_on_its_point(page: Page, key: str) -> None:
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert checked(page, 0) == "2"
    expect(page.locator("input[name='a0-correctness'][value='2']")).to_be_focused()
    page.keyboard.press(key)
    assert checked(page, 0) is None
    expect(page.locator("[data-count]")).to_have_text("0")


def test_a_press_on_the_chosen_point_clears_it_and_a_double_click_does_not(page: Page) -> None:
    point = page.locator("#item0 .point").nth(3)
    point.dblclick()
    assert checked(page, 0) == "4"
    current(page).to_have_attribute("data-place", "1")
    page.wait_for_timeout(600)
    point.click()
    assert checked(page, 0) is None
    current(page).to_have_attribute("data-place", "0")
    expect(page.locator("[data-count]")).to_have_text("0")


@pytest.mark.parametrize("text", [".question-head h2", ".passage-pane .label", ".skip"])
def test_keys_work_after_a_click_on_plain_text_and_after_the_skip_link(page: Page, text: str) -> None:
    place = page.locator(text).first
    place.press("Enter") if text == ".skip" else place.click()
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("4")
    assert checked(page, 0) == "4"
    page.keyboard.press("?")
    expect(page.locator("[data-keys-dialog]")).to_be_visible()


def test_after_a_change_the_next_unrated_comes_then_the_first_then_the_end(page: Page) -> None:
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("4")
    current(page).to_have_attribute("data-place", "4")
    page.keyboard.press("4")
    current(page).to_have_attribute("data-place", "0")
    page.keyboard.press("4")
    current(page).to_have_attribute("data-place", "1")
    page.keyboard.press("k")
    page.keyboard.press("2")
    current(page).to_have_attribute("data-place", "1")
    page.keyboard.press("4")
    page.keyboard.press("4")
    expect(page.locator(".rate-end [data-submit]")).to_be_focused()
    expect(page.locator("[data-announcement]")).to_have_text("Every answer is rated.")
    page.keyboard.press("1")  # one digit too many changes nothing
    assert [checked(page, place) for place in range(5)] == ["2", "4", "4", "4", "4"]


def test_what_is_in_view_does_not_move_and_what_is_not_moves_no_further_than_it_must(page: Page) -> None:
    page.keyboard.press("5")
    before = page.evaluate("scrollY")
    expect(page.locator("#item1")).to_be_in_viewport(ratio=1)
    assert before < 60  # the second item was seen whole, or nearly
    tops = []
    for place in range(2, 5):
        page.keyboard.press("5")
        current(page).to_have_attribute("data-place", str(place))
        expect(page.locator(f"#item{place}")).to_be_in_viewport(ratio=1)
        tops.append(page.evaluate("scrollY"))
    assert tops == sorted(tops)
    height = page.evaluate("innerHeight")
    bottom = page.evaluate("document.querySelector('#item4').getBoundingClientRect().bottom")
    assert height - 40 < bottom <= height  # at the lower edge: not an inch further
    page.keyboard.press("k")
    assert page.evaluate("scrollY") == tops[-1]


def test_left_and_right_choose_without_moving_on(page: Page) -> None:
    page.keyboard.press("ArrowLeft")
    assert checked(page, 0) == "5"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert checked(page, 0) == "3"
    page.keyboard.press("ArrowRight")
    assert checked(page, 0) == "4"
    current(page).to_have_attribute("data-place", "0")


@pytest.mark.parametrize(
    ("ends", "keys", "value"),
    [
        ((1, 7), ["7"], 7),
        ((1, 10), ["0"], 10),
        ((0, 10), ["0"], 0),
        ((0, 10), ["9"], 9),
        ((0, 10), ["ArrowLeft"], 10),
        ((-3, 3), ["1"], -3),
        ((-3, 3), ["7"], 3),
        ((20, 24), ["2"], 21),
        ((0, 100), ["8", "5", "Enter"], 85),
        ((-50, 50), ["-", "4", "9", "Enter"], -49),
    ],
)
def test_a_digit_means_the_value_or_the_nth_point(
    signed_in: SignedIn, annotator: Membership, ends: Ends, keys: list[str], value: int
) -> None:
    scales(annotator.project, ends)
    open_batch(annotator.project, n_hits=1, n_items=1)
    page = opened(signed_in(annotator.user), annotator)
    for key in keys:
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert Judgment.objects.get().value == value


@pytest.mark.parametrize("low", [0, 1])
def test_a_ten_is_typed_as_one_and_zero(signed_in: SignedIn, annotator: Membership, low: int) -> None:
    scales(annotator.project, (low, 10))
    open_batch(annotator.project, n_hits=1, n_items=4)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("1")
    page.keyboard.press("0")
    current(page).to_have_attribute("data-place", "1")
    page.keyboard.press("1")  # waits for its 0, but not for another digit
    page.keyboard.press("3")
    current(page).to_have_attribute("data-place", "3")
    page.keyboard.press("1")
    page.keyboard.press("k")
    page.keyboard.press("0")  # of another answer, so it's a rating of its own
    assert [checked(page, place, "c0") for place in range(4)] == ["10", "1", "0" if low == 0 else "10", "1"]


def test_undo_takes_a_ten_back_at_once(signed_in: SignedIn, annotator: Membership) -> None:
    """What was there before comes back, and not the 1 that was typed on the way."""
    scales(annotator.project, (0, 10))
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("7")
    page.keyboard.press("k")
    page.keyboard.press("1")
    page.keyboard.press("0")
    assert checked(page, 0, "c0") == "10"
    page.keyboard.press("z")
    assert checked(page, 0, "c0") == "7"
    page.keyboard.press("z")
    assert page.locator("[data-place='0'] input[type=radio]:checked").count() == 0
    expect(page.locator("[data-undo]")).to_be_hidden()
    # A 10 that is typed again changes nothing, so that undo goes back to what was before it.
    for key in ("1", "0", "k", "1", "0"):
        page.keyboard.press(key)
    assert checked(page, 0, "c0") == "10"
    page.keyboard.press("z")
    assert page.locator("[data-place='0'] input[type=radio]:checked").count() == 0


def test_a_one_that_stays_alone_moves_on(signed_in: SignedIn, annotator: Membership) -> None:
    scales(annotator.project, (0, 10))
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.press("1")
    current(page).to_have_attribute("data-place", "1")
    page.keyboard.press("0")
    assert [checked(page, place, "c0") for place in range(2)] == ["1", "0"]


def test_a_grid_of_criteria_works_by_keys(signed_in: SignedIn, annotator: Membership) -> None:
    scales(annotator.project, *[(1, 5)] * 3, anchors={1: "Never", 5: "Always"})
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    expect(page.locator(".item--grid")).to_have_count(2)
    page.keyboard.press("4")
    expect(page.get_by_role("group", name="Criterion 1, answer 1")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("2")
    expect(page.get_by_role("group", name="Criterion 0, answer 2")).to_be_focused()
    expect(page.locator("[data-count]")).to_have_text("1")
    for digit in "123":
        page.keyboard.press(digit)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    stored = Judgment.objects.order_by("item", "criterion__key").values_list("value", flat=True)
    assert sorted(stored, key=str) == [1, 2, 2, 3, 4, 5]


def test_twenty_criteria_fit_a_phone_and_stay_between_the_bars(signed_in: SignedIn, annotator: Membership) -> None:
    scales(annotator.project, *[(1, 5)] * 20)
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user, viewport=PHONE, has_touch=True), annotator)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for n in range(1, 21):
        page.keyboard.press("3")
        slot = page.locator(".criterion.is-current")
        name = f"Criterion {n % 20}, answer {1 + n // 20}"
        expect(slot).to_have_attribute("aria-label", name)
        seen = page.evaluate(
            """() => {
              const box = document.querySelector(".criterion.is-current").getBoundingClientRect();
              const at = (y) => document.elementFromPoint(box.x + box.width / 2, y)?.closest(".criterion.is-current");
              return Boolean(at(box.top + 3) && at(box.bottom - 3));
            }"""
        )
        assert seen, name


def test_what_was_done_is_taken_back_step_by_step(page: Page) -> None:
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_hidden()
    page.keyboard.press("5")
    page.keyboard.press("4")
    page.keyboard.press("f")
    page.keyboard.type("half a word")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.keyboard.type("no sense")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.keyboard.press("4")  # clears
    expect(page.locator("[data-count]")).to_have_text("2")
    page.keyboard.press("z")
    assert checked(page, 1) == "4"
    page.keyboard.press("Control+z")
    expect(page.locator("[name=cannot2]")).to_have_value("")
    undo.click()
    expect(page.locator("[name=comment2]")).to_have_value("")
    page.keyboard.press("z")
    expect(page.locator("[name=flag2]")).not_to_be_checked()
    expect(page.locator("[data-announcement]")).to_have_text("Undone: answer 3.")
    page.keyboard.press("z")
    page.keyboard.press("z")
    expect(undo).to_be_hidden()
    current(page).to_have_attribute("data-place", "0")
    expect(page.locator("[data-count]")).to_have_text("0")
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    wait_until(lambda: all(entry == {"correctness": None} for entry in drafted().values()))
    kept = Draft.objects.get().answers
    assert not any(value for part in ("cannot", "comments", "flags") for value, _ in kept[part].values())


def test_in_a_text_ctrl_z_belongs_to_the_text(page: Page) -> None:
    page.keyboard.press("5")
    page.keyboard.press("c")
    page.keyboard.type("word")
    page.keyboard.press("Control+z")
    assert checked(page, 0) == "5"


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("ت", "KeyJ"),  # Arabic
        ("о", "KeyJ"),  # Russian
        ("ξ", "KeyJ"),  # Greek
        ("J", "KeyJ"),  # Caps Lock
        ("j", "KeyC"),  # a Latin layout of another order: what is written on the key counts
    ],
)
def test_letters_work_on_every_layout(page: Page, key: str, code: str) -> None:
    press_on(page, key, code)
    current(page).to_have_attribute("data-place", "1")


def test_signs_and_ctrl_z_work_on_every_layout(page: Page) -> None:
    expect(page.locator("[data-rubric-body] > *").first).to_be_attached()
    page.keyboard.press("4")
    press_on(page, "я", "KeyZ", ctrlKey=True)
    assert checked(page, 0) is None
    press_on(page, "ق", "KeyR")
    expect(page.locator("[data-rubric-dialog]")).to_be_visible()
    press_on(page, "к", "KeyR")
    expect(page.locator("[data-rubric-dialog]")).to_be_hidden()
    press_on(page, "؟", "Slash", shiftKey=True)
    expect(page.locator("[data-keys-dialog]")).to_be_visible()
    page.keyboard.press("Escape")
    press_on(page, "ظ", "Slash")
    expect(page.locator("#find-text")).to_be_focused()


def test_a_latin_letter_elsewhere_on_the_keyboard_is_not_taken_for_its_neighbour(page: Page) -> None:
    press_on(page, "ğ", "KeyJ")  # a Turkish layout: a letter of its own
    press_on(page, "a", "KeyQ")  # a French layout
    current(page).to_have_attribute("data-place", "0")
    expect(page.locator(".question-panel").first).to_be_hidden()


def test_a_bouncing_key_rates_one_answer(page: Page) -> None:
    page.evaluate(
        """() => {
          for (const key of "4435") document.activeElement.dispatchEvent(
            new KeyboardEvent("keydown", {key, code: `Digit${key}`, bubbles: true, cancelable: true}));
        }"""
    )
    assert [checked(page, place) for place in range(5)] == ["4", "3", "5", None, None]
    page.wait_for_timeout(130)
    page.keyboard.press("5")
    assert checked(page, 3) == "5"


def test_a_number_with_the_same_digit_twice_is_typed_as_fast_as_one_likes(
    signed_in: SignedIn, annotator: Membership
) -> None:
    scales(annotator.project, (0, 100))
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    page.keyboard.type("77")
    assert page.locator("input[data-number]").first.input_value() == "77"


def test_a_number_off_the_scale_is_said_and_a_decimal_comma_is_read(signed_in: SignedIn, annotator: Membership) -> None:
    scales(annotator.project, (0, 100), kind=ScaleKind.CONTINUOUS)
    open_batch(annotator.project, n_hits=1, n_items=2)
    page = opened(signed_in(annotator.user), annotator)
    item, fault = page.locator("#item0"), page.locator("#item0 [data-fault]")
    for typed, is_wrong in (("101", True), ("7,5", False), ("1.000,5", True), ("7", False)):
        item.locator("[data-number]").fill(typed)
        expect(fault).to_be_hidden()
        item.locator("[data-number]").blur()
        expect(fault).to_be_visible(visible=is_wrong)
        assert read_node(item.locator("[data-number]"))["invalid"] == ("true" if is_wrong else "false")
        if is_wrong:
            expect(fault).to_have_text("Use a number from 0 to 100.")
    item.locator("[data-number]").fill("")
    page.keyboard.type("7,5")
    assert item.get_by_role("slider").input_value() == "8"
    page.keyboard.press("Enter")
    page.keyboard.type("12")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert set(Judgment.objects.values_list("value", flat=True)) == {7.5, 12}


def test_a_flag_asks_what_is_wrong(page: Page) -> None:
    comment = page.locator("[name=comment0]")
    page.keyboard.press("f")
    expect(page.locator("[name=flag0]")).to_be_checked()
    expect(comment).to_be_focused()
    expect(page.locator("#item0").get_by_text("What's wrong?")).to_be_visible()
    page.keyboard.type("j5fx? the text ends")
    expect(comment).to_have_value("j5fx? the text ends")
    assert checked(page, 0) is None
    expect(page.locator("[name=flag0]")).to_be_checked()
    page.keyboard.press("Escape")
    current(page).to_have_attribute("data-place", "0")
    page.keyboard.press("4")
    assert checked(page, 0) == "4"
    page.keyboard.press("k")
    page.keyboard.press("f")  # the flag goes, what was written stays
    expect(page.locator("[name=flag0]")).not_to_be_checked()
    expect(comment).to_have_value("j5fx? the text ends")
    expect(page.locator("#item0").get_by_text("What's wrong?")).to_be_hidden()
    page.locator("#item1 .flag").click()
    expect(page.locator("[name=comment1]")).to_be_focused()


def test_keys_that_the_annotator_has_chosen(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=5)
    page = signed_in(annotator.user)
    page.goto("/account/")
    page.get_by_role("link", name="Change keys").click()
    page.get_by_label("Next", exact=True).fill("h")
    page.get_by_label("Flag a problem").fill("ت")
    page.get_by_label("Instructions").fill("i")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Changes saved.")).to_be_visible()
    opened(page, annotator)
    expect(page.locator("[data-rubric-body] > *").first).to_be_attached()
    page.keyboard.press("j")
    current(page).to_have_attribute("data-place", "0")
    page.keyboard.press("h")
    current(page).to_have_attribute("data-place", "1")
    press_on(page, "р", "KeyH")  # the same place on a Russian layout
    current(page).to_have_attribute("data-place", "2")
    press_on(page, "ت", "KeyJ")
    expect(page.locator("[name=flag2]")).to_be_checked()
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    expect(page.locator("[data-rubric-dialog]")).to_be_visible()
    page.keyboard.press("i")
    expect(page.locator("[data-rubric-dialog]")).to_be_hidden()
    expect(page.locator(".rate-acts kbd").first).to_have_text("i")
    page.keyboard.press("?")
    listed = page.locator("[data-keys-dialog] kbd").all_inner_texts()
    assert "h" in listed
    assert "ت" in listed
    assert "j" not in listed


def test_single_key_shortcuts_that_are_turned_off_do_nothing(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user)
    page.goto("/account/keys/")
    page.get_by_label("Turn off single-key shortcuts").check()
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Changes saved.")).to_be_visible()
    opened(page, annotator)
    for key in "4jcfxrq/?m":
        page.keyboard.press(key)
    press_on(page, "ر", "KeyR")
    page.evaluate(NUMBER_PAD, ["4", "Numpad4"])
    current(page).to_have_attribute("data-place", "0")
    assert checked(page, 0) is None
    assert page.locator("dialog[open], details.extra[open], :checked").count() == 0
    expect(page.locator("[data-find]")).to_be_hidden()
    expect(page.locator(".rate-acts kbd")).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
        assert checked(page, int(page.locator(".item.is-current").get_attribute("data-place") or 0)) == "5"
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+z")
    assert checked(page, 2) is None
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Keys").click()
    listed = page.locator("[data-keys-dialog] dt").all_inner_texts()
    assert [" ".join(each.split()) for each in listed] == ["← →", "⌫", "↓", "↑", "Ctrl Z", "Ctrl Enter", "Esc"]
    page.keyboard.press("Escape")
    page.locator("#item1 summary", has_text="Comment").click()
    page.locator("[name=comment1]").press_sequentially("j4x?")
    expect(page.locator("[name=comment1]")).to_have_value("j4x?")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert set(Judgment.objects.values_list("value", flat=True)) == {5}


def test_a_number_is_typed_in_its_field_without_single_key_shortcuts(
    signed_in: SignedIn, annotator: Membership
) -> None:
    scales(annotator.project, (0, 100))
    open_batch(annotator.project, n_hits=1, n_items=2)
    User.objects.update(rating_keys={"off": True})
    page = opened(signed_in(annotator.user), annotator)
    field = page.locator("input[data-number]").first
    page.keyboard.type("77")
    expect(field).to_have_value("")
    field.focus()
    page.evaluate("addEventListener('keydown', (event) => (window.lastIsTaken = event.defaultPrevented))")
    for key, is_taken in {"7": False, "j": True, "e": True, " ": True, "8": False}.items():  # Firefox would write each
        page.keyboard.press(key)
        assert page.evaluate("lastIsTaken") == is_taken
    expect(field).to_have_value("78")


def test_ctrl_enter_where_a_hit_is_returned_submits_nothing(page: Page) -> None:
    for digit in "54321":
        page.keyboard.press(digit)
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    page.locator("summary", has_text="Return HIT").click()
    reason = page.get_by_label("Why?")
    reason.fill("I know this text")
    reason.press("Control+Enter")
    page.locator(".header-nav summary").press("Control+Enter")
    page.wait_for_timeout(300)
    expect(page.locator("[data-submit]").first).to_be_enabled()
    assert Assignment.objects.submitted().count() == 0


COMPOSE = """(key) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, code: key, keyCode: 229, bubbles: true, cancelable: true }))"""
"""JavaScript: a key that ends a composition, as Safari reports it."""


def test_enter_that_ends_a_composition_in_safari_stays_in_the_text(page: Page) -> None:
    page.keyboard.press("x")
    page.keyboard.type("意味")
    page.evaluate(COMPOSE, "Enter")
    expect(page.locator("[name=cannot0]")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("[data-find-open]").click()
    page.keyboard.type("e")
    count = page.locator("[data-find-count]")
    expect(count).to_have_text(re.compile(r"^1 of \d+$"))
    page.evaluate(COMPOSE, "Enter")
    expect(count).to_have_text(re.compile(r"^1 of "))
    page.keyboard.press("Enter")
    expect(count).to_have_text(re.compile(r"^2 of "))


@pytest.mark.parametrize("language", ["de", "ar"])
def test_the_keys_to_one_side_are_listed_as_they_work(
    signed_in: SignedIn, annotator: Membership, language: str
) -> None:
    User.objects.update(language=language)
    open_batch(annotator.project, n_hits=1, n_items=1)
    page = opened(signed_in(annotator.user), annotator)
    lower, higher = page.locator("[data-keys-dialog] dt").nth(1).locator("kbd").all_text_contents()
    arrows = {"←": "ArrowLeft", "→": "ArrowRight"}
    page.keyboard.press("3")
    page.keyboard.press("k")
    for arrow, value in ((higher, "4"), (higher, "5"), (lower, "4")):
        page.keyboard.press(arrows[arrow])
        assert checked(page, 0) == value


@pytest.mark.parametrize("screen", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_after_the_last_rating_the_page_goes_no_further_than_to_the_button(
    signed_in: SignedIn, annotator: Membership, screen: dict[str, int]
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = opened(signed_in(annotator.user, viewport=screen), annotator)
    for _ in range(3):
        page.keyboard.press("4")
    button = page.locator(".rate-end [data-submit]")
    expect(button).to_be_focused()
    expect(page.locator("[data-announcement]")).to_have_text("Every answer is rated.")
    assert page.locator("[data-note]").is_hidden()
    above, below, overlap = page.evaluate("""() => {
      const boxOf = (selector) => [...document.querySelectorAll(selector)].at(-1).getBoundingClientRect();
      const acts = document.querySelector(".rate-acts");
      const floor = getComputedStyle(acts).position === "fixed" ? acts.getBoundingClientRect().top : innerHeight;
      const button = boxOf(".rate-end [data-submit]");
      return [button.top, floor - button.bottom, boxOf(".question-line-box").bottom - boxOf(".item .candidate").top];
    }""")
    assert above > 0
    assert 0 <= below <= 120
    assert overlap < 0
