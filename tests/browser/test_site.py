from tests.browser.conftest import PHONE, SignedIn
from tests.factories import make_user


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
