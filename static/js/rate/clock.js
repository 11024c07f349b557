// Time: the server's clock, active seconds per item, and the time left.
import { say } from "../words.js";

const IDLE_MS = 60_000;
const TICK_MS = 1000;
const SLEPT_MS = 5000; // the device's date is also set by less, little by little

// The server's clock, as the page knows it. now() never goes back: what is typed later has the greater stamp. shown() does,
// once the server contradicts a device whose date was set: nobody reads that time is up when it isn't.
export class ServerClock {
  constructor(serverNow) {
    this.ahead = serverNow - performance.now();
    this.heard = this.ahead;
    this.gap = Date.now() - performance.now();
  }

  // In some browsers performance.now() stands still while the device sleeps; by the device's date, that time counts as well.
  now() {
    const gap = Date.now() - performance.now();
    if (Math.abs(gap - this.gap) > SLEPT_MS) {
      const slept = Math.max(gap - this.gap, 0);
      this.ahead += slept;
      this.heard += slept;
      this.gap = gap;
    }
    return Math.round(this.ahead + performance.now());
  }

  shown() {
    this.now(); // counts a sleep
    return Math.round(this.heard + performance.now());
  }

  // serverNow: the server's time a moment ago
  hear(serverNow) {
    const late = serverNow - this.now();
    if (late > 0) this.ahead += late;
    if (!Number.isNaN(late)) this.heard = serverNow - performance.now();
  }
}

// Counts seconds while the page is visible and somebody is active, each for the item that is current.
// `before` are the seconds that the server knows of. Those of a page that was left without a change, the tab remembers.
export class ActiveTime {
  constructor(nItems, before, page) {
    this.name = `concord:time:${page}`;
    const left = recall(this.name);
    this.seconds = Array.from({ length: nItems }, (_, place) => Math.max(Number(before?.[place]) || 0, Number(left[place]) || 0));
    this.place = 0;
    this.lastInput = performance.now();
    this.lastTick = performance.now();
    this.wasInView = isInView();
  }

  start() {
    const seen = () => {
      this.lastInput = performance.now();
    };
    for (const name of ["pointermove", "pointerdown", "keydown", "wheel", "touchmove"]) {
      document.addEventListener(name, seen, { passive: true, capture: true });
    }
    document.addEventListener("scroll", seen, { passive: true, capture: true });
    document.addEventListener("visibilitychange", () => this.leave());
    addEventListener("pagehide", () => this.leave());
    setInterval(() => this.tick(), TICK_MS);
  }

  // Only numbers, and only in this tab: nothing of a person stays on the device.
  leave() {
    this.tick();
    try {
      sessionStorage.setItem(this.name, JSON.stringify(this.list()));
    } catch {
      // storage is full or turned off
    }
  }

  tick() {
    const now = performance.now();
    // at most two seconds: the time that a laptop was asleep does not count
    const passed = Math.min(now - this.lastTick, 2 * TICK_MS);
    if (this.wasInView && now - this.lastInput < IDLE_MS) this.seconds[this.place] += passed / 1000;
    this.lastTick = now;
    this.wasInView = isInView();
  }

  moveTo(place) {
    if (place === this.place) return;
    this.tick();
    this.place = place;
  }

  list() {
    return this.seconds.map((seconds) => Math.round(seconds * 10) / 10);
  }
}

function recall(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name)) ?? [];
  } catch {
    return [];
  }
}

function isInView() {
  return document.visibilityState === "visible";
}

// Whole minutes or hours, rounded down: never more time than there is. The last minute is not counted down.
export function startDue(element, dueAt, now, over = say("time_up")) {
  const show = () => {
    const minutes = Math.floor((dueAt - now()) / 60_000);
    const text = minutes < 0 ? over : sayLeft(minutes);
    element.closest(".rate-due").classList.toggle("is-short", minutes < 10);
    if (element.textContent !== text) element.textContent = text;
  };
  show();
  setInterval(show, 10_000);
}

function sayLeft(minutes) {
  if (minutes < 1) return say("last_minute");
  if (minutes < 120) return say("minutes_left", { n: minutes });
  if (minutes < 2880) return say("hours_left", { n: Math.floor(minutes / 60) });
  return say("days_left", { n: Math.floor(minutes / 1440) });
}
