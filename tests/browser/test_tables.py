"""Tables and charts of results on screens of every size: no column is hidden without a sign of it."""

import pytest
from playwright.sync_api import Page, expect

from projects.models import Membership, Project
from results.models import MetricRun
from tests.browser.conftest import LAPTOP, PHONE, WITH_WIDE_FONT, SignedIn
from tests.factories import make_candidates, make_dataset, make_membership, make_passage, make_question
from tests.processes import wait_until
from tests.results.judged_batches import judge
from tests.results.studies.conftest import judged, runs  # noqa: F401
from tests.results.studies.factories import study

WIDER = """() => [...document.querySelectorAll(".table-wrap, .chart-scroll")]
  .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth).map((e) => e.getAttribute("aria-label"))"""
"""JavaScript: the tables and charts that are wider than their frames."""
CUT = """() => [...document.querySelectorAll(".table-wrap, .chart-scroll, .chart-phone")]
  .filter((e) => getComputedStyle(e).overflow !== "visible").map((e) => e.className)"""
"""JavaScript: the frames that cut off what is wider or taller."""
SHADOW = "(e) => getComputedStyle(e).boxShadow"
BROKEN_WORDS = r"""() => [...document.querySelectorAll(".table--figures :is(th, td)")].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    for (const word of text.data.matchAll(/[\p{L}']+/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (text.parentElement.checkVisibility() && lines.size > 1) found.push(word[0]);
    }
  }
  return found;
})"""
"""JavaScript: the words in tables of figures that are broken between their letters."""

HINTS_APART = """() => {
  const hints = [...document.querySelectorAll(".table--figures thead .hint > span")].filter((e) => e.checkVisibility());
  const headings = hints.flatMap((hint) => {
    const name = hint.closest("th").querySelector("bdi"), range = document.createRange();
    range.selectNodeContents(name);
    const line = [...range.getClientRects()].at(-1), box = hint.getBoundingClientRect();
    const middle = (box.top + box.bottom) / 2;
    return middle > line.top && middle < line.bottom ? [] : [name.textContent];
  });
  return { n: hints.length, headings };
}"""
"""JavaScript: how many hints tables of figures have, and the headings whose hint is not in their last line."""


@pytest.fixture
def evaluation(judged: Project, manager: Membership, runs: list[MetricRun]) -> str:  # noqa: F811
    made = study(judged, manager, runs, n_resamples=100)
    return f"/p/{judged.slug}/studies/{made.number}/"


def open_page(signed_in: SignedIn, manager: Membership, path: str, size: dict[str, int]) -> Page:
    page = signed_in(manager.user, viewport=size)
    page.goto(path)
    return page


@WITH_WIDE_FONT
def test_a_laptop_shows_every_column_of_an_evaluation(
    signed_in: SignedIn, manager: Membership, evaluation: str
) -> None:
    page = open_page(signed_in, manager, evaluation, LAPTOP)
    assert page.evaluate(WIDER) == []
    last = page.locator("#overall").get_by_role("columnheader", name="Pearson / ceiling")
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport(ratio=1)


def test_paper_shows_tables_and_charts_whole_and_dark_on_white(
    signed_in: SignedIn, manager: Membership, evaluation: str
) -> None:
    """Beside the margins of a sheet of A4 there is room for 680 pixels."""
    page = open_page(signed_in, manager, evaluation, {"width": 680, "height": 1000})
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(WIDER) != []
    page.emulate_media(media="print")
    assert page.evaluate(WIDER) == []
    assert page.evaluate(CUT) == []
    assert not page.get_by_role("link", name="LaTeX").first.is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_a_phone_shows_charts_whole_and_marks_tables_that_go_on(
    signed_in: SignedIn, manager: Membership, evaluation: str
) -> None:
    page = open_page(signed_in, manager, evaluation, PHONE)
    assert "Correlation with human scores" in page.evaluate(WIDER)
    assert "Chart: Pearson's r of each metric with human judgments" not in page.evaluate(WIDER)
    assert page.locator("#overall .chart-phone svg").bounding_box()["width"] <= PHONE["width"]  # type: ignore[index]
    table = page.get_by_role("region", name="Correlation with human scores")
    at_start = table.evaluate(SHADOW)
    table.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    page.wait_for_function(
        "([e, before]) => getComputedStyle(e).boxShadow !== before", arg=[table.element_handle(), at_start]
    )
    assert "-14px" in at_start
    assert "-14px" not in table.evaluate(SHADOW).split("inset")[0]
    # In Arabic a table begins at the right, and goes on to the left.
    table.evaluate("(e) => { document.documentElement.dir = 'rtl'; e.scrollLeft = 0; }")
    page.wait_for_function("(e) => !getComputedStyle(e).boxShadow.includes('-14px')", arg=table.element_handle())
    assert " 14px" in table.evaluate(SHADOW)


def test_forced_colours_mark_tables_that_go_on(signed_in: SignedIn, manager: Membership, evaluation: str) -> None:
    page = signed_in(manager.user, viewport=PHONE, forced_colors="active")
    page.goto(evaluation)
    table = page.get_by_role("region", name="Correlation with human scores")
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    edge = {"x": box["x"] + box["width"] - 4, "y": box["y"] + 20, "width": 2, "height": 2}

    def look() -> bytes:
        return page.screenshot(clip=edge)  # type: ignore[arg-type]

    goes_on = look()
    table.evaluate("(e) => e.style.setProperty('--more-after', 'inset 0 0 0 0 transparent')")
    bare = look()
    assert bare != goes_on, "nothing else has changed there"
    table.evaluate("(e) => e.style.removeProperty('--more-after')")
    assert look() == goes_on
    table.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    wait_until(lambda: look() != goes_on)


@WITH_WIDE_FONT
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_hint_of_a_column_is_beside_the_last_line_of_its_heading(
    signed_in: SignedIn, manager: Membership, evaluation: str, size: dict[str, int]
) -> None:
    page = open_page(signed_in, manager, evaluation, size)
    apart = page.evaluate(HINTS_APART)
    assert apart["n"] > 0
    assert apart["headings"] == []


@WITH_WIDE_FONT
def test_a_phone_breaks_no_word_of_a_table_and_shows_large_texts_whole(
    signed_in: SignedIn, manager: Membership, evaluation: str
) -> None:
    scores = evaluation.replace("studies", "scores").rpartition("/")[0].rpartition("/")[0]
    for path in (evaluation, f"{scores}/"):
        assert open_page(signed_in, manager, path, PHONE).evaluate(BROKEN_WORDS) == []
    page = open_page(signed_in, manager, f"/p/{manager.project.slug}/batches/1/results/", PHONE)
    page.evaluate("document.documentElement.style.fontSize = '150%'")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_long_names_and_ids_make_no_row_of_a_list_tall_on_a_phone(
    signed_in: SignedIn, manager: Membership, project: Project
) -> None:
    passage = make_passage(make_dataset(project), "0f9c6d1e-5d0c-4b5e-9a5c-7c0a61f0c3a9", text="On the mat.")
    question = make_question(passage)
    make_candidates(question, 2, source="organisation/a-very-long-name-of-a-language-model-instruct-70b-2026-01-31")
    for noun in ("passages", "candidates"):
        page = open_page(signed_in, manager, f"/p/{project.slug}/data/{noun}/", PHONE)
        row = page.locator("tbody tr").first
        assert row.evaluate("(row) => row.offsetHeight") < 100, noun
        # The cells begin at one height.
        tops = row.evaluate(
            "(row) => [...row.querySelectorAll('bdi, .text')].filter((e) => e.textContent.trim())"
            ".map((e) => e.getBoundingClientRect().top)"
        )
        assert max(tops) - min(tops) < 16, noun
        assert "underline" in row.locator("th bdi").evaluate("(e) => getComputedStyle(e).textDecorationLine")


def test_a_tall_chart_of_long_names_scrolls_one_way(signed_in: SignedIn, manager: Membership, project: Project) -> None:
    people = [make_membership(project) for _ in range(2)]
    question, ratings = make_question(make_passage(make_dataset(project))), {}
    for n in range(60):
        name = f"organisation/a-very-long-name-of-a-language-model-{n:02}-instruct-70b-2026-01-31"
        (candidate,) = make_candidates(question, source=name)
        ratings[candidate] = {people[0]: 1.0 + n % 5, people[1]: 1.0 + n % 4}
    judge(project, ratings)
    page = open_page(signed_in, manager, f"/p/{project.slug}/scores/systems/", LAPTOP)
    tall = page.locator(".chart-scroll--tall.chart-scroll")
    expect(tall.first).to_be_visible()
    measure = "(all) => all.map((e) => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])"
    for sizes in tall.evaluate_all(measure):
        assert sizes[0] == 0
        assert sizes[1] > 0


def test_very_many_sources_keep_the_button_of_a_form_near(
    signed_in: SignedIn, manager: Membership, project: Project
) -> None:
    question = make_question(make_passage(make_dataset(project)))
    for n in range(60):
        make_candidates(question, source=f"organisation/a-very-long-name-of-a-language-model-{n:02}")
    page = open_page(signed_in, manager, f"/p/{project.slug}/batches/new/", PHONE)
    assert page.evaluate("document.documentElement.scrollHeight") < 3_000
    last = page.get_by_role("checkbox", name="language-model-59")
    last.focus()
    expect(last).to_be_in_viewport(ratio=1)
