"""Reading on the rating page: the pane's width and text size, finding, documents, marked words, the fold on a phone."""

from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Page, Route, ViewportSize, expect

from projects.models import Candidate, Membership, Project, Question, Reference
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser.accessibility_tree import read_node
from tests.browser.axe import faults
from tests.browser.conftest import PHONE, SignedIn
from tests.browser.rating import expect_lit, start, wait_for_keys
from tests.factories import make_candidates, make_dataset, make_passage, make_question

LINES = "\n\n".join(" ".join(["The quick brown fox jumps over the lazy dog and sleeps."] * 4) for _ in range(60))
TEXT = f"Zoë went to the CAFÉ.\n\n{LINES}\n\nA cafe\u0301 by the sea; two  cafe\nowners. מַיִם and \u202eמים\u202c, مَاء."
TABLET = ViewportSize(width=834, height=1194)
TURNED = ViewportSize(width=1194, height=834)
A_LINE = 110
TOP = "document.querySelector('.passage-body').scrollTop"


def show(project: Project, page: Page, *, spans: tuple[str, ...] = ("",), n_items: int = 5, **over: Any) -> None:
    """A HIT about one passage, with a question for each span."""
    batch = open_batch(project, n_hits=0)
    passage = make_passage(make_dataset(project), **{"text": TEXT, **over})
    candidates = [
        candidate for span in spans for candidate in make_candidates(make_question(passage, span=span), n_items)
    ]
    add_hit(batch, candidates, 0)
    start(page, project)
    wait_for_keys(page)


def find(page: Page, words: str) -> None:
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Find in the passage")).to_be_focused()
    page.keyboard.type(words)


def is_in_pane(page: Page, words: str) -> bool:
    """Whether the words highlighted as found, or as marked, are in view in the pane."""
    seen: bool = page.evaluate(
        """(words) => {
          const frame = document.querySelector(".passage-body").getBoundingClientRect();
          return ["found", "span"].flatMap((name) => [...(CSS.highlights.get(name) ?? [])]).some((each) => {
            const range = new Range();
            range.setStart(each.startContainer, each.startOffset);
            range.setEnd(each.endContainer, each.endOffset);
            const box = range.getBoundingClientRect();
            const isSeen = box.top >= frame.top && box.bottom <= Math.min(frame.bottom, innerHeight);
            return isSeen && range.toString() === words;
          });
        }""",
        words,
    )
    return seen


def first_seen(page: Page) -> int:
    """Return how far into the text the top of the pane is."""
    at: int = page.evaluate(
        """() => {
          const frame = document.querySelector(".passage-body").getBoundingClientRect();
          const node = document.querySelector(".passage-text").firstChild;
          const range = new Range();
          for (let at = 0; at < node.length; at += 1) {
            range.setStart(node, at);
            range.setEnd(node, at + 1);
            if (range.getBoundingClientRect().bottom > frame.top + 4) return at;
          }
          return node.length;
        }"""
    )
    return at


def measure_width(page: Page) -> float:
    width: float = page.evaluate("document.querySelector('.passage').getBoundingClientRect().width")
    return width


def read_cookies(page: Page) -> dict[str, str]:
    return {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}


def measure_size(page: Page) -> float:
    size: float = page.evaluate("parseFloat(getComputedStyle(document.querySelector('.passage-text')).fontSize)")
    return size


def tap_bar(page: Page) -> None:
    """Return its position: a locator's own tap would scroll the page first."""
    box = page.locator(".passage > summary").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + 100, box["y"] + 20)


@pytest.fixture
def wide(signed_in: SignedIn, annotator: Membership) -> Page:
    return signed_in(annotator.user)


@pytest.fixture
def phone(signed_in: SignedIn, annotator: Membership) -> Page:
    return signed_in(annotator.user, viewport=PHONE, has_touch=True)


def test_the_width_is_dragged_or_set_by_keys_or_buttons_and_is_there_at_once_the_next_time(
    wide: Page, annotator: Membership
) -> None:
    show(annotator.project, wide)
    # The script of width and size begins after that of the keys, and then says which sizes there are.
    expect(wide.get_by_role("button", name="Larger text")).to_have_attribute("aria-disabled", "false")
    edge, usual = wide.get_by_role("separator", name="Passage width"), measure_width(wide)
    expect(edge).to_have_attribute("aria-valuenow", "44")
    edge.focus()
    wide.keyboard.press("ArrowRight")
    wide.keyboard.press("ArrowRight")
    expect(edge).to_have_attribute("aria-valuenow", "48")
    expect(wide.locator(".item.is-current")).to_have_attribute("data-place", "0")
    assert measure_width(wide) == pytest.approx(1440 * 0.48, abs=2)
    box = edge.bounding_box()
    assert box is not None
    wide.mouse.move(box["x"] + 2, 500)
    wide.mouse.down()
    wide.mouse.move(860, 500, steps=4)
    assert measure_width(wide) == pytest.approx(860, abs=4)
    wide.mouse.up()
    expect(edge).to_have_attribute("aria-valuenow", "60")
    wide.route("**/*.js", lambda route: route.abort())  # what the server draws, before any script
    wide.reload()
    assert measure_width(wide) == pytest.approx(1440 * 0.6, abs=2)
    wide.unroute("**/*.js")
    wide.reload()
    wait_for_keys(wide)
    expect(edge).to_have_attribute("aria-valuenow", "60")
    edge.dblclick()
    expect(edge).to_have_attribute("aria-valuenow", "44")
    assert measure_width(wide) == usual
    wider, narrower = (wide.get_by_role("button", name=f"{way} passage") for way in ("Wider", "Narrower"))
    narrower.click()
    assert measure_width(wide) == pytest.approx(1440 * 0.4, abs=2)
    for _ in range(8):
        wider.click()
    expect(wider).to_have_attribute("aria-disabled", "true")
    assert measure_width(wide) == pytest.approx(1440 - 28 * 16, abs=2), "the answers keep their room"
    wide.set_viewport_size({"width": 1040, "height": 800})
    expect(edge).to_have_attribute("aria-valuenow", "57")
    most = measure_width(wide)
    narrower.click()
    assert measure_width(wide) < most - 1040 * 0.02, "a step begins where the edge is seen"
    edge.press("PageUp")
    assert measure_width(wide) == most
    expect(edge).to_have_attribute("aria-valuenow", "57")
    expect(wider).to_have_attribute("aria-disabled", "true")
    edge.press("ArrowLeft")
    assert measure_width(wide) < most - 1040 * 0.005
    expect(edge).to_have_attribute("aria-valuenow", str(round(measure_width(wide) / 10.4)))
    expect(wider).to_have_attribute("aria-disabled", "false")
    edge.press("End")
    for key in ("PageUp", "ArrowRight"):
        edge.press(key)
        assert read_cookies(wide)["passage_width"] == "70", "without room the width that was asked for stays"
    wider.click(force=True)
    assert read_cookies(wide)["passage_width"] == "70"
    edge.press("Enter")
    assert "passage_width" not in read_cookies(wide)
    edge.press("End")
    edge.dblclick()
    assert "passage_width" not in read_cookies(wide)


def test_the_text_size_has_five_steps_and_stays_after_a_reload(wide: Page, annotator: Membership) -> None:
    show(annotator.project, wide)
    larger, smaller = wide.get_by_role("button", name="Larger text"), wide.get_by_role("button", name="Smaller text")
    sizes = [measure_size(wide)]
    for _ in range(3):
        larger.click()
        sizes.append(measure_size(wide))
    assert sizes == sorted({*sizes})
    assert "description" not in read_node(larger), "a tooltip is not read out after a name that says the same"
    expect(larger).to_have_attribute("aria-disabled", "true")
    wide.keyboard.press("Enter")
    assert measure_size(wide) == sizes[-1]
    expect(wide.locator("[data-passage-status]")).to_have_text("Text size 5 of 5")
    wide.route("**/*.js", lambda route: route.abort())
    wide.reload()
    assert measure_size(wide) == sizes[-1]
    wide.unroute("**/*.js")
    wide.reload()
    wait_for_keys(wide)
    for _ in range(4):
        smaller.click()
    assert measure_size(wide) < sizes[0]
    expect(smaller).to_have_attribute("aria-disabled", "true")


LENGTHS = """() => {
  const node = document.querySelector(".passage-text").firstChild;
  const range = new Range();
  const lengths = [];
  let top = null;
  for (let at = node.data.indexOf("The quick"), n = 0; n < 240; at += 1, n += 1) {
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    const box = range.getBoundingClientRect();
    if (top !== null && box.top < top + 4) lengths[lengths.length - 1] += 1;
    else lengths.push(1);
    top = box.top;
  }
  return lengths.slice(0, -1);
}"""
"""JavaScript: how many letters each of the first lines holds, but for the last of them."""


def test_a_line_is_never_longer_than_reading_allows(wide: Page, annotator: Membership) -> None:
    show(annotator.project, wide)
    url, wrong = wide.url, []
    for width, size in product((24, 44, 70), (1, 2, 5)):
        wide.context.add_cookies(
            [{"name": f"passage_{name}", "value": str(n), "url": url} for name, n in (("width", width), ("size", size))]
        )
        wide.reload()
        expect(wide.get_by_role("separator")).to_have_attribute(
            "aria-valuenow", str(min(width, 69))
        )  # the answers keep their room
        longest = max(wide.evaluate(LENGTHS))
        least = 58 if width == 70 or (width == 44 and size < 3) else 1
        if not least <= longest <= 74:
            wrong.append(f"{longest} letters at width {width} and size {size}")
    assert not wrong, "\n".join(wrong)


def test_what_was_read_stays_at_the_top_when_width_or_size_change(wide: Page, annotator: Membership) -> None:
    show(annotator.project, wide)
    wide.evaluate(f"{TOP} = 2500")
    wide.wait_for_timeout(300)  # the page notes the place once the scrolling rests
    read = first_seen(wide)
    assert read > 1000
    wide.get_by_role("button", name="Larger text").click()
    assert abs(first_seen(wide) - read) < A_LINE
    wide.get_by_role("separator").focus()
    wide.keyboard.press("Home")
    wide.wait_for_timeout(300)
    assert abs(first_seen(wide) - read) < 2 * A_LINE


def test_a_search_that_is_asked_for_before_it_is_there_begins_when_it_is(wide: Page, annotator: Membership) -> None:
    """Rating does not wait for the passage's part of the script; a key that is meant for it is not lost."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    wide.route("**/rate/passage*.js", hold)
    show(annotator.project, wide)
    wide.keyboard.press("/")
    expect(wide.get_by_role("search")).to_be_hidden()
    assert held
    for route in held:
        route.continue_()
    expect(wide.get_by_role("searchbox", name="Find in the passage")).to_be_focused()


def test_words_are_found_whatever_their_case_accents_and_spacing(wide: Page, annotator: Membership) -> None:
    show(annotator.project, wide)
    expect(wide.get_by_role("search")).to_be_hidden()
    wide.keyboard.press("j")
    wide.keyboard.press("/")
    field = wide.get_by_role("searchbox", name="Find in the passage")
    expect(field).to_be_focused()
    wide.keyboard.type("cafe")
    count, status = wide.locator("[data-find-count]"), wide.locator("[data-passage-status]")
    expect(count).to_have_text("1 of 3")
    expect(status).to_have_text("1 of 3")
    expect_lit(wide, "find", ["CAFÉ", "cafe\u0301", "cafe"])
    assert is_in_pane(wide, "CAFÉ")
    wide.keyboard.press("Enter")
    expect(count).to_have_text("2 of 3")
    assert is_in_pane(wide, "cafe\u0301")
    wide.keyboard.press("Shift+Enter")
    wide.keyboard.press("Shift+Enter")
    expect(count).to_have_text("3 of 3")
    wide.get_by_role("button", name="Next match").click()
    expect(count).to_have_text("1 of 3")
    for words, found in [("TWO CAFE OWNERS", ["two  cafe\nowners"]), ("מים", ["מַיִם", "מים"]), ("ماء", ["مَاء"])]:
        field.fill(words)
        expect_lit(wide, "find", found)
    field.fill("nowhere at all")
    expect(count).to_have_text("No match")
    expect(status).to_have_text("No match")
    expect_lit(wide, "find", [])
    field.press("Escape")
    expect(wide.get_by_role("search")).to_be_hidden()
    expect(wide.locator("#item1")).to_be_focused()
    wide.keyboard.press("4")
    expect(wide.locator("[data-count]")).to_have_text("1")


def test_without_highlights_finding_still_goes_to_each_match(wide: Page, annotator: Membership) -> None:
    wide.add_init_script("delete CSS.highlights; delete window.CSS.__proto__.highlights;")
    wide.add_init_script(
        "Object.defineProperty(window, 'CSS', { value: { escape: CSS.escape, supports: CSS.supports } })"
    )
    show(annotator.project, wide)
    assert wide.evaluate("'highlights' in CSS") is False
    find(wide, "by the sea")
    expect(wide.locator("[data-find-count]")).to_have_text("1 of 1")
    assert wide.evaluate(TOP) > 1000
    wide.keyboard.press("Escape")


def test_a_menu_goes_to_each_of_several_documents(wide: Page, annotator: Membership) -> None:
    titles = ["First", "", "العنوان الثالث"]
    documents = [{"title": title, "text": f"{LINES} End of {n}."} for n, title in enumerate(titles, start=1)]
    show(annotator.project, wide, text="", documents=documents)
    wide.get_by_text("3 documents").click()
    menu = wide.get_by_role("navigation", name="Documents")
    expect(menu.get_by_role("link")).to_have_text(["1 First", "2 Document 2", "3 العنوان الثالث"])
    expect(menu.locator("[aria-current]")).to_have_text("1 First")
    menu.get_by_role("link", name="العنوان الثالث").click()
    expect(menu).to_be_hidden()
    expect(wide.locator("#document3 .document-title")).to_be_focused()
    expect(wide.locator("#document3 .document-title")).to_be_in_viewport()
    assert wide.evaluate("scrollY") == 0
    wide.get_by_text("3 documents").click()
    expect(menu.locator("[aria-current]")).to_have_text("3 العنوان الثالث")
    find(wide, "end of 2")
    assert is_in_pane(wide, "End of 2")


def test_questions_without_a_passage_have_the_room_to_themselves(wide: Page, annotator: Membership) -> None:
    show(annotator.project, wide, text="", n_items=1)
    expect(wide.get_by_text("These questions have no passage.")).to_be_visible()
    expect(wide.get_by_role("separator")).to_have_count(0)
    side = wide.locator(".rate-side").bounding_box()
    assert side is not None
    assert side["x"] + side["width"] / 2 == pytest.approx(720, abs=10)
    for key in ("/", "m", "5"):
        wide.keyboard.press(key)
    expect(wide.locator("[data-count]")).to_have_text("1")


def test_marked_words_are_lit_wherever_they_are_and_come_back_by_key(wide: Page, annotator: Membership) -> None:
    text = f"{LINES}\n\nthe marked\nwords, and שלום עולם.\n\n{LINES}\n\nthe marked\nwords"
    spans = ("the marked words", "שלום עולם", "words that are nowhere")
    show(annotator.project, wide, text=text, spans=spans, n_items=1)
    heads = [wide.locator(".question", has_text=span) for span in spans]
    for n in range(3):
        place = int(wide.locator(".item.is-current").get_attribute("data-place") or 0)
        expect(wide.locator(".item.is-current")).to_have_attribute("data-place", str(n))
        span = wide.locator(".question").nth(place).get_attribute("data-span") or ""
        expected = {spans[0]: ["the marked\nwords"] * 2, spans[1]: [spans[1]], spans[2]: []}[span]
        expect_lit(wide, "span", expected)
        if expected:
            # The first question finds the passage at its beginning, where reading begins.
            assert is_in_pane(wide, expected[0]) == (n > 0)
            wide.evaluate(f"{TOP} = 0")
            assert not is_in_pane(wide, expected[0])
            wide.keyboard.press("m")
            assert is_in_pane(wide, expected[0])
            before = wide.evaluate(TOP)
            wide.keyboard.press("m")
            assert (wide.evaluate(TOP) > before) == (len(expected) > 1)
        wide.keyboard.press("3")
    expect(heads[2]).to_contain_text("These words don't appear in this passage.")
    expect(heads[2].get_by_role("button", name="Show in the passage")).to_have_count(0)
    heads[1].get_by_role("button", name="Show in the passage").click()
    expect_lit(wide, "span", [spans[1]])
    assert is_in_pane(wide, spans[1])


def test_on_a_phone_the_passage_comes_back_where_it_was_and_so_does_the_item(
    phone: Page, annotator: Membership
) -> None:
    show(annotator.project, phone)
    bar = phone.locator(".passage > summary")
    expect(phone.locator(".passage-text")).to_be_hidden()
    expect(phone.get_by_role("separator")).to_be_hidden()
    phone.locator("#item3").evaluate("(item) => item.scrollIntoView({ block: 'center', behavior: 'instant' })")
    expect(bar).to_be_in_viewport(ratio=1)
    before = phone.locator("#item3").bounding_box()
    tap_bar(phone)
    expect(phone.locator(".passage-text")).to_be_visible()
    opened = phone.locator("#item3").bounding_box()
    phone.evaluate(f"{TOP} = 1800")
    phone.wait_for_timeout(300)
    read = first_seen(phone)
    tap_bar(phone)
    expect(phone.locator(".passage-text")).to_be_hidden()
    after = phone.locator("#item3").bounding_box()
    assert before is not None
    assert opened is not None
    assert after is not None
    assert opened["y"] == pytest.approx(before["y"], abs=2)
    assert after["y"] == pytest.approx(before["y"], abs=2)
    tap_bar(phone)
    assert first_seen(phone) == read
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_tablet_that_is_turned_folds_the_passage_and_comes_back_to_what_was_read(
    signed_in: SignedIn, annotator: Membership
) -> None:
    page = signed_in(annotator.user, viewport=TURNED, has_touch=True)
    show(annotator.project, page)
    page.evaluate(f"{TOP} = 2500")
    page.wait_for_timeout(300)
    read = first_seen(page)
    page.set_viewport_size(TABLET)
    expect(page.locator(".passage-text")).to_be_hidden()
    page.locator(".passage > summary").tap()
    assert abs(first_seen(page) - read) < A_LINE
    page.set_viewport_size(TURNED)
    expect(page.locator(".passage-text")).to_be_visible()
    page.wait_for_timeout(300)
    assert abs(first_seen(page) - read) < 2 * A_LINE


def test_a_phone_shows_the_marked_words_first_and_finds_from_its_own_button(phone: Page, annotator: Membership) -> None:
    show(annotator.project, phone, spans=("by the sea",))
    phone.locator(".passage > summary").tap()
    assert is_in_pane(phone, "by the sea")
    phone.get_by_role("button", name="Find in the passage").tap()
    phone.keyboard.type("zoe")
    assert is_in_pane(phone, "Zoë")
    phone.get_by_role("button", name="Close").tap()
    phone.locator(".passage > summary").tap()
    phone.get_by_role("button", name="Show in the passage").tap()
    assert is_in_pane(phone, "by the sea")
    expect(phone.locator(".passage-text")).to_be_visible()


def test_mixed_scripts_run_each_their_own_way_and_leave_their_neighbours_alone(
    wide: Page, annotator: Membership
) -> None:
    text = "An English line.\nשורה בעברית.\nسطر بالعربية.\n\u202etfel ot thgir"
    show(annotator.project, wide, text=text, n_items=2, spans=("שורה",))
    edges = wide.evaluate(
        """() => {
          const node = document.querySelector(".passage-text").firstChild;
          const box = document.querySelector(".passage-text").getBoundingClientRect();
          const range = new Range();
          return ["An", "שורה", "سطر"].map((words) => {
            range.setStart(node, node.data.indexOf(words));
            range.setEnd(node, node.data.indexOf(words) + words.length);
            const place = range.getBoundingClientRect();
            return place.left - box.left < 4 ? "left" : box.right - place.right < 4 ? "right" : "nowhere";
          });
        }"""
    )
    assert edges == ["left", "right", "right"]
    expect_lit(wide, "span", ["שורה"])
    label = wide.locator(".marked .label").bounding_box()
    mark = wide.locator(".marked mark").bounding_box()
    assert label is not None
    assert mark is not None
    assert label["x"] < mark["x"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_state_of_the_pane(signed_in: SignedIn, annotator: Membership, scheme: str) -> None:
    project = annotator.project
    shows = ("question_type", "entities", "reference_opinion", "candidate_opinion")
    Project.objects.update(**{f"shows_{name}": True for name in shows})
    documents = [{"title": f"Title {n}", "text": LINES} for n in range(3)]
    page = signed_in(annotator.user, color_scheme=scheme)
    show(project, page, text="", documents=documents, spans=("lazy dog", "nowhere"), n_items=2)
    Question.objects.update(type="yes-no", entities=["a fox", "דג"])
    Reference.objects.update(opinion="yes")
    Candidate.objects.update(opinion="no")
    page.reload()
    wait_for_keys(page)
    expect(page.get_by_text("Opinion: No").first).to_be_visible()
    found = faults(page)
    page.get_by_text("3 documents").click()
    found += faults(page)
    page.keyboard.press("Escape")
    find(page, "lazy")
    found += faults(page)
    page.set_viewport_size(ViewportSize(width=320, height=640))
    page.locator(".passage > summary").click()
    found += faults(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert not found, "\n".join(found)
