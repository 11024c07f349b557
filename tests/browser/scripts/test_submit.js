// Sending a HIT: when it waits for the network, and when it is sent.
import { equal, flushPromises, test } from "./checking.js";
import { answer, serve, stopClock } from "./fakes.js";

globalThis.addEventListener ??= () => {};
globalThis.location ??= { assign() {} };
globalThis.FormData = class {
  *[Symbol.iterator]() {}
};
const { Submission } = await import("../../../static/js/rate/submit.js");

const SUBMITTED = answer(200, { next: "#next" }, { "Content-Type": "application/json" });

// A page whose ratings are saved; `reaches` is whether a session can be asked for.
function open({ isOnline, reaches = "ready" }) {
  const page = { clock: stopClock(), states: [], renewed: 0, sent: [] };
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { onLine: isOnline } });
  page.submission = new Submission({
    form: { action: "/work/1/" },
    prepare: async () => "ready",
    renew: async () => {
      page.renewed += 1;
      return reaches;
    },
    onState: (state) => page.states.push(state),
    onSent: ({ isAccepted }) => page.sent.push(isAccepted),
  });
  return page;
}

test("a HIT is sent once and the next page comes", async () => {
  const page = open({ isOnline: true });
  const asked = serve(SUBMITTED);
  page.submission.send();
  page.submission.send();
  await flushPromises();
  equal(asked.length, 1);
  equal([page.states, page.sent, page.renewed], [["sending"], [true], 0]);
});

test("a device without a network still reaches a site of its own", async () => {
  const page = open({ isOnline: false });
  const asked = serve(SUBMITTED);
  page.submission.send();
  await flushPromises();
  equal([asked.length, page.sent], [1, [true]]);
});

test("a HIT is not sent over a network that is away, and waits", async () => {
  const page = open({ isOnline: false, reaches: "wait" });
  const asked = serve();
  page.submission.send();
  await flushPromises();
  equal([asked.length, page.states], [0, ["sending", "waiting"]]);
  equal(page.clock.waits(), [1000]);
});

test("whoever was signed out without a network is told so", async () => {
  const page = open({ isOnline: false, reaches: "stopped" });
  serve();
  page.submission.send();
  await flushPromises();
  equal(page.states, ["sending", "stopped"]);
});
