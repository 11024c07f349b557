// Which answers have been on screen to the end of their text. Where the batch asks for it, only these can be rated.

const LEEWAY = 2; // pixels: where a page comes to rest is rounded

export class Reading {
  // walk: it knows the part of the screen between the bars; isAsked: whether an answer must be read before it is rated;
  // onRead(item): an answer longer than the screen was read to its end
  constructor({ sheet, walk, isAsked, onRead }) {
    Object.assign(this, { sheet, walk, isAsked, onRead });
    this.read = new Set();
  }

  // places: answers that were read on an earlier visit
  start(places = []) {
    for (const place of places) this.note(Number(place));
    let isPlanned = false;
    const plan = () => {
      if (isPlanned) return;
      isPlanned = true;
      requestAnimationFrame(() => {
        isPlanned = false;
        this.look();
      });
    };
    addEventListener("scroll", plan, { passive: true });
    addEventListener("resize", plan);
    this.look();
  }

  note(place) {
    this.read.add(place);
  }

  isRead(item) {
    return this.read.has(item.place);
  }

  mayRate(item) {
    if (!this.isAsked || this.isRead(item)) return true;
    this.look();
    return this.isRead(item) || this.isComing(item);
  }

  // Whether the page is on its way to show the whole of this answer: whoever rates fast does not wait for that.
  isComing(item) {
    return this.walk.revealing === item && !this.isLong(item);
  }

  // Whether the end of an answer is below the screen once the page has come to its top, where its number is.
  isLong(item) {
    const { top, bottom } = this.walk.view(item.slots[0]);
    return item.text.getBoundingClientRect().bottom - item.element.getBoundingClientRect().top > bottom - top;
  }

  // Notes each answer whose last line is on screen now.
  look() {
    if (document.visibilityState !== "visible") return;
    for (const item of this.sheet.items) {
      if (this.isRead(item)) continue;
      const { top, bottom } = this.walk.view(item.slots[0]);
      const text = item.text.getBoundingClientRect();
      if (text.bottom < top || text.bottom > bottom + LEEWAY) continue;
      this.note(item.place);
      if (this.isLong(item)) this.onRead(item);
    }
  }

  // On through a text that reaches below the screen; false where its end can be seen.
  goOn(slot, behavior) {
    const { item } = slot;
    if (this.isComing(item)) return false;
    const { top, bottom } = this.walk.view(item.slots[0]);
    const rest = item.text.getBoundingClientRect().bottom - bottom;
    if (rest <= LEEWAY) return false;
    if (!this.isLong(item)) this.walk.reveal(slot, { isArrival: true });
    else scrollBy({ top: Math.min(Math.ceil(rest), pageOf(bottom - top)), behavior });
    return true;
  }

  // Back through a text that begins above the screen; false where its start can be seen.
  goBack({ item }, behavior) {
    const { top, bottom } = this.walk.view(item.slots[0]);
    const text = item.text.getBoundingClientRect();
    if (text.top >= top || text.height <= bottom - top) return false;
    scrollBy({ top: -Math.min(top - text.top, pageOf(bottom - top)), behavior });
    return true;
  }
}

// A screen, less about two lines that are seen twice.
function pageOf(room) {
  return Math.max(room - 56, room / 2);
}
