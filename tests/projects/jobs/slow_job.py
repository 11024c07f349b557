"""A process that runs one job slowly, for tests to kill: `python -m tests.projects.jobs.slow_job ID ROWS`."""

import sys
import time
from collections.abc import Callable
from typing import Any


def writes(n_rows: int, seconds: float = 0.0) -> Callable[[Any, Callable[[int, int], None]], dict[str, Any]]:
    """An act that makes datasets in the job's project, as many as asked for."""

    def act(job: Any, on_progress: Callable[[int, int], None]) -> dict[str, Any]:
        for n in range(n_rows):
            job.project.datasets.create(name=f"dataset {n}")
            on_progress(n + 1, n_rows)
            time.sleep(seconds)
        return {"message": "written"}

    return act


def main() -> None:
    import django

    django.setup()
    from annotate.models import Import
    from projects.jobs import running

    running.BEAT_SECONDS = 0.05
    running.run(Import, int(sys.argv[1]), writes(int(sys.argv[2]), seconds=0.05))


if __name__ == "__main__":
    main()
