"""Metrics from outside the package, known for the length of a test."""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from pytest_django import Settings

from measures.metrics import METRICS
from results.metrics import registry

MODULE = "tests.results.metrics.outside"


@pytest.fixture
def outside(settings: Settings) -> Iterator[ModuleType]:
    """The site as one that names a module of metrics; nothing of it is left afterwards."""
    before = dict(METRICS)
    settings.METRIC_MODULES = [MODULE]
    registry.load_metrics()
    yield sys.modules[MODULE]
    METRICS.clear()
    METRICS.update(before)
    registry.import_modules.cache_clear()
    del sys.modules[MODULE]
