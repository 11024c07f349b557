"""Progress by day: how many HITs were submitted, in each stage and in total."""

from dataclasses import dataclass
from functools import partial

from django.db import connection

from annotate.frames.kept import keep
from annotate.models.batch import find_batch_ids
from projects.charts import specs
from projects.charts.drawing import Chart
from projects.models import Project


@dataclass(frozen=True)
class Day:
    """The HITs submitted on a day, in UTC, that still fill a place: rejected ones do not."""

    day: str
    n_trial: int
    n_full: int
    so_far: int

    @property
    def n(self) -> int:
        return self.n_trial + self.n_full


def progress_by_day(project: Project) -> list[Day]:
    """Return the days with submitted work, in one statement; imported judgments are not work."""
    batches = find_batch_ids(project, is_collecting=True)
    return keep(project, "progress by day", batches, partial(_fetch_days, batches))


def _fetch_days(batches: list[int]) -> list[Day]:
    with connection.cursor() as cursor:
        cursor.execute(_BY_DAY, [batches])
        return [Day(*row) for row in cursor.fetchall()]


def draw_progress(days: list[Day]) -> Chart:
    rows = [{"day": day.day, "n": day.n, "so_far": day.so_far} for day in days]
    spec = specs.bars("day", "n", title="HITs submitted", axis="day (UTC)")
    return Chart("progress", "HITs submitted per day", rows, spec, columns=("day", "n", "so_far"))


# Days are in UTC, as everywhere: people of several time zones work on one project.
_BY_DAY = """
SELECT to_char(day, 'YYYY-MM-DD'), n_trial, n_full, (sum(n_trial + n_full) OVER (ORDER BY day))::bigint FROM (
    SELECT (a.submitted_at AT TIME ZONE 'UTC')::date AS day,
           count(*) FILTER (WHERE b.kind = 'trial') AS n_trial, count(*) FILTER (WHERE b.kind = 'full') AS n_full
    FROM annotate_batch b JOIN annotate_hit h ON h.batch_id = b.id JOIN annotate_assignment a ON a.hit_id = h.id
    WHERE h.batch_id = ANY(%s) AND a.holds_place AND a.submitted_at IS NOT NULL
    GROUP BY 1) days
ORDER BY day
"""
