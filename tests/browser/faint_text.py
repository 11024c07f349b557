"""Which text is too faint on its background (WCAG 1.4.3), in an eighth of the time that axe takes.

axe asks for each text what lies above and below it. Here a text lies on what the elements around it are filled with,
which is so on every page of Concord: no element covers a text of another one. At full strength axe looks as well.
"""

from playwright.sync_api import Page

IS_SHOWN = """(element) => {
    const { width, height, right, bottom } = element.getBoundingClientRect();
    return width > 1 && height > 1 && right + scrollX > 0 && bottom + scrollY > 0
      && element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  }"""
"""JavaScript: whether an element is there to be seen, on the page and not beside it."""

FIND_FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colours = new Map(), styles = new Map(), strengths = new Map(), grounds = new Map();
  const remember = (map, key, find) => {
    if (!map.has(key)) map.set(key, find(key));
    return map.get(key);
  };
  const paint = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const readColour = (text) => {
    const found = /^rgba?\\((\\d+), (\\d+), (\\d+)(?:, ([\\d.]+))?\\)$/.exec(text);
    return found ? [+found[1], +found[2], +found[3], +(found[4] ?? 1)] : paint(text);
  };
  const colourOf = (text) => remember(colours, text, readColour);
  const styleOf = (element) => remember(styles, element, () => getComputedStyle(element));
  const strengthOf = (element) => remember(strengths, element,
    () => element.parentElement ? strengthOf(element.parentElement) * styleOf(element).opacity : 1);
  const lay = ([red, green, blue, alpha], strength, below) => {
    const share = alpha * strength;
    return [red, green, blue].map((each, n) => share * each + (1 - share) * below[n]);
  };
  const groundOf = (element) => remember(grounds, element, () => {
    if (!element) return paint("Canvas").slice(0, 3);
    const style = styleOf(element), own = colourOf(style.backgroundColor);
    if (style.backgroundImage !== "none") return null;
    if (own[3] * strengthOf(element) === 1) return own.slice(0, 3);
    const below = groundOf(element.parentElement);
    return below && lay(own, strengthOf(element), below);
  });
  const linear = (each) => each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const isShown = IS_SHOWN;
  const isOff = (element) => element.closest("svg, :disabled, [aria-disabled=true]")
    || element.closest("label")?.control?.disabled;
  const withText = new Set(document.querySelectorAll("select, textarea, "
    + "input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=file], [type=color])"));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (/[\\p{L}\\p{N}]/u.test(data)) withText.add(parentElement);
  }
  const faint = [];
  for (const element of withText) {
    const ground = groundOf(element), style = styleOf(element);
    if (!ground || isOff(element) || !isShown(element)) continue;
    const one = light(lay(colourOf(style.color), strengthOf(element), ground)), other = light(ground);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)}:1 ${element.outerHTML.slice(0, 200)}`);
  }
  return faint;
}""".replace("IS_SHOWN", IS_SHOWN)
"""JavaScript: each text that is too faint, with its contrast. What lies on an image or a gradient is not looked at."""


def find_faint(page: Page) -> list[str]:
    """Each text with too little contrast, under the name that axe gives it, which takes it for serious."""
    return [f"color-contrast: {each}" for each in page.evaluate(FIND_FAINT)]
