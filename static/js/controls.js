// Reviewing a batch's controls by keys: j and k move, x selects, a accepts, r retires, e edits the text.
import { areOff, isComposing, keyName } from "./rate/keys.js";

const list = document.querySelector("[data-controls]");
const cards = [...list.querySelectorAll(".control")];
const boxOf = (card) => card.querySelector("input[type=checkbox]");

// The card that has the focus, or holds what has it.
function current() {
  return document.activeElement.closest(".control");
}

function goTo(card) {
  card?.focus();
  card?.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const at = cards.indexOf(current());
  goTo(at < 0 ? cards[0] : cards[at + by]);
}

function select() {
  if (current()) boxOf(current())?.click();
}

// Sends the selected controls, or the current one where none is selected.
function send(act) {
  const button = document.querySelector(`button[form=ticked][value=${act}]`);
  if (!button) return;
  const isAny = cards.some((card) => boxOf(card)?.checked);
  if (!isAny) {
    const box = current() && boxOf(current());
    if (!box) return;
    box.checked = true;
  }
  button.click();
}

function edit() {
  current()?.querySelector("textarea")?.focus();
}

const ACTS = {
  j: () => step(1),
  k: () => step(-1),
  x: select,
  a: () => send("accept"),
  r: () => send("retire"),
  e: edit,
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return;
  const isText = event.target.matches("textarea, select, input:not([type=checkbox])");
  if (isText && event.key === "Escape") return goTo(current());
  if (areOff(list)) return;
  const act = !isText && ACTS[keyName(event)];
  if (!act || (event.repeat && !["j", "k"].includes(keyName(event)))) return;
  event.preventDefault();
  act();
});

// What is accepted is what the page shows: a text that was edited and not saved stops every act on several controls.
for (const form of document.querySelectorAll("#ticked, #shown")) {
  form.addEventListener("submit", (event) => {
    const changed = [...list.querySelectorAll("textarea")].find((text) => text.value !== text.defaultValue);
    document.querySelector("[data-controls-unsaved]").hidden = !changed;
    if (!changed) return;
    event.preventDefault();
    changed.focus();
  });
}

for (const card of cards) card.tabIndex = -1;
document.querySelector("[data-controls-keys]").hidden = areOff(list);
