"""/metrics: who may read it, what it counts, and that the rules for alerts name metrics that are there."""

import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import psycopg2
import pytest
import yaml
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from annotate.models import ControlJob
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from config import env
from config.monitoring import prometheus, request_metrics
from projects.models import Membership, Pulse
from tests import debian, factories

TOKEN = "a-token-of-more-than-24-characters"
ALERTS = env.BASE_DIR / "deploy" / "alerts.yml"


def read(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """The value of each metric by its name and the values of its labels, in the order of their names."""
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_only_the_token_of_the_settings_opens_them(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "render", lambda: b"")
    for token, header, status in [
        ("", f"Bearer {TOKEN}", 404),
        ("", "Bearer ", 404),
        (TOKEN, None, 403),
        (TOKEN, f"Bearer {TOKEN}x", 403),
        (TOKEN, "Bearer ключ", 403),
        (TOKEN, f"Basic {TOKEN}", 403),
        (TOKEN, f"Bearer {TOKEN}", 200),
    ]:
        settings.METRICS_TOKEN = token
        headers = {"authorization": header} if header else {}
        assert Client().get("/metrics", headers=headers).status_code == status, (token, header)


def test_they_count_the_work_of_the_site(
    transactional_db: None,
    settings: Settings,
    annotator: Membership,
    other_annotator: Membership,
    manager: Membership,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.METRICS_TOKEN = TOKEN
    project = manager.project
    factories.make_rubric(project)
    factories.make_corpus(project, n_passages=2, n_candidates=3)
    batch = factories.make_batch(project, judgments=2)
    assert isinstance(serving.claim(other_annotator), uuid.UUID)
    claimed = serving.claim(annotator)
    assert isinstance(claimed, uuid.UUID)
    answers: dict[int, dict[str, float | str]] = {place: {"correctness": 4} for place in range(3)}
    sent = SentAnswers(values=answers, flags=frozenset())
    submitting.submit(annotator=annotator, assignment_uuid=claimed, sent=sent)
    ControlJob.objects.create(batch=batch, requested_by=manager)
    AccessAttempt.objects.create(
        username="anna",
        ip_address="192.0.2.1",
        failures_since_start=settings.AXES_FAILURE_LIMIT,
        attempt_time=timezone.now(),
    )
    Pulse.beat(Pulse.WORKER)
    Pulse.beat(Pulse.BEAT)

    answer = Client().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    text = answer.text
    found = read(text)
    number = str(project.pk)
    assert {state: found["concord_places", (number, state)] for state in ("open", "claimed", "submitted")} == {
        "open": 2,
        "claimed": 1,
        "submitted": 1,
    }
    assert found["concord_hits_per_minute", ()] == 1 / prometheus.WINDOW_MINUTES
    assert found["concord_judgments_per_minute", ()] == 3 / prometheus.WINDOW_MINUTES
    assert found["concord_claims_per_minute", ()] == 2 / prometheus.WINDOW_MINUTES
    assert found["concord_jobs", ("controljob", "queued")] == 1
    assert found["concord_jobs", ("import", "queued")] == 0
    assert found["concord_oldest_job_seconds", ("controljob", "queued")] >= 0
    assert found["concord_sign_in_lockouts", ()] == 1
    assert found["concord_check_ok", ("worker",)] == 1
    assert 0 <= found["concord_scheduler_silence_seconds", ()] < 60
    assert 0 < found["concord_disk_free_share", ()] <= 1
    # Nothing in it names a person or a study.
    for private in (project.slug, project.name, annotator.pseudonym, "anna", "192.0.2.1", settings.SECRET_KEY):
        assert private not in text

    rules = _rules()
    named = {name for rule in rules for name in re.findall(r"\bconcord_\w+", rule["expr"])}
    counted = {name for family in (request_metrics.REQUESTS, request_metrics.SECONDS) for name in _names(family)}
    assert named <= {name for name, _ in found} | counted

    # A database that fails on the way leaves the rest as it is.
    def fail(database: object) -> Any:
        raise psycopg2.OperationalError

    monkeypatch.setattr(prometheus, "_READERS", (prometheus._read_places, fail))
    left = read(Client().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).text)
    assert ("concord_check_ok", ("worker",)) in left
    assert ("concord_places", (number, "open")) not in left


def test_requests_are_summed_over_processes(tmp_path: Path) -> None:
    script = """
import os
from config import monitoring  # its modules import the library before they count
from prometheus_client import CollectorRegistry, generate_latest
from config.monitoring import request_metrics
for status in (200, 500):
    if os.fork() == 0:
        request_metrics.record(method="GET", status=status, route="annotate:desk", seconds=0.07)
        request_metrics.record(method="BREW", status=status, route="none", seconds=0.001)
        os._exit(0)
    os.wait()
registry = CollectorRegistry()
request_metrics.register(registry)
print(generate_latest(registry).decode())
"""
    file = tmp_path / "settings.env"
    file.write_text(f"PROMETHEUS_MULTIPROC_DIR={tmp_path / 'metrics'}\n", encoding="utf-8")
    variables = {"DJANGO_SETTINGS_MODULE": "config.settings", "ENV_FILE": str(file)}
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=env.BASE_DIR,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found = read(run.stdout)
    assert found["concord_requests_total", ("GET", "200")] == found["concord_requests_total", ("GET", "500")] == 1
    assert found["concord_requests_total", ("other", "200")] == 1
    assert found["concord_request_seconds_count", ("annotate:desk",)] == 2
    assert found["concord_request_seconds_bucket", ("0.1", "annotate:desk")] == 2
    assert found["concord_request_seconds_bucket", ("0.05", "annotate:desk")] == 0


def test_every_alert_says_when_what_and_what_to_do() -> None:
    rules = _rules()
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    assert "ConcordJudgmentsFell" in {rule["alert"] for rule in rules}
    for rule in rules:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}, rule
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "action"}
        assert re.fullmatch(r"\d+m", rule["for"])


@pytest.mark.drill
@pytest.mark.soak
def test_prometheus_takes_the_alerts(tmp_path: Path) -> None:
    promtool = shutil.which("promtool") or tmp_path / "usr" / "bin" / "promtool"
    if not Path(promtool).exists() and not debian.unpack("prometheus", tmp_path):
        pytest.skip("This machine has no package of Prometheus.")
    checked = subprocess.run([promtool, "check", "rules", ALERTS], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _rules() -> list[dict[str, Any]]:
    read_in = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    return [rule for group in read_in["groups"] for rule in group["rules"]]


def _names(family: Any) -> set[str]:
    (described,) = family.describe()
    return {f"{described.name}{ending}" for ending in ("_total", "_bucket", "_sum", "_count")}
