"""A HIT rated by keyboard: the number of key presses, and the time from a key press to the mark "saved".

    python -m benchmarks.keys [--hits 10]

Measured twice: with waiting for the mark after each key, and with a key press every 120 ms. Everything runs on this
machine, so times include the page and the server, but no network.
"""

import argparse

from playwright.sync_api import Page

from benchmarks import browsing, ground

WATCH = """() => {
  const bar = document.querySelector("[data-saving]");
  window.pressed = [];
  window.took = [];
  document.addEventListener("keydown", (event) => event.key.length === 1 && pressed.push(performance.now()), true);
  new MutationObserver(() => {
    if (bar.dataset.state !== "saved") return;
    const now = performance.now();
    took.push(...pressed.splice(0).map((at) => now - at));
  }).observe(bar, { attributes: true, attributeFilter: ["data-state"] });
}"""
PACE_MS = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=10)
    options = parser.parse_args()
    with browsing.annotating(2) as site:
        for name, waits, session in zip(("waiting", "hurried"), (True, False), site.sessions, strict=True):
            page = site.hit(site.context(session, viewport={"width": 1440, "height": 900}))
            presses, took = 0, []
            for _ in range(options.hits):
                presses, seconds = rate_hit(page, waits=waits)
                took += seconds
            print(
                f"{name:<8} {presses} key presses for a HIT of ten (goal 11); key to saved mark, {len(took)} keys:"
                f" median {ground.quantile(took, 0.5):.0f} ms, p95 {ground.quantile(took, 0.95):.0f} ms (goal 300),"
                f" longest {max(took):.0f} ms",
                flush=True,
            )


def rate_hit(page: Page, *, waits: bool) -> tuple[int, list[float]]:
    """Rate and submit the current HIT; return the key presses, and the milliseconds from each digit to the mark."""
    page.evaluate(WATCH)
    first, presses = page.url, 0
    while page.locator(".item:not(.is-done)").count():
        page.keyboard.press(str(presses % 5 + 1))
        presses += 1
        if waits:
            page.wait_for_function("took.length === " + str(presses))
        else:
            page.wait_for_timeout(PACE_MS)
    page.wait_for_function("pressed.length === 0")
    took: list[float] = page.evaluate("took")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != first)
    page.locator(".item.is-current").wait_for()
    return presses + 1, took


if __name__ == "__main__":
    main()
