"""What `response.context` holds in tests: the context of the page, without copies for the templates and widgets in it.

Django's test client copies the context of each template that is rendered; a page with forms has hundreds.
"""

from typing import Any

from django.test import client

_store = client.store_rendered_templates  # type: ignore[attr-defined]


def keep_first() -> None:
    """From now on the client copies the context of the first template of an answer, which has what the view gave."""
    client.store_rendered_templates = _store_first  # type: ignore[attr-defined]


def _store_first(store: dict[str, Any], **rendered: Any) -> None:
    if "context" not in store:
        _store(store, **rendered)
