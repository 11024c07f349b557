"""The whole job of an annotator by keyboard alone, and by thumb on a phone: from the invitation to the history."""

import re
from typing import Protocol

import pytest
from playwright.sync_api import Locator, Page, expect

from annotate.models import Assignment, Judgment
from projects.models import Membership, Project
from projects.people import invitations
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import wait_for_keys
from tests.browser.watching import Watch
from tests.factories import make_batch, make_consent, make_corpus

PASSWORD = "a long way over the bridge"
MOST_STOPS = 80
N_ITEMS = 3


class Hands(Protocol):
    """How somebody works: what they do to a control, and how they rate."""

    page: Page

    def use(self, control: Locator) -> None: ...

    def write(self, field: Locator, text: str) -> None: ...

    def rate(self, place: int, value: int) -> None: ...


class Keyboard:
    """Tab, Enter and the keys of the page: the mouse is never touched."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def reach(self, control: Locator) -> None:
        """Tab on until the control has the focus."""
        expect(control).to_be_visible()
        for _ in range(MOST_STOPS):
            if control.evaluate("control => control === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"The tab key does not come to {control}.")

    def use(self, control: Locator) -> None:
        self.reach(control)
        self.page.keyboard.press("Enter")

    def write(self, field: Locator, text: str) -> None:
        self.reach(field)
        self.page.keyboard.type(text)

    def rate(self, place: int, value: int) -> None:
        expect(self.page.locator(f"#item{place}.is-current")).to_have_count(1)
        self.page.keyboard.press(str(value))


class Thumb:
    """Taps on a small screen, each on what can be seen there."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def use(self, control: Locator) -> None:
        control.tap()

    def write(self, field: Locator, text: str) -> None:
        field.tap()
        self.page.keyboard.type(text)

    def rate(self, place: int, value: int) -> None:
        self.page.locator(f"#item{place} .point", has_text=re.compile(rf"^\s*{value}")).tap()


@pytest.mark.parametrize(
    ("hands_of", "look"),
    [(Keyboard, {"viewport": WIDE}), (Thumb, {"viewport": PHONE, "has_touch": True})],
    ids=["keyboard", "phone"],
)
def test_from_the_invitation_to_the_history(
    signed_in: SignedIn,
    project: Project,
    manager: Membership,
    watch: Watch,
    hands_of: type[Keyboard | Thumb],
    look: dict[str, object],
) -> None:
    make_consent(project)
    make_corpus(project, n_passages=1, n_candidates=N_ITEMS)
    make_batch(project)
    Project.objects.update(revision_minutes=30)
    _, token = invitations.create_invitation(actor=manager, role=Membership.Role.ANNOTATOR)
    page = watch.over(signed_in(None, **look))
    hands = hands_of(page)

    page.goto(f"/join/{token}/")
    sign_up(hands)
    hands.use(page.get_by_role("button", name="I agree"))
    hands.use(page.get_by_role("button", name="I've read this"))
    hands.use(page.get_by_role("button", name="Start rating"))
    wait_for_keys(page)
    for place in range(N_ITEMS):
        hands.rate(place, 2 + place)
    expect(page.locator("[data-saved]")).to_have_text("Saved")
    hands.use(page.locator("[data-submit]:visible").first)
    page.wait_for_url("**/desk/")
    assert Assignment.objects.get().state == Assignment.State.SUBMITTED
    assert values() == [2, 3, 4]

    hands.use(page.get_by_role("link", name="Edit your last HIT"))
    wait_for_keys(page)
    with page.expect_navigation():
        change_first(hands)
    assert values() == [3, 4, 5]
    page.goto(f"/p/{project.slug}/desk/")
    hands.use(page.locator("main").get_by_role("link", name="History"))
    expect(page.get_by_text("submitted", exact=True).first).to_be_visible()


def sign_up(hands: Hands) -> None:
    page = hands.page
    hands.write(page.get_by_label("Username"), "nadia")
    hands.write(page.get_by_label("Password", exact=True), PASSWORD)
    hands.write(page.get_by_label("Confirm password"), PASSWORD)
    hands.use(page.get_by_role("button", name="Sign up and join"))


def change_first(hands: Hands) -> None:
    """The first answer, which had a 2, gets a 5."""
    if isinstance(hands, Keyboard):
        hands.reach(hands.page.locator("#item0 input:checked"))
        hands.page.keyboard.press("5")
    else:
        hands.rate(0, 5)
    expect(hands.page.locator("#item0 input[value='5']")).to_be_checked()
    hands.use(hands.page.locator("[data-submit]:visible").first)


def values() -> list[float | None]:
    return sorted(Judgment.objects.values_list("value", flat=True), key=float)  # type: ignore[arg-type]
