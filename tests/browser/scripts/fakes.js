// A device and a network that do as a test says: storage, requests, clocks.
export class Store {
  constructor({ isFull = false } = {}) {
    Object.defineProperty(this, "isFull", { value: isFull }); // no key of the store
  }

  getItem(key) {
    return Object.hasOwn(this, key) ? this[key] : null;
  }

  setItem(key, value) {
    if (this.isFull) throw new Error("the store is full");
    this[key] = String(value);
  }

  removeItem(key) {
    delete this[key];
  }
}

// Take a store for the device's; null where the browser's settings forbid one.
export function use(store) {
  const get = () => {
    if (!store) throw new Error("storage is switched off");
    return store;
  };
  Object.defineProperty(globalThis, "localStorage", { configurable: true, get });
  return store;
}

export function answer(status, content = {}, headers = {}) {
  return { status, ok: status < 400, json: async () => content, headers: new Headers(headers) };
}

// What the server says of a draft that it has saved.
export function saved(draft = {}) {
  return answer(200, { saved_at: "2026-03-01T12:00:00+00:00", ...draft });
}

// Answer the next requests in this order; an error is a network that is away. What is asked is told in the array given back.
export function serve(...answers) {
  const asked = [];
  globalThis.fetch = async (url, options = {}) => {
    asked.push({ url, ...options });
    const next = answers.shift();
    if (next === undefined) throw new Error(`nobody expected ${url}`);
    const given = await next;
    if (given instanceof Error) throw given;
    return given;
  };
  return asked;
}

// A clock that moves only by `go`, and the timers that were set by it.
export function stopClock() {
  const clock = { now: 100_000, timers: new Map(), n: 0 };
  performance.now = () => clock.now;
  Math.random = () => 0.5;
  globalThis.setTimeout = (act, wait) => {
    clock.n += 1;
    clock.timers.set(clock.n, { act, wait });
    return clock.n;
  };
  globalThis.clearTimeout = (id) => clock.timers.delete(id);
  clock.waits = () => [...clock.timers.values()].map(({ wait }) => wait);
  clock.go = () => {
    const [[id, { act, wait }]] = clock.timers;
    clock.timers.delete(id);
    clock.now += wait;
    return act();
  };
  return clock;
}
