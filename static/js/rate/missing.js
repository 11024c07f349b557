// The list of missing ratings at submit, each line a link to its item. The server draws the same list without JavaScript.
import { hasValue, isOpen, isOut } from "./sheet.js";
import { say } from "../words.js";

export class Missing {
  constructor({ box, sheet, walk }) {
    Object.assign(this, { box, sheet, walk });
    box.addEventListener("click", (event) => this.follow(event));
  }

  get isShown() {
    return !this.box.hidden;
  }

  // Draws the list, moves the focus to it, and returns the number of incomplete items.
  show() {
    const items = this.sheet.unanswered();
    this.draw(items);
    items.forEach(mark);
    if (items.length) {
      this.box.focus({ preventScroll: true });
      this.box.scrollIntoView({ block: "center" });
    }
    return items.length;
  }

  // Updates the list after a rating was added or cleared.
  refresh() {
    if (this.isShown) this.draw(this.sheet.unanswered());
  }

  draw(items) {
    this.box.hidden = items.length === 0;
    if (items.length === 0) return;
    this.box.querySelector("[data-missing-count]").textContent = say("missing", { n: items.length });
    this.box.querySelector("[data-missing-saved]").hidden = !this.sheet.items.some((item) => isOut(item) || item.slots.some(hasValue));
    this.box.querySelector("ul").replaceChildren(...items.map(lineOf));
  }

  goToFirst() {
    const slot = this.sheet.slots.find(isOpen);
    if (slot) this.walk.goTo(slot);
  }

  follow(event) {
    const place = /^#(?:item(\d+)|a(\d+)-(.+))$/.exec(event.target.closest("a")?.getAttribute("href") ?? "");
    if (!place) return;
    const { slots } = this.sheet.byPlace.get(Number(place[1] ?? place[2]));
    event.preventDefault();
    this.walk.goTo(slots.find((slot) => slot.key === place[3]) ?? slots[0]);
  }
}

// Returns the item or, if only some of its criteria are missing, each of these.
function lineOf(item) {
  const line = document.createElement("li");
  line.append(linkTo(`#item${item.place}`, say("item", { n: item.number })));
  const open = item.slots.filter((slot) => !hasValue(slot));
  const isPart = open.length < item.slots.length;
  for (const slot of open) {
    const why = slot.number && slot.read() !== null ? say("not_on_scale", { low: slot.range.min, high: slot.range.max }) : "";
    if (isPart) line.append(" ", linkTo(`#a${slot.place}-${slot.key}`, slot.label));
    if (why) line.append(" ", why);
  }
  return line;
}

function linkTo(href, words) {
  const link = document.createElement("a");
  link.href = href;
  link.textContent = words;
  return link;
}

function mark(item) {
  item.element.querySelector(":scope > .errorlist")?.remove();
  const error = document.createElement("p");
  error.className = "errorlist";
  // Only the page knows that somebody opened the field for the reason: without one, nothing of it is sent.
  const lacksReason = item.cannot.closest("details").open;
  error.textContent = say(lacksReason ? "no_reason" : item.slots.some(hasValue) ? "not_all_rated" : "not_rated");
  item.element.querySelector(".candidate").after(error);
}
