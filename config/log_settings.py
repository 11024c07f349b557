"""Where log lines go, in which form, and what they leave out."""

from typing import Any

from config.log_filters import drop_refusal_traceback, hide_rows, hide_tokens


def make_log_settings(form: str) -> dict[str, Any]:
    """Return Django's setting LOGGING; the form is “text” or “json”."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"format": "%(asctime)s %(levelname)s %(name)s %(request_id)s %(message)s"},
            "json": {"()": "config.log_formats.JsonFormatter"},
        },
        "filters": {
            "refusals": {"()": "django.utils.log.CallbackFilter", "callback": drop_refusal_traceback},
            "rows": {"()": "django.utils.log.CallbackFilter", "callback": hide_rows},
            "tokens": {"()": "django.utils.log.CallbackFilter", "callback": hide_tokens},
            "request-ids": {
                "()": "django.utils.log.CallbackFilter",
                "callback": "ext://projects.web.request_ids.add_request_id",
            },
        },
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["tokens", "rows", "request-ids"],
            }
        },
        "root": {"handlers": ["console"], "level": "INFO"},
        "loggers": {
            "django": {"handlers": [], "propagate": True},
            # On the logger itself: a filter of "django" would not see what its children log.
            "django.request": {"filters": ["refusals"]},
            "django.security.DisallowedHost": {"filters": ["refusals"]},
            "celery.app.trace": {"filters": ["refusals"]},
            "projects.tasks": {"filters": ["refusals"]},
            "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
            "axes": {"level": "WARNING"},
            "concord": {"level": "INFO" if form == "json" else "WARNING"},
            # It writes down which passkey was made and used.
            "fido2": {"level": "WARNING"},
            # Each request to the Hub would be a line among what `publish` prints.
            "httpx2": {"level": "WARNING"},
        },
    }
