"""The annotate app."""

from importlib import import_module

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    name = "annotate"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # What a copy of a project takes over from this app registers on import.
        import_module("annotate.qualification.copying")
        # So does what a restored backup repeats.
        import_module("annotate.onboarding.consent")
        import_module("annotate.onboarding.erasing")
