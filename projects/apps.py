"""The projects app."""

from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from projects.web.typed_texts import guard_text_fields

        guard_text_fields()
