"""Which small targets are too close to another one (WCAG 2.5.8), in a fraction of the time that axe takes.

axe asks for each target what lies above it, and divides what that leaves of it. Here a target is as large as its box,
which is so on every page of Concord but the rating page, whose bars cover what scrolls below them: targets.py measures
that one. At full strength axe looks as well.
"""

from playwright.sync_api import Page

from tests.browser.faint_text import IS_SHOWN

FIND_CROWDED = """() => {
  const least = 24, near = least / 2, tolerance = 0.05;
  const isShown = IS_SHOWN;
  const isInline = (element) => getComputedStyle(element).display.startsWith("inline");
  // A link in a sentence is as high as the line: what is beside it in its block is text, not only other targets.
  const isInText = (element) => {
    if (!isInline(element)) return false;
    let block = element.parentElement;
    while (isInline(block)) block = block.parentElement;
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      const isBeside = /[\\p{L}\\p{N}]/u.test(data) && !parentElement.closest(selector);
      if (isBeside && (parentElement === block || isInline(parentElement)) && isShown(parentElement)) return true;
    }
    return false;
  };
  const selector = "a[href], button, summary, select, textarea, input:not([type=hidden])";
  if (document.querySelector(".rate-bar")) return [];
  const targets = [...document.querySelectorAll(selector)].filter((e) => !e.matches(":disabled") && isShown(e));
  const boxes = new Map(targets.map((e) => [e, e.getBoundingClientRect()]));
  const isSmall = ({ width, height }) => Math.min(width, height) < least - tolerance;
  const middleOf = ({ left, top, width, height }) => [left + width / 2, top + height / 2];
  const gap = (at, from, to) => Math.max(from - at, at - to, 0);
  const distance = (box, other) => {
    const [x, y] = middleOf(box), [otherX, otherY] = middleOf(other);
    if (isSmall(other)) return Math.hypot(x - otherX, y - otherY) - near;
    return Math.hypot(gap(x, other.left, other.right), gap(y, other.top, other.bottom));
  };
  const crowded = [];
  for (const element of targets.filter((e) => isSmall(boxes.get(e)) && !isInText(e))) {
    const box = boxes.get(element);
    const others = targets.filter((each) => !each.contains(element) && !element.contains(each));
    const closest = Math.min(...others.map((each) => distance(box, boxes.get(each))));
    if (closest < near - tolerance)
      crowded.push(`${Math.round(box.width)}×${Math.round(box.height)} ${element.outerHTML.slice(0, 200)}`);
  }
  return crowded;
}""".replace("IS_SHOWN", IS_SHOWN)
"""JavaScript: each target of less than 24 pixels whose circle of 24 pixels touches another target, or its circle."""


def find_crowded(page: Page) -> list[str]:
    """Each target that is too small for where it is, under axe's name, which takes it for serious."""
    return [f"target-size: {each}" for each in page.evaluate(FIND_CROWDED)]
