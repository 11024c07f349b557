"""The config app: commands that run the site."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Site"

    def ready(self) -> None:
        import config.celery  # noqa: F401  (tasks are sent through this app from every process)
