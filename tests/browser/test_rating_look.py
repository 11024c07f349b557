"""How the rating page holds up: nasty texts, other scales, phones, screen readers; and it tells no source."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from annotate import places
from annotate.models import Assignment, Draft, Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.language.characters import is_blank
from projects.models import Membership, Project, User
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser.axe import faults
from tests.browser.conftest import PHONE, WIDE, ZOOMED, SignedIn
from tests.browser.nasty import NAMED
from tests.browser.rating import expect_lit, go_offline, start, wait_for_keys
from tests.browser.targets import OPEN_ALL
from tests.browser.test_rating_tabs import second_tab
from tests.factories import make_candidates, make_dataset, make_passage, make_question

EMPTY = "(empty answer)"
ANSWERS = {
    **NAMED,
    "formula": "=1+1",
    "only spaces": " \n\t  ",
    "right to left": "שלום עולם, זו תשובה",
    "200 kB": "A sentence of a very long answer, and one more. " * 4_300,
    "a word of 300 kB": "y" * 300_000,
}


def start_nasty(page: Page, project: Project) -> None:
    batch = open_batch(project, n_hits=0)
    nasty = [*NAMED.values()]
    documents = [{"title": each, "text": each} for each in nasty] + [{"title": "200 kB", "text": ANSWERS["200 kB"]}]
    passage = make_passage(make_dataset(project), title=nasty[0], text="", documents=documents)
    references = tuple(f"{n} {nasty[n % len(nasty)]}" for n in range(30))
    question = make_question(passage, references=references, text=" ".join(nasty[2:4]), span="שלום")
    add_hit(batch, [make_candidates(question, 1, text=text)[0] for text in ANSWERS.values()], 0)
    start(page, project)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_nasty_text_runs_nothing_and_stays_in_its_box(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int], pictures: Path
) -> None:
    page = signed_in(annotator.user, viewport=viewport, reduced_motion="reduce")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    start_nasty(page, annotator.project)
    wait_for_keys(page)
    assert page.evaluate("window.__xss") is None
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    shown = [EMPTY if EMPTY in text else text for text in page.locator(".candidate").all_text_contents()]
    assert sorted(shown) == sorted(EMPTY if is_blank(text) else text for text in ANSWERS.values())
    assert page.locator(".question-head .reference").count() == 30
    widths = page.evaluate(
        "() => [...new Set([...document.querySelectorAll('.item')].map((item) => Math.round(item.clientWidth)))]"
    )
    assert len(widths) == 1
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.candidate, .question-head .text')]
          .filter((each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1)
          .map((each) => each.textContent.slice(0, 40))"""
    )
    assert cut == []
    page.screenshot(path=pictures / "question.png")
    for name, text in ANSWERS.items():
        page.locator(f"#item{shown.index(EMPTY if is_blank(text) else text)}").focus()
        page.screenshot(path=pictures / f"{name.replace(' ', '-')}.png")


def test_the_page_tells_no_source_and_no_number_of_the_database(signed_in: SignedIn, annotator: Membership) -> None:
    batch = open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("5")
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    source = page.content() + page.evaluate("JSON.stringify(localStorage)")
    ids = batch.hits.values_list("items__candidate__external_id", flat=True)
    for secret in ("model-a", batch.name, *ids):
        assert f'"{secret}"' not in source
        assert f">{secret}<" not in source
    assert "source" not in source


def test_a_pointer_released_over_a_slider_rates_only_what_it_pressed(
    signed_in: SignedIn, annotator: Membership
) -> None:
    several_scales(annotator.project)
    page = signed_in(annotator.user, reduced_motion="reduce")
    start(page, annotator.project)
    slider, number = page.locator("input[type=range]").first, page.locator("[name=a0-overall]")
    answer = page.locator("#item0 .candidate")
    answer.hover()
    page.mouse.down()
    slider.hover()
    page.mouse.up()
    expect(slider).to_have_attribute("aria-valuetext", "no rating yet")
    page.mouse.down()
    page.mouse.up()
    expect(slider).to_have_attribute("aria-valuetext", "50")
    number.fill("")
    slider.hover()
    page.mouse.down()
    answer.hover(position={"x": 1, "y": 1})
    page.mouse.up()
    number.fill("")
    answer.hover()
    page.mouse.down()
    slider.hover()
    page.mouse.up()
    expect(slider).to_have_attribute("aria-valuetext", "no rating yet")


def test_a_slider_has_no_answer_until_it_is_moved(signed_in: SignedIn, annotator: Membership) -> None:
    several_scales(annotator.project)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    slider = page.locator("input[type=range]").first
    expect(slider).to_have_attribute("aria-valuetext", "no rating yet")
    page.keyboard.press("7")
    page.keyboard.press("5")
    expect(page.locator("[name=a0-overall]")).to_have_value("5")
    page.keyboard.type("5.5")
    page.keyboard.press("Enter")
    expect(slider).to_have_attribute("aria-valuetext", "55.5")
    expect(page.locator("[data-count]")).to_have_text("1")
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    assert {key: value for key, (value, _) in Draft.objects.get().answers["answers"]["0"].items()} == {
        "fluency": 7,
        "overall": 55.5,
    }
    page.locator("[name=a0-overall]").fill("")
    expect(slider).to_have_attribute("aria-valuetext", "no rating yet")
    expect(page.locator("[data-count]")).to_have_text("0")
    page.locator("[name=a0-overall]").fill("101")
    expect(page.locator("[data-count]")).to_have_text("0")
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    assert Draft.objects.get().answers["answers"]["0"]["overall"][0] is None
    page.locator("[name=a0-overall]").fill("55.5")
    second = page.locator("input[type=range]").nth(1)
    second.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[name=a1-overall]")).to_have_value("51")
    page.locator("input[name='a1-fluency'][value='2']").check(force=True)
    page.get_by_role("button", name="Submit ratings").click()
    page.wait_for_url("**/desk/")
    assert sorted(Judgment.objects.values_list("criterion__key", "value")) == [
        ("fluency", 2),
        ("fluency", 7),
        ("overall", 51),
        ("overall", 55.5),
    ]


def several_scales(project: Project) -> None:
    seven = Scale(kind=ScaleKind.ORDINAL, low=1, high=7)
    hundred = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100)
    specs = [
        CriterionSpec(key="fluency", name="Fluency", statement="Does it read well?", scale=seven, level=Level.ORDINAL),
        CriterionSpec(key="overall", name="Overall", statement="How good?", scale=hundred, level=Level.INTERVAL),
    ]
    create_rubric(project, name="Two scales", preset="custom", criteria=specs)
    open_batch(project, n_hits=1, n_items=2)


def test_the_passage_folds_on_a_phone_and_the_buttons_fit_a_thumb(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user, viewport=PHONE, has_touch=True)
    start(page, annotator.project)
    wait_for_keys(page)
    expect(page.locator(".passage-text")).to_be_hidden()
    page.locator(".passage > summary").click()
    expect(page.locator(".passage-text")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    small = page.evaluate(
        """() => [...document.querySelectorAll("main button, main summary, .point, .flag, main a")]
          .filter((element) => element.checkVisibility())
          .map((element) => [element.textContent.trim(), element.getBoundingClientRect()])
          .filter(([, box]) => box.height < 43.5 || box.width < 43.5)
          .map(([name, box]) => `${name} ${box.width}x${box.height}`)"""
    )
    assert small == []


CROWDED = """() => {
  const wanted = ".rate-count > :not(.visually-hidden), [data-saved], .rate-due, .rate-acts > *";
  const boxes = [...document.querySelectorAll(wanted)]
    .filter((each) => each.checkVisibility())
    .map((each) => [each.className || each.tagName, each.getBoundingClientRect()]);
  const meets = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const isOut = ({ left, right }) => left < 0 || right > document.documentElement.clientWidth;
  const overlaps = boxes.flatMap(([one, a], n) =>
    boxes.slice(n + 1).filter(([, b]) => meets(a, b)).map(([other]) => `${one} over ${other}`));
  const cut = [...boxes, ["panel", document.querySelector(".rate-due-more").getBoundingClientRect()]]
    .filter(([, box]) => isOut(box)).map(([name]) => `${name} is cut off`);
  const room = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--bar-height")) * 16;
  const isHigh = document.querySelector(".rate-bar").offsetHeight > room + 1;
  return [...overlaps, ...cut, ...(isHigh ? ["the bar covers what is below"] : [])];
}"""
"""What of the bar overlaps, is cut off or covers what is below it."""


def test_a_printed_hit_has_its_passage_and_answers_without_the_bar(signed_in: SignedIn, annotator: Membership) -> None:
    """On a phone, as on a sheet of paper, the passage is folded away and would not be printed."""
    batch = open_batch(annotator.project, n_hits=0)
    passage = make_passage(make_dataset(annotator.project), text="Far below the mill. " * 300 + "The last sentence.")
    add_hit(batch, make_candidates(make_question(passage), 2), 0)
    page = signed_in(annotator.user, viewport=PHONE, has_touch=True)
    start(page, annotator.project)
    wait_for_keys(page)
    page.emulate_media(media="print")
    body = page.locator(".passage-body")
    assert body.is_visible()
    assert body.evaluate("(e) => [e.scrollHeight <= e.clientHeight + 1, e.clientHeight > 3000]") == [True, True]
    assert not page.locator(".rate-bar").is_visible()
    below = page.locator(".candidate").first.bounding_box()
    above = body.bounding_box()
    assert above
    assert below
    assert above["y"] + above["height"] <= below["y"]


def test_the_bar_holds_its_words_at_every_width_in_german(signed_in: SignedIn, annotator: Membership) -> None:
    User.objects.filter(memberships=annotator).update(language="de")
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("4")
    expect(page.locator("[data-undo]")).to_be_visible()
    page.locator(".rate-due").evaluate("each => { each.open = true; }")
    expect(page.locator("[data-saved]")).to_have_text("Gespeichert")
    go_offline(page)
    page.keyboard.press("3")
    expect(page.locator("[data-saved]")).to_contain_text("Keine Verbindung: 1 Bewertung")
    for width in (360, 390, 641, 683, 768, 960, 961, 1025, 1100, 1366):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(CROWDED) == [], f"at {width} px"
    page.context.set_offline(False)
    expect(page.locator("[data-saved]")).to_have_text("Gespeichert")
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate(CROWDED) == []


def test_the_open_search_fits_a_page_at_400_percent(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1)
    page = signed_in(annotator.user, viewport=ZOOMED)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("/")
    expect(page.locator("[data-find]")).to_be_visible()
    pane, body, room = page.evaluate(
        """() => {
          const [pane, body] = [".passage-pane", ".passage-body"].map((each) => document.querySelector(each));
          return [pane.getBoundingClientRect().bottom, body.getBoundingClientRect().bottom, body.clientHeight];
        }"""
    )
    assert body <= pane
    assert room >= 80


def test_ten_short_answers_take_eleven_keys_with_the_passage_in_view(
    signed_in: SignedIn, annotator: Membership
) -> None:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    for digit in "543215432":
        page.keyboard.press(digit)
    expect(page.locator("#item9.is-current")).to_be_in_viewport(ratio=1)
    expect(page.locator(".passage-text")).to_be_in_viewport(ratio=1)
    expect(page.locator(".question-line-text")).to_be_in_viewport(ratio=1)
    expect(page.locator(".rate-bar")).to_be_in_viewport(ratio=1)
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert Judgment.objects.exclude(value=None).count() == 10


def test_the_marked_span_of_the_current_question_is_lit_in_the_passage(
    signed_in: SignedIn, annotator: Membership
) -> None:
    batch = open_batch(annotator.project, n_hits=0)
    passage = make_passage(make_dataset(annotator.project), text="word " * 3000 + "the marked words, and an end")
    question = make_question(passage, span="the marked words")
    add_hit(batch, make_candidates(question, 2), 0)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    expect_lit(page, "span", ["the marked words"])
    # Nobody has read this passage: it begins at its beginning.
    assert page.evaluate("document.querySelector('.passage-body').scrollTop") == 0
    page.keyboard.press("4")
    expect(page.locator("#item1.is-current")).to_be_visible()
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    page.reload()
    page.wait_for_function("() => document.querySelector('.passage-body').scrollTop > 500")
    expect(page.locator(".marked mark")).to_have_text("the marked words")


def test_a_preview_looks_the_same_and_stores_nothing(signed_in: SignedIn, manager: Membership) -> None:
    batch = open_batch(manager.project, n_hits=1, n_items=3)
    page = signed_in(manager.user)
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method != "GET" else None)
    page.goto(f"/p/{manager.project.slug}/batches/{batch.number}/hits/1/preview/")
    wait_for_keys(page)
    for key in ("5", "4", "3", "Control+Enter"):
        page.keyboard.press(key)
    page.wait_for_timeout(800)
    expect(page.locator("[data-count]")).to_have_text("3")
    expect(page.locator("[data-saved]")).to_have_text("Preview: nothing is saved")
    assert page.locator("[data-submit]").count() == 0
    assert posts == []
    assert page.evaluate("localStorage.length") == 0
    assert not Assignment.objects.exists()


def test_axe_finds_nothing_in_any_state(signed_in: SignedIn, annotator: Membership) -> None:
    """One visit from the first look at a HIT to its submit, with everything open that can be opened."""
    page = signed_in(annotator.user, reduced_motion="reduce")
    start_with_long_and_blank(page, annotator.project)
    long, other = (place_of(page, text) for text in ("goes on and on", "On a mat."))
    found: list[str] = []

    def look(state: str, seen: str, at: Page = page) -> None:
        expect(at.locator(seen).first).to_be_visible()
        for scheme in ("light", "dark"):
            at.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found.extend(f"{state}, {scheme}: {fault}" for fault in faults(at))

    look("blank answers", ".candidate--blank")
    page.locator(f"#item{long}").focus()
    page.keyboard.press("4")
    look("read to the end first", "[data-note]")
    page.locator(f"#item{other}").focus()
    page.locator(".rate-end").scroll_into_view_if_needed()
    expect(page.locator(".question-line-box")).to_be_visible()
    page.keyboard.press("q")
    look("question panel", ".question-panel")
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.keyboard.type("No such word")
    look("flag and comment", f"#item{other} .flag-why")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.keyboard.type("Not readable")
    page.keyboard.press("Escape")
    look("can't be judged", f"#item{other}.is-out [name=cannot{other}]")
    page.keyboard.press("/")
    page.keyboard.type("cat")
    look("search", ".passage-find")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    look("keys", "[data-keys-dialog]")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    look("rubric", "[data-rubric-dialog] .guide-rubric")
    page.keyboard.press("Escape")
    page.evaluate(OPEN_ALL)
    look("all that folds open", ".rate-due-more")
    Assignment.objects.update(due_at=Now() - timedelta(hours=2))
    places.sweep(project_id=annotator.project_id)
    page.reload()
    wait_for_keys(page)
    page.locator("[data-submit]").first.click()
    look("time is up, ratings are missing", "[data-missing]")
    tab = second_tab(page)
    page.bring_to_front()
    go_offline(page)
    for place in {*range(4)} - {other}:
        page.locator(f"input[name='a{place}-correctness'][value='4']").check(force=True)
    look("offline", "[data-state=kept]")
    page.keyboard.press("Control+Enter")
    look("waiting for the network", "[data-submit]:disabled")
    page.context.set_offline(False)
    page.wait_for_url("**/desk/")
    look("submitted elsewhere", "[data-state=sent-elsewhere]", tab)
    assert found == []


def place_of(page: Page, text: str) -> int:
    """The place of an answer: each annotator has them in an order of their own."""
    return int(page.locator(".item", has_text=text).get_attribute("data-place") or "")


def start_with_long_and_blank(page: Page, project: Project) -> None:
    batch = open_batch(project, n_hits=0, cents_per_hit=40)
    passage = make_passage(make_dataset(project), text="The cat sat on the mat. " * 200)
    question = make_question(passage, references=("One.", "Another."))
    texts = ["A long answer goes on and on. " * 200, "", "Short.", "On a mat."]
    add_hit(batch, [make_candidates(question, text=text)[0] for text in texts], 0)
    start(page, project)
    wait_for_keys(page)
    page.locator("[data-rubric-body] > *").first.wait_for(state="attached")
