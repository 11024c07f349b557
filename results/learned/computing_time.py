"""What computing a learned metric takes: measured where it ran before, else estimated from the speed of its model.

A model's speed is measured when it is added, in tokens a second; a run's own speed replaces it.
"""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Avg, Count
from django.db.models.functions import Length

from measures.metrics.metric import Metric
from measures.neural.environment import choose_device, describe_device, load_torch
from measures.neural.folders import ModelFolder
from projects.models import Candidate, Passage, Project, Question, Reference
from results.models import MetricRun

CHARACTERS_PER_TOKEN = 4.0
"""About as in English text; the time is an estimate."""
ROWS, TOKENS = 16, 128
"""What a model reads at once while its speed is measured."""
SECONDS = 2.0
PAUSE_SECONDS = 5.0
"""Loading torch and a model."""


@dataclass(frozen=True)
class TimeEstimate:
    """How long a run will take about, and what that is known from."""

    seconds: float
    is_measured: bool
    """Whether it comes from a run of this metric in this project."""

    def __str__(self) -> str:
        return f"about {format_seconds(self.seconds)}"


def estimate(project: Project, name: str, metric: type[Metric], folder: ModelFolder) -> TimeEstimate | None:
    """Return how long a metric will take over the candidates of a project; none if nothing was ever measured."""
    n = Candidate.objects.judgeable_in(project).count()
    runs = MetricRun.objects.done().filter(metric=name, settings__model=folder.name, report__has_key="per_second")
    paces = runs.order_by("pk").values_list("report__per_second", flat=True)
    if here := paces.filter(project=project).last():
        return TimeEstimate(PAUSE_SECONDS + n / float(here), is_measured=True)
    if speed := read_speeds().get(folder.digest):
        tokens = count_tokens(project, metric, folder)
        return TimeEstimate(PAUSE_SECONDS + tokens / float(speed["tokens_per_second"]), is_measured=False)
    # Texts of other projects may be longer or shorter.
    elsewhere = paces.last()
    return TimeEstimate(PAUSE_SECONDS + n / float(elsewhere), is_measured=False) if elsewhere else None


def count_tokens(project: Project, metric: type[Metric], folder: ModelFolder) -> float:
    """Return about how many tokens a metric reads in a project, from the mean lengths of its texts."""
    limit = folder.length or 512
    candidates = Candidate.objects.judgeable_in(project)
    questions = Question.objects.in_project(project)
    references = Reference.objects.filter(question__in=questions)
    n, answer = _measure(candidates)
    n_references, reference = _measure(references)
    each = n_references / max(1, questions.count())
    answer, reference = min(answer, limit), min(reference, limit)
    if "passages" in metric.needs or "questions" in metric.needs:
        passage = _measure(Passage.objects.in_project(project))[1] if "passages" in metric.needs else 0.0
        question = _measure(questions)[1] if "questions" in metric.needs else 0.0
        whole = min(passage + question + answer + (reference if "references" in metric.needs else 0.0), 512)
        # A masked language model reads the whole once for each token of the answer.
        times = answer if folder.kind == "masked" else each if "references" in metric.needs else 1.0
        return n * whole * max(1.0, times)
    if folder.kind == "cross":
        return n * max(1.0, each) * min(answer + reference, limit)
    return n * answer + n_references * reference


def measure_speed(folder: ModelFolder, model: Any) -> None:
    """Measure how many tokens a loaded model reads in a second on this machine, and store it beside the models."""
    torch = load_torch()
    vocabulary = int(getattr(model.config, "vocab_size", 1000))
    length = min(TOKENS, int(getattr(model.config, "max_position_embeddings", TOKENS)) // 2)
    ids = torch.randint(min(10, vocabulary - 1), vocabulary, (ROWS, max(1, length)), device=choose_device())
    fastest, ends_at = float("inf"), time.perf_counter() + SECONDS
    with torch.inference_mode():
        model(input_ids=ids)  # the first is slower
        while fastest == float("inf") or time.perf_counter() < ends_at:
            started = time.perf_counter()
            # Reading a number waits for a GPU.
            float(model(input_ids=ids)[0].sum())
            # Other work on the machine only makes it slower.
            fastest = min(fastest, time.perf_counter() - started)
    speed = ids.numel() / fastest
    found = {**read_speeds(), folder.digest: {"tokens_per_second": round(speed), "device": describe_device()}}
    temporary = _path().with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(found, indent=2), encoding="utf-8")
    temporary.replace(_path())


def read_speeds() -> Mapping[str, Any]:
    """Return the measured speeds by the digest of their model."""
    try:
        found = json.loads(_path().read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def format_seconds(seconds: float) -> str:
    """Return a time in words, such as “3 minutes”."""
    if seconds < 90:
        return f"{max(5, round(seconds / 5) * 5)} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"


def _measure(rows: Any) -> tuple[int, float]:
    """Return the number of texts and their mean length in tokens."""
    found = rows.aggregate(n=Count("pk"), mean=Avg(Length("text")))
    return int(found["n"]), float(found["mean"] or 0) / CHARACTERS_PER_TOKEN + 2


def _path() -> Path:
    return Path(settings.MODELS_DIR) / ".speeds.json"
