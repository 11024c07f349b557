"""The web application for servers that speak ASGI: the site behind the bridge."""

from django.conf import settings

from config.web.bridge import Bridge
from config.wsgi import application as site

application = Bridge(
    site,
    threads=8,
    free_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    stall_seconds=settings.STALL_SECONDS,
    folder=settings.FILE_UPLOAD_TEMP_DIR,
)
