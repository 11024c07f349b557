"""The config app: commands that run the site."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Site"

    def ready(self) -> None:
        from config import checks  # noqa: F401  (registers them)
