"""From submitting a HIT to rating the next one: milliseconds from the key press until the next page takes keys.

    python -m benchmarks.next_hit [--hits 15]

Measured in one run by the script's submit (`fetch`, then the next address) and by a submit of the form itself, which is
the way without scripts; with short texts, and with a story and long answers. Everything runs on this machine, so times
include the page and the server, but no network.
"""

import argparse

from playwright.sync_api import Page

from benchmarks import browsing, ground

READY = """() => {
  const at = Number(sessionStorage.getItem("submitted-at"));
  sessionStorage.removeItem("submitted-at");
  if (!at) return;
  new MutationObserver((_, observer) => {
    if (!document.querySelector(".item.is-current")) return;
    observer.disconnect();
    window.took = Date.now() - at;
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
}"""
STAMP = "sessionStorage.setItem('submitted-at', Date.now())"
SUBMITS = {
    "fetch": "document.querySelector('.rate-end [data-submit]').click()",
    "form": "HTMLFormElement.prototype.submit.call(document.getElementById('rating'))",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=15)
    options = parser.parse_args()
    for texts in ("short", "long"):
        measure(texts, options.hits)


def measure(texts: str, n_hits: int) -> None:
    took: dict[str, list[float]] = {name: [] for name in SUBMITS}
    with browsing.annotating(1, is_long=texts == "long") as site:
        context = site.context(site.sessions[0], viewport={"width": 1440, "height": 900})
        context.add_init_script(f"({READY})()")
        page = site.hit(context)
        for turn in range(2 * n_hits):
            name = list(SUBMITS)[turn % 2]
            took[name].append(submit_next(page, SUBMITS[name]))
    median = {name: ground.quantile(times, 0.5) for name, times in took.items()}
    for name, times in took.items():
        print(
            f"{texts} texts, {name}: submit to keys on the next page, {len(times)} HITs: median {median[name]:.0f} ms,"
            f" p95 {ground.quantile(times, 0.95):.0f} ms (goal 150)",
            flush=True,
        )
    print(f"{texts} texts: fetch takes {median['fetch'] / median['form']:.2f} times as long as the form", flush=True)


def submit_next(page: Page, submit: str) -> float:
    """Rate the current HIT, submit it, and return the milliseconds until the next page takes keys."""
    while page.locator(".item:not(.is-done)").count():
        page.keyboard.press("4")
        page.wait_for_timeout(130)
    page.locator("[data-saving][data-state=saved]").wait_for()
    # In a timer, because the navigation would end a script that Playwright waits for.
    page.evaluate(f"() => {{ delete window.took; setTimeout(() => {{ {STAMP}; {submit}; }}); }}")
    page.wait_for_function("window.took !== undefined")
    took: float = page.evaluate("window.took")
    return took


if __name__ == "__main__":
    main()
