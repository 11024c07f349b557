// The passage: beside the answers, or folded on a phone; its position, its documents and the marked words.
import { light, sayPlace, startFind } from "./find.js";
import { startLook } from "./look.js";
import { Words, boxOf, firstInView } from "./text.js";

const wide = matchMedia("(min-width: 64rem)");
const REST_MS = 120;

// Also called on pages without a passage, where it does nothing.
export function startPassage(root) {
  const details = root.querySelector("[data-passage]");
  return details ? new Passage(root, details) : { lightSpan() {}, toSpan() {}, find() {}, visit() {} };
}

class Passage {
  constructor(root, details) {
    this.root = root;
    this.details = details;
    this.body = details.querySelector(".passage-body");
    this.words = new Words([...this.body.querySelectorAll("h2, h3, .passage-text")]);
    this.spans = [];
    this.span = null; // the words highlighted last
    this.reached = null; // the match shown last
    this.place = null; // the text at the top of the pane
    const say = (text) => this.say(text);
    startLook({ details, columns: root.querySelector(".rate-columns"), edge: root.querySelector("[data-edge]"), say });
    this.finding = startFind({
      details,
      words: this.words,
      reveal: (place) => this.reveal(place),
      whereNow: () => this.top()?.place,
      say,
    });
    this.startFolding();
    this.keepPlace();
    this.startSpans();
    this.startDocuments();
    details.classList.add("is-ready");
  }

  say(text) {
    this.details.querySelector("[data-passage-status]").textContent = text;
  }

  find() {
    this.open();
    this.finding.open();
  }

  // --- folding

  startFolding() {
    const fit = () => {
      this.details.open = wide.matches;
      if (wide.matches) this.restorePlace();
    };
    fit();
    wide.addEventListener("change", fit);
    this.details.querySelector(":scope > summary").addEventListener("click", (event) => {
      event.preventDefault(); // the toggle event comes too late to keep the answers in place
      if (this.details.open) this.close();
      else this.open();
    });
  }

  open() {
    if (this.details.open) return;
    const held = this.inView();
    const isStuck = this.details.getBoundingClientRect().top > this.details.parentElement.getBoundingClientRect().top + 1;
    this.details.open = true;
    if (isStuck) hold(held);
    this.leftAt = { ...held, scrollY };
    if (this.spanIsNew) this.toSpan();
    else this.restorePlace();
  }

  // To the passage from an answer far below it; closing it, or the key that goes on, leads back there.
  visit() {
    this.visitedFrom = { scrollY, isOpen: this.details.open };
    this.open();
    this.details.scrollIntoView({ block: "start" });
    this.body.focus({ preventScroll: true });
  }

  close() {
    if (this.visitedFrom) {
      const { scrollY: top, isOpen } = this.visitedFrom;
      this.visitedFrom = null;
      this.details.open = isOpen;
      scrollTo({ top, behavior: "instant" });
      this.root.querySelector(".item.is-current")?.focus({ preventScroll: true });
      return;
    }
    const isWhereItWas = this.leftAt && Math.abs(scrollY - this.leftAt.scrollY) < 2;
    const held = isWhereItWas ? null : this.inView();
    this.details.open = false;
    hold(held ?? this.leftAt);
  }

  // Returns the first visible answer below the passage, and its position.
  inView() {
    const { bottom } = this.details.getBoundingClientRect();
    const all = [...this.root.querySelectorAll(".item, .question-head")];
    const element = all.find((each) => each.getBoundingClientRect().bottom > bottom + 1) ?? all.at(-1);
    return element && { element, top: element.getBoundingClientRect().top };
  }

  // --- position in the text

  keepPlace() {
    let rest = 0;
    const keep = () => {
      if (this.details.open && this.body.clientHeight) this.place = this.top();
    };
    this.body.addEventListener(
      "scroll",
      () => {
        clearTimeout(rest);
        rest = setTimeout(keep, REST_MS);
      },
      { passive: true },
    );
    let width = this.body.clientWidth;
    new ResizeObserver(() => {
      if (!this.body.clientWidth || this.body.clientWidth === width) return;
      width = this.body.clientWidth;
      this.restorePlace();
    }).observe(this.body);
    this.details.addEventListener("resized", () => this.restorePlace());
  }

  top() {
    return firstInView(this.words.nodes, this.body.getBoundingClientRect());
  }

  restorePlace() {
    if (!this.place?.place.startContainer.isConnected || !this.details.open) return;
    this.body.scrollTop += boxOf(this.place.place).top - this.body.getBoundingClientRect().top - this.place.below;
  }

  reveal(place) {
    const box = boxOf(place);
    const { top, bottom } = this.frame();
    if (box.top < top || box.bottom > bottom) this.body.scrollTop += box.top - top - (bottom - top) / 3;
  }

  // Returns the visible part of the pane, which reaches below the window while the page is scrolled to its top.
  frame() {
    const { top, bottom } = this.body.getBoundingClientRect();
    return { top, bottom: Math.min(bottom, innerHeight) };
  }

  // --- the marked words of the current question

  // A passage that nobody has read yet stays at its beginning (isFirst).
  lightSpan(span, { isFirst = false } = {}) {
    if (span === this.span) return;
    this.span = span;
    this.spans = span ? this.words.findExactly(span) : [];
    this.reached = null;
    this.spanIsNew = this.spans.length > 0;
    light("span", this.spans);
    if (this.spanIsNew && this.details.open && !isFirst) this.toSpan();
  }

  // After the browser has translated the page, the words may be in other nodes, or nowhere.
  lightAgain() {
    const { span } = this;
    this.span = null;
    this.lightSpan(span);
  }

  // Scrolls to the marked words, or to their next occurrence.
  toSpan() {
    if (!this.spans.every(({ startContainer }) => startContainer.isConnected)) return this.lightAgain();
    if (!this.spans.length) return;
    if (!this.details.open) {
      this.spanIsNew = true;
      this.open();
      return;
    }
    this.spanIsNew = false;
    const isHere = this.reached !== null && this.isInView(this.spans[this.reached]);
    this.reached = this.reached === null ? 0 : (this.reached + (isHere ? 1 : 0)) % this.spans.length;
    this.reveal(this.spans[this.reached]);
    if (this.spans.length > 1) this.say(sayPlace(this.details, this.reached + 1, this.spans.length));
  }

  isInView(place) {
    const box = boxOf(place);
    const { top, bottom } = this.frame();
    return box.bottom > top && box.top < bottom;
  }

  startSpans() {
    this.root.addEventListener("click", (event) => {
      const span = event.target.closest("[data-to-span]")?.closest(".question").dataset.span;
      if (!span) return;
      const isNew = span !== this.span;
      this.lightSpan(span);
      if (!isNew || !this.details.open) this.toSpan();
    });
  }

  // --- documents

  startDocuments() {
    const menu = this.details.querySelector(".documents");
    menu?.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link) return;
      event.preventDefault();
      menu.open = false;
      const article = this.body.querySelector(link.hash);
      this.body.scrollTop += article.getBoundingClientRect().top - this.body.getBoundingClientRect().top;
      (article.querySelector(".document-title") ?? this.body).focus({ preventScroll: true });
    });
    menu?.addEventListener("toggle", () => {
      const line = this.body.getBoundingClientRect().top + this.body.clientHeight / 3;
      const articles = [...this.body.querySelectorAll(".document")];
      const here = articles.findLast((article) => article.getBoundingClientRect().top <= line) ?? articles[0];
      for (const link of menu.querySelectorAll("a")) {
        if (link.hash === `#${here.id}`) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    });
  }
}

// Keeps an element in place on the screen while something above it grows or shrinks.
function hold(held) {
  if (held?.element) scrollBy({ top: held.element.getBoundingClientRect().top - held.top, behavior: "instant" });
}
