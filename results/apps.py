"""The results app."""

from importlib import import_module

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "results"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Checks register on import, which has to wait until every app is loaded.
        import_module("results.checks")
