"""The config app: commands that run the site."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from config import catalogues


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Site"

    def ready(self) -> None:
        catalogues.try_to_compile_catalogues()  # before the first translated page
        import_module("config.checks")
        if settings.SENTRY_DSN:
            import_module("config.error_reports").start(settings.SENTRY_DSN)
