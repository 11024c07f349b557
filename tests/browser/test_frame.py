"""The frame of every page: appearance, menus, and the question before what cannot be undone."""

from urllib.parse import parse_qs

from django.conf import settings
from playwright.sync_api import Route, expect

from projects.models import Membership
from tests.browser.conftest import SignedIn
from tests.factories import make_user

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
SAVE_AGAIN = """(button) => {
  const other = button.cloneNode(true), file = document.createElement("input");
  Object.assign(file, { type: "file", name: "file" });
  button.before(file);
  const correct = () => { button.form.elements.name.value = "Corrected"; };
  const steps = [
    () => button.click(), () => button.click(),
    () => { correct(); button.click(); }, () => button.click(),
    () => { button.after(other); other.click(); }, () => other.click(),
  ];
  steps.forEach((step, place) => setTimeout(step, 150 * place));
}"""
"""JavaScript: presses the button of a form twice, again twice with a corrected name, and twice another button.

Browsers say of a field without a file that it was changed just now.
"""


def test_the_chosen_appearance_is_drawn_by_the_server_from_then_on(signed_in: SignedIn) -> None:
    page = signed_in(make_user("tilda"), color_scheme="light")
    page.goto("/desk/")
    light = page.evaluate(BACKGROUND)
    page.locator(".menu > summary").click()
    toggle = page.get_by_role("button", name="Appearance")
    expect(toggle).to_contain_text("as device")
    toggle.click()
    toggle.click()
    expect(toggle).to_contain_text("dark")
    dark = page.evaluate(BACKGROUND)
    assert dark != light
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate(BACKGROUND) == dark
    page.locator(".menu > summary").click()
    toggle.click()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") is None
    assert page.evaluate(BACKGROUND) == light


def test_a_made_up_appearance_is_no_appearance(signed_in: SignedIn) -> None:
    make_user("max")  # a site without accounts asks for the first one
    page = signed_in(None)
    page.goto("/sign-in/")
    page.evaluate("document.cookie = 'theme=\"><b>x</b>; path=/'")
    page.reload()
    assert page.locator("html > b, body > b").count() == 0
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_the_menu_closes_by_escape_by_a_click_elsewhere_and_when_the_focus_leaves_it(signed_in: SignedIn) -> None:
    page = signed_in(make_user("max"))
    page.goto("/desk/")
    menu = page.locator(".menu")
    menu.locator("summary").click()
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")
    menu.locator("summary").click()
    page.keyboard.press("Tab")
    expect(menu).to_have_attribute("open", "")
    menu.get_by_role("button", name="Sign out").focus()
    page.keyboard.press("Tab")
    expect(menu).not_to_have_attribute("open", "")


def test_the_first_tab_stop_leads_past_the_header(signed_in: SignedIn) -> None:
    page = signed_in(make_user("skip"))
    page.goto("/desk/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_signing_out_ends_the_session(signed_in: SignedIn) -> None:
    page = signed_in(make_user("ada"))
    page.goto("/desk/")
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/**")
    page.goto("/desk/")
    assert "/sign-in/" in page.url
    cookies = {cookie["name"] for cookie in page.context.cookies()}
    assert settings.SESSION_COOKIE_NAME not in cookies


def test_a_form_on_its_way_is_sent_again_only_by_another_button_or_with_other_fields(
    signed_in: SignedIn, owner: Membership
) -> None:
    page = signed_in(owner.user)
    page.goto(f"/p/{owner.project.slug}/settings/edit/")
    sent: list[str] = []

    def take(route: Route) -> None:
        sent.extend(parse_qs(route.request.post_data or "")["name"])
        route.fulfill(status=204)  # the page stays, as while it waits

    page.route("**/settings/edit/", take)
    page.get_by_role("button", name="Save changes").evaluate(SAVE_AGAIN)
    page.wait_for_timeout(1500)
    assert sent == [owner.project.name, "Corrected", "Corrected"]
