"""Reading a list of numbers such as 1-5, 9."""

import re

from django.utils.translation import gettext as _

from projects.errors import Refused

MAX_NUMBERS = 100_000


def read_numbers(text: str) -> list[int]:
    """The numbers in rising order, each once. Raises Refused for anything else."""
    numbers: set[int] = set()
    for part in filter(None, re.split(r"[,;\s]+", re.sub(r"\s*[-–]\s*", "-", text.strip()))):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if not match:
            raise Refused(_("“{part}” is no number. Write HITs as 1-5, 9.").format(part=part[:40]))
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first >= MAX_NUMBERS:
            raise Refused(_("“{part}” is no range of HITs.").format(part=part))
        numbers.update(range(first, last + 1))
        if len(numbers) > MAX_NUMBERS:
            raise Refused(_("Too many HITs are named; choose the whole batch instead."))
    return sorted(numbers)
