"""The system check of METRIC_MODULES: the modules are found, but not imported yet."""

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("metrics")
def check_metric_modules(**_: Any) -> list[CheckMessage]:
    return [
        Error(
            f"METRIC_MODULES names “{module}”, which is not installed. Install it or remove the name.",
            id="concord.E010",
        )
        for module in settings.METRIC_MODULES
        if not _is_installed(module)
    ]


def _is_installed(module: str) -> bool:
    try:
        # Importing here would run code from outside, and load models, on every manage.py command.
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
