"""The rows of groups and pages: whole at every width, at the same place on every page, a menu where they are narrow."""

import uuid
from collections.abc import Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotate.work import serving, submitting
from config.navigation.groups import GROUPS
from projects.models import Membership, Project, User
from tests.annotate.open_batches import answered
from tests.browser.conftest import SignedIn
from tests.factories import make_batch, make_corpus

NARROWEST, NARROW, MIDDLE, WIDE = 320, 390, 1024, 1440
FIRST_WITH_ROW = 900
WIDTHS = (WIDE, MIDDLE, FIRST_WITH_ROW, FIRST_WITH_ROW - 1, NARROW, NARROWEST)

CUT_OFF = """() => [...document.querySelectorAll("header, header :is(a, summary, .nav-count)")]
    .filter((each) => each.checkVisibility() && !each.closest(".visually-hidden, .menu-list, .header-project"))
    .filter((each) => {
        const box = each.getBoundingClientRect();
        const isOutside = box.left < 0 || box.right > document.documentElement.clientWidth + 0.5;
        return isOutside || each.closest(".nav") && each.scrollWidth > each.clientWidth;
    }).map((each) => each.textContent.trim())"""
"""What of the header reaches beyond the window, or of an entry beyond its box. A long project name ends in dots."""


IS_APART = """() => {
    const [project, site] = [".header-project a", ".header-nav"].map((each) => document.querySelector(each));
    return project.getBoundingClientRect().right <= site.getBoundingClientRect().left + 0.5;
}"""
"""Whether the project's name ends before the links of the site begin."""

FITS = "document.querySelector('header').scrollWidth <= document.documentElement.clientWidth"


def addresses(owner: Membership) -> Iterator[str]:
    """A page of each group and two that nest."""
    slug = owner.project.slug
    for group in GROUPS:
        yield reverse(group.url_name or group.pages[0].url_name, args=[slug])
    for name in ("annotate:batch-caps", "results:batch-results"):
        yield reverse(name, args=[slug, 1])
    for name in ("annotate:quality-rules", "annotate:finding-list", "projects:token-new", "annotate:import-new"):
        yield reverse(name, args=[slug])


@pytest.fixture
def owner_with_work(owner: Membership, annotator: Membership) -> Membership:
    """An owner for whom there is something to count."""
    make_corpus(owner.project)
    make_batch(owner.project)
    taken = serving.claim(annotator)
    assert isinstance(taken, uuid.UUID)
    submitting.submit(annotator=annotator, assignment_uuid=taken, sent=answered(10, flags=frozenset({0})))
    return owner


def test_nothing_of_the_header_is_cut_off(signed_in: SignedIn, owner_with_work: Membership) -> None:
    # Names that take all the room that they may have.
    Project.objects.update(name="Donaudampfschifffahrtsgesellschaft")
    User.objects.filter(memberships=owner_with_work).update(username="donaudampfschifffahrt")
    page = signed_in(owner_with_work.user)
    wrong = []
    for address in addresses(owner_with_work):
        page.goto(address)
        for width in WIDTHS:  # no script places anything of the header: one visit shows the page at every width
            page.set_viewport_size({"width": width, "height": 700})
            at = f"{address} at {width} pixels"
            wrong += [f"{at}: cut off: {each}" for each in page.evaluate(CUT_OFF)]
            wrong += [] if page.evaluate(IS_APART) else [f"{at}: the project's name reaches the links of the site"]
            wrong += [] if page.evaluate(FITS) else [f"{at}: the header is too broad"]
    assert not wrong, "\n".join(wrong)


def test_the_rows_and_the_heading_stay_where_they_are_from_page_to_page(
    signed_in: SignedIn, owner_with_work: Membership
) -> None:
    page = signed_in(owner_with_work.user, viewport={"width": WIDE, "height": 900})
    found = set()
    for address in addresses(owner_with_work):
        page.goto(address)
        found.add((*find_position(page, ".nav-groups a"), find_position(page, "h1")[0]))
    assert len({(round(left), round(top)) for left, top, _heading in found}) == 1
    assert len({round(heading) for *_row, heading in found}) == 1


def test_below_900_pixels_the_groups_are_one_menu_that_needs_no_script(
    signed_in: SignedIn, owner_with_work: Membership
) -> None:
    page = signed_in(
        owner_with_work.user, viewport={"width": FIRST_WITH_ROW - 1, "height": 700}, java_script_enabled=False
    )
    page.goto(reverse("results:planner", args=[owner_with_work.project.slug]))
    menu = page.locator(".nav-menu")
    expect(page.locator(".nav-groups")).to_be_hidden()
    expect(menu.locator("summary")).to_contain_text("Results")
    expect(menu.get_by_role("link", name="Review")).to_be_hidden()
    menu.locator("summary").click()
    for group in GROUPS:
        expect(menu.get_by_role("link", name=str(group.label))).to_be_visible()
    expect(menu.locator("[aria-current]")).to_have_text("Results")
    menu.get_by_role("link", name="Review").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Submissions")
    expect(page.locator(".nav-pages [aria-current]")).to_contain_text("Submissions")


def test_from_900_pixels_on_the_groups_are_a_row(signed_in: SignedIn, owner_with_work: Membership) -> None:
    page = signed_in(owner_with_work.user, viewport={"width": FIRST_WITH_ROW, "height": 700})
    page.goto(reverse("annotate:batch-caps", args=[owner_with_work.project.slug, 1]))
    expect(page.locator(".nav-menu")).to_be_hidden()
    tops = {round(each.bounding_box()["y"]) for each in page.locator(".nav-groups a").all()}  # type: ignore[index]
    assert len(tops) == 1
    expect(page.locator(".nav-groups [aria-current]")).to_have_text("Collection")
    expect(page.locator(".nav-pages [aria-current]")).to_have_text("Batches")


def test_an_annotator_has_the_pages_of_the_desk_alone(signed_in: SignedIn, annotator: Membership) -> None:
    page = signed_in(annotator.user, viewport={"width": NARROW, "height": 844})
    page.goto(reverse("annotate:history", args=[annotator.project.slug]))
    assert page.locator(".nav a:visible").all_inner_texts() == ["Desk", "Instructions", "History", "Earnings"]
    expect(page.locator(".nav [aria-current]")).to_have_text("History")
    assert page.evaluate(CUT_OFF) == []


def find_position(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"], box["y"]
