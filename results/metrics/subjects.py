"""What makes two runs be of the same metric."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson


def subject_of(origin: str, name: str, settings: Mapping[str, Any]) -> str:
    """Names a metric as it is set up: runs that share it are of the same metric."""
    named = orjson.dumps([str(origin), name, dict(settings)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(named).hexdigest()
