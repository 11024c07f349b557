"""The results app."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class ResultsConfig(AppConfig):
    name = "results"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Checks register on import, which has to wait until every app is loaded.
        import_module("results.checks")
        # Not at the top: nothing else of this module needs these. The metrics, numpy with them, and torch come later.
        from measures.neural.environment import Environment, configure
        from results.training.files import find_model_by_digest

        configure(
            Environment(
                models_dir=settings.MODELS_DIR,
                threads=settings.NEURAL_THREADS,
                device=settings.NEURAL_DEVICE,
                # Models that were trained in projects are found by the rows of their trainings.
                find_trained=find_model_by_digest,
            )
        )
