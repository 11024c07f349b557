"""What is too small to be pressed: 44 pixels for a finger on annotators' pages, 24 for a pointer elsewhere."""

from playwright.sync_api import Page

CONTROLS = """(least) => {
  const isShown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const boxOf = (e) => (e.closest("label") ?? e).getBoundingClientRect();
  const selector = "button, summary, select, .button, .point, input:not([type=hidden]), textarea";
  return [...document.querySelectorAll(selector)].filter(isShown).map((e) => [e, boxOf(e)])
    .filter(([e, box]) => box.width > 0 && Math.min(box.width, box.height) < least)
    .map(([e, box]) => `${Math.round(box.width)}×${Math.round(box.height)} ${e.outerHTML.slice(0, 120)}`);
}"""
"""JavaScript: the controls that are smaller than they may be, each with its size."""

LINKS = """(least) => {
  const isShown = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const isOff = (box) => box.width < 2 || box.height < 2 || box.bottom < 0;
  const isInSentence = (link) => {
    if (getComputedStyle(link).display !== "inline") return false;
    const block = link.closest("p, li, td, dd, h1, h2, h3, h4, h5, label, .text, .prose") ?? link.parentElement;
    const links = [...block.querySelectorAll("a")].reduce((n, each) => n + each.textContent.trim().length, 0);
    return block.textContent.replace(/\\s+/g, " ").trim().length - links >= 8;
  };
  const found = [...document.querySelectorAll("a[href], label:has(input:is([type=checkbox], [type=radio]))")];
  return found.filter((e) => isShown(e) && !isOff(e.getBoundingClientRect()) && !isInSentence(e))
    .map((e) => [e, e.getBoundingClientRect()])
    .filter(([e, box]) => Math.min(Math.round(box.width), Math.round(box.height)) < least)
    .map(([e, box]) => `${Math.round(box.width)}×${Math.round(box.height)} ${e.outerHTML.slice(0, 120)}`);
}"""
"""JavaScript: the links and labels that are smaller than they may be, but for links in a sentence (WCAG 2.5.8)."""

OPEN_ALL = """() => document.querySelectorAll("details").forEach((each) => (each.open = true))"""


def find_small(page: Page, least: int) -> list[str]:
    """Each control and link that is smaller than this many pixels, with all that folds shut and open."""
    found = page.evaluate(CONTROLS, least) + page.evaluate(LINKS, least)
    page.evaluate(OPEN_ALL)
    found += page.evaluate(CONTROLS, least) + page.evaluate(LINKS, least)
    return list(dict.fromkeys(f"{least} {each}" for each in found))
