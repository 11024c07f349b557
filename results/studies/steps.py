"""How far a study is."""

from projects.jobs.running import OnProgress


class Steps:
    """Counts the steps of a study as they are done; what takes longer may be many."""

    def __init__(self, on_progress: OnProgress, total: int) -> None:
        self._on_progress, self._total, self._done = on_progress, total, 0
        on_progress(0, total)

    def take(self, n: int = 1) -> None:
        self._done += n
        self._on_progress(self._done, self._total)
