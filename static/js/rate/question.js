// The question in one line under the bars while its head is out of sight; a press or a key opens the whole of it in a panel.

// What a key scrolls an open panel by that doesn't show all of its text; in other panels it keeps its meaning.
const LINE = 40;
const STEPS = {
  ArrowDown: () => LINE,
  ArrowUp: () => -LINE,
  PageDown: (panel) => panel.clientHeight - LINE,
  PageUp: (panel) => LINE - panel.clientHeight,
  Home: (panel) => -panel.scrollHeight,
  End: (panel) => panel.scrollHeight,
};

export class QuestionLines {
  // root: the page; openPassage(): where the passage is only reached by a way of its own
  constructor(root, { openPassage }) {
    this.lines = [...root.querySelectorAll("[data-question-line]")].map(readLine);
    this.openPassage = openPassage;
    for (const line of this.lines) this.startLine(line);
    root.addEventListener("pointerdown", (event) => {
      for (const line of this.lines) if (line.isOpen && !line.element.contains(event.target)) this.close(line);
    });
    document.addEventListener(
      "keydown",
      (event) => {
        const line = this.lines.find((each) => each.isOpen);
        if (!line || !(event.key === "Escape" || isScrolledBy(event, line.panel))) return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "Escape") this.close(line);
        else line.panel.scrollBy({ top: STEPS[event.key](line.panel) });
      },
      true,
    );
    this.watch();
    addEventListener("resize", () => this.watch());
  }

  startLine(line) {
    line.opener.setAttribute("role", "button");
    line.opener.setAttribute("aria-expanded", "false");
    line.opener.addEventListener("click", (event) => {
      event.preventDefault();
      this.toggle(line);
    });
    line.opener.addEventListener("keydown", (event) => {
      if (event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.toggle(line);
    });
    line.element.querySelector("[data-to-passage]")?.addEventListener("click", (event) => {
      event.preventDefault();
      this.openPassage();
    });
  }

  // The line is needed as soon as the question itself has gone under the bars.
  watch() {
    this.observer?.disconnect();
    if (!this.lines.length) return;
    const top = Math.round(parseFloat(getComputedStyle(this.lines[0].element).top) || 0);
    if (top === this.top && this.observer) return this.observeAll();
    this.top = top;
    this.observer = new IntersectionObserver(
      (entries) => {
        for (const { target, boundingClientRect, rootBounds, isIntersecting } of entries) {
          const line = this.lines.find((each) => each.heading === target);
          const isAbove = !isIntersecting && boundingClientRect.bottom <= (rootBounds?.top ?? top) + 1;
          line.element.classList.toggle("is-needed", isAbove);
          if (!isAbove && line.isOpen) this.close(line);
        }
      },
      { rootMargin: `-${top}px 0px 0px` },
    );
    this.observeAll();
  }

  observeAll() {
    for (const { heading } of this.lines) this.observer.observe(heading);
  }

  // The question of this item: its panel where its head is out of sight, else there is nothing to open.
  toggleAt(element) {
    const line = this.lines.find((each) => each.section.contains(element));
    if (line?.element.classList.contains("is-needed")) this.toggle(line);
    else line?.head.scrollIntoView({ block: "nearest" });
  }

  toggle(line) {
    if (line.isOpen) this.close(line);
    else this.open(line);
  }

  open(line) {
    line.panel.replaceChildren(...copyHead(line.head));
    line.panel.hidden = false;
    line.isOpen = true;
    line.element.classList.add("is-open");
    line.opener.setAttribute("aria-expanded", "true");
    line.panel.scrollTop = 0;
  }

  close(line) {
    const hadFocus = line.panel.contains(document.activeElement);
    line.panel.hidden = true;
    line.panel.replaceChildren();
    line.isOpen = false;
    line.element.classList.remove("is-open");
    line.opener.setAttribute("aria-expanded", "false");
    if (hadFocus) line.opener.focus({ preventScroll: true });
  }
}

function isScrolledBy(event, panel) {
  const isPlain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
  const isWriting = event.target.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=range])");
  return isPlain && !isWriting && event.key in STEPS && panel.scrollHeight > panel.clientHeight + 1;
}

function readLine(element) {
  const section = element.closest(".question");
  const head = section.querySelector(".question-head");
  return {
    element,
    section,
    head,
    heading: head.querySelector("h2"),
    opener: element.querySelector("[data-question-open]"),
    panel: element.querySelector(".question-panel"),
    isOpen: false,
  };
}

function copyHead(head) {
  const copy = copyWithoutIds(head);
  for (const each of copy.querySelectorAll("[data-to-span]")) each.remove();
  return [...copy.childNodes];
}

// Returns the element once more, without the ids that only one element may have, and without naming any.
export function copyWithoutIds(element) {
  const copy = element.cloneNode(true);
  for (const each of copy.querySelectorAll("[id], [aria-labelledby]")) {
    each.removeAttribute("id");
    each.removeAttribute("aria-labelledby");
  }
  return copy;
}
