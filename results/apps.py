"""The results app."""

from importlib import import_module

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    name = "results"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("results.checks")
