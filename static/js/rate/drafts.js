// Saving: every change is stored on this device at once, and sent to the server within a second; it is "saved" only when the server says so.
import { isEmpty, read, readRefusal, readSaved, wipe, write } from "../keep.js";

const TYPING_MS = 350; // typing and sliding are sent after this pause
const APART_MS = 800; // ratings given faster than this are sent together, so that what is unsent is under a second old
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 15000, 30000];

// Changes that were not sent yet: {answers: {place: {key: [value, stamp]}}, cannot, flags, comments, read: {place: [value, stamp]}}.
const PARTS = ["answers", "cannot", "flags", "comments", "read"];

function blank() {
  return { answers: {}, cannot: {}, flags: {}, comments: {}, read: {} };
}

// Yields [part, place, key or undefined, [value, stamp]].
function* entriesOf(changes) {
  for (const part of PARTS) {
    for (const [place, entry] of Object.entries(changes?.[part] ?? {})) {
      if (part === "answers") for (const [key, stamped] of Object.entries(entry)) yield [part, place, key, stamped];
      else yield [part, place, undefined, entry];
    }
  }
}

function get(changes, part, place, key) {
  return part === "answers" ? changes.answers[place]?.[key] : changes[part]?.[place];
}

function set(changes, part, place, key, stamped) {
  if (part === "answers") (changes.answers[place] ??= {})[key] = stamped;
  else (changes[part] ??= {})[place] = stamped;
}

function drop(changes, part, place, key) {
  if (part !== "answers") delete changes[part][place];
  else if (changes.answers[place]) {
    delete changes.answers[place][key];
    if (!Object.keys(changes.answers[place]).length) delete changes.answers[place];
  }
}

function addNewer(changes, others) {
  for (const [part, place, key, stamped] of entriesOf(others)) {
    const mine = get(changes, part, place, key);
    if (!mine || mine[1] < stamped[1]) set(changes, part, place, key, stamped);
  }
}

function dropSent(changes, sent) {
  for (const [part, place, key, stamped] of entriesOf(sent)) {
    const mine = get(changes, part, place, key);
    if (mine && mine[1] <= stamped[1]) drop(changes, part, place, key);
  }
}

// Returns the number of ratings, and of flags and comments. That an answer was read is no work that could be lost.
function countOf(changes) {
  const parts = [...entriesOf(changes)].map(([part]) => part).filter((part) => part !== "read");
  const nAnswers = parts.filter((part) => part === "answers" || part === "cannot").length;
  return { nAnswers, nOthers: parts.length - nAnswers };
}

export class Drafts {
  // now: the server's time; onTime(time): what the server says of it; seconds: active seconds so far;
  // onState(state, details); onAnswer(part, place, value, key)
  constructor({ key, user, urls, csrf, now, onTime, seconds, onState, onAnswer }) {
    Object.assign(this, { key, user, urls, csrf, now, onTime, seconds, onState, onAnswer });
    this.unsent = blank();
    this.lastGoodAt = 0;
    this.sentAt = -APART_MS;
    this.nFailed = 0;
    this.timer = null;
    this.sending = null;
    this.isClosed = false;
    this.isSignedOut = false;
    this.isAnothers = false; // somebody else has signed in, and the page is left
    this.isSentElsewhere = false; // by another tab, with nothing changed here since
    this.ended = "";
    this.trouble = "";
    this.isOffline = false;
    this.startChannel();
    this.isOnServer = false; // whether the server has anything from this page
    this.after = ""; // when the newest draft that this page knows was saved, as the server told
  }

  // Whether the last try to save found no server, not one that refused.
  get isUnreachable() {
    return this.nFailed > 0 && !this.trouble && !this.isSignedOut;
  }

  get hasUnsent() {
    return !isEmpty(this.unsent);
  }

  // Takes over what an earlier page on this device could not send.
  restore() {
    const entry = read(this.key);
    if (!entry || entry.user !== this.user) return null;
    addNewer(this.unsent, entry.unsent);
    for (const [part, place, key, [value]] of entriesOf(this.unsent)) this.onAnswer(part, place, value, key);
    if (this.hasUnsent) this.schedule(0);
    return entry;
  }

  // Saves one change. While a request is running, and shortly after it, further changes wait and are sent together.
  note(part, place, value, key, { goesOn = false } = {}) {
    if (this.isClosed) return;
    this.isSentElsewhere = false;
    const stamp = this.now();
    set(this.unsent, part, String(place), key, [value, stamp]);
    this.channel?.postMessage({ part, place: String(place), key, value, stamp });
    this.keep();
    if (this.isSignedOut) return;
    if (this.nFailed) {
      this.sayKept();
      return;
    }
    this.onState("saving");
    if (goesOn) this.schedule(TYPING_MS);
    else if (!this.sending) this.scheduleNext();
  }

  keep(sent = null) {
    const entry = read(this.key) ?? { user: this.user, urls: this.urls, unsent: blank() };
    if (sent) dropSent(entry.unsent, sent);
    addNewer(entry.unsent, this.unsent);
    entry.seconds = this.seconds();
    entry.keptAt = Date.now();
    this.isKept = write(this.key, entry);
  }

  schedule(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), wait);
  }

  // The first change is sent at once, and the next ones when the last request is long enough ago.
  scheduleNext() {
    const wait = this.sentAt + APART_MS - performance.now();
    if (wait > 0) this.schedule(wait);
    else this.flush();
  }

  // Sends what is unsent, and returns whether nothing is left. With nothing unsent, a page that found no server last asks for it again.
  async flush({ keepalive = false } = {}) {
    clearTimeout(this.timer);
    let before = null;
    while (this.sending) before = await this.sending;
    const isAsking = !this.hasUnsent && this.isUnreachable && !keepalive && before === null;
    if (this.isClosed || (!this.hasUnsent && !isAsking)) return before ?? !this.isSignedOut;
    if (!isAsking) this.sentAt = performance.now();
    this.sending = isAsking ? this.confirm() : this.send(keepalive);
    try {
      return await this.sending;
    } finally {
      this.sending = null;
    }
  }

  async send(keepalive) {
    const sent = structuredClone(this.unsent);
    let response;
    try {
      response = await this.post(sent, keepalive);
      // the token is outdated, or somebody else has signed in: check the session, then try once more
      if ([403, 404].includes(response.status)) {
        if (await this.refresh()) response = await this.post(sent, keepalive);
        else if (this.isSignedOut) return false;
      }
    } catch {
      return this.failed({ isOffline: true });
    }
    if (response.status === 401) return this.signedOut();
    const refusal = await readRefusal(response);
    if (refusal) return this.closed(refusal.message ?? "");
    const merged = await readSaved(response);
    if (merged) return this.saved(sent, merged);
    return this.failed({ message: response.status < 500 ? await sayOf(response) : "" });
  }

  post(sent, keepalive) {
    return fetch(this.urls.draft, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": this.csrf },
      body: JSON.stringify({ ...sent, seconds: this.seconds(), after: this.after }),
      redirect: "error",
      keepalive,
      signal: this.signal(), // a page that is left does not run any more, and ends nothing
    });
  }

  // Ends a request that takes too long, and every request when the network goes: it would hang, and saving with it.
  signal() {
    this.aborter = new AbortController();
    const timeout = AbortSignal.timeout(20000);
    return AbortSignal.any ? AbortSignal.any([timeout, this.aborter.signal]) : timeout;
  }

  saved(sent, merged) {
    this.after = merged.saved_at;
    this.onTime(Date.parse(merged.saved_at));
    dropSent(this.unsent, sent);
    this.keep(sent);
    this.nFailed = 0;
    this.isSignedOut = false;
    this.lastGoodAt = performance.now();
    this.isOnServer = true;
    for (const [part, place, key, [value]] of entriesOf(merged)) {
      if (!get(this.unsent, part, place, key)) this.onAnswer(part, place, value, key);
    }
    if (this.hasUnsent) this.scheduleNext();
    this.ended = merged.ended ?? "";
    // Saved, but the HIT has ended: say so now, not only at the submit.
    if (this.ended) this.onState("ended", { message: this.ended });
    else if (!this.isSentElsewhere) this.onState(this.hasUnsent ? "saving" : "saved", { isFresh: true });
    return !this.hasUnsent;
  }

  failed({ message = "", isOffline = false } = {}) {
    this.schedule(BACK_OFF_MS[Math.min(this.nFailed, BACK_OFF_MS.length - 1)] * (0.8 + 0.4 * Math.random()));
    this.nFailed += 1;
    Object.assign(this, { trouble: message, isOffline });
    this.sayKept();
    return false;
  }

  // Returns how much is only on this device.
  sayKept() {
    const { trouble: message, isOffline, isKept } = this;
    this.onState("kept", { message, isOffline, isKept, ...countOf(this.unsent) });
  }

  signedOut() {
    this.isSignedOut = true;
    this.onState("signed-out");
    return false;
  }

  // After the HIT was submitted, returned or withdrawn nothing can be sent, so nothing is kept.
  closed(message) {
    this.isClosed = true;
    wipe(this.key);
    this.unsent = blank();
    this.onState("closed", { message });
    return true;
  }

  // Checks who is signed in and gets a new token; returns whether it is still the same person.
  async refresh() {
    const response = await fetch(this.urls.session, {
      headers: { Accept: "application/json" },
      redirect: "error",
      cache: "no-store",
      signal: AbortSignal.timeout(15000),
    });
    if (response.status === 401) {
      this.signedOut();
      return false;
    }
    if (!response.ok) return false;
    const { user, csrf } = await response.json();
    if (user === undefined || !csrf) return false; // not what the server says
    if (String(user) !== this.user) {
      this.isAnothers = true;
      wipe(this.key);
      location.reload();
      return false;
    }
    this.csrf = csrf;
    this.isSignedOut = false;
    this.lastGoodAt = performance.now();
    return true;
  }

  // When the page is visible or online again, try at once.
  async wake() {
    if (this.isClosed) return;
    try {
      if (this.isSignedOut && !(await this.refresh())) return;
    } catch {
      return;
    }
    if (this.hasUnsent || this.isUnreachable) await this.flush();
    else this.sayAtRest();
  }

  // Says what is true while nothing is unsent.
  sayAtRest() {
    if (this.nFailed === 0 && !this.ended && !this.isSentElsewhere) this.onState(this.isOnServer ? "saved" : "idle");
  }

  // The browser reports that it is offline.
  offline() {
    if (this.isClosed || this.isSignedOut) return;
    this.aborter?.abort();
    this.isOffline = true;
    if (!this.isSentElsewhere) this.sayKept();
  }

  // Before the form is submitted: saves everything, and checks that the session and the token are valid.
  async makeReady() {
    if (!(await this.flush())) return false;
    return this.isClosed || performance.now() - this.lastGoodAt < 30000 || this.confirm();
  }

  // Returns whether the same person is still signed in. Where the server doesn't say, it counts as unreachable.
  async confirm() {
    try {
      if (await this.refresh()) {
        if (this.nFailed && this.hasUnsent) this.schedule(0); // it came while the page asked
        else if (this.nFailed) {
          this.nFailed = 0;
          this.sayAtRest();
        }
        return true;
      }
    } catch {
      // no network
    }
    if (!this.isSignedOut && !this.isAnothers) this.failed();
    return false;
  }

  // The server has everything but what changed while it answered; other tabs with this HIT say so if it was submitted.
  end(isSubmitted) {
    if (isSubmitted || !this.hasUnsent) wipe(this.key);
    if (isSubmitted) this.channel?.postMessage({ isSent: true });
  }

  // Other tabs of this browser with the same HIT show each change at once; the server's answer would tell them later.
  startChannel() {
    if (!this.urls.draft || typeof BroadcastChannel === "undefined") return;
    this.channel = new BroadcastChannel(`concord:${this.urls.draft}`);
    this.channel.addEventListener("message", ({ data: { part, place, key, value, stamp, isSent } }) => {
      if (this.isClosed) return;
      if (isSent) {
        this.isSentElsewhere = true;
        return this.onState("sent-elsewhere");
      }
      const mine = get(this.unsent, part, place, key);
      if (!mine || mine[1] < stamp) this.onAnswer(part, place, value, key);
    });
  }
}

async function sayOf(response) {
  try {
    return (await response.json()).message ?? "";
  } catch {
    return "";
  }
}
