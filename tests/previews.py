"""Confirming a preview as a browser does: the page is fetched, and its seal is sent back with the fields."""

import re
from typing import Any

from django.test import Client

SEALS = re.compile(r"shown=([0-9a-f]{64})|name=\"shown\" value=\"([0-9a-f]{64})\"")


def find_seal(html: str) -> str:
    """Return the seal of the preview that a page shows, or nothing where it shows none."""
    found = SEALS.search(html)
    return (found[1] or found[2]) if found else ""


def confirm(
    client: Client,
    address: str,
    fields: dict[str, Any] | None = None,
    *,
    at: str = "",
    follow: bool = False,
    **more: Any,
) -> Any:
    """Preview by GET with the fields, then confirm by POST; `more` belongs to the confirmation, such as a reason.

    `at` is where the act is posted, if that is another address.
    """
    page = client.get(address, fields or {}).content.decode()
    return client.post(at or address, {**(fields or {}), **more, "shown": find_seal(page)}, follow=follow)
