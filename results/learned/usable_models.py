"""The models that a learned metric can be computed with here."""

from collections.abc import Sequence

from measures.metrics.metric import Metric
from measures.metrics.registry import Registered
from measures.neural.folders import ModelFolder
from measures.neural.installed import Unusable, list_models

MODEL = "model"


def is_learned(metric: Metric | type[Metric]) -> bool:
    """Return whether a metric loads a model with torch, and so runs in the queue of learned metrics."""
    return "torch" in metric.packages


def takes_model(metric: Registered) -> bool:
    """Return whether the user of a metric chooses its model."""
    return is_learned(metric.metric) and any(each.name == MODEL for each in metric.settings())


def find_models(metric: Registered, listed: Sequence[ModelFolder | Unusable] | None = None) -> list[ModelFolder]:
    """Return the models that a metric can use, of these or of the registry; none if its user chooses none."""
    if not takes_model(metric):
        return []
    kinds = getattr(metric.metric, "kinds", ("lerc",))
    found = list_models() if listed is None else listed
    return [each for each in found if isinstance(each, ModelFolder) and each.kind in kinds]


def preset_model(metric: Registered, models: Sequence[ModelFolder]) -> dict[str, str]:
    """Return the setting of the first of these models, which is used if none is chosen."""
    return {MODEL: models[0].name} if models else {}
