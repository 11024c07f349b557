"""How the rating page holds up: nasty texts, other scales, phones, screen readers; and it tells no source."""

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Draft, Judgment
from annotate.rating.shown import is_blank
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser.axe import serious_faults
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import lit, start, wait_for_keys
from tests.factories import make_candidates, make_dataset, make_passage, make_question

ZALGO = "Z" + "\u0334\u0335\u0336\u0348\u0353\u030e\u0344" * 28 + "algo"
NASTY = [
    "<script>window.__xss = 1</script>",
    '"><img src=x onerror="window.__xss = 1">',
    "</textarea></script><svg onload=window.__xss=1> {{7*7}} {% now %} ${7*7}",
    "\u202etfel ot thgir\u202c \u2066isolated\u2069 \ufeff\u200b",
    "שלום עולם, זו תשובה",
    ZALGO,
    "👩‍👩‍👧‍👦🏳️‍🌈 \u1112\u1161\u11ab \ue000",
    "=1+1",
    "   ",
    "y" * 300_000,
]


def start_nasty(page: Page, project: Project) -> None:
    batch = open_batch(project, n_hits=0)
    dataset = make_dataset(project)
    documents = [{"title": NASTY[1], "text": "\n".join(NASTY)}, {"title": "العنوان", "text": "النص العربي"}]
    passage = make_passage(dataset, title=NASTY[0], text="", documents=documents)
    question = make_question(passage, references=tuple(NASTY[:6]), text=NASTY[2] + " " + NASTY[3], span="זו")
    candidates = [make_candidates(question, 1, text=text)[0] for text in NASTY]
    add_hit(batch, candidates, 0)
    start(page, project)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_nasty_text_runs_nothing_and_stays_in_its_box(
    signed_in: SignedIn, annotator: Membership, viewport: dict[str, int]
) -> None:
    page = signed_in(annotator.user, viewport=viewport)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    start_nasty(page, annotator.project)
    wait_for_keys(page)
    assert page.evaluate("window.__xss") is None
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    shown = page.locator(".candidate").all_text_contents()
    assert sorted(shown) == sorted("(empty answer)" if is_blank(text) else text for text in NASTY)
    widths = page.evaluate(
        "() => [...new Set([...document.querySelectorAll('.item')].map((item) => Math.round(item.clientWidth)))]"
    )
    assert len(widths) == 1
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.candidate')]
          .filter((each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1)
          .map((each) => each.textContent.slice(0, 40))"""
    )
    assert cut == []


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
    page.get_by_role("button", name="Submit 2 answers").click()
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


def test_the_passage_stays_in_view_beside_the_last_answer(signed_in: SignedIn, annotator: Membership) -> None:
    open_batch(annotator.project, n_hits=1, n_items=10)
    page = signed_in(annotator.user)
    start(page, annotator.project)
    wait_for_keys(page)
    for _ in range(9):
        page.keyboard.press("j")
    expect(page.locator("#item9")).to_be_in_viewport(ratio=1)
    expect(page.locator(".passage-text")).to_be_in_viewport(ratio=1)
    expect(page.locator(".question-line-text")).to_be_in_viewport(ratio=1)
    expect(page.locator(".rate-bar")).to_be_in_viewport(ratio=1)


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
    assert lit(page, "span") == ["the marked words"]
    assert page.evaluate("document.querySelector('.passage-body').scrollTop") > 500
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(signed_in: SignedIn, annotator: Membership, scheme: str) -> None:
    open_batch(annotator.project, n_hits=1, n_items=3)
    page = signed_in(annotator.user, color_scheme=scheme)
    start(page, annotator.project)
    wait_for_keys(page)
    page.keyboard.press("5")
    found = serious_faults(page)
    for path in ("desk/", "instructions/", "history/"):
        page.goto(f"/p/{annotator.project.slug}/{path}")
        found += serious_faults(page)
    assert found == []
