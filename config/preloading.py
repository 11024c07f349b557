"""Loading what the web server and the worker use, once, before they are forked: they share its memory.

A module that is loaded after the fork takes memory in each process, and the time of the visitor who needs it first.
"""

import gc
from importlib import import_module

from django.conf import settings
from django.template import engines
from django.urls import get_resolver
from django.utils.module_loading import import_string

from config.monitoring.health import find_missing_migrations

PROGRAMS = (
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.thread",
    "config.scheduler",
    "config.storage",
    "config.web.bridge",
    "config.web.worker",
    "gunicorn.app.wsgiapp",
    "kombu.transport.redis",
)
"""What the programs name in their options and settings."""


def load_modules() -> None:
    """Load every view and what serves it, and leave all of it out of later searches for unreachable objects."""
    gc.disable()
    try:
        for name in (*PROGRAMS, "django.views.defaults"):
            import_module(name)
        (pages,) = settings.TEMPLATES
        classes = (settings.SESSION_SERIALIZER, settings.MESSAGE_STORAGE)
        for name in (*settings.MIDDLEWARE, *pages["OPTIONS"]["context_processors"], *classes):
            import_string(name)
        _ = get_resolver().url_patterns
        _ = engines["django"].engine.template_loaders
        find_missing_migrations(set())  # reads those of the code, which each check of the health compares
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
