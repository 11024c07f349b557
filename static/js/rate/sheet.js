// The form of a HIT as items and slots: a slot is one criterion of one item, in the order of the page.

export class Sheet {
  constructor(form) {
    this.form = form;
    this.items = [...form.querySelectorAll(".item")].map(readItem);
    this.slots = this.items.flatMap((item) => item.slots);
    this.byPlace = new Map(this.items.map((item) => [item.place, item]));
  }

  slotOf(element) {
    const item = element.closest?.(".item");
    if (!item) return null;
    const criterion = element.closest(".criterion");
    const slots = this.byPlace.get(Number(item.dataset.place)).slots;
    return slots.find((slot) => slot.element === criterion) ?? slots[0];
  }

  unanswered() {
    return this.items.filter((item) => !isAnswered(item));
  }

  nAnswered() {
    return this.items.length - this.unanswered().length;
  }

  // Show an answer that came from elsewhere: this device's store, or another tab by way of the server.
  put(part, place, value, key) {
    const item = this.byPlace.get(Number(place));
    if (!item) return;
    if (part === "answers") {
      const slot = item.slots.find((candidate) => candidate.key === key);
      if (slot) putValue(slot, value);
    } else if (part === "flags") {
      item.flag.checked = Boolean(value);
    } else {
      const field = part === "cannot" ? item.cannot : item.comment;
      field.value = value ?? "";
      if (value) field.closest("details").open = true;
    }
    show(item);
  }

  showAll() {
    this.items.forEach(show);
  }
}

function readItem(element) {
  const item = {
    element,
    place: Number(element.dataset.place),
    flag: element.querySelector("input[name^=flag]"),
    comment: element.querySelector("[name^=comment]"),
    cannot: element.querySelector("[name^=cannot]"),
  };
  item.slots = [...element.querySelectorAll(".criterion")].map((criterion) => ({
    item,
    element: criterion,
    key: criterion.dataset.key,
    isContinuous: criterion.dataset.kind === "continuous",
    radios: [...criterion.querySelectorAll("input[type=radio]")],
    range: criterion.querySelector("input[type=range]"),
    number: criterion.querySelector("input[type=number]"),
  }));
  for (const slot of item.slots) if (slot.range) startSlider(slot);
  return item;
}

function startSlider(slot) {
  const { range, number } = slot;
  range.hidden = false;
  range.step = (Number(range.max) - Number(range.min)) / 100;
  followNumber(slot);
  range.addEventListener("input", () => {
    number.value = String(Math.round(Number(range.value) * 100) / 100);
    range.classList.remove("is-unset");
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
  // a click on the thumb where it rests is an answer too
  range.addEventListener("pointerup", () => {
    if (number.value === "") range.dispatchEvent(new Event("input"));
  });
  number.addEventListener("input", () => followNumber(slot));
}

function followNumber({ range, number }) {
  const isSet = number.value !== "";
  range.classList.toggle("is-unset", !isSet);
  range.setAttribute("aria-valuetext", isSet ? number.value : "no answer yet");
  range.value = isSet ? number.value : String((Number(range.min) + Number(range.max)) / 2);
}

// A number, null for "no answer yet", undefined for what is no answer on this scale.
export function valueOf(slot) {
  if (slot.isContinuous) {
    if (slot.number.validity.badInput) return undefined;
    if (slot.number.value === "") return null;
    const value = slot.number.valueAsNumber;
    return value >= Number(slot.number.min) && value <= Number(slot.number.max) ? value : undefined;
  }
  const checked = slot.radios.find((radio) => radio.checked);
  return checked ? Number(checked.value) : null;
}

function putValue(slot, value) {
  if (slot.isContinuous) {
    slot.number.value = value ?? "";
    followNumber(slot);
  } else {
    for (const radio of slot.radios) radio.checked = value !== null && Number(radio.value) === Number(value);
  }
}

export function isAnswered(item) {
  if (item.cannot.value.trim()) return true;
  return item.slots.every((slot) => typeof valueOf(slot) === "number");
}

export function show(item) {
  item.element.classList.toggle("is-out", item.cannot.value.trim() !== "");
  item.element.classList.toggle("is-done", isAnswered(item));
  for (const slot of item.slots) {
    if (slot.number) slot.number.toggleAttribute("aria-invalid", valueOf(slot) === undefined);
  }
  if (isAnswered(item)) item.element.querySelector(":scope > .errorlist")?.remove();
}

export function showMissing(item) {
  if (item.element.querySelector(":scope > .errorlist")) return;
  const words = document.createElement("p");
  words.className = "errorlist";
  words.textContent = "Not rated yet.";
  item.element.querySelector(".candidate").after(words);
}

// The point of an ordinal scale that a digit means: the value itself, or on other scales the n-th point (0 is the tenth).
export function radioFor(slot, digit) {
  const isOfDigits = slot.radios.every((radio) => /^\d$/.test(radio.value));
  if (isOfDigits) return slot.radios.find((radio) => radio.value === digit);
  return slot.radios[digit === "0" ? 9 : Number(digit) - 1];
}
