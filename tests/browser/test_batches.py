import re

import pytest
from playwright.sync_api import expect

from annotate.batches import lifecycle
from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.models import Batch
from annotate.rating.sent import SentAnswers
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.browser import looks
from tests.browser.axe import serious_faults
from tests.browser.conftest import PHONE, SignedIn
from tests.factories import (
    make_candidates,
    make_corpus,
    make_dataset,
    make_membership,
    make_passage,
    make_question,
)

PLANNED = (
    "judgments=2&hit_size=10&time_limit_minutes=60&seed=0&order=breadth&priority=0&kind=full"
    "&cents_per_hit=40&cents_per_item=0&fee_percent=0&presentation=page"
)
PAGES = [
    "batches/",
    "batches/new/",
    f"batches/new/?{PLANNED}",
    "batches/1/",
    "batches/2/",
    "batches/1/judgments/?judgments=5",
    "batches/1/hits/1/",
    "batches/1/hits/1/preview/",
    "remarks/",
]


@pytest.fixture
def batch(project: Project, manager: Membership, annotator: Membership) -> Batch:
    """An open batch with a stuck place, work in progress and a comment; and a draft."""
    make_corpus(project, name="one", n_passages=3, n_candidates=4)
    make_corpus(project, name="two", n_passages=2, n_candidates=4)
    batch = create_batch(project=project, actor=manager, terms=Terms(judgments=2, name="A long name for a batch " * 4))
    lifecycle.open_batch(batch=batch, actor=manager)
    create_batch(project=project, actor=manager, terms=Terms(judgments=1))
    found = serving.claim(annotator)
    assert not isinstance(found, serving.NoWork)
    values: dict[int, dict[str, float | str]] = {place: {"correctness": 3} for place in range(4)}
    sent = SentAnswers(values=values, flags=frozenset({0}), comments={0: "Cut off " * 30})
    submitting.submit(annotator=annotator, assignment_uuid=found, sent=sent)
    serving.claim(annotator)
    return batch


def test_the_pages_of_batches_are_accessible_and_fit(batch: Batch, manager: Membership, signed_in: SignedIn) -> None:
    page = signed_in(manager.user)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    for number, address in enumerate(PAGES):
        for width in looks.visit(page, f"/p/bridges/{address}", is_phone_first=number % 2 == 1):
            assert serious_faults(page) == [], f"{address} at {width} pixels"
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    assert refused == []


def test_a_phone_draws_the_box_of_a_row_beside_its_first_line(
    batch: Batch, manager: Membership, signed_in: SignedIn
) -> None:
    page = signed_in(manager.user, viewport=PHONE)
    page.goto(f"/p/bridges/batches/{batch.number}/")
    box = page.get_by_role("checkbox", name="HIT 1", exact=True).bounding_box()
    line = page.get_by_role("region", name="HITs").get_by_role("link", name="1", exact=True).bounding_box()
    assert box is not None
    assert line is not None
    assert box["y"] + box["height"] / 2 == pytest.approx(line["y"] + line["height"] / 2, abs=4)


def test_a_manager_makes_opens_and_closes_a_batch(
    project: Project, manager: Membership, annotator: Membership, signed_in: SignedIn
) -> None:
    make_corpus(project, name="one", n_passages=3, n_candidates=11)
    make_corpus(project, name="two", n_passages=1, n_candidates=4)
    page = signed_in(manager.user)
    page.goto("/p/bridges/batches/")
    page.get_by_role("link", name="New batch").click()
    page.get_by_label("one (33)").check()
    page.get_by_label("Judgments per candidate").fill("2")
    page.get_by_role("button", name="Preview batch").click()
    page.get_by_label("Name optional").fill("Pilot")
    page.get_by_role("button", name="Refresh preview").click()
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    expect(page.locator(".stat", has_text="HITs").locator(".stat-value")).to_have_text("6")
    expect(page.get_by_role("region", name="Expected cost").get_by_role("row", name="HITs")).to_contain_text("$4.80")
    page.get_by_role("button", name="Create batch").click()
    expect(page.get_by_role("heading", name="Pilot")).to_be_visible()
    page.get_by_role("button", name="Open batch").click()
    expect(page.get_by_text("Annotators can now take its HITs")).to_be_visible()
    expect(page.get_by_text("unfilled assignments that no one can take")).to_be_visible()
    page.get_by_label("HIT 2", exact=True).check()
    page.get_by_role("button", name="Change judgments of selected HITs").click()
    page.get_by_label("Judgments per candidate").fill("1")
    page.get_by_role("button", name="Preview change").click()
    page.get_by_role("button", name="Remove 1 assignment").click()
    expect(page.get_by_text("0 assignments added, 1 removed.")).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("button", name="Close batch").click()
    expect(page.get_by_text("Batch closed.")).to_be_visible()
    expect(page).to_have_url(re.compile("/batches/1/$"))
    assert Batch.objects.get().state == Batch.State.CLOSED


def test_the_plan_works_without_javascript(project: Project, manager: Membership, signed_in: SignedIn) -> None:
    make_corpus(project, n_passages=1, n_candidates=4)
    make_membership(project)
    page = signed_in(manager.user, java_script_enabled=False)
    page.goto("/p/bridges/batches/new/")
    page.get_by_role("button", name="Preview batch").click()
    page.get_by_role("button", name="Create batch").click()
    expect(page.get_by_text("Batch 1 created with 1 HIT.")).to_be_visible()
    page.get_by_role("button", name="Open batch").click()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".page-head .status")).to_have_text("closed")
    assert Batch.objects.get().state == Batch.State.CLOSED


def test_the_number_of_ticked_sources_follows_the_boxes(
    signed_in: SignedIn, project: Project, manager: Membership
) -> None:
    question = make_question(make_passage(make_dataset(project)))
    for n in range(30):
        make_candidates(question, source=f"system {n:02}")
    page = signed_in(manager.user)
    page.goto(f"/p/{project.slug}/batches/new/")
    sources = page.get_by_role("group", name="Sources")
    expect(sources).to_contain_text("0 of 30 ticked")
    page.get_by_label("system 07 (1)").check()
    page.get_by_label("system 29 (1)").check()
    expect(sources).to_contain_text("2 of 30 ticked")
    page.get_by_label("system 07 (1)").uncheck()
    expect(sources).to_contain_text("1 of 30 ticked")
