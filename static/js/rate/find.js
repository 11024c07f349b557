// Searching the passage: a field, the number of matches, and moving through them.
import { isComposing } from "./keys.js";

const MOST_LIT = 1000; // highlighting more matches would slow the page down
const QUIET_MS = 700; // the result is announced after this pause in typing

export function startFind({ details, words, reveal, whereNow, say }) {
  const box = details.querySelector("[data-find]");
  const field = box.querySelector("input");
  const opener = details.querySelector("[data-find-open]");
  const count = box.querySelector("[data-find-count]");
  let places = [];
  let at = -1;
  let cameFrom = null;
  let from = null; // the first visible text when the search began; the first match after it is shown
  let quiet = 0;

  function open() {
    if (!box.contains(document.activeElement)) cameFrom = document.activeElement;
    from = whereNow();
    box.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    if (field.value) search();
    field.focus({ preventScroll: true });
    field.select();
  }

  function close() {
    const hadFocus = box.contains(document.activeElement);
    box.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    light("find", []);
    light("found", []);
    tell("");
    if (!hadFocus) return;
    if (cameFrom?.isConnected && cameFrom !== document.body) cameFrom.focus({ preventScroll: true });
    else document.activeElement.blur();
  }

  function search() {
    places = words.find(field.value);
    light("find", places.slice(0, MOST_LIT));
    const onward = places.findIndex((place) => words.isFrom(place, from));
    goTo(places.length ? Math.max(onward, 0) : -1);
  }

  function step(by) {
    if (places.length) goTo((at + by + places.length) % places.length);
  }

  function goTo(place) {
    at = place;
    light("found", at < 0 ? [] : [places[at]]);
    if (at >= 0) reveal(places[at]);
    count.textContent = at >= 0 ? sayPlace(details, at + 1, places.length) : field.value.trim() ? box.dataset.none : "";
    box.classList.toggle("is-missing", at < 0 && field.value.trim() !== "");
    tell(count.textContent);
  }

  function tell(text) {
    clearTimeout(quiet);
    quiet = setTimeout(() => say(text), QUIET_MS);
  }

  opener.addEventListener("click", () => (box.hidden ? open() : close()));
  box.querySelector("[data-find-close]").addEventListener("click", close);
  field.addEventListener("input", search);
  for (const button of box.querySelectorAll("[data-find-step]")) {
    button.addEventListener("click", () => step(Number(button.dataset.findStep)));
  }
  // The keys of the search work on after a click: in Safari a pressed button would give the focus to the page.
  box.addEventListener("mousedown", (event) => event.target.closest("button") && event.preventDefault());
  box.addEventListener("keydown", (event) => {
    if (isComposing(event)) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field && !event.ctrlKey && !event.metaKey) step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  });
  return { open };
}

export function sayPlace(details, n, total) {
  return details.querySelector("[data-of]").dataset.of.replace("{n}", n).replace("{total}", total);
}

// In browsers without the highlight API the passage still scrolls to each match.
export function light(name, places) {
  if (!("highlights" in CSS)) return;
  if (!places.length) {
    CSS.highlights.delete(name);
    return;
  }
  const lit = new Highlight(...places);
  lit.priority = { span: 0, find: 1, found: 2 }[name];
  CSS.highlights.set(name, lit);
}
