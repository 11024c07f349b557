"""The judged project of the tests of metric evaluations, with its metrics."""

from tests.results.studies.conftest import judged, runs

__all__ = ["judged", "runs"]
