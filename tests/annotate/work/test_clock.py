"""Clocks: the annotator's is only noted, the web server's decides nothing, the database's counts, in UTC."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from annotate import places
from annotate.integrity.verifying import verify
from annotate.models import Assignment, Draft
from annotate.work import serving
from projects.models import Membership, Project
from results.exports.columns import write_utc
from tests.annotate.open_batches import fetch, open_batch
from tests.people import SignIn

pytestmark = pytest.mark.django_db
FORM = {f"a{place}-correctness": "4" for place in range(3)}


def claimed(annotator: Membership) -> Assignment:
    found = serving.claim(annotator)
    assert isinstance(found, uuid.UUID)
    return fetch(found)


@pytest.mark.parametrize(
    "seconds",
    [
        "[-1, 1, 1]",
        "[86400, 86400, 86400]",
        "[1e308, 1, 1]",
        "[1e999, 1, 1]",
        "[NaN, 1, 1]",
        '["9", 1, 1]',
        "[1, 1]",
        "x",
    ],
)
def test_absurd_times_of_the_page_are_marked_and_stop_nothing(
    project: Project, annotator: Membership, client_of: SignIn, seconds: str
) -> None:
    open_batch(project)
    assignment = claimed(annotator)
    answer = client_of(annotator).post(f"/p/bridges/work/{assignment.uuid}/", FORM | {"seconds": seconds})
    stored = fetch(assignment.uuid)
    assert answer.status_code == 303
    assert stored.state == Assignment.State.SUBMITTED
    assert stored.has_odd_times
    assert stored.wall_seconds is not None
    assert 0 <= stored.wall_seconds < 60


def test_times_that_can_be_are_not_marked(project: Project, annotator: Membership, client_of: SignIn) -> None:
    open_batch(project)
    assignment = claimed(annotator)
    client_of(annotator).post(f"/p/bridges/work/{assignment.uuid}/", FORM | {"seconds": "[1.5, 0, 2]"})
    stored = fetch(assignment.uuid)
    assert (stored.has_odd_times, stored.active_seconds) == (False, 3.5)


@pytest.mark.parametrize("days", [1, 400, 40_000])
def test_a_draft_from_a_clock_far_ahead_does_not_hold_off_later_ones(
    project: Project, annotator: Membership, client_of: SignIn, days: int
) -> None:
    open_batch(project)
    client, url = client_of(annotator), f"/p/bridges/work/{claimed(annotator).uuid}/draft/"

    def save(value: int, stamp: float) -> list[float]:
        body = json.dumps({"answers": {"0": {"correctness": [value, stamp]}}})
        assert client.post(url, body, content_type="application/json").status_code == 200
        kept: list[float] = Draft.objects.get().answers["answers"]["0"]["correctness"]
        return kept

    now = timezone.now().timestamp() * 1000
    ahead = save(1, now + days * 86_400_000)
    assert ahead[1] < now + 60_000
    assert save(2, timezone.now().timestamp() * 1000)[0] == 2
    assert save(3, now - days * 86_400_000)[0] == 2
    assert save(3, -1e15)[0] == 2


def test_a_hit_that_was_opened_before_the_clock_was_set_back_an_hour_is_submitted_as_any_other(
    project: Project, annotator: Membership, client_of: SignIn
) -> None:
    open_batch(project)
    first = claimed(annotator)
    hour = timedelta(hours=1)
    Assignment.objects.update(opened_at=F("opened_at") + hour, due_at=F("due_at") + hour)
    assert places.sweep(limit=10) == 0
    assert claimed(annotator).uuid == first.uuid
    answer = client_of(annotator).post(f"/p/bridges/work/{first.uuid}/", FORM | {"seconds": "[1, 1, 1]"})
    stored = fetch(first.uuid)
    assert answer.status_code == 303
    assert (stored.state, stored.mark) == (Assignment.State.SUBMITTED, Assignment.Mark.COUNTED)
    assert (stored.wall_seconds, stored.has_odd_times) == (None, True), "nobody knows how long it took"
    assert claimed(annotator).uuid != first.uuid
    assert verify() == []


def test_a_hit_that_was_opened_by_a_clock_a_month_ahead_keeps_its_place_no_month(
    project: Project, annotator: Membership
) -> None:
    batch = open_batch(project, time_limit_minutes=60 * 24 * 14)  # the longest
    first = claimed(annotator)
    assert places.sweep(limit=10) == 0
    ahead = timedelta(days=31)
    Assignment.objects.update(opened_at=F("opened_at") + ahead, due_at=F("due_at") + ahead)
    assert places.sweep(limit=10) == 1
    assert fetch(first.uuid).state == Assignment.State.EXPIRED
    assert batch.hits.filter(places_open=0).count() == 0
    assert verify() == []


def test_ratings_can_be_changed_after_the_servers_clock_was_set_back(
    project: Project, annotator: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_batch(project)
    client, url = client_of(annotator), f"/p/bridges/work/{claimed(annotator).uuid}/draft/"
    now = timezone.now()

    def save(**entries: dict[str, object]) -> None:
        assert client.post(url, json.dumps(entries), content_type="application/json").status_code == 200

    page = now.timestamp() * 1000
    save(answers={"0": {"correctness": [1, page]}, "1": {"correctness": [1, page]}}, comments={"0": ["a", page]})
    monkeypatch.setattr("django.utils.timezone.now", lambda: now - timedelta(hours=1))
    save(answers={"0": {"correctness": [2, page + 1]}}, comments={"0": ["b", page + 1]})
    answers = Draft.objects.get().answers
    assert answers["answers"]["0"]["correctness"][0] == 2
    assert answers["answers"]["1"]["correctness"][0] == 1
    assert answers["comments"]["0"][0] == "b"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize(("minutes", "is_served"), [(-1, True), (0, False)])
def test_the_day_of_the_daily_most_begins_at_midnight_utc(
    project: Project, annotator: Membership, zone: str, minutes: int, is_served: bool
) -> None:
    """Neither a zone nor a change to summer time moves the day; what was opened at midnight is today's."""
    open_batch(project, n_hits=3, max_hits_per_day=1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])
    first = claimed(annotator)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    Assignment.objects.filter(pk=first.pk).update(
        state=Assignment.State.SUBMITTED, submitted_at=midnight, opened_at=midnight + timedelta(minutes=minutes)
    )
    assert isinstance(serving.claim(annotator), uuid.UUID) is is_served


@pytest.mark.parametrize("days", [-400, -1, 1, 400])
def test_due_and_submitted_times_are_the_databases(
    project: Project, annotator: Membership, client_of: SignIn, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """The web server's clock is wrong by days: what is stored is not."""
    open_batch(project, time_limit_minutes=60)
    now = timezone.now()
    client = client_of(annotator)
    with monkeypatch.context() as patched:
        patched.setattr("django.utils.timezone.now", lambda: now + timedelta(days=days))
        assignment = claimed(annotator)
    assert assignment.due_at == assignment.opened_at + timedelta(hours=1)
    assert abs(assignment.opened_at - now) < timedelta(minutes=1)
    client.post(f"/p/bridges/work/{assignment.uuid}/", FORM)
    submitted = fetch(assignment.uuid).submitted_at
    assert submitted is not None
    assert abs(submitted - now) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        ("2028-02-29 23:59:59+00", "2028-02-29T23:59:59"),
        ("2026-03-29 03:30:00+02", "2026-03-29T01:30:00"),
        ("2026-10-25 02:30:00+02", "2026-10-25T00:30:00"),
        ("2026-10-25 02:30:00+01", "2026-10-25T01:30:00"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_exported_times_are_utc_and_say_so(db: None, zone: str, moment: str, written: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('TimeZone', %s, true)", [zone])
        cursor.execute(f"SELECT {write_utc('%s::timestamptz')}", [moment])
        text = cursor.fetchone()[0]
    assert text.startswith(written)
    assert text.endswith("Z")
