// The current slot, and moving between slots. The page scrolls only to what is out of view, and only as far as needed.
const AIR = 12; // pixels between the item and the bars
const ARRIVAL_MS = 1500; // longer than the page scrolls to an item, unless something stops it

export class Walk {
  // sheet; bars: what covers the page at its top and bottom; onMove(slot, isOtherQuestion); toEnd(): after the last rating
  constructor({ sheet, bars, onMove, toEnd }) {
    Object.assign(this, { sheet, bars, onMove, toEnd });
    this.current = null;
    this.revealing = null; // the item that the page is scrolling to
    this.goal = 0; // where that scrolling ends
    this.arrival = null;
    // Whoever rates fast starts the next scrolling before this one has ended: the end of the old one says nothing.
    addEventListener("scrollend", () => {
      if (Math.abs(scrollY - this.goal) <= 2) this.revealing = null;
    });
    addEventListener("wheel", () => (this.revealing = null), { passive: true });
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
    const isArrival = this.current?.item !== slot.item;
    this.makeCurrent(slot);
    handleOf(slot).focus({ preventScroll: true });
    this.reveal(slot, { isArrival });
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

  // Scrolls to the whole item if it fits between the bars; else to the start of its text on arrival, later to the slot alone.
  reveal(slot, { isArrival = false } = {}) {
    const view = this.view(slot);
    const room = view.bottom - view.top;
    const item = boxWithHead(slot, room);
    const isWhole = item.height <= room;
    const box = isWhole || isArrival ? item : slot.element.getBoundingClientRect();
    let by = 0;
    if (box.top < view.top || box.height > room) by = box.top - view.top;
    else if (box.bottom > view.bottom) by = box.bottom - view.bottom;
    if (Math.abs(by) < 1) return;
    this.revealing = slot.item;
    const lowest = document.documentElement.scrollHeight - innerHeight;
    this.goal = Math.max(0, Math.min(scrollY + by, lowest));
    clearTimeout(this.arrival);
    this.arrival = setTimeout(() => (this.revealing = null), ARRIVAL_MS);
    scrollTo({ top: this.goal, behavior: glide() });
  }

  // To the start of the text, unless some of the text is on screen.
  revealText(slot) {
    const view = this.view(slot);
    const text = slot.item.text.getBoundingClientRect();
    if (text.top > view.bottom - 2 * AIR || text.bottom < view.top) this.reveal(slot, { isArrival: true });
  }

  // Returns whether its buttons are in view.
  isSeen(slot) {
    const view = this.view(slot);
    const box = slot.element.getBoundingClientRect();
    return box.top >= view.top && box.bottom <= view.bottom;
  }

  // Returns the part of the window between the bars that stay, as it will be after scrolling.
  view(slot) {
    let top = 0;
    for (const bar of [this.bars.top, this.bars.passage]) {
      if (bar && covers(bar, slot.item.element)) top += bar.offsetHeight;
    }
    top += questionOf(slot)?.querySelector(".question-line-box")?.offsetHeight ?? 0;
    const seen = visualViewport ? visualViewport.height : innerHeight;
    const isAtBottom = this.bars.bottom && getComputedStyle(this.bars.bottom).position === "fixed";
    return { top: top + AIR, bottom: seen - (isAtBottom ? this.bars.bottom.offsetHeight : 0) - AIR };
  }
}

function covers(bar, item) {
  if (getComputedStyle(bar).position !== "sticky") return false;
  const [one, other] = [bar.getBoundingClientRect(), item.getBoundingClientRect()];
  return one.left < other.right && other.left < one.right; // a bar beside the item does not cover it
}

// The first answer to a question is shown with the question, where both fit.
function boxWithHead(slot, room) {
  const item = slot.item.element.getBoundingClientRect();
  const head = slot.item.element.previousElementSibling;
  if (!head?.matches(".question-head")) return item;
  const { top } = head.getBoundingClientRect();
  return item.bottom - top <= room ? new DOMRect(item.x, top, item.width, item.bottom - top) : item;
}

function questionOf(slot) {
  return slot?.item.element.closest(".question");
}

// Returns the element that gets the focus: the item, or its criterion if there are several.
export function handleOf(slot) {
  return slot.item.slots.length > 1 ? slot.element : slot.item.element;
}

// How the page moves: at once for those who want it still.
export function glide() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
}
