// The current slot, and moving between slots. The page scrolls only to what is out of view, and only as far as needed.
const AIR = 12; // pixels between the item and the bars

export class Walk {
  // sheet; bars: what covers the page at its top and bottom; onMove(slot, isOtherQuestion); toEnd(): after the last rating
  constructor({ sheet, bars, onMove, toEnd }) {
    Object.assign(this, { sheet, bars, onMove, toEnd });
    this.current = null;
  }

  makeCurrent(slot) {
    const before = this.current;
    if (slot === before) return;
    before?.item.element.classList.remove("is-current");
    before?.element.classList.remove("is-current");
    this.current = slot;
    slot.item.element.classList.add("is-current");
    slot.element.classList.add("is-current");
    this.onMove(slot, questionOf(slot) !== questionOf(before));
  }

  goTo(slot) {
    this.makeCurrent(slot);
    handleOf(slot).focus({ preventScroll: true });
    this.reveal(slot);
  }

  step(by) {
    const at = this.sheet.slots.indexOf(this.current) + by;
    if (at >= 0 && at < this.sheet.slots.length) this.goTo(this.sheet.slots[at]);
    else if (by > 0) this.goOn();
  }

  // Goes to the next slot without a rating, or to the end.
  goOn() {
    const next = this.sheet.nextOpen(this.current);
    if (next) this.goTo(next);
    else this.toEnd();
  }

  // Scrolls to the whole item if it fits between the bars, else to the slot alone.
  reveal(slot) {
    const view = this.view(slot);
    const room = view.bottom - view.top;
    const item = slot.item.element.getBoundingClientRect();
    const box = item.height <= room ? item : slot.element.getBoundingClientRect();
    let by = 0;
    if (box.top < view.top || box.height > room) by = box.top - view.top;
    else if (box.bottom > view.bottom) by = box.bottom - view.bottom;
    if (Math.abs(by) < 1) return;
    scrollTo({ top: scrollY + by, behavior: isStill() ? "instant" : "smooth" });
  }

  // Returns whether its buttons are in view.
  isSeen(slot) {
    const view = this.view(slot);
    const box = slot.element.getBoundingClientRect();
    return box.top >= view.top && box.bottom <= view.bottom;
  }

  // Returns the part of the window between the bars, as it will be after scrolling.
  view(slot) {
    let top = this.bars.top.offsetHeight;
    for (const cover of [this.bars.passage, questionOf(slot)?.querySelector(".question-head")]) {
      if (cover && isOver(cover, slot.item.element)) top += cover.offsetHeight;
    }
    const seen = visualViewport ? visualViewport.height : innerHeight;
    const isAtBottom = this.bars.bottom && getComputedStyle(this.bars.bottom).position === "fixed";
    return { top: top + AIR, bottom: seen - (isAtBottom ? this.bars.bottom.offsetHeight : 0) - AIR };
  }
}

function isOver(cover, item) {
  if (getComputedStyle(cover).position !== "sticky") return false;
  const [one, other] = [cover.getBoundingClientRect(), item.getBoundingClientRect()];
  return one.left < other.right && other.left < one.right; // a bar beside the item does not cover it
}

function questionOf(slot) {
  return slot?.item.element.closest(".question");
}

// Returns the element that gets the focus: the item, or its criterion if there are several.
export function handleOf(slot) {
  return slot.item.slots.length > 1 ? slot.element : slot.item.element;
}

function isStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
