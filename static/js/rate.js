// The rating page: which answer is current, what is saved, and sending the HIT once.
import { keyOf } from "./keep.js";
import { ActiveTime, ServerClock, startDue } from "./rate/clock.js";
import { Drafts } from "./rate/drafts.js";
import { startKeys } from "./rate/keys.js";
import { QuestionLines } from "./rate/question.js";
import { Reading } from "./rate/reading.js";
import { Saved } from "./rate/saved.js";
import { Sheet, Undo, hasValue, isAnswered, isOut, putField, radioFor, radioOf, show } from "./rate/sheet.js";
import { Submission } from "./rate/submit.js";
import { Walk, glide } from "./rate/walk.js";
import { say } from "./words.js";

const NOTE_MS = 4000; // long enough for one short sentence
const ZERO_MS = 800; // between the two digits of a 10
const IDLE_MS = 1000; // a busy browser may not call itself idle for minutes
const AGAIN_MS = 15_000; // until a module that didn't come is requested again; twice as long each time, up to
const MOST_MS = 600_000;

const root = document.getElementById("rate");
const form = document.getElementById("rating");
let passage = null; // loaded later, so that rating need not wait for it
let wanted = null; // a request to the passage from before it was loaded
const data = root.dataset;
const isPreview = "preview" in data;
const end = form.querySelector(".rate-end");
const isAlone = "alone" in data; // one item at a time, no looking back
const sheet = new Sheet(form);
const clock = new ServerClock(Number(data.now));
const now = () => clock.now();
const nItems = isAlone ? Number(data.items) : sheet.items.length;
const time = new ActiveTime(nItems, data.seconds?.split(","), data.assignment);
const undo = new Undo(root.querySelector("[data-undo]"));
const walk = new Walk({
  sheet,
  bars: {
    top: root.querySelector(".rate-bar"),
    passage: root.querySelector("[data-passage]"),
    bottom: root.querySelector(".rate-acts"),
  },
  onMove: (slot, isOtherQuestion) => {
    time.moveTo(slot.place);
    undo.close();
    if (isOtherQuestion) lightSpan(slot);
  },
  toEnd: goToEnd,
});
const reading = new Reading({
  sheet,
  walk,
  isAsked: "readToEnd" in data && !isPreview,
  onRead: (item) => drafts?.note("read", item.place, true, undefined, { goesOn: true }),
});
const lines = new QuestionLines(root, { openPassage: () => askPassage("visit") });
const saved = new Saved({ place: root.querySelector("[data-saving]"), signInUrl: data.signInUrl, announce: hear });
let missing = null; // the list of missing ratings, once its module is loaded
const submission = new Submission({
  form,
  prepare,
  renew: renewToken,
  onState: showSending,
  onSent: ({ isAccepted }) => {
    isSent = true;
    drafts.end(isAccepted);
  },
});
let isSent = false;
const one = { slot: null, timer: 0 }; // the rating of 1 that may become 10
let nSaid = sheet.nAnswered();
let noteTimer = 0;

const drafts = isPreview
  ? null
  : new Drafts({
      key: keyOf(data.owner, data.assignment),
      user: data.user,
      urls: { draft: data.draftUrl, session: data.sessionUrl },
      csrf: form.elements.csrfmiddlewaretoken.value,
      now,
      onTime: (saidAt) => clock.hear(saidAt),
      seconds: () => time.list(),
      onState: (state, details) => saved.show(state, details),
      onAnswer: (part, place, value, key) => {
        if (part === "read") return reading.note(Number(place));
        sheet.put(part, place, value, key);
        showProgress();
      },
    });

// For those who hear the page; what it says is seen elsewhere.
function hear(sentence) {
  root.querySelector("[data-announcement]").textContent = sentence;
}

// What just happened, to be heard and, for a moment, to be seen.
function announce(sentence) {
  hear(sentence);
  const note = root.querySelector("[data-note]");
  note.textContent = sentence;
  note.hidden = false;
  clearTimeout(noteTimer);
  noteTimer = setTimeout(() => (note.hidden = true), NOTE_MS);
}

// No further than to the button: the last answer stays on the screen, and the end itself says that every answer is rated.
function goToEnd() {
  end?.querySelector("[data-submit]")?.focus({ preventScroll: true });
  end?.scrollIntoView({ block: "nearest", behavior: glide() });
  root.querySelector("[data-note]").hidden = true;
}

function isOnScreen(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

function showProgress() {
  const n = sheet.nAnswered() + Number(data.alone ?? 0);
  root.querySelector("[data-count]").textContent = n;
  root.querySelector(".rate-count progress").value = n;
  const left = root.querySelector("[data-left]");
  if (left) left.textContent = n === nItems ? say("every_rated") : say("still_to_rate", { n: nItems - n, all: nItems });
  missing?.refresh();
}

// --- rating

function changed(control) {
  const field = sheet.fieldOf(control);
  if (!field) return;
  const [before, after] = [field.known, field.read() ?? null]; // a value that is not on the scale counts as no rating
  field.known = after;
  show(field.item);
  showProgress();
  if (before === after) return;
  const goesOn = control.matches("textarea, input[type=text], input:not([type])");
  undo.note(field, before, after, { goesOn });
  drafts?.note(field.part, field.place, after, field.key, { goesOn });
  sayCount();
}

// Screen readers hear the progress halfway and at the end only, not after each rating. Halfway, the bar shows it to all others:
// a note would cover the text that is read next.
function sayCount() {
  const n = sheet.nAnswered();
  const isMore = n > nSaid;
  nSaid = n;
  if (isAlone || !isMore) return;
  if (n === sheet.items.length) (end && isOnScreen(end) ? hear : announce)(say("every_rated"));
  else if (n === Math.ceil(sheet.items.length / 2)) hear(say("rated", { n, all: sheet.items.length }));
}

function choose(slot, value) {
  slot.write(value);
  (slot.number ?? slot.radios[0]).dispatchEvent(new Event("input", { bubbles: true }));
}

// Choosing the same point again clears the rating. Where there is a 10, a 1 waits a moment for its 0 before it moves on.
function rate(digit, isTyping) {
  const isTen = digit === "0" && one.slot === walk.current && one.slot.read() === 1;
  if (one.slot && !isTen) endWaiting();
  const slot = walk.current;
  if (slot.number) return isTyping ? null : typeNumber();
  const radio = isTen ? radioOf(slot, 10) : radioFor(slot, digit);
  if (!radio) return null;
  return () => {
    if (!mayRate(slot)) return;
    clearTimeout(one.timer);
    one.slot = null;
    if (radio.checked) return clear(slot);
    choose(slot, Number(radio.value));
    if (isTen) undo.join(); // the 1 of a 10 was no rating of its own
    if (radio.value !== "1" || !radioOf(slot, 10)) return walk.goOn();
    one.slot = slot;
    one.timer = setTimeout(endWaiting, ZERO_MS);
  };
}

function endWaiting() {
  const { slot } = one;
  clearTimeout(one.timer);
  one.slot = null;
  // Whoever went elsewhere meanwhile, or chose another point, is where they want to be.
  if (slot === walk.current && slot.read() === 1) walk.goOn();
}

// An answer that is longer than the screen is read to its end before it is rated.
function mayRate(slot) {
  if (reading.mayRate(slot.item)) return true;
  walk.revealText(slot);
  announce(say("read_to_end"));
  return false;
}

// Digits that are typed go into the number field.
function typeNumber() {
  if (!mayRate(walk.current)) return null;
  walk.current.number?.focus();
  walk.current.number?.select();
  return null;
}

// Choose the next point to one side without moving on; without a rating, start at the nearest end of the scale.
function chooseNext(side, target) {
  const slot = target.matches?.("input[type=radio]") ? sheet.slotOf(target) : walk.current;
  if (slot.number) return slot.range?.focus();
  const by = getComputedStyle(slot.element).direction === "rtl" ? -side : side;
  const at = slot.radios.findIndex((radio) => radio.checked);
  const radio = at < 0 ? slot.radios.at(by > 0 ? 0 : -1) : slot.radios[at + by];
  if (!radio || !mayRate(slot)) return;
  walk.makeCurrent(slot);
  choose(slot, Number(radio.value));
  radio.focus({ preventScroll: true });
  walk.reveal(slot);
}

function clear(slot) {
  if (slot.read() === null) return;
  choose(slot, null);
  announce(say("cleared", { n: slot.item.number }));
}

function takeBack() {
  const act = undo.take();
  if (!act) return announce(say("nothing_to_undo"));
  const { field, before } = act;
  putField(field, before);
  drafts?.note(field.part, field.place, before, field.key);
  showProgress();
  walk.goTo(field.radios ? field : field.item.slots[0]);
  announce(say("undone", { n: field.item.number }));
}

function open(name) {
  walk.reveal(walk.current);
  openField(walk.current.item.element.querySelector(`[data-extra=${name}]`));
}

function openField(details) {
  details.open = true;
  const field = details.querySelector("textarea, input");
  field.focus({ preventScroll: true });
  field.setSelectionRange(field.value.length, field.value.length);
  field.scrollIntoView({ block: "nearest" });
}

function leaveText(target, isDone) {
  const slot = sheet.slotOf(target);
  if (!slot) return target.blur();
  const details = target.closest("details");
  if (details && !target.value.trim()) details.open = false;
  undo.close();
  walk.makeCurrent(slot);
  if (isDone && target.value.trim()) walk.goOn();
  else walk.goTo(slot);
}

// Pressing the chosen point clears the rating; the second press of a double click does not. A flag asks what is wrong.
// Whoever opens a text field types into it: on its label, the letters would be shortcuts.
function pressed(event) {
  const details = event.target.closest?.("summary")?.closest("[data-extra]");
  if (details && !details.open) {
    event.preventDefault();
    return openField(details);
  }
  if (event.target.matches?.("input[name^=flag]:checked")) return open("comment");
  const radio = event.target.closest?.("input[type=radio]");
  if (!radio) return;
  const slot = sheet.slotOf(radio);
  const wasChosen = slot.known === Number(radio.value);
  if (wasChosen && event.detail < 2) clear(slot);
  else if (!wasChosen && slot.known === null && event.detail > 0) goOnSoon(slot);
}

// After a touch or click the next item scrolls into view, but only when a double click is no longer possible.
function goOnSoon(slot) {
  setTimeout(() => {
    const next = hasValue(slot) && walk.current === slot && sheet.nextOpen(slot);
    if (!next) return;
    walk.makeCurrent(next);
    if (!walk.isSeen(next)) walk.reveal(next); // an item in view does not move: somebody may be aiming at it
  }, 300);
}

// --- submitting

const BUTTON_WORDS = { sending: "sending", waiting: "waiting" };

function showSending(state) {
  for (const button of document.querySelectorAll("[data-submit]")) {
    button.dataset.label ??= button.textContent;
    button.disabled = state in BUTTON_WORDS;
    button.textContent = state in BUTTON_WORDS ? say(BUTTON_WORDS[state]) : button.dataset.label;
  }
  const isNew = state === "waiting" && !saved.isWaiting;
  saved.wait(state === "waiting");
  if (isNew) announce(say("will_send"));
  if (state === "stopped") {
    announce(say("not_sent"));
    saved.reveal();
  }
  if (state === "incomplete") showMissing();
}

async function showMissing() {
  await later.catch(() => null);
  if (missing) missing.show();
  else walk.goTo(sheet.unanswered()[0].slots[0]);
  announce(say("missing", { n: sheet.unanswered().length }));
}

// A test whose time is up is sent as it is: what is missing counts as incorrect.
function lacksRatings() {
  const isTaken = "incompleteOnceOver" in data && clock.shown() > Number(data.due);
  return !isTaken && sheet.unanswered().length > 0;
}

function send() {
  if (isPreview) return;
  if (lacksRatings()) return showMissing();
  submission.send();
}

// Everything is saved as a draft first, so that nothing depends on the submit alone.
async function prepare() {
  if (!(await drafts.makeReady())) return whyNot();
  if (lacksRatings()) return "incomplete"; // a rating was cleared while the form waited, here or in another tab
  time.tick();
  fillInToken();
  form.elements.seconds.value = JSON.stringify(time.list());
  form.elements.wall_ms.value = String(Math.round(performance.now()));
  return "ready";
}

async function renewToken() {
  if (!(await drafts.confirm())) return whyNot();
  fillInToken();
  return "ready";
}

function whyNot() {
  return drafts.isUnreachable ? "wait" : "stopped";
}

function fillInToken() {
  form.elements.csrfmiddlewaretoken.value = drafts.csrf;
}

// --- start

function start() {
  form.addEventListener("input", (event) => changed(event.target));
  form.addEventListener("click", pressed);
  form.addEventListener("focusin", (event) => {
    const slot = sheet.slotOf(event.target);
    if (slot) walk.makeCurrent(event.target === slot.item.element && walk.current?.item === slot.item ? walk.current : slot);
  });
  form.addEventListener("focusout", () => undo.close());
  form.addEventListener("pointerdown", (event) => {
    const slot = sheet.slotOf(event.target);
    if (slot && (event.target.closest(".criterion") || walk.current?.item !== slot.item)) walk.makeCurrent(slot);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  startKeysHere();
  if (!isPreview) startSaving();
  showProgress();
  const first = sheet.slots.find((slot) => !isOut(slot.item) && !hasValue(slot)) ?? sheet.slots[0];
  walk.makeCurrent(first);
  if (first.item !== sheet.items[0]) walk.reveal(first, { isArrival: true }); // back to where somebody left off
}

function startKeysHere() {
  const dialog = root.querySelector("[data-keys-dialog]");
  const button = root.querySelector("[data-keys]");
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());
  root.querySelector("[data-undo]")?.addEventListener("click", takeBack);
  startKeys({
    root,
    acts: {
      rate,
      typeNumber,
      chooseLeft: (target) => chooseNext(-1, target),
      chooseRight: (target) => chooseNext(1, target),
      clear: (target) => clear(sheet.slotOf(target) ?? walk.current),
      undo: takeBack,
      leaveText,
      submit: send,
      showKeys: () => dialog.showModal(),
      showRubric: () => root.querySelector("a[data-rubric]")?.click(),
      next,
      previous,
      question: () => lines.toggleAt(walk.current.item.element),
      comment: () => open("comment"),
      cannot: () => open("cannot"),
      flag: () => walk.current.item.flag.click(),
      find: () => askPassage("find"),
      toSpan: () => askPassage("toSpan"),
    },
  });
}

// On through a long answer by screens, then to the next one.
function next(target) {
  if (missing?.box.contains(target)) missing.goToFirst();
  else if (passage?.visitedFrom) passage.close();
  else if (!reading.goOn(walk.current, glide())) walk.step(1);
}

function previous(target) {
  if (target?.closest?.("[data-submit]")) walk.goTo(walk.current);
  else if (!reading.goBack(walk.current, glide())) walk.step(-1);
}

function startSaving() {
  for (const field of sheet.touched()) drafts.note(field.part, field.place, field.read() ?? null, field.key);
  const entry = drafts.restore();
  if (entry?.seconds) time.seconds = time.seconds.map((seconds, place) => Math.max(seconds, Number(entry.seconds[place]) || 0));
  drafts.isOnServer = sheet.items.some(isAnswered);
  if (drafts.hasUnsent) saved.show("saving");
  else if (drafts.isOnServer) saved.show("saved");
  time.start();
  if (data.due) startDue(root.querySelector("[data-due-text]"), Number(data.due), () => clock.shown(), data.dueOver);
  addEventListener("online", () => drafts.wake());
  addEventListener("offline", () => drafts.offline());
  addEventListener("focus", () => drafts.wake());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") drafts.wake();
    else if (!isSent) drafts.flush({ keepalive: true });
  });
  addEventListener("beforeunload", (event) => {
    if ((drafts.hasUnsent || submission.isUnderWay) && !isSent) event.preventDefault();
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

// Rating works without modules that cannot be loaded; they are requested again when there is a connection, or after a
// while: a request may also fail where the browser sees a connection all the time.
async function bring(fetchModules, begin, wait = AGAIN_MS) {
  const modules = await fetchModules().catch(() => null);
  if (modules) begin(modules);
  else waitForConnection(wait).then(() => bring(fetchModules, begin, Math.min(2 * wait, MOST_MS)));
}

function waitForConnection(longestMs) {
  return new Promise((resolve) => {
    addEventListener("online", resolve, { once: true });
    setTimeout(resolve, longestMs);
  });
}

function startReading() {
  return bring(
    () => import("./rate/passage.js"),
    ({ startPassage }) => {
      passage = startPassage(root);
      lightSpan(walk.current, { isFirst: !sheet.nAnswered() });
      if (wanted) passage[wanted]();
    },
  );
}

function askPassage(act) {
  if (passage) passage[act]();
  else wanted = act;
}

function lightSpan(slot, options) {
  if (slot) passage?.lightSpan(slot.item.element.closest(".question").dataset.span, options);
}

// Modules that are not needed at once are loaded when the page is idle.
function startLater() {
  return bring(
    () => Promise.all([import("./rate/hint.js"), import("./rate/missing.js"), import("./rate/rubric.js")]),
    ([{ startHints }, { Missing }, { startRubric }]) => {
      missing = new Missing({ box: form.querySelector("[data-missing]"), sheet, walk });
      startHints(root);
      startRubric({ root, url: root.querySelector("a[data-rubric]")?.href });
    },
  );
}

function whenIdle() {
  const idle = window.requestIdleCallback ?? ((act) => setTimeout(act, 200));
  return new Promise((resolve) => {
    const wait = () => idle(resolve, { timeout: IDLE_MS });
    if (document.readyState === "complete") wait();
    else addEventListener("load", wait, { once: true });
  });
}

start();
reading.start(data.read?.split(","));
startReading();
const later = whenIdle().then(startLater);
