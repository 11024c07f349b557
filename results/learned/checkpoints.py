"""Scores of an unfinished run in files, so that a run whose worker died goes on where it was.

A part is used again only if its answers, the settings, the model, the device and what the metric read of all answers
are the same.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from django.conf import settings

from measures.metrics import Answers, Metric, Scores
from results.models import MetricRun

PART = 256
"""Candidates of a part."""


def folder() -> Path:
    return Path(settings.SHARED_DIR) / "unfinished-runs"


class Checkpoint:
    """The finished parts of one run."""

    def __init__(self, run: MetricRun, identity: Mapping[str, str]) -> None:
        self.folder = folder() / str(run.pk)
        self.key = [run.subject, dict(sorted(identity.items()))]
        self.n_found = 0

    def find(self, metric: Metric, ids: Sequence[int], answers: Answers) -> Scores | None:
        """Return the scores of a part that was finished before, if any."""
        try:
            with np.load(self._path(ids, answers), allow_pickle=False) as stored:
                values, counts = stored["values"], stored["counts"]
                told = json.loads(stored["told"].tobytes())
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            # There is none, or the machine stopped while it was written.
            return None
        if len(values) != len(ids):
            return None
        self.n_found += len(ids)
        return Scores(metric=metric, values=values, counts=counts, **{**told, "reasons": tuple(told["reasons"])})

    def keep(self, ids: Sequence[int], answers: Answers, scores: Scores) -> None:
        told: dict[str, Any] = {
            "reasons": list(scores.reasons),
            "notes": dict(scores.notes),
            "identity": dict(scores.identity),
        }
        path = self._path(ids, answers)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        with open(temporary, "wb") as file:
            encoded = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
            np.savez(file, values=scores.values, counts=scores.counts, told=encoded)
        temporary.replace(path)

    def _path(self, ids: Sequence[int], answers: Answers) -> Path:
        whole = json.dumps([self.key, list(ids), answers.columns()], sort_keys=True, default=list)
        return self.folder / f"{hashlib.sha256(whole.encode()).hexdigest()[:32]}.npz"


def discard(pk: int) -> None:
    """Delete what a run has kept; nothing if it kept nothing."""
    shutil.rmtree(folder() / str(pk), ignore_errors=True)


def delete_orphans() -> None:
    """Delete what is kept of runs that will not go on, such as those that were deleted meanwhile."""
    if not folder().is_dir():
        return
    kept = {path.name for path in folder().iterdir()}
    unfinished = MetricRun.objects.filter(state__in=(*MetricRun.LIVE, MetricRun.State.INTERRUPTED))
    for name in kept - {str(pk) for pk in unfinished.values_list("pk", flat=True)}:
        shutil.rmtree(folder() / name, ignore_errors=True)
