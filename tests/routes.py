"""Every route of the site, with its path filled in by samples."""

import re
from collections.abc import Mapping
from typing import Any

from config import routes


class Route(routes.Route):
    """A route that a test can ask for."""

    def fill(self, samples: Mapping[str, Any]) -> str:
        """The path with values. Raises LookupError, which says what to add, for a parameter without a sample."""
        path = self.path
        for name in self.parameters:
            key = f"{self.name} {name}"
            if key not in samples and name not in samples:
                raise LookupError(
                    f"The route {self.name} has a parameter “{name}” without a sample value: "
                    f"add “{name}” (or “{key}”) to `samples` in tests/test_access.py."
                )
            path = re.sub(rf"<(\w+:)?{name}>", str(samples.get(key, samples.get(name))), path)
        return path


def all_routes() -> list[Route]:
    return [Route(**vars(route)) for route in routes.all_routes()]
