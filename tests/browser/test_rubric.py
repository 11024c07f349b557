"""The form of a rubric shows what a scale has."""

import pytest
from playwright.sync_api import expect

from projects.models import Membership, Project
from tests.browser.conftest import SignedIn

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_slider_asks_for_no_ends_and_stops_at_none_that_were_typed_before(
    signed_in: SignedIn, project: Project, manager: Membership
) -> None:
    page = signed_in(manager.user)
    page.goto(f"/p/{project.slug}/rubric/new/")
    page.get_by_label("Name").first.fill("Clarity")
    criterion = page.locator(".rubric-criterion").first
    criterion.get_by_label("Name").fill("Clarity")
    highest = criterion.get_by_label("Highest value")
    highest.fill("2.5")
    criterion.get_by_label("Scale").select_option("continuous")
    expect(highest).to_be_hidden()
    criterion.get_by_label("Labels of the points").fill("")
    page.get_by_role("button", name="Save new version").click()
    expect(page.get_by_text("Slider from 0 to 100.")).to_be_visible()
