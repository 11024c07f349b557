"""The web application, for gunicorn: `gunicorn config.wsgi`."""

import os

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

from config import embedded
from config.checks import check_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
embedded.ensure_running()

application = get_wsgi_application()

# gunicorn does not run Django's checks, so insecure settings are refused here.
if errors := check_settings():
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in errors))
