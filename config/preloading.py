"""Loading what the web server and the worker use, once, before they are forked: they share its memory.

A module that is loaded after the fork takes memory in each process, and the time of the visitor who needs it first.
"""

import gc
from importlib import import_module

from django.conf import settings
from django.template import Engine
from django.urls import get_resolver
from django.utils.module_loading import autodiscover_modules, import_string

from config.migrating import read_known

PROGRAMS = (
    "celery.apps.worker",
    "celery.bin.worker",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "celery.worker.pidbox",
    "config.scheduler",
    "config.storage",
    "config.web.bridge",
    "config.web.gunicorn_worker",
    "gunicorn.app.wsgiapp",
    "kombu.transport.redis",
    "projects.jobs.broker",
    "redis",
)
"""What the programs name in their options and settings."""


def load_modules() -> None:
    """Load every view and what serves it, and leave all of it out of later searches for unreachable objects."""
    gc.disable()
    try:
        for name in (*PROGRAMS, "django.views.defaults"):
            import_module(name)
        autodiscover_modules("tasks")
        for name in (*settings.MIDDLEWARE, settings.SESSION_SERIALIZER, settings.MESSAGE_STORAGE):
            import_string(name)
        _ = get_resolver().url_patterns
        pages = Engine.get_default()
        _ = pages.template_loaders, pages.template_context_processors
        read_known()  # each check of the health compares them
    finally:
        gc.enable()
    gc.collect()
    gc.freeze()
