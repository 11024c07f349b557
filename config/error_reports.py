"""Reports of errors to Sentry, if SENTRY_DSN is set: where an error happened and of which kind, never with what data.

A report is put together from a list of what it may contain, so that a new version of the library adds nothing to it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured

from projects.web import request_ids

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

KEPT = ("event_id", "timestamp", "platform", "level", "logger", "transaction", "environment")
KEPT_OF_FRAME = ("filename", "function", "module", "lineno", "in_app", "context_line", "pre_context", "post_context")


def start(dsn: str, **options: Any) -> None:
    """Report errors from now on. Raises ImproperlyConfigured if the library is not installed."""
    try:
        import sentry_sdk
    except ImportError as missing:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set, but sentry_sdk is not installed. Run make sentry, or install requirements-sentry.txt."
        ) from missing
    sentry_sdk.init(
        dsn=dsn,
        before_send=strip,
        send_default_pii=False,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        send_client_reports=False,
        server_name="",
        **options,
    )


def strip(event: "Event", hint: "Hint") -> "Event":
    """Return a report with the kind of each error, its frames and its line of the log before values are filled in."""
    found: Mapping[str, Any] = event
    kept: Event = {name: found[name] for name in KEPT if found.get(name)}  # type: ignore[assignment]
    errors = found.get("exception", {}).get("values") or []
    if errors:
        kept["exception"] = {"values": [_strip_error(error) for error in errors]}
    # Errors without an exception are lines of the log. Their template says what happened; arguments may be texts.
    elif template := found.get("logentry", {}).get("message"):
        kept["logentry"] = {"message": template}
    kept["tags"] = {"request_id": request_ids.current()}
    return kept


def _strip_error(error: Mapping[str, Any]) -> dict[str, Any]:
    frames = (error.get("stacktrace") or {}).get("frames") or []
    return {
        # Not its value: the text of an error may quote what it is about.
        "type": error.get("type"),
        "module": error.get("module"),
        "stacktrace": {"frames": [{name: frame.get(name) for name in KEPT_OF_FRAME} for frame in frames]},
    }
