"""The context of an answer in tests: that of its page, without a copy for every template and widget within it."""

from typing import Any

from django.test import client

_store = client.store_rendered_templates  # type: ignore[attr-defined]


def keep_first() -> None:
    """From now on the client copies the context of the first template of an answer, which has what the view gave."""
    client.store_rendered_templates = _store_first  # type: ignore[attr-defined]


def _store_first(store: dict[str, Any], **rendered: Any) -> None:
    if "context" not in store:
        _store(store, **rendered)
