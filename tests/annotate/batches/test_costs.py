"""What a batch is expected to cost, and what the ledger then has."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.template.loader import render_to_string

from annotate.batches import lifecycle
from annotate.batches.control_plan import ControlPlan
from annotate.batches.costs import Cost, Portion, Rates, price_batch
from annotate.batches.creating import plan_batch
from annotate.batches.selection import Selection
from annotate.batches.terms import Terms
from annotate.batches.workload import Redone
from annotate.integrity import verifying
from annotate.models import Assignment, Batch, LedgerEntry
from annotate.models.pay import compute_hit_pay, hit_pay
from annotate.rating.pace import LEAST_OF_ALL, HitSize, Pace, measure_pace
from annotate.templatetags.costs import expected_cost
from measures.outcome import Undefined
from measures.quality.shares import compute_share
from projects.language.amounts import format_hours, round_hours
from projects.models import Candidate, Membership, Passage, Project, Question, Reference
from tests.annotate.controls.controlled_batches import make_controlled, make_places, work
from tests.annotate.open_batches import open_batch
from tests.factories import make_batch, make_corpus, make_membership
from tests.page_reader import condense, read
from tests.people import SignIn
from tests.sized_projects import submit

pytestmark = pytest.mark.django_db


def test_a_short_hit_pays_its_share_rounded_up(project: Project) -> None:
    """The same in Python, which pages use, and in SQL, which pays."""
    batch = open_batch(project, cents_per_hit=25, cents_per_item=2, hit_size=10, is_pay_prorated=True)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {hit_pay('b', 'n')} FROM annotate_batch b, generate_series(1, 12) n WHERE b.id = %s ORDER BY n",
            [batch.pk],
        )
        paid = [row[0] for row in cursor.fetchall()]
    # 2.5 cents an item, rounded up, and 2 for each item; more items than the HIT size pay no more per HIT.
    assert paid == [3 + 2, 5 + 4, 8 + 6, 10 + 8, 13 + 10, 15 + 12, 18 + 14, 20 + 16, 23 + 18, 45, 47, 49]
    assert paid == [batch.compute_pay(n) for n in range(1, 13)]
    terms = {"hit_size": 10, "cents_per_hit": 25, "cents_per_item": 0}
    assert compute_hit_pay(n_items=1, is_prorated=False, **terms) == 25


def test_only_batches_with_personal_hits_pay_by_item_unless_told(project: Project) -> None:
    make_corpus(project)
    with_personal = ControlPlan(repeats=2, repeats_every=3)
    asked: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"controls": with_personal}, True),
        ({"controls": ControlPlan(known_per_hit=1)}, False),
        ({"controls": with_personal, "is_pay_prorated": False}, False),
        ({"is_pay_prorated": True}, True),
    ]
    for over, is_prorated in asked:
        assert make_batch(project, is_open=False, **over).is_pay_prorated is is_prorated


@pytest.mark.parametrize("is_prorated", [None, False])
def test_plan_and_ledger_agree_within_a_tenth_with_controls(project: Project, is_prorated: bool | None) -> None:
    """Personal HITs were left out of the plan: of 36 planned HITs these controls make more than 50."""
    Project.objects.update(cents_per_hit=40)
    project.refresh_from_db()
    make_places(project, n_passages=12, n_questions=1, n_candidates=4)
    crew = [make_membership(project) for _ in range(3)]
    controls = ControlPlan(degraded_per_hit=1, repeats=2, repeats_every=4, known_per_hit=1)
    terms = Terms(judgments=3, controls=controls, hit_size=6, is_pay_prorated=is_prorated)
    cost = plan_batch(project=project, selection=Selection(), terms=terms).cost
    batch = make_controlled(project, controls, judgments=3, hit_size=6, is_pay_prorated=is_prorated)
    of_draft = price_batch(batch)
    for annotator in crew:
        work(annotator)
    done = Assignment.objects.filter(hit__batch=batch)
    cents = LedgerEntry.objects.aggregate(cents=Sum("cents"))["cents"]
    assert cost.ordinary.n_hits == done.filter(hit__purpose="work").count() == 36
    assert cost.personal.n_hits == pytest.approx(done.filter(hit__purpose="personal").count(), rel=0.25)
    assert cost.pay_cents == pytest.approx(cents, rel=0.1)
    assert of_draft.pay_cents == pytest.approx(cents, rel=0.1)
    assert verifying.verify() == []


def test_fees_are_exact() -> None:
    rates = Rates(hit_size=10, cents_per_hit=1, cents_per_item=0, fee_share=0.07)
    assert [rates.compute_fee(cents) for cents in (50, 49, 150, 0)] == [4, 3, 11, 0]


def test_the_parts_of_a_cost_add_up_to_its_total_as_they_are_shown(project: Project) -> None:
    """Each is rounded: 10.4 + 10.4 + 10.4 cents are 10 three times, and 30 in all."""
    batch = open_batch(project, n_hits=2, cents_per_hit=40)
    part = Portion(n_hits=1.4, n_items=2.4, pay_cents=10.4, seconds=60)
    cost = replace(price_batch(batch), ordinary=part, personal=part, again=part, fee_cents=3)
    assert (cost.n_assignments, cost.n_items, cost.pay_cents, cost.cents) == (3, 6, 30, 33)
    share = compute_share(1, 4, nothing="none")
    html = render_to_string("annotate/batches/_cost.html", expected_cost(cost, project) | {"redone": share})
    page = read(f"<div>{html}</div>")
    *parts, fee, total, _rate = [row["Pay"] for row in page.rows("Expected cost")]
    assert (parts, fee, total) == (["$0.10"] * 3, "$0.03", "$0.33")
    assert [row["Items"] for row in page.rows("Expected cost")][:5] == ["2", "2", "2", "–", "6"]


def test_time_is_that_of_the_texts_until_it_is_measured_and_its_uncertainty_is_told(
    project: Project, annotator: Membership
) -> None:
    batch = open_batch(project, n_hits=4, judgments=3, n_items=2)
    Passage.objects.update(text="p" * 2000)
    Question.objects.update(text="q" * 100)
    Candidate.objects.update(text="c" * 50)
    Reference.objects.update(text="")
    by_length = (2000 + 100 + 2 * 50) / 20 + 2 * 8
    cost = price_batch(batch)
    assert cost.pace == Pace()
    assert cost.hours * 3600 == pytest.approx(12 * by_length)
    assert cost.hours_range is None
    # HITs of one person are measured, and told without an interval; so are those of two who differ much.
    simulated = make_membership(project, kind="simulated")
    people = (simulated, annotator, make_membership(project), make_membership(project))
    for person, seconds, n in zip(people, (9000, 252, 126, 180), (1, 1, 2, 2), strict=True):
        for _ in range(n):
            submit(person, n_items=2)
        Assignment.objects.filter(annotator=person).update(active_seconds=seconds)
        pace = measure_pace(project)
        assert pace.is_simulated == (person == simulated)
        assert (pace.low is None) == (person != people[-1])
    assert pace.factor == pytest.approx((252 + 2 * 126 + 2 * 180) / (5 * by_length))
    assert (pace.n_hits, pace.n_annotators, pace.seconds_per_item) == (5, 3, 864 / 10)
    cost = price_batch(batch)
    assert cost.hours * 3600 == pytest.approx((12 - 6) * by_length * pace.factor)
    assert cost.hours_range is not None
    assert cost.hours_range[0] < cost.hours < cost.hours_range[1]
    Assignment.objects.update(has_odd_times=True)
    assert measure_pace(project) == Pace()


def test_a_trial_clicked_through_says_nothing_of_the_time_that_people_take(
    project: Project, annotator: Membership, manager: Membership, client_of: SignIn
) -> None:
    batch = open_batch(project, n_hits=3, judgments=2, n_items=2)
    Passage.objects.update(text="p" * 2000)
    # All HITs as long as each other: the numbers in made texts have one digit more from 10 on.
    Candidate.objects.update(text="c" * 20)
    by_length = price_batch(batch).hours / 6
    submit(annotator, n_items=2)
    Assignment.objects.update(active_seconds=2)
    cost = price_batch(batch)
    assert (cost.pace.is_implausible, cost.pace.n_hits, cost.pace.factor) == (True, 1, 1.0)
    # However many clicked through, newcomers are told an estimate, not what "others" took.
    size = HitSize(n_items=10, n_criteria=1, n_bytes=9_000)
    assert size.find_duration_for_others(replace(cost.pace, n_hits=LEAST_OF_ALL)).is_estimate
    assert cost.hours == pytest.approx(5 * by_length)
    lifecycle.close(batch=batch, actor=None)
    make_corpus(project)
    draft = make_batch(project, is_open=False)
    page = condense(client_of(manager).get(f"/p/bridges/batches/{draft.number}/").content.decode())
    assert "the 1 HIT measured so far was done faster than anybody reads" in page


def test_managers_are_warned_of_a_low_hourly_rate_before_they_open_the_batch(
    project: Project, manager: Membership, client_of: SignIn
) -> None:
    Project.objects.update(hourly_floor_cents=1_000, cents_per_hit=40, fee_share=0.2)
    make_corpus(project, n_passages=2, n_candidates=4)
    Passage.objects.update(text="w" * 40_000)
    batch = make_batch(project, is_open=False)
    client = client_of(manager)
    choice = "?kind=full&seed=0&judgments=1&hit_size=10&cents_per_hit=40&cents_per_item=0&fee_percent=20"
    choice += "&time_limit_minutes=60&order=breadth&priority=0&presentation=page&short_hits=item"
    warning = "below this project’s minimum of $10.00"
    for address in (f"/p/bridges/batches/{batch.number}/", f"/p/bridges/batches/new/{choice}"):
        page = client.get(address).content.decode()
        assert warning in condense(page)
        rows = {row["Expected"].split(" ")[0]: row for row in read(page).rows("Expected cost")}
        assert rows["HITs"]["Assignments"] == "2"
        assert "Nothing has been measured in this project yet" in condense(page)
    # By item, four of ten items pay 16 cents.
    assert (rows["HITs"]["Pay"], rows["Platform"]["Pay"], rows["Total"]["Pay"]) == ("$0.32", "$0.06", "$0.38")
    Passage.objects.update(text="w")
    assert warning not in condense(client.get(f"/p/bridges/batches/{batch.number}/").content.decode())


def test_no_money_is_spoken_of_where_nothing_is_paid(project: Project, manager: Membership, client_of: SignIn) -> None:
    Project.objects.update(cents_per_hit=0, cents_per_item=0, hourly_floor_cents=1_000)
    project.refresh_from_db()
    make_corpus(project)
    batch = make_batch(project, is_open=False)
    assert not Batch.objects.get(pk=batch.pk).is_paid
    page = condense(client_of(manager).get(f"/p/bridges/batches/{batch.number}/").content.decode())
    assert "Expected work" in page
    assert "cost" not in re.sub(r"<[^>]*>", " ", page)
    assert "$" not in page


def test_hours_of_a_cost_add_up_as_they_are_shown() -> None:
    """14.4, 8.4 and 8.4 minutes are 31.2, and are shown as 14, 8 and 8."""
    cost = Cost(
        ordinary=Portion(seconds=0.24 * 3600),
        personal=Portion(seconds=8.4 * 60),
        again=Portion(seconds=8.4 * 60),
        fee_cents=0,
        pace=Pace(),
        redone=Redone(Undefined(reason="nothing was submitted yet")),
        n_annotators=1,
    )
    parts = [format_hours(part.hours) for part in cost.parts]
    assert parts == ["14 minutes", "8 minutes", "8 minutes"]
    assert format_hours(cost.shown_hours) == "30 minutes"
    assert format_hours(cost.hours) == "31 minutes"


@pytest.mark.parametrize("hours", [0, 0.001, 0.3, 0.99, 1.24, 47.5, 48, 60.3, 1234.5])
def test_rounded_hours_are_shown_as_they_are(hours: float) -> None:
    assert format_hours(round_hours(hours)) == format_hours(hours)
