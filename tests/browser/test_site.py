from playwright.sync_api import expect

from projects.models import Membership
from projects.people.invitations import create_invitation
from tests.browser.conftest import LAPTOP, PHONE, SignedIn
from tests.factories import make_corpus, make_rubric, make_user


def test_a_stranger_is_led_to_the_sign_in_page(signed_in: SignedIn) -> None:
    make_user("phil")  # a site without accounts asks for the first one
    page = signed_in(None)
    page.goto("/")
    assert page.url.endswith("/sign-in") or "/sign-in" in page.url
    assert page.get_by_label("Password").count() == 1


def test_a_session_opens_the_site_on_a_phone(signed_in: SignedIn) -> None:
    page = signed_in(make_user("phil"), viewport=PHONE)
    answer = page.goto("/")
    assert answer is not None
    assert answer.ok
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_no_page_asks_another_machine_for_anything(signed_in: SignedIn) -> None:
    page = signed_in(make_user("nora"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    page.wait_for_load_state("networkidle")
    assert asked
    assert {url.split("/")[2].split(":")[0] for url in asked if not url.startswith("data:")} == {"127.0.0.1"}


def test_the_first_wrong_field_of_a_refused_form_has_the_focus_however_far_below(
    signed_in: SignedIn, manager: Membership
) -> None:
    make_rubric(manager.project)
    page = signed_in(manager.user, viewport=LAPTOP)
    page.goto(f"/p/{manager.project.slug}/instructions/edit/")
    page.get_by_role("button", name="Add example").click()
    page.get_by_label("Question").fill("Where?")
    page.get_by_role("button", name="Save new version").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved.")
    wrong = page.locator(".field--error").first.locator("input, textarea")
    expect(wrong).to_be_focused()
    expect(wrong).to_be_in_viewport()


def test_what_is_wrong_with_a_form_as_a_whole_has_the_focus(signed_in: SignedIn, manager: Membership) -> None:
    make_corpus(manager.project)
    page = signed_in(manager.user, viewport=LAPTOP)
    page.goto(f"/p/{manager.project.slug}/metrics/new/")
    page.evaluate("document.querySelectorAll('main input:checked').forEach((box) => { box.checked = false; })")
    page.get_by_role("button", name="Compute metrics").press("Enter")
    expect(page.get_by_text("Select at least one metric.")).to_be_visible()
    expect(page.locator(":focus")).to_have_text("Select at least one metric.")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Tokenisation")).to_be_focused()


def test_an_act_asks_first_before_the_other_scripts_of_the_page_are_there(
    signed_in: SignedIn, manager: Membership
) -> None:
    create_invitation(actor=manager, role=Membership.Role.ANNOTATOR)
    page = signed_in(manager.user)
    page.route("**/js/app.*", lambda route: route.abort())
    page.goto(f"/p/{manager.project.slug}/people/invitations/")
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog", name="Revoke this invitation?")).to_be_visible()
