"""The web application for servers that speak ASGI: the site behind the bridge."""

from django.conf import settings
from django.urls import get_resolver
from django.utils.module_loading import import_string

from config.web.bridge import Bridge
from config.wsgi import application as site
from projects.database.timeouts import limit_statements

limit_statements()

# Loads every view, before the web server forks: its processes share the memory, and no visitor waits for it.
_ = get_resolver().url_patterns

application = Bridge(
    site,
    threads=8,
    free_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    stall_seconds=settings.STALL_SECONDS,
    folder=settings.FILE_UPLOAD_TEMP_DIR,
    prefix=settings.SITE_PATH,
    apart=import_string("config.monitoring.middleware.ADDRESSES"),  # its models need the apps, which are loaded by now
)
