"""The first minutes: the first owner of a fresh site, a project from a template, and an invitation that is copied."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from projects.accounts import first_owner
from projects.models import Project, User
from tests.browser.axe import serious_faults
from tests.browser.conftest import WIDE, SignedIn

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("browser")]
PASSWORD = "four plain words suffice"


def create_owner(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", name="Create the first owner")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_label("Code").fill("a guess")
    for label, text in (("Username", "olga"), ("Password", PASSWORD), ("Confirm password", PASSWORD)):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("This isn't the code.")).to_be_visible()
    page.get_by_label("Code").fill(first_owner.make_code())
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="New project")).to_be_visible()


def press_twice_on_a_slow_network(button: Locator) -> None:
    """The second answer would be that the address is taken."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    button.page.route("**/projects/new/", hold)
    button.evaluate("(button) => { button.click(); setTimeout(() => button.click(), 100); }")
    button.page.wait_for_timeout(400)
    held.pop().continue_()
    assert held == []


def test_from_a_fresh_site_to_a_copied_invitation(signed_in: SignedIn) -> None:
    assert not User.objects.exists()
    page = signed_in(None, viewport=WIDE)
    create_owner(page)
    assert serious_faults(page) == []
    name, address = page.get_by_label("Name"), page.get_by_label("Address")
    name.press_sequentially("Über die Größe 2!")
    expect(address).to_have_value("ueber-die-groesse-2")
    # An address that somebody typed stays, in a refused form too.
    address.fill("my size")
    page.get_by_role("button", name="Create project").click()
    expect(address).to_be_focused()
    name.fill("Something else")
    expect(address).to_have_value("my size")
    address.fill("size")
    page.get_by_label("Start from").select_option("Generated questions (QAScore)")
    press_twice_on_a_slow_network(page.get_by_role("button", name="Create project"))
    page.wait_for_url(re.compile("/p/size/"))
    assert Project.objects.get().rubrics.get().preset == "qascore"
    page.goto("/p/size/people/invitations/new/")
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Invitation link").input_value()
    assert "/join/" in link
    # No clipboard: what can't be copied is selected, and the page says so.
    page.evaluate(
        """() => {
            document.execCommand = () => false;
            navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
        }"""
    )
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Selected. Press Ctrl+C")).to_be_visible()
    selected = "({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd)"
    assert page.get_by_label("Invitation link").evaluate(selected) == link
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("() => { delete navigator.clipboard.writeText; }")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link
