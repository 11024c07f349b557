"""What axe finds wrong on a page."""

import os
from typing import Any
from weakref import WeakSet

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

from tests.browser.crowded import find_crowded
from tests.browser.faint_text import find_faint

SCALE = int(os.environ.get("SCALE", "1"))

RUN = """(looksAtAll) => axe.run({
  preload: false,
  resultTypes: ["violations"],
  selectors: false,
  rules: {
    "target-size": { enabled: looksAtAll && !document.querySelector(".rate-bar") },
    "color-contrast": { enabled: looksAtAll },
  },
}).then((found) => found.violations)"""
"""The violations alone: what passed is a hundred times as much, and would be sent and read for nothing. To find a
selector for each element that was looked at takes a fifth of the time, and nobody reads them. To read the style sheets
again takes an eighth, for a rule that axe leaves off (`css-orientation-lock`); of sound and films there are none.

Targets of 24 pixels, or as far apart (WCAG 2.5.8), are a rule that axe leaves off unless it is asked for. On the
rating page it takes what one of the bars half covers at the moment for small.

Two thirds of axe's time go into contrast and these targets, which faint_text.py and crowded.py look for too; only at
full strength axe does as well.
"""


_looked_at = WeakSet[Page]()


def faults(page: Page) -> list[str]:
    """Each violation by its name, with the first element that it is seen at, and each text that is too faint."""
    return [*map(_name, _find_violations(page)), *find_faint(page), *find_crowded(page)]


def serious_faults(page: Page) -> list[str]:
    found = _find_violations(page)
    return [
        *(_name(each) for each in found if each["impact"] in ("serious", "critical")),
        *find_faint(page),
        *find_crowded(page),
    ]


def _find_violations(page: Page) -> list[dict[str, Any]]:
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        if page in _looked_at:  # and has gone elsewhere since: half a megabyte is sent once, not for each address
            page.add_init_script(AXE_SCRIPT)
        _looked_at.add(page)
    found: list[dict[str, Any]] = page.evaluate(RUN, SCALE > 1)
    return found


def _name(violation: dict[str, Any]) -> str:
    return f"{violation['id']}: {violation['nodes'][0]['html'][:200]}"
