"""A field for figures in JSON, whose large numbers come back as the floats that they were."""

import json
from typing import Any

from django.db import models

_MOST_DIGITS = 16
"""Python writes 1e16 and larger floats with an exponent, and the database then without one and without a point."""


class FiguresField(models.JSONField):
    """JSON in which a whole number of more than 16 digits is a float: as an integer it would fit into no 64 bits."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"decoder": _Decoder, **options})

    def deconstruct(self) -> Any:
        # The column is that of any other JSON field, so migrations know it as one.
        name, _path, args, options = super().deconstruct()
        options.pop("decoder")
        return name, "django.db.models.JSONField", args, options


class _Decoder(json.JSONDecoder):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"parse_int": _read_integer, **options})


def _read_integer(digits: str) -> int | float:
    return int(digits) if len(digits.lstrip("-")) <= _MOST_DIGITS else float(digits)
