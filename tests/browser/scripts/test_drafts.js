// Saving answers: what is sent when, what stays on the device, and what the page is told.
import { equal, flushPromises, test } from "./checking.js";
import { answer, saved, serve, stopClock, Store, use } from "./fakes.js";
import { read } from "../../../static/js/keep.js";
import { Drafts } from "../../../static/js/rate/drafts.js";

const KEY = "concord:work:m1:a1";
const AWAY = new Error("the network is away");

// A page with its drafts, and everything that it is told.
function open({ user = "7", store = new Store() } = {}) {
  use(store);
  const clock = stopClock();
  const page = { clock, states: [], details: [], answers: [], times: [], time: 1000 };
  page.drafts = new Drafts({
    key: KEY,
    user,
    urls: { draft: "/draft/", session: "/session/" },
    csrf: "token",
    now: () => page.time++,
    onTime: (time) => page.times.push(time),
    seconds: () => [12.5],
    onState: (state, details = {}) => {
      page.states.push(state);
      page.details.push(details);
    },
    onAnswer: (...given) => page.answers.push(given),
  });
  return page;
}

function later() {
  let give;
  const waiting = new Promise((resolve) => {
    give = resolve;
  });
  return [waiting, give];
}

// What a network that asks for a sign-in answers.
function askForSignIn(status) {
  return { ...answer(status), json: async () => JSON.parse("<!doctype html>") };
}

function bodies(asked) {
  return asked.map(({ body }) => JSON.parse(body));
}

test("an answer is sent at once and saved is said after the reply", async () => {
  const { drafts, states } = open();
  const [reply, give] = later();
  const asked = serve(reply);
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal(states, ["saving"]);
  equal(read(KEY).unsent.answers, { 0: { correctness: [4, 1000] } });
  give(saved());
  await flushPromises();
  equal(states, ["saving", "saved"]);
  equal(asked[0].headers["X-CSRFToken"], "token");
  equal(bodies(asked), [{ answers: { 0: { correctness: [4, 1000] } }, cannot: {}, flags: {}, comments: {}, read: {}, seconds: [12.5], after: "" }]);
  equal([drafts.hasUnsent, read(KEY).unsent.answers], [false, {}]);
});

test("a page says which draft it knows, and an answer without content changes nothing on it", async () => {
  const { drafts, clock, states, answers } = open();
  const asked = serve(answer(204, null, { "X-Saved-At": "one" }), saved({ answers: { 2: { correctness: [5, 1] } }, saved_at: "two" }), answer(204, null, { "X-Saved-At": "three" }));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  for (const place of [1, 3]) {
    drafts.note("answers", place, 4, "correctness");
    await clock.go();
    await flushPromises();
  }
  equal(bodies(asked).map(({ after }) => after), ["", "one", "two"]);
  equal([states.at(-1), drafts.hasUnsent, drafts.after], ["saved", false, "three"]);
  equal(answers, [["answers", "2", 5, "correctness"]]);
});

test("the page hears the server's time with each draft that is saved", async () => {
  const { drafts, clock, times } = open();
  serve(saved({ saved_at: "2026-03-01T12:00:00+00:00" }), answer(204, null, { "X-Saved-At": "2026-03-01T12:00:01.5+00:00" }));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  drafts.note("answers", 1, 4, "correctness");
  await clock.go();
  equal(times, [Date.UTC(2026, 2, 1, 12), Date.UTC(2026, 2, 1, 12, 0, 1, 500)]);
});

test("answers given while one is sent wait and go together", async () => {
  const { drafts, clock } = open();
  const [reply, give] = later();
  const asked = serve(reply, saved());
  drafts.note("answers", 0, 4, "correctness");
  drafts.note("answers", 1, 2, "correctness");
  drafts.note("flags", 1, true);
  await flushPromises();
  equal(asked.length, 1);
  give(saved());
  await flushPromises();
  equal(clock.waits(), [800]);
  await clock.go();
  equal(bodies(asked)[1].answers, { 1: { correctness: [2, 1001] } });
  equal(bodies(asked)[1].flags, { 1: [true, 1002] });
  equal(drafts.hasUnsent, false);
});

test("an answer changed while it is sent is sent again", async () => {
  const { drafts, clock, states } = open();
  const [reply, give] = later();
  const asked = serve(reply, saved());
  drafts.note("answers", 0, 4, "correctness");
  drafts.note("answers", 0, 5, "correctness");
  give(saved());
  await flushPromises();
  equal(states.at(-1), "saving");
  await clock.go();
  equal(bodies(asked).map(({ answers }) => answers[0].correctness[0]), [4, 5]);
  equal(states.at(-1), "saved");
});

test("typing waits for the next stroke", async () => {
  const { drafts, clock } = open();
  const asked = serve(saved());
  drafts.note("comments", 0, "a", undefined, { goesOn: true });
  drafts.note("comments", 0, "ab", undefined, { goesOn: true });
  equal([asked.length, clock.waits()], [0, [350]]);
  await clock.go();
  equal(bodies(asked)[0].comments, { 0: ["ab", 1001] });
});

test("a network that is away is tried again, ever more seldom", async () => {
  const { drafts, clock, states, details } = open();
  const asked = serve(...Array(9).fill(AWAY), saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  const waits = [];
  for (let n = 0; n < 9; n += 1) {
    waits.push(...clock.waits());
    await clock.go();
  }
  equal(waits, [1000, 2000, 4000, 8000, 15000, 30000, 30000, 30000, 30000]);
  equal(details[1], { message: "", isOffline: true, isKept: true, nAnswers: 1, nOthers: 0 });
  equal(states, ["saving", ...Array(9).fill("kept"), "saved"]);
  equal(asked.length, 10);
});

test("the waits differ by a fifth so that many pages do not come back at once", async () => {
  for (const [chance, wait] of [[0, 800], [1, 1200]]) {
    const { drafts, clock } = open();
    Math.random = () => chance;
    serve(AWAY);
    drafts.note("answers", 0, 4, "correctness");
    await flushPromises();
    equal(clock.waits().map(Math.round), [wait]);
  }
});

test("while the network is away answers are counted and wait for the next try", async () => {
  const { drafts, clock, details } = open();
  const asked = serve(AWAY, saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  drafts.note("answers", 1, 4, "correctness");
  drafts.note("cannot", 2, "No sense");
  drafts.note("comments", 2, "why");
  equal([asked.length, details.at(-1).nAnswers, details.at(-1).nOthers], [1, 3, 1]);
  await clock.go();
  equal([asked.length, drafts.hasUnsent], [2, false]);
});

test("what the server says against an answer is shown, a fault of its own is not", async () => {
  for (const [status, message] of [[400, "Not on the scale."], [500, ""]]) {
    const { drafts, details } = open();
    serve(answer(status, { message: "Not on the scale." }));
    drafts.note("answers", 0, 4, "correctness");
    await flushPromises();
    equal([details.at(-1).message, details.at(-1).isOffline], [message, false]);
  }
});

test("a device without storage says that nothing is kept", async () => {
  const { drafts, details } = open({ store: new Store({ isFull: true }) });
  serve(AWAY);
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal(details.at(-1).isKept, false);
});

test("who is signed out goes on on the device alone", async () => {
  const { drafts, states } = open();
  const asked = serve(answer(401));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  drafts.note("answers", 1, 4, "correctness");
  await flushPromises();
  equal([states, asked.length], [["saving", "signed-out"], 1]);
  equal(Object.keys(read(KEY).unsent.answers), ["0", "1"]);
  drafts.offline();
  equal(states.length, 2);
});

test("only the server's own answers count as saved", async () => {
  const strange = [
    askForSignIn(200),
    askForSignIn(204),
    askForSignIn(409),
    answer(200, {}),
    answer(200, null),
    answer(204, null),
    answer(201, { answers: {} }),
    answer(409, { error: "conflict" }),
  ];
  for (const reply of strange) {
    const { drafts, clock, states } = open();
    serve(reply, saved());
    drafts.note("answers", 0, 4, "correctness");
    await flushPromises();
    equal([states.at(-1), drafts.hasUnsent, read(KEY).unsent.answers], ["kept", true, { 0: { correctness: [4, 1000] } }]);
    await clock.go();
    equal([states.at(-1), drafts.hasUnsent], ["saved", false]);
  }
});

test("who is signed in is known from the server alone", async () => {
  for (const reply of [askForSignIn(200), answer(200, {}), answer(200, null)]) {
    const { drafts, states } = open();
    serve(answer(403), reply);
    drafts.note("answers", 0, 4, "correctness");
    await flushPromises();
    equal([states.at(-1), read(KEY).unsent.answers], ["kept", { 0: { correctness: [4, 1000] } }]);
  }
});

test("a stale token is exchanged and the answer sent once more", async () => {
  const { drafts, states } = open();
  const asked = serve(answer(403), answer(200, { user: 7, csrf: "fresh" }), saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal(asked.map(({ url }) => url), ["/draft/", "/session/", "/draft/"]);
  equal(asked[2].headers["X-CSRFToken"], "fresh");
  equal(states.at(-1), "saved");
});

test("who is signed out behind a stale token is told so and nothing else", async () => {
  const { drafts, clock, states } = open();
  const asked = serve(answer(403), answer(401), answer(200, { user: 7, csrf: "fresh" }), saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal([states, asked.length, clock.waits()], [["saving", "signed-out"], 2, []]);
  await drafts.wake();
  equal([states.at(-1), drafts.hasUnsent], ["saved", false]);
});

test("after signing in again what was kept is sent", async () => {
  const { drafts, states } = open();
  serve(answer(401), answer(401), answer(200, { user: 7, csrf: "fresh" }), saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  await drafts.wake();
  equal(states.at(-1), "signed-out");
  await drafts.wake();
  equal([states.at(-1), drafts.hasUnsent], ["saved", false]);
});

test("a HIT that takes nothing any more keeps nothing", async () => {
  const { drafts, states, details } = open();
  const asked = serve(answer(409, { state: "submitted", message: "Submitted before." }));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal([states.at(-1), details.at(-1).message, read(KEY)], ["closed", "Submitted before.", null]);
  drafts.note("answers", 0, 5, "correctness");
  drafts.offline();
  await drafts.wake();
  equal([asked.length, drafts.hasUnsent, states.length], [1, false, 2]);
  equal(await drafts.makeReady(), true);
});

test("answers of another tab are shown, but not over what is unsent here", async () => {
  const { drafts, answers } = open();
  const [reply, give] = later();
  serve(reply);
  drafts.note("answers", 0, 4, "correctness");
  drafts.note("answers", 1, 2, "correctness");
  give(
    saved({
      answers: { 0: { correctness: [4, 1000] }, 1: { correctness: [5, 900] }, 2: { correctness: [3, 950] } },
      flags: { 2: [true, 960] },
    }),
  );
  await flushPromises();
  equal(answers, [
    ["answers", "0", 4, "correctness"],
    ["answers", "2", 3, "correctness"],
    ["flags", "2", true, null],
  ]);
});

test("a time limit that is over is told with the saved answer", async () => {
  const { drafts, states, details } = open();
  serve(saved({ ended: "Time ran out." }));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal([states.at(-1), details.at(-1).message], ["ended", "Time ran out."]);
  await drafts.wake();
  equal(states.at(-1), "ended");
});

test("that another tab has submitted is said until there is a change here", async () => {
  const { drafts, states } = open();
  const [reply, give] = later();
  serve(reply, saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  drafts.channel.dispatchEvent(new MessageEvent("message", { data: { isSent: true } }));
  give(saved());
  await flushPromises();
  await drafts.wake();
  drafts.offline();
  equal(states, ["saving", "sent-elsewhere"]);
  drafts.note("answers", 0, 5, "correctness");
  await drafts.flush();
  equal(states.at(-1), "saved"); // a page of a test takes changes until the test ends
});

test("an earlier page's answers come back and are sent", async () => {
  const store = new Store();
  const before = open({ store });
  serve(AWAY);
  before.drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  const { drafts, answers, clock } = open({ store });
  const asked = serve(saved());
  equal(drafts.restore().seconds, [12.5]);
  equal([answers, clock.waits()], [[["answers", "0", 4, "correctness"]], [0]]);
  await clock.go();
  equal(bodies(asked)[0].answers, { 0: { correctness: [4, 1000] } });
});

test("another person's answers do not come back", async () => {
  const store = new Store();
  serve(AWAY);
  open({ store }).drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  const { drafts, answers } = open({ store, user: "8" });
  equal([drafts.restore(), answers, drafts.hasUnsent], [null, [], false]);
});

test("a second tab's answers stay on the device when this one's are saved", async () => {
  const store = new Store();
  const other = open({ store });
  serve(AWAY);
  other.drafts.note("answers", 1, 2, "correctness");
  await flushPromises();
  const { drafts } = open({ store });
  serve(saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal(read(KEY).unsent.answers, { 1: { correctness: [2, 1000] } });
});

test("of two tabs' answers to one item the device keeps the newer", async () => {
  const store = new Store();
  const [one, other] = [open({ store }), open({ store })];
  serve(AWAY, AWAY);
  one.drafts.note("answers", 0, 4, "correctness");
  other.time = 2000;
  other.drafts.note("answers", 0, 5, "correctness");
  await flushPromises();
  equal(read(KEY).unsent.answers, { 0: { correctness: [5, 2000] } });
  one.drafts.note("flags", 0, true);
  equal(read(KEY).unsent.answers, { 0: { correctness: [5, 2000] } });
});

test("a page that is left sends with keepalive", async () => {
  const { drafts } = open();
  const asked = serve(saved());
  drafts.note("comments", 0, "a", undefined, { goesOn: true });
  equal(await drafts.flush({ keepalive: true }), true);
  equal(asked[0].keepalive, true);
});

test("a page that was left on a dead connection saves again once that is known", async () => {
  const { drafts, states } = open();
  const [dead, end] = later();
  const asked = serve(dead, saved());
  drafts.note("comments", 0, "a", undefined, { goesOn: true });
  drafts.flush({ keepalive: true });
  await flushPromises();
  asked[0].signal.addEventListener("abort", () => end(AWAY));
  drafts.offline();
  await flushPromises();
  await drafts.wake();
  equal([asked.length, states.at(-1), drafts.hasUnsent], [2, "saved", false]);
});

test("the form is sent once all is saved and the session is known to be good", async () => {
  const { drafts, clock } = open();
  const asked = serve(saved(), answer(200, { user: 7, csrf: "fresh" }), answer(401));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal([await drafts.makeReady(), asked.length], [true, 1]);
  clock.now += 30_001;
  equal([await drafts.makeReady(), asked.length, drafts.csrf], [true, 2, "fresh"]);
  clock.now += 30_001;
  equal([await drafts.makeReady(), asked.length, drafts.isSignedOut], [false, 3, true]);
});

test("the form waits while an answer is not saved or nobody can be asked", async () => {
  const { drafts, clock } = open();
  serve(AWAY, AWAY);
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal(await drafts.makeReady(), false);
  const other = open();
  serve(AWAY);
  other.clock.now += 30_001;
  equal([await other.drafts.makeReady(), other.states.at(-1)], [false, "kept"]);
  equal(clock.waits().length, 1);
});

test("a page that reached nobody asks again, and then saves the next answer at once", async () => {
  const { drafts, clock, states } = open();
  const asked = serve(AWAY, AWAY, answer(200, { user: 7, csrf: "fresh" }), saved());
  clock.now += 30_001;
  equal([await drafts.makeReady(), drafts.isUnreachable, states.at(-1)], [false, true, "kept"]);
  await clock.go();
  equal([drafts.isUnreachable, states.at(-1)], [true, "kept"]);
  await clock.go();
  equal([drafts.isUnreachable, states.at(-1)], [false, "idle"]);
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  equal([asked.length, states.at(-1)], [4, "saved"]);
});

test("an answer that is given while the page asks again is sent as soon as somebody is reached", async () => {
  const { drafts, clock, states } = open();
  let reach;
  const reached = new Promise((resolve) => (reach = () => resolve(answer(200, { user: 7, csrf: "fresh" }))));
  const asked = serve(AWAY, reached, saved());
  clock.now += 30_001;
  await drafts.makeReady();
  const asking = clock.go();
  drafts.note("answers", 0, 4, "correctness");
  reach();
  await asking;
  await clock.go();
  equal([asked.length, drafts.hasUnsent, states.at(-1)], [3, false, "saved"]);
});

test("whoever comes back in several ways at once asks once", async () => {
  const { drafts, clock } = open();
  const asked = serve(AWAY, AWAY, answer(200, { user: 7, csrf: "fresh" }));
  clock.now += 30_001;
  await drafts.makeReady();
  await Promise.all([drafts.wake(), drafts.wake(), drafts.wake()]);
  equal([asked.length, drafts.isUnreachable], [2, true]);
});

test("back in view a page that reached nobody asks again", async () => {
  const { drafts, clock, states } = open();
  serve(saved(), AWAY, answer(200, { user: 7, csrf: "fresh" }));
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  clock.now += 30_001;
  await drafts.makeReady();
  await drafts.wake();
  equal([drafts.isUnreachable, states.at(-1)], [false, "saved"]);
});

test("what changed while a form was sent stays on the device unless it was taken", async () => {
  for (const [isSubmitted, isKept] of [[true, false], [false, true]]) {
    const { drafts } = open();
    serve(AWAY);
    drafts.note("answers", 0, 4, "correctness");
    await flushPromises();
    drafts.end(isSubmitted);
    equal(read(KEY) !== null, isKept);
  }
  const { drafts } = open();
  serve(saved());
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  drafts.end(false);
  equal(read(KEY), null);
});

test("back in view a page says what is true", async () => {
  const { drafts, states } = open();
  serve(saved());
  await drafts.wake();
  equal(states, ["idle"]);
  drafts.offline();
  equal(states.at(-1), "kept");
  drafts.note("answers", 0, 4, "correctness");
  await flushPromises();
  await drafts.wake();
  equal(states.at(-1), "saved");
});
