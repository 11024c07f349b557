"""An authenticator app and a passkey, set up and used in a real browser."""

from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from playwright.sync_api import Page, expect

from tests.browser.axe import serious_faults
from tests.browser.conftest import SignedIn
from tests.browser.watching import Watch
from tests.conftest import Site
from tests.factories import make_user
from tests.projects.accounts.codes import show_code

PASSWORD = "correct horse battery"
DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def sign_in(page: Page) -> None:
    page.get_by_label("Username").fill("anna")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.context.clear_cookies()
    page.goto("/sign-in/")


def test_an_app_and_a_passkey_open_an_account(signed_in: SignedIn, live_site: Site) -> None:
    make_user("anna", password=PASSWORD)
    # Browsers have passkeys on localhost, and at no bare address.
    home = live_site.url.replace("127.0.0.1", "localhost")
    watch = Watch(urlsplit(home).netloc)
    page = watch.over(signed_in(None, base_url=home))
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})

    page.goto("/sign-in/")
    expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
    sign_in(page)
    page.goto("/account/security/")
    page.get_by_role("button", name="Set up app").click()
    secret = page.locator(".secret code").inner_text().replace(" ", "")
    assert serious_faults(page) == []
    page.get_by_role("textbox", name="Code").fill(show_code(secret))
    page.get_by_role("button", name="Set up app").click()
    codes = page.get_by_label("Recovery codes").input_value().split("\n")
    page.get_by_role("link", name="I've saved them").click()

    page.get_by_role("link", name="Add passkey").click()
    page.get_by_label("Name").fill("Anna's laptop <b>")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.locator("strong", has_text="Anna's laptop <b>")).to_be_visible()
    assert serious_faults(page) == []

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url("**/desk/")

    sign_out(page)
    sign_in(page)
    page.get_by_role("textbox", name="Code").fill(codes[0])
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/desk/")

    # The second step too takes the passkey, and without the device it says so.
    sign_out(page)
    sign_in(page)
    assert serious_faults(page) == []
    device.send("WebAuthn.disable")
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": {**DEVICE, "isUserVerified": False}})
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("The passkey wasn't used.")
    page.get_by_role("textbox", name="Code").fill(show_code(secret, steps=1))
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/desk/")
    assert watch.wrong == []
    watch.stop()

    # What the server says of a refusal is shown: here, that a new passkey needs a new proof of who asks for it.
    page.goto("/account/security/passkeys/new/")
    page.get_by_label("Name").fill("Phone")
    refusal = "Reload the page and try again."
    page.route("**/options/", lambda route: route.fulfill(status=409, json={"message": refusal}))
    page.get_by_role("button", name="Add passkey").click()
    expect(page.get_by_role("alert")).to_have_text(refusal)


def test_a_sign_in_that_was_stopped_on_its_way_can_be_tried_again(signed_in: SignedIn, live_site: Site) -> None:
    Authenticator.objects.create(user=make_user("anna"), type=Authenticator.Type.WEBAUTHN, data={})
    page = signed_in(None, base_url=live_site.url.replace("127.0.0.1", "localhost"))
    page.clock.install()
    page.add_init_script("navigator.credentials.get = async () => ({ toJSON: () => ({}) })")
    sent: list[str] = []
    page.route("**/options/", lambda route: route.fulfill(json={"publicKey": {"challenge": "AAAA"}}))
    page.route("**/passkey/", lambda route: sent.append(route.request.method))  # no answer comes
    page.goto("/sign-in/")
    device, button = page.context.new_cdp_session(page), page.get_by_role("button", name="Sign in with a passkey")
    for _ in range(2):
        with page.expect_request("**/passkey/"):
            button.click(no_wait_after=True)
        device.send("Page.stopLoading")
        page.clock.fast_forward(5_000)
    assert sent == ["POST", "POST"]
