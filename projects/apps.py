"""The projects app."""

from importlib import import_module

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from projects.web.typed_texts import guard_text_fields

        guard_text_fields()
        # What a restored backup repeats registers on import.
        import_module("projects.settings.purging")
