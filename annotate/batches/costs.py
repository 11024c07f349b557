"""Costs: the money and hours that a number of assignments takes."""

from dataclasses import dataclass

from django.db import connection

from projects.models import Project

SECONDS_PER_ITEM = 12.0
"""The estimate before anything has been rated: MOCHA's annotators took about two minutes for ten items."""


@dataclass(frozen=True)
class Pace:
    """Active seconds per item, and the number of assignments on which they were measured (0: an estimate)."""

    seconds: float
    n_measured: int


@dataclass(frozen=True)
class Cost:
    """Cents for annotators and platform, hours of work, and the hourly rate that follows."""

    pay_cents: int
    fee_cents: int
    hours: float
    pace: Pace

    @property
    def cents(self) -> int:
        return self.pay_cents + self.fee_cents

    @property
    def cents_per_hour(self) -> int | None:
        return round(self.pay_cents / self.hours) if self.hours else None


def compute_cost(
    *,
    n_assignments: int,
    n_items: int,
    cents_per_hit: int,
    cents_per_item: int,
    fee_share: float,
    pace: Pace,
) -> Cost:
    """Return the cost of a number of assignments and items at these rates; the platform's fee is a share of the pay."""
    pay = n_assignments * cents_per_hit + n_items * cents_per_item
    return Cost(
        pay_cents=pay,
        fee_cents=round(pay * fee_share),
        hours=n_items * pace.seconds / 3600,
        pace=pace,
    )


def measure_pace(project: Project) -> Pace:
    """Return the median time per item of people's last thousand submitted assignments in the project.

    The median, because a few breaks should not count; the latest, because annotators get faster. At most a hundred per
    annotator keeps the query fast on an index, and keeps one busy annotator from deciding alone.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY recent.seconds), count(*) FROM (
                   SELECT a.active_seconds / cardinality(a.layout) AS seconds
                   FROM projects_membership m
                   CROSS JOIN LATERAL (
                       SELECT * FROM annotate_assignment a
                       WHERE a.annotator_id = m.id AND a.submitted_at IS NOT NULL AND a.active_seconds > 0
                         AND NOT a.has_odd_times ORDER BY a.submitted_at DESC LIMIT 100) a
                   WHERE m.project_id = %s AND m.kind = 'person'
                   ORDER BY a.submitted_at DESC LIMIT 1000) recent""",
            [project.pk],
        )
        median, n_measured = cursor.fetchone()
    # Fewer than ten HITs tell little more than the estimate does.
    return Pace(median, n_measured) if n_measured >= 10 else Pace(SECONDS_PER_ITEM, 0)
