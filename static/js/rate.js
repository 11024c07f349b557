// The rating page: which answer is current, what is saved, and sending the HIT once.
import { keyOf } from "./keep.js";
import { startBoxes } from "./rate/boxes.js";
import { ActiveTime, serverClock, startDue } from "./rate/clock.js";
import { Drafts } from "./rate/drafts.js";
import { startKeys } from "./rate/keys.js";
import { startPassage } from "./rate/passage.js";
import { Sheet, radioFor, show, showMissing, valueOf } from "./rate/sheet.js";

const root = document.getElementById("rate");
const form = document.getElementById("rating");
const passage = startPassage(root);
const data = root.dataset;
const isPreview = "preview" in data;
const isAlone = "alone" in data; // one item at a time, no looking back
const sheet = new Sheet(form);
const now = serverClock(Number(data.now));
const nItems = isAlone ? Number(data.items) : sheet.items.length;
const time = new ActiveTime(nItems, data.seconds?.split(","));
let current = null;
let isSending = false;

const drafts = isPreview
  ? null
  : new Drafts({
      key: keyOf(data.owner, data.assignment),
      user: data.user,
      urls: { draft: data.draftUrl, session: data.sessionUrl },
      csrf: form.elements.csrfmiddlewaretoken.value,
      now,
      seconds: () => time.list(),
      onState: showState,
      onAnswer: (part, place, value, key) => sheet.put(part, place, value, key),
    });

// --- what the bar says

const STATES = {
  saving: "Saving…",
  saved: "Saved",
  kept: "Not saved yet – kept on this device",
  "signed-out": "You are signed out. Your answers are kept here.",
  closed: "This HIT takes no more answers.",
};
const TROUBLE = ["kept", "signed-out", "closed", "ended"];

function showState(state, message = "") {
  const place = root.querySelector("[data-saved]");
  const isNews = place.dataset.state !== state;
  place.dataset.state = state;
  const unkept = state === "kept" && drafts && drafts.isKept === false;
  place.textContent = unkept ? "Not saved yet. Keep this page open." : message || STATES[state];
  if (state === "signed-out") place.append(" ", signInLink());
  if (isNews && TROUBLE.includes(state)) say(place.textContent);
  showProgress();
}

function signInLink() {
  const link = document.createElement("a");
  link.href = data.signInUrl;
  link.target = "_blank";
  link.textContent = "Sign in in a new tab";
  return link;
}

function say(words) {
  root.querySelector("[data-said]").textContent = words;
}

function showProgress() {
  const nAnswered = sheet.nAnswered() + Number(data.alone ?? 0);
  const n = nItems;
  root.querySelector("[data-count]").textContent = nAnswered;
  root.querySelector(".rate-count progress").value = nAnswered;
  const left = root.querySelector("[data-left]");
  if (left) left.textContent = nAnswered === n ? "Every answer is rated." : `${n - nAnswered} of ${n} still to rate.`;
}

// --- moving

function makeCurrent(slot) {
  if (slot === current) return;
  const before = current?.item.element.closest(".question");
  current?.item.element.classList.remove("is-current");
  current?.element.classList.remove("is-current");
  current = slot;
  slot.item.element.classList.add("is-current");
  slot.element.classList.add("is-current");
  time.moveTo(slot.item.place);
  const question = slot.item.element.closest(".question");
  if (question !== before) passage.lightSpan(question.dataset.span);
}

function goTo(slot) {
  makeCurrent(slot);
  slot.item.element.focus({ preventScroll: true });
  reveal(slot);
}

function reveal(slot) {
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
  slot.item.element.scrollIntoView({ block: "nearest", behavior: isStill ? "instant" : "smooth" });
}

function step(by) {
  const at = sheet.slots.indexOf(current) + by;
  if (at >= 0 && at < sheet.slots.length) goTo(sheet.slots[at]);
  else if (by > 0) goToEnd();
}

function goToEnd() {
  const missing = sheet.unanswered()[0];
  if (missing) goTo(firstOpen(missing));
  else form.querySelector(".rate-end [data-submit]")?.focus();
}

function firstOpen(item) {
  return item.slots.find((slot) => typeof valueOf(slot) !== "number") ?? item.slots[0];
}

// --- answering

function changed(target) {
  const [, part, place, key] = /^(a|cannot|flag|comment)(\d+)(?:-(.+))?$/.exec(target.name) ?? [];
  if (!part) return;
  const item = sheet.byPlace.get(Number(place));
  show(item);
  showProgress();
  if (isPreview) return;
  if (part === "a") {
    const value = valueOf(item.slots.find((slot) => slot.key === key));
    if (value !== undefined) drafts.note("answers", place, value, key);
  } else if (part === "flag") drafts.note("flags", place, target.checked);
  else drafts.note(part === "cannot" ? "cannot" : "comments", place, target.value);
}

function rate(digit, isTyping) {
  if (current.isContinuous) {
    if (!isTyping) {
      current.number.focus();
      current.number.select();
    }
    return null; // the digit goes into the number
  }
  const radio = radioFor(current, digit);
  if (!radio) return null;
  return () => {
    radio.checked = true;
    radio.dispatchEvent(new Event("input", { bubbles: true }));
    step(1);
  };
}

function open(name) {
  const details = current.item.element.querySelector(`[data-extra=${name}]`);
  details.open = true;
  details.querySelector("textarea, input").focus({ preventScroll: true });
  reveal(current);
}

function leaveText(target, isDone) {
  const slot = sheet.slotOf(target);
  if (!slot) return target.blur();
  const details = target.closest("details");
  if (details && !target.value.trim()) details.open = false;
  makeCurrent(slot);
  const last = slot.item.slots.at(-1);
  if (isDone && target.value.trim()) {
    makeCurrent(last);
    step(1);
  } else goTo(slot);
}

// --- sending

function lock(isLocked) {
  for (const button of document.querySelectorAll("[data-submit]")) {
    button.dataset.label ??= button.textContent;
    button.disabled = isLocked;
    button.textContent = isLocked ? "Sending…" : button.dataset.label;
  }
  isSending = isLocked;
}

async function send() {
  if (isSending || isPreview) return;
  const missing = sheet.unanswered();
  if (missing.length) {
    missing.forEach(showMissing);
    say(missing.length === 1 ? "One item still needs an answer." : `${missing.length} items still need an answer.`);
    goTo(firstOpen(missing[0]));
    return;
  }
  lock(true);
  if (!(await drafts.makeReady())) {
    lock(false);
    say("Not sent yet. Your answers are kept.");
    return;
  }
  time.tick();
  form.elements.csrfmiddlewaretoken.value = drafts.csrf;
  form.elements.seconds.value = JSON.stringify(time.list());
  form.elements.wall_ms.value = String(Math.round(performance.now()));
  drafts.wipe(); // the server has it all as a draft by now
  form.submit();
}

// --- starting

function start() {
  startBoxes(root);
  form.addEventListener("input", (event) => changed(event.target));
  form.addEventListener("focusin", (event) => {
    const slot = sheet.slotOf(event.target);
    if (slot) makeCurrent(event.target === slot.item.element && current?.item === slot.item ? current : slot);
  });
  form.addEventListener("pointerdown", (event) => {
    const slot = sheet.slotOf(event.target);
    if (slot && (event.target.closest(".criterion") || current?.item !== slot.item)) makeCurrent(slot);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  startKeysHere();
  if (!isPreview) startSaving();
  sheet.showAll();
  showProgress();
  const first = sheet.unanswered()[0];
  if (!sheet.slots.length) return;
  makeCurrent(first ? firstOpen(first) : sheet.slots[0]);
  if (current !== sheet.slots[0]) reveal(current);
}

function startKeysHere() {
  const dialog = root.querySelector("[data-keys-dialog]");
  const button = root.querySelector("[data-keys]");
  const showKeys = () => dialog.showModal();
  button.hidden = false;
  button.addEventListener("click", showKeys);
  startKeys({
    root,
    acts: {
      rate,
      leaveText,
      showKeys,
      submit: send,
      next: () => step(1),
      previous: () => step(-1),
      comment: () => open("comment"),
      cannot: () => open("cannot"),
      flag: () => current.item.flag.click(),
      find: () => passage.find(),
      toSpan: () => passage.toSpan(),
    },
  });
}

function startSaving() {
  const entry = drafts.restore();
  if (entry?.seconds) time.seconds = time.seconds.map((seconds, place) => Math.max(seconds, Number(entry.seconds[place]) || 0));
  if (drafts.hasUnsent) showState("saving");
  else if (sheet.nAnswered()) showState("saved");
  time.start();
  if (data.due) startDue(root.querySelector("[data-due-text]"), Number(data.due), now, data.dueOver);
  addEventListener("online", () => drafts.wake());
  addEventListener("offline", () => {
    if (drafts.hasUnsent) showState("kept");
  });
  addEventListener("focus", () => drafts.wake());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") drafts.wake();
    else if (!isSending) drafts.flush({ keepalive: true });
  });
  addEventListener("beforeunload", (event) => {
    if (drafts.hasUnsent && !isSending) event.preventDefault();
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

start();
