"""What runs by the clock: each task with its seconds, or its time of day in UTC."""

from typing import Any

from celery.schedules import crontab

FREQUENT = {"expires": 60}
"""Options of a frequent task: it is dropped after so many seconds, so that few pile up while no worker runs.

The worker compares its own clock with that of the host whose scheduler sent the task: the two may differ by a little
less than this (`config.scheduler.CLOCKS_DIFFER_BY`), however often the task runs.
"""
SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep": {"task": "annotate.sweep", "schedule": 30.0},
    "check": {"task": "annotate.check", "schedule": 30.0, "options": FREQUENT},
    "ring-queued-jobs": {"task": "projects.ring_queued_jobs", "schedule": 10.0, "options": FREQUENT},
    "deliver": {"task": "projects.deliver_messages", "schedule": 5.0, "options": FREQUENT},
    "announce-complete": {"task": "annotate.announce_complete", "schedule": 60.0, "options": FREQUENT},
    "read-prolific-messages": {"task": "annotate.read_prolific_messages", "schedule": 5.0, "options": FREQUENT},
    "tend-prolific": {"task": "annotate.tend_prolific", "schedule": 30.0, "options": FREQUENT},
    "verify": {"task": "annotate.verify", "schedule": crontab(hour=3, minute=0)},
    "verify-files": {"task": "config.verify_files", "schedule": crontab(hour=3, minute=10)},
    "send-digests": {"task": "annotate.send_digests", "schedule": crontab(minute=27)},
    "approve-due": {"task": "annotate.approve_due", "schedule": crontab(minute=17)},
    "forget-old-reports": {"task": "results.forget_old_reports", "schedule": crontab(hour=4, minute=30)},
    "retire-sets": {"task": "results.retire_sets", "schedule": 30.0, "options": FREQUENT},
    "tidy-sets": {"task": "results.tidy_sets", "schedule": crontab(minute=37)},
    "tidy-score-files": {"task": "results.tidy_score_files", "schedule": crontab(minute=47)},
    "tidy-trainings": {"task": "results.tidy_trainings", "schedule": crontab(minute=57)},
    "purge-deleted": {"task": "projects.purge_deleted", "schedule": crontab(hour=4, minute=15)},
    "clear-sessions": {"task": "projects.clear_sessions", "schedule": crontab(hour=4, minute=0)},
}
