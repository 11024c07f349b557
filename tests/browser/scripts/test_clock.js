// The server's clock as a page knows it, and the time left by it, on a device that sleeps.
import { equal, test } from "./checking.js";

// Sentences of pages are not needed here, and outside of a browser there is no page.
globalThis.document ??= { querySelectorAll: () => [], documentElement: { lang: "en" } };
const { ServerClock } = await import("../../../static/js/rate/clock.js");

const START = 1_800_000_000_000;
const HOUR = 3_600_000;

// The device's two clocks: `run` moves both, `sleep` only that of the wall, as in browsers whose other clock stops.
function device() {
  const clocks = { wall: START + 5 * HOUR, page: 1000 };
  performance.now = () => clocks.page;
  Date.now = () => clocks.wall;
  return {
    run: (ms) => ((clocks.page += ms), (clocks.wall += ms)),
    sleep: (ms) => (clocks.wall += ms),
  };
}

test("the clock starts with the server's time and runs on whatever the device's date", () => {
  const { run } = device();
  const clock = new ServerClock(START);
  equal(clock.now(), START);
  run(1500.4);
  equal(clock.now(), START + 1500);
});

test("time that the device slept counts", () => {
  const { run, sleep } = device();
  const clock = new ServerClock(START);
  run(1000);
  sleep(8 * HOUR);
  run(1000);
  equal(clock.now(), START + 8 * HOUR + 2000);
  sleep(HOUR);
  equal(clock.now(), START + 9 * HOUR + 2000);
});

test("a date that is set back changes nothing and hides no later sleep", () => {
  const { run, sleep } = device();
  const clock = new ServerClock(START);
  sleep(-24 * HOUR);
  run(1000);
  equal(clock.now(), START + 1000);
  sleep(HOUR);
  equal(clock.now(), START + HOUR + 1000);
});

test("the time left is the server's again after a date that was set and not slept", () => {
  const { run, sleep } = device();
  const clock = new ServerClock(START);
  sleep(8 * HOUR); // set forward: it looks as if the device had slept
  equal(clock.shown(), START + 8 * HOUR);
  run(1000);
  clock.hear(START + 1000);
  equal(clock.shown(), START + 1000);
  equal(clock.now(), START + 8 * HOUR + 1000);
  run(500);
  sleep(HOUR);
  equal(clock.shown(), START + HOUR + 1500);
});

test("the server's word moves the clock on and never back", () => {
  const { run } = device();
  const clock = new ServerClock(START);
  run(1000);
  clock.hear(START + 5000);
  equal(clock.now(), START + 5000);
  run(1000);
  clock.hear(START + 5800); // it took its time to arrive
  equal(clock.now(), START + 6000);
  clock.hear(NaN);
  equal(clock.now(), START + 6000);
});

test("what the server's word made good is no sleep any more", () => {
  const { run, sleep } = device();
  const clock = new ServerClock(START);
  sleep(8 * HOUR);
  clock.hear(START + 8 * HOUR + 300);
  run(1000);
  equal(clock.now(), START + 8 * HOUR + 1300);
});
