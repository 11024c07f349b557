"""The config app: commands that run the site."""

from importlib import import_module

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Site"

    def ready(self) -> None:
        import_module("config.celery")  # tasks are sent through this app from every process
        import_module("config.checks")
