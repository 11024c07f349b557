"""Figures in the form in which a stored result holds them."""

from dataclasses import asdict
from typing import Any

from measures.outcome import Undefined
from measures.studies.correlating import Correlation
from projects.jobs.running import OnProgress

WORDING = "wording"
"""The key of the version of the words that files of an evaluation have; without it they have the first."""
NEWEST_WORDING = 7
"""Captions say since 2 what brackets of one person against the others hold, and “1 passage”.

Since 3 they count the draws and the questions of a system-level correlation, and the answers of each weight's sweep.
Since 4 one person against the others is of z scores where gold scores are; before, it was of ratings as given.
Since 5 intervals of pairwise accuracy are Wilson's; before, they were symmetric and cut at 0 and 1.
Since 6 they name the fewest judgments in plain words, and no two columns of pairs of metrics have one name.
Since 7 intervals of soft pairwise accuracy and of means over groups are Wilson's; before, they were symmetric and cut.
"""


def store(found: Any) -> dict[str, Any]:
    """Return a dataclass of the measures by its fields; an undefined one as its reason alone."""
    return {"reason": found.reason} if isinstance(found, Undefined) else asdict(found)


def store_number(value: float | Undefined) -> Any:
    return {"reason": value.reason} if isinstance(value, Undefined) else value


def store_correlation(found: Correlation) -> dict[str, Any]:
    """Return a correlation with its interval, or the reason why there is none."""
    stored = {
        "value": store_number(found.value),
        "low": found.low,
        "high": found.high,
        "undefined_share": found.undefined_share,
    }
    return {**stored, "undefined_interval": found.why_no_interval} if found.why_no_interval else stored


class Steps:
    """Counts the steps of an evaluation as they are done; a longer one may count as several."""

    def __init__(self, on_progress: OnProgress, total: int) -> None:
        self._on_progress, self._total, self._done = on_progress, total, 0
        on_progress(0, total)

    def take(self, n: int = 1) -> None:
        self._done += n
        self._on_progress(self._done, self._total)
