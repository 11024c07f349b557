"""Settings of results that `check` looks at: modules of metrics are found, but not imported yet."""

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("metrics")
def check_metric_modules(**_: Any) -> list[CheckMessage]:
    return [
        Error(f"METRIC_MODULES names “{module}”, and there is no such module to import.", id="concord.E010")
        for module in settings.METRIC_MODULES
        if not _is_there(module)
    ]


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
