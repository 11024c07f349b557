"""What the browser tells screen readers of an element.

Playwright works names and descriptions out from the document by itself, and finds some that no screen reader is told.
"""

from typing import Any

from playwright.sync_api import Locator


def read_node(locator: Locator) -> dict[str, Any]:
    """Return the name, the description and the properties of an element, each if it has it."""
    session = locator.page.context.new_cdp_session(locator.page)
    try:
        locator.evaluate("(element) => { globalThis.heard = element; }")
        found = session.send("Runtime.evaluate", {"expression": "heard"})["result"]["objectId"]
        session.send("Accessibility.enable")
        wanted = {"objectId": found, "fetchRelatives": False}
        (node,) = session.send("Accessibility.getPartialAXTree", wanted)["nodes"]
    finally:
        session.detach()
    properties = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    named = {key: node[key].get("value") for key in ("name", "description") if key in node}
    return {**properties, **named}
