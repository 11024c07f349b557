"""The whole main job in a real browser: from a file on a manager's disk to a row in a researcher's file."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from annotate.models import Assignment, Judgment
from projects.models import Membership, Project
from tests.browser.conftest import SignedIn
from tests.browser.rating import go_offline, wait_for_keys
from tests.browser.walking import go_to
from tests.browser.watching import Watch

PASSWORD = "a bridge of many small stones"
CANDIDATES = ("Its people, by hand.", "A company from the coast.", "The mayor's brother.", "Nobody knows.")
VALUES = dict(zip(CANDIDATES, "5214", strict=True))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bridges.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["passage_id", "passage", "question", "reference", "candidate", "source"])
        for place, candidate in enumerate(CANDIDATES):
            passage = "The bridge was built by the people of the town, stone by stone."
            writer.writerow(
                ["p1", passage, "Who built the bridge?", "The townspeople.", candidate, f"model {place % 2}"]
            )
    return path


def test_from_a_file_to_a_row(
    signed_in: SignedIn,
    celery_worker: None,
    project: Project,
    manager: Membership,
    researcher: Membership,
    watch: Watch,
    file: Path,
    tmp_path: Path,
) -> None:
    assert manager.user
    manager.user.set_password(PASSWORD)
    manager.user.save()
    desk = watch.over(signed_in(None))
    sign_in_as_manager(desk)
    import_file(desk, file)
    make_and_open_batch(desk)
    link = invite_annotator(desk)

    page = watch.over(signed_in(None))
    sign_up(page, link)
    read_instructions_and_start(page)
    rate_by_keyboard_through_a_lost_network(page)

    see_it_counted(desk)
    rows = download_long_csv(watch.over(signed_in(researcher.user)), tmp_path)
    annotator = project.memberships.get(user__username="nadia")
    assert {row["candidate"]: row["value"] for row in rows} == VALUES
    assert {(row["annotator"], row["is_counted"]) for row in rows} == {(annotator.pseudonym, "yes")}
    assert {row["source"] for row in rows} == {"model 0", "model 1"}
    assert watch.n_pages > 20


def sign_in_as_manager(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Username").fill("mara")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="Bridges")).to_be_visible()


def import_file(page: Page, file: Path) -> None:
    go_to(page, "Data")
    page.get_by_role("link", name="Import file").click()
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="Map columns")).to_be_visible()
    page.get_by_role("button", name="Validate").click()
    page.get_by_role("button", name="Import").click(timeout=30_000)
    page.get_by_role("link", name="Create a batch").click(timeout=30_000)


def make_and_open_batch(page: Page) -> None:
    page.get_by_label("Judgments per candidate").fill("1")
    page.get_by_role("button", name="Preview batch").click()
    page.get_by_role("button", name="Create batch").click()
    page.get_by_role("button", name="Open batch").click()
    expect(page.locator(".page-head .status")).to_have_text("open")


def invite_annotator(page: Page) -> str:
    go_to(page, "Admin", "Members")
    page.get_by_role("link", name="Invite people").click()
    page.get_by_role("button", name="Create link").click()
    return page.get_by_label("Invitation link").input_value()


def sign_up(page: Page, link: str) -> None:
    page.goto(link)
    expect(page.get_by_role("heading", name="Join Bridges")).to_be_visible()
    page.get_by_label("Username").fill("nadia")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up and join").click()


def read_instructions_and_start(page: Page) -> None:
    page.get_by_role("link", name="Instructions").first.click()
    expect(page.get_by_role("heading", name="How to rate")).to_be_visible()
    page.get_by_role("button", name="I've read this").focus()
    page.keyboard.press("Enter")
    wait_for_keys(page)


def rate_by_keyboard_through_a_lost_network(page: Page) -> None:
    """The candidates come in an order of their own: rate the one that is current, each by its text."""
    saved, counted = page.locator("[data-saved]"), page.locator("[data-count]")
    address = page.url
    rate_current(page)
    expect(saved).to_have_text("Saved")
    go_offline(page)
    rate_current(page)
    rate_current(page)
    expect(saved).to_have_text(re.compile(r"Offline: \d ratings? kept on this device"))
    expect(counted).to_have_text("3")
    page.context.set_offline(False)
    expect(saved).to_have_text("Saved")
    page.goto("/desk/")
    page.get_by_role("link", name="Continue rating").click()
    expect(page).to_have_url(address)
    wait_for_keys(page)
    expect(counted).to_have_text("3")
    rate_current(page)
    expect(counted).to_have_text("4")
    expect(saved).to_have_text("Saved")
    assert not Judgment.objects.exists()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert Assignment.objects.submitted().count() == 1


def rate_current(page: Page) -> None:
    current = page.locator(".item.is-current")
    place = current.get_attribute("data-place")
    page.keyboard.press(VALUES[current.locator(".candidate").inner_text()])
    expect(page.locator(f"#item{place} input:checked")).to_have_count(1)


def see_it_counted(page: Page) -> None:
    go_to(page, "Overview")
    expect(page.locator(".stat", has_text="Judgments").locator(".stat-value")).to_have_text("4")
    go_to(page, "Collection", "Batches")
    expect(page.locator(".progress-line")).to_contain_text("1 of 1")
    go_to(page, "Results", "Agreement")
    alpha = page.locator(".stat", has_text="Alpha (ordinal)")
    expect(alpha.locator(".stat-value")).to_have_text("undefined")
    expect(alpha.locator(".stat-note")).to_contain_text("one annotator only")


def download_long_csv(page: Page, folder: Path) -> list[dict[str, str]]:
    page.goto("/p/bridges/")
    go_to(page, "Releases", "Judgment sets")
    page.locator("main").get_by_role("link", name="Raw export").click()
    page.get_by_label("Texts").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download long CSV").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
