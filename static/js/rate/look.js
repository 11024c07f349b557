// The width of the passage and the size of all texts. A cookie remembers both, so that the server draws the page with them.
import { remember } from "../theme.js";

const WIDTH = { least: 24, most: 70, usual: 44, step: 2, leap: 4 }; // in per cent; reading.css has the same
const SIZE = { most: 5, usual: 2 };

export function startLook({ details, columns, edge, say }) {
  startSize(details, say);
  if (edge) startWidth({ details, edge, columns });
}

function startSize(details, say) {
  const words = details.querySelector("[data-size-words]").dataset.sizeWords;
  const buttons = [...details.querySelectorAll("[data-by]")];
  const page = details.closest(".rate"); // question, references and answers have the same size
  let size = within(1, Number(page.dataset.size) || SIZE.usual, SIZE.most);
  const show = () => {
    for (const button of buttons) {
      const isEnd = size === (button.dataset.by < 0 ? 1 : SIZE.most);
      button.setAttribute("aria-disabled", String(isEnd));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      size = within(1, size + Number(button.dataset.by), SIZE.most);
      page.dataset.size = size;
      remember("passage_size", size === SIZE.usual ? "" : size);
      details.dispatchEvent(new CustomEvent("resized"));
      say(words.replace("{n}", size).replace("{total}", SIZE.most));
      show();
    });
  }
  show();
}

// The edge is dragged, or moved by keys; the buttons are for those who can press and not drag. All of them go from what is drawn: a small
// window leaves the answers their room, whatever width is chosen.
function startWidth({ details, edge, columns }) {
  const buttons = [...details.querySelectorAll("[data-widen]")];
  let width = within(WIDTH.least, Number(columns.dataset.width) || WIDTH.usual, WIDTH.most);
  const readDrawn = () => (details.getBoundingClientRect().width / columns.getBoundingClientRect().width) * 100;
  // The window keeps it from what is chosen: further that way, what is drawn stays and what is chosen would be lost.
  const hasNoRoom = (isNarrower) => (isNarrower ? readDrawn() > width + 1 : readDrawn() < width - 1);
  const show = () => {
    edge.setAttribute("aria-valuenow", Math.round(within(WIDTH.least, readDrawn(), WIDTH.most)));
    for (const button of buttons) {
      const isNarrower = button.dataset.widen < 0;
      const isAsked = width === (isNarrower ? WIDTH.least : WIDTH.most);
      button.setAttribute("aria-disabled", String(isAsked || hasNoRoom(isNarrower)));
    }
  };
  const set = (to) => {
    width = within(WIDTH.least, Math.round(to / WIDTH.step) * WIDTH.step, WIDTH.most);
    columns.style.removeProperty("--passage-width");
    columns.dataset.width = width;
    show();
    remember("passage_width", width === WIDTH.usual ? "" : width);
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      if (button.getAttribute("aria-disabled") !== "true") set(readDrawn() + Number(button.dataset.widen) * WIDTH.leap);
    });
  }
  const percentAt = (x) => {
    const box = columns.getBoundingClientRect();
    return ((isMirrored(columns) ? box.right - x : x - box.left) / box.width) * 100;
  };
  new ResizeObserver(show).observe(details);
  edge.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault(); // dragging must not select text
    edge.setPointerCapture(event.pointerId);
    edge.focus({ preventScroll: true });
  });
  edge.addEventListener("pointermove", (event) => {
    if (!edge.hasPointerCapture(event.pointerId)) return;
    width = within(WIDTH.least, percentAt(event.clientX), WIDTH.most);
    columns.style.setProperty("--passage-width", `${width}%`);
  });
  edge.addEventListener("lostpointercapture", () => set(width));
  edge.addEventListener("dblclick", () => set(WIDTH.usual));
  edge.addEventListener("keydown", (event) => {
    const to = widthBy(event.key, readDrawn(), isMirrored(columns));
    if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const isStep = /^(Arrow|Page)/.test(event.key); // the other keys name a width
    if (!isStep || !hasNoRoom(to < readDrawn())) set(to);
  });
}

function widthBy(key, width, isMirrored) {
  const wider = isMirrored ? "ArrowLeft" : "ArrowRight";
  const narrower = isMirrored ? "ArrowRight" : "ArrowLeft";
  const steps = { [wider]: width + WIDTH.step, [narrower]: width - WIDTH.step, PageUp: width + 10, PageDown: width - 10 };
  return { ...steps, Home: WIDTH.least, End: WIDTH.most, Enter: WIDTH.usual }[key] ?? null;
}

function isMirrored(element) {
  return getComputedStyle(element).direction === "rtl";
}

function within(low, value, high) {
  return Math.min(high, Math.max(low, value));
}
