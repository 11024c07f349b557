// Answers kept on a device: whose they are, and what becomes of them.
import { equal, rejects, test } from "./checking.js";
import { answer, saved, serve, Store, use } from "./fakes.js";
import { closeStore, isEmpty, kept, keyOf, read, wipe, wipeAll, wipeOthers, write } from "../../../static/js/keep.js";

const UNSENT = { answers: { 0: { correctness: [4, 1000] } }, cannot: {}, flags: {}, comments: {} };
const NOTHING = { answers: {}, cannot: {}, flags: {}, comments: {} };
const urls = { draft: "/draft/", session: "/session/" };

function fill() {
  const store = use(new Store());
  store.setItem("other", "of somebody else's script");
  write(keyOf("m1", "a"), { user: "7", urls, unsent: UNSENT });
  write(keyOf("m1", "b"), { user: "7", urls, unsent: NOTHING });
  write(keyOf("m2", "a"), { user: "8", urls, unsent: UNSENT });
  return store;
}

test("an entry comes back as it was written", () => {
  fill();
  equal(read(keyOf("m1", "a")), { user: "7", urls, unsent: UNSENT });
  equal(read(keyOf("m3", "a")), null);
});

test("what cannot be read is nothing", () => {
  use(new Store()).setItem("broken", "{");
  equal(read("broken"), null);
  use(null);
  equal(read("any"), null);
});

test("a full store is said and not thrown", () => {
  use(new Store({ isFull: true }));
  equal(write("any", {}), false);
  use(new Store());
  equal(write("any", {}), true);
  use(null);
  equal([write("any", {}), wipe("any"), wipeAll(), wipeOthers("7"), [...kept()]], [false, null, null, null, []]);
});

test("only our own keys are wiped", () => {
  const store = fill();
  wipe(keyOf("m1", "a"));
  equal(Object.keys(store).length, 3);
  wipeAll();
  equal(Object.keys(store), ["other"]);
});

test("another person's entries are wiped and one's own stay", () => {
  const store = fill();
  wipeOthers("7");
  equal(Object.keys(store).sort(), [keyOf("m1", "a"), keyOf("m1", "b"), "other"].sort());
});

test("changes are empty where no part has one", () => {
  equal([isEmpty(UNSENT), isEmpty(NOTHING), isEmpty({}), isEmpty(null)], [false, true, true, true]);
});

test("what is unsent is sent with a fresh token", async () => {
  fill();
  wipe(keyOf("m2", "a"));
  const asked = serve(answer(200, { user: 7, csrf: "fresh" }), saved());
  const entries = [...kept()];
  equal(entries.map((entry) => entry.hasUnsent), [true, false]);
  await entries[0].send();
  equal(asked.map(({ url }) => url), ["/session/", "/draft/"]);
  equal([asked[1].headers["X-CSRFToken"], JSON.parse(asked[1].body)], ["fresh", UNSENT]);
});

test("a submitted HIT has nothing left to send, every other refusal is an error", async () => {
  fill();
  const [entry] = kept();
  serve(answer(200, { csrf: "x" }), answer(409, { state: "submitted" }));
  await entry.send();
  serve(answer(200, { csrf: "x" }), answer(204, null, { "X-Saved-At": "now" }));
  await entry.send();
  serve(answer(200, { csrf: "x" }), answer(500, {}));
  await rejects(() => entry.send(), /draft 500/);
  serve(answer(401, {}));
  await rejects(() => entry.send(), /session 401/);
});

test("only the server's own answers count as sent", async () => {
  fill();
  const [entry] = kept();
  for (const reply of [answer(200, {}), answer(200, null), answer(204, null), answer(409, {})]) {
    serve(answer(200, { csrf: "x" }), reply);
    await rejects(() => entry.send(), /draft/);
  }
  serve(answer(200, null));
  await rejects(() => entry.send(), /./);
});

test("what is sent at the sign-out goes nowhere else and does not wait for ever", async () => {
  fill();
  const [entry] = kept();
  const { signal } = new AbortController();
  const asked = serve(answer(200, { csrf: "x" }), saved());
  await entry.send(signal);
  equal(asked.map((request) => [request.redirect, request.headers.Accept, request.signal === signal]), [
    ["error", "application/json", true],
    ["error", "application/json", true],
  ]);
});

// The last test: the store stays closed until the page is loaded again.
test("a closed store is empty and takes nothing more", () => {
  const store = fill();
  closeStore();
  equal(write(keyOf("m1", "a"), {}), false);
  equal(Object.keys(store), ["other"]);
});
