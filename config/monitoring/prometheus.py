"""The metrics of the site in Prometheus' text form: its health, its work from the database, and its requests."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg2
from django.conf import settings
from django.db import models
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from annotate.models.conditions import is_collected, is_work
from config.monitoring import request_metrics
from config.monitoring.health import Health, check_health
from config.monitoring.probing import Probe, probe
from projects.jobs.queue import Job, job_models
from projects.models import Pulse

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
"""How long the database may take for all gauges; Prometheus waits ten seconds unless it is told otherwise."""
WINDOW_MINUTES = 5
"""Rates are the mean of the last minutes."""
Row = tuple[Any, ...]

# The measured value of a check has its own gauge, under a name that says its unit.
_MEASURED = {
    "worker": ("concord_worker_silence_seconds", "Seconds since a worker last reported"),
    "clock": ("concord_clock_skew_seconds", "Clock of the database minus clock of the web server, in seconds"),
    "disk": ("concord_disk_free_share", "Free share of the disk with DATA_DIR"),
}


def render() -> bytes:
    """Return all metrics. Without the database those that need it are left out, and `concord_check_ok` says so."""
    registry = CollectorRegistry()
    registry.register(_Site())
    if settings.REQUEST_METRICS_DIR:
        request_metrics.register(registry)
    return generate_latest(registry)


class _Site(Collector):
    def collect(self) -> Iterator[GaugeMetricFamily]:
        health = check_health()
        yield from _describe_health(health)
        if "database" not in health.failing:
            yield from _read_work()


def _describe_health(health: Health) -> Iterator[GaugeMetricFamily]:
    ok = GaugeMetricFamily("concord_check_ok", "Whether a check of the site's readiness passes", labels=["check"])
    for check in health.checks:
        ok.add_metric([check.name], check.is_ok)
    yield ok
    for check in health.checks:
        if check.value is not None:
            name, description = _MEASURED[check.name]
            yield GaugeMetricFamily(name, description, value=check.value)


def _read_work() -> list[GaugeMetricFamily]:
    """Return the gauges of the database, all or none. Projects have numbers there, because names may be private."""
    try:
        with probe(ANSWER_SECONDS) as database:
            return [gauge for read in _READERS for gauge in read(database)]
    except (psycopg2.Error, TimeoutError):
        logger.warning("The metrics could not be read from the database.", exc_info=True)
        return []


def _read_places(database: Probe) -> list[GaugeMetricFamily]:
    places = GaugeMetricFamily("concord_places", "Places of HITs by state", labels=["project", "state"])
    for project, *counts in database.ask(_PLACES):
        for state, n in zip(("open", "claimed", "submitted"), counts, strict=True):
            places.add_metric([str(project), state], n)
    return [places]


_PLACES = f"""
SELECT b.project_id, coalesce(sum(h.places_open) FILTER (WHERE b.state = 'open'), 0),
       sum(h.places_wanted - h.places_open - h.places_done), sum(h.places_done)
FROM annotate_hit h JOIN annotate_batch b ON b.id = h.batch_id JOIN projects_project p ON p.id = b.project_id
WHERE p.deleted_at IS NULL AND {is_collected("b")} AND {is_work("h")}
GROUP BY b.project_id
"""


def _read_pace(database: Probe) -> list[GaugeMetricFamily]:
    ((claimed, submitted, expired, judged),) = database.ask(_PACE, {"minutes": WINDOW_MINUTES})
    minute = f"a minute, over {WINDOW_MINUTES} minutes"
    return [
        GaugeMetricFamily("concord_claims_per_minute", f"HITs claimed {minute}", value=claimed / WINDOW_MINUTES),
        GaugeMetricFamily("concord_hits_per_minute", f"HITs submitted {minute}", value=submitted / WINDOW_MINUTES),
        GaugeMetricFamily(
            "concord_judgments_per_minute", f"Judgments submitted {minute}", value=judged / WINDOW_MINUTES
        ),
        GaugeMetricFamily("concord_expired_per_minute", f"HITs expired {minute}", value=expired / WINDOW_MINUTES),
    ]


# Imported work may have times of submission too, but nobody has done it here.
_PACE = f"""
WITH recent AS (
    SELECT a.id, a.opened_at, a.submitted_at, a.ended_at, a.state
    FROM annotate_assignment a JOIN annotate_hit h ON h.id = a.hit_id JOIN annotate_batch b ON b.id = h.batch_id
    WHERE greatest(a.opened_at, a.submitted_at, a.ended_at) > now() - make_interval(mins => %(minutes)s)
      AND {is_collected("b")}),
since AS (SELECT now() - make_interval(mins => %(minutes)s) AS at)
SELECT count(*) FILTER (WHERE opened_at > since.at), count(*) FILTER (WHERE submitted_at > since.at),
       count(*) FILTER (WHERE state = 'expired' AND ended_at > since.at),
       (SELECT count(*) FROM recent r JOIN annotate_judgment j ON j.assignment_id = r.id
        WHERE r.submitted_at > (SELECT at FROM since))
FROM recent, since
"""


def _read_jobs(database: Probe) -> list[GaugeMetricFamily]:
    jobs = GaugeMetricFamily("concord_jobs", "Jobs by kind and state", labels=["kind", "state"])
    oldest = GaugeMetricFamily(
        "concord_oldest_job_seconds", "Age of the oldest job in this state", labels=["kind", "state"]
    )
    failed = GaugeMetricFamily("concord_jobs_failed_last_hour", "Jobs that failed in the last hour", labels=["kind"])
    # A kind without jobs has a zero, so that an alert can tell "none" from "not measured".
    for model in job_models():
        if model.is_part:
            continue
        kind = _kind(model)
        found: Mapping[str, Row] = {row[0]: row for row in database.ask(_JOBS.format(table=model._meta.db_table))}
        for state in (Job.State.QUEUED, Job.State.RUNNING, Job.State.INTERRUPTED):
            _, n, age = found.get(state, (state, 0, 0))
            jobs.add_metric([kind, state], n)
            oldest.add_metric([kind, state], float(age or 0))
        failed.add_metric([kind], found.get(Job.State.FAILED, (None, 0))[1])
    return [jobs, oldest, failed]


_JOBS = """
SELECT state, count(*), extract(epoch FROM now() - min(CASE state WHEN 'queued' THEN queued_at ELSE started_at END))
FROM {table}
WHERE state IN ('queued', 'running', 'interrupted')
   OR state = 'failed' AND finished_at > now() - interval '1 hour'
GROUP BY state
"""


def _kind(model: type[models.Model]) -> str:
    return str(model._meta.model_name)


def _read_sign_ins(database: Probe) -> list[GaugeMetricFamily]:
    ((n,),) = database.ask(
        "SELECT count(*) FROM axes_accessattempt WHERE failures_since_start >= %(limit)s"
        " AND attempt_time > now() - make_interval(secs => %(seconds)s)",
        {"limit": settings.AXES_FAILURE_LIMIT, "seconds": settings.AXES_COOLOFF_TIME * 3600},
    )
    return [GaugeMetricFamily("concord_sign_in_lockouts", "Accounts blocked at an address after failures", value=n)]


def _read_server(database: Probe) -> list[GaugeMetricFamily]:
    ((waiting, connections, size),) = database.ask(
        "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*), pg_database_size(current_database())"
        " FROM pg_stat_activity WHERE datname = current_database()"
    )
    return [
        GaugeMetricFamily("concord_lock_waits", "Database connections that wait for a lock", value=waiting),
        GaugeMetricFamily("concord_database_connections", "Connections to the database", value=connections),
        GaugeMetricFamily("concord_database_bytes", "Size of the database", value=size),
    ]


def _read_scheduler(database: Probe) -> list[GaugeMetricFamily]:
    rows = database.ask(
        f"SELECT extract(epoch FROM clock_timestamp() - seen_at) FROM {Pulse._meta.db_table} WHERE process = %(name)s",
        {"name": Pulse.BEAT},
    )
    description = "Seconds since the scheduler of periodic tasks last showed"
    return [GaugeMetricFamily("concord_scheduler_silence_seconds", description, value=float(row[0])) for row in rows]


_READERS = (_read_places, _read_pace, _read_jobs, _read_sign_ins, _read_server, _read_scheduler)
