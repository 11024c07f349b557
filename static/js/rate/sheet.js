// The form of a HIT as items and slots, and its undo history. A slot is one criterion of one item, in the order of the page.
// Slots and remarks are fields: {part, place, key, known, read(), write(value)}; `known` is the last value that was processed.
import { say } from "../words.js";

const MOST_ACTS = 200;
const NUMBER = /^-?(\d{1,9}(\.\d{0,18})?|\.\d{1,18})$/;

export class Sheet {
  constructor(form) {
    this.items = [...form.querySelectorAll(".item")].map(readItem);
    this.slots = this.items.flatMap((item) => item.slots);
    this.fields = this.items.flatMap((item) => [...item.slots, ...item.remarks]);
    this.byPlace = new Map(this.items.map((item) => [item.place, item]));
    this.byName = new Map(this.fields.map((field) => [field.name, field]));
    this.items.forEach(show);
  }

  slotOf(element) {
    const item = element.closest?.(".item");
    if (!item) return null;
    const criterion = element.closest(".criterion");
    const slots = this.byPlace.get(Number(item.dataset.place)).slots;
    return slots.find((slot) => slot.element === criterion) ?? slots[0];
  }

  fieldOf(control) {
    return this.byName.get(control.name);
  }

  // Returns the next slot without a rating after this one, else the first on the page.
  nextOpen(slot) {
    const at = this.slots.indexOf(slot);
    return this.slots.slice(at + 1).find(isOpen) ?? this.slots.find(isOpen);
  }

  // Processes what was pressed or typed before this script was loaded.
  touched() {
    return this.fields.filter((field) => (field.radios?.length ? field.radios : [field.number ?? field.control]).some(isTouched));
  }

  unanswered() {
    return this.items.filter((item) => !isAnswered(item));
  }

  nAnswered() {
    return this.items.length - this.unanswered().length;
  }

  // Shows a value from elsewhere: from this device's storage, or from another tab through the server.
  put(part, place, value, key) {
    const field = this.fields.find((each) => each.part === part && each.place === Number(place) && each.key === key);
    if (field && field.known !== value) putField(field, value); // a field in which somebody is typing does not change
  }
}

function isTouched(control) {
  if (/^(radio|checkbox)$/.test(control.type)) return control.checked !== control.defaultChecked;
  return control.value !== control.defaultValue;
}

export function putField(field, value) {
  field.write(value);
  field.known = field.read();
  show(field.item);
}

function readItem(element) {
  const place = Number(element.dataset.place);
  const item = { element, place, number: place + 1 };
  item.text = element.querySelector(".candidate");
  item.flag = element.querySelector("input[name^=flag]");
  item.cannot = element.querySelector("[name^=cannot]");
  item.slots = [...element.querySelectorAll(".criterion")].map((criterion) => readSlot(item, criterion));
  item.remarks = [
    remark(item, "flags", item.flag, { read: () => item.flag.checked, write: (value) => (item.flag.checked = Boolean(value)) }),
    remark(item, "cannot", item.cannot, text(item.cannot)),
    remark(item, "comments", element.querySelector("[name^=comment]"), text(element.querySelector("[name^=comment]"))),
  ];
  return item;
}

function readSlot(item, element) {
  const radios = [...element.querySelectorAll("input[type=radio]")];
  const number = element.querySelector("input[data-number]");
  const range = element.querySelector("input[type=range]");
  const { key, name: label } = element.dataset;
  const slot = { item, element, place: item.place, part: "answers", key, label, radios, number, range };
  slot.name = (number ?? radios[0]).name;
  slot.read = () => (number ? readNumber(slot) : readPoint(slot));
  slot.write = (value) => (number ? writeNumber(slot, value) : writePoint(slot, value));
  if (range) startSlider(slot);
  slot.known = slot.read();
  return slot;
}

function remark(item, part, control, { read, write }) {
  return { item, place: item.place, part, name: control.name, control, read, write, known: read() };
}

function text(control) {
  return {
    read: () => control.value,
    write: (value) => {
      control.value = value ?? "";
      control.closest("details").open = control.value !== "";
    },
  };
}

function readPoint(slot) {
  const checked = slot.radios.find((radio) => radio.checked);
  return checked ? Number(checked.value) : null;
}

function writePoint(slot, value) {
  for (const radio of slot.radios) radio.checked = value !== null && Number(radio.value) === Number(value);
}

// A slider has no handle until it is touched, because an untouched slider has no rating.
function startSlider(slot) {
  const { range, number } = slot;
  range.hidden = false;
  if (range.step === "any") range.step = (Number(range.max) - Number(range.min)) / 100;
  follow(slot);
  range.addEventListener("input", () => take(slot));
  // A press where the handle would be sets a rating too, although the value does not change. A press that began elsewhere,
  // as to mark words, only ends here.
  let isPressed = false;
  addEventListener("pointerdown", (event) => (isPressed = event.button === 0 && event.target === range), true);
  range.addEventListener("pointerup", () => {
    if (isPressed && number.value === "") take(slot);
  });
  number.addEventListener("input", () => follow(slot));
  number.addEventListener("blur", () => showFault(slot));
}

// Returns a number, null for no rating, or undefined for a value that is not on the scale.
function readNumber({ number, range }) {
  const text = number.value.trim();
  if (text === "") return null;
  const value = NUMBER.test(writtenPlainly(text)) ? Number(writtenPlainly(text)) : NaN;
  const isOnScale = value >= Number(range.min) && value <= Number(range.max);
  return isOnScale && (number.dataset.number !== "whole" || Number.isInteger(value)) ? value : undefined;
}

// Digits of other scripts, a decimal comma and a minus sign, as the server reads them: annotate/rating/sent.py.
function writtenPlainly(text) {
  return text
    .replace(/[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g, (digit) => digit.charCodeAt(0) & 15)
    .replace(/[,\u066b]/g, ".")
    .replace(/\u2212/g, "-");
}

function writeNumber(slot, value) {
  slot.number.value = value ?? "";
  follow(slot);
}

function take({ range, number }) {
  number.value = String(Math.round(Number(range.value) * 100) / 100);
  number.dispatchEvent(new Event("input", { bubbles: true }));
}

function follow(slot) {
  const { range, number } = slot;
  const value = readNumber(slot);
  const isSet = typeof value === "number";
  range.classList.toggle("is-unset", !isSet);
  range.setAttribute("aria-valuetext", isSet ? number.value : say("no_answer_yet"));
  range.value = isSet ? String(value) : String((Number(range.min) + Number(range.max)) / 2);
}

export function isAnswered(item) {
  return isOut(item) || item.slots.every(hasValue);
}

export function isOut(item) {
  return item.cannot.value.trim() !== "";
}

export function hasValue(slot) {
  return typeof slot.read() === "number";
}

export function isOpen(slot) {
  return !isOut(slot.item) && !hasValue(slot);
}

export function show(item) {
  item.element.classList.toggle("is-out", isOut(item));
  item.element.classList.toggle("is-done", isAnswered(item));
  for (const slot of item.slots) if (slot.number) showFault(slot);
  if (isAnswered(item)) item.element.querySelector(":scope > .errorlist")?.remove();
}

export function radioOf(slot, value) {
  return slot.radios.find((radio) => Number(radio.value) === value);
}

// Typing goes through numbers that are not on the scale, such as the 1 of 100: what is wrong is said once the field is left.
function showFault({ number, range, element, read }) {
  const isWrong = read() === undefined;
  const fault = element.querySelector("[data-fault]");
  if (isWrong) number.setAttribute("aria-invalid", "true");
  else number.removeAttribute("aria-invalid");
  fault.hidden = !isWrong || document.activeElement === number;
  fault.textContent = fault.hidden ? "" : say("not_on_scale", { low: range.min, high: range.max });
}

// Returns the point for a digit: the value itself (0 means 10 if the scale has no 0), or the n-th point if values are no digits.
export function radioFor(slot, digit) {
  const values = slot.radios.map((radio) => Number(radio.value));
  const wanted = digit === "0" && !values.includes(0) ? 10 : Number(digit);
  const isOfDigits = values.every((value) => value >= 0 && value <= 10);
  return slot.radios[isOfDigits ? values.indexOf(wanted) : wanted - 1];
}

// The changes on this page, newest last, for undoing them step by step.
export class Undo {
  constructor(button) {
    this.acts = [];
    this.button = button;
    this.isOpen = false; // the newest change is typing or sliding that may continue
  }

  // Typing and sliding in one field count as one change until the field is left.
  note(field, before, after, { goesOn }) {
    const last = this.acts.at(-1);
    const isSame = goesOn && this.isOpen && last?.field === field;
    if (isSame) {
      last.after = after;
      if (last.before === after) this.acts.pop();
    } else {
      this.acts.push({ field, before, after });
      if (this.acts.length > MOST_ACTS) this.acts.shift();
    }
    this.isOpen = goesOn;
    this.show();
  }

  close() {
    this.isOpen = false;
  }

  // The two newest changes of one field become one; if the second took the first back, there is none.
  join() {
    const [first, second] = this.acts.slice(-2);
    if (!second || first.field !== second.field) return;
    this.acts.splice(-2, 2, ...(first.before === second.after ? [] : [{ ...second, before: first.before }]));
    this.show();
  }

  take() {
    const act = this.acts.pop();
    this.isOpen = false;
    this.show();
    return act;
  }

  show() {
    if (this.button) this.button.hidden = this.acts.length === 0;
  }
}
