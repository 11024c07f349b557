"""The web application, for gunicorn: `gunicorn config.wsgi`."""

import logging
import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from config import embedded
from config.checks import check_settings
from config.log_filters import hide_tokens
from config.log_formats import JsonFormatter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
embedded.ensure_running()

application = get_wsgi_application()

# The web server has configured its own logs by now: links that are secrets stand in none of them.
for name in ("gunicorn.access", "gunicorn.error"):
    for handler in logging.getLogger(name).handlers:
        handler.addFilter(hide_tokens)
        if settings.LOG_FORMAT == "json":
            handler.setFormatter(JsonFormatter())

# gunicorn does not run Django's checks, so insecure settings are refused here.
if errors := check_settings():
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in errors))
