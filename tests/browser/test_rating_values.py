"""Every widget and every value: what was clicked, typed or tapped is in the long CSV file."""

import csv
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from annotate.models import Judgment
from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.database.csv import unguard_text
from projects.models import Membership, Project
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.conftest import Site
from tests.raw_http import Visitor

ORDINAL = {"five": 5, "seven": 7, "ten": 10}
KEYS = (*ORDINAL, "hundred")
COMMENTS = {1: 'He said "no",\nthen; left – ü 👍', 2: "=1+1", 3: "c f x ? j k 1 2"}
REASONS = {10: "The passage, it seems, does not say"}
FLAGS = {0, 2, 10}
N_ITEMS = 11
"""Ten, so that the longest scale shows each of its points once, and one that cannot be judged."""

Values = dict[str, dict[str, float]]
MOST_KEYS = 60
"""More than it takes to go up from any item to the next one."""


class Remarks(NamedTuple):
    """What the file says beside the values, by the text of the candidate."""

    comments: dict[str, str]
    reasons: dict[str, str]
    flags: set[str]


@pytest.fixture
def with_four_scales(project: Project) -> Project:
    points = {key: Scale(kind=ScaleKind.ORDINAL, low=1, high=high) for key, high in ORDINAL.items()}
    hundred = Scale(kind=ScaleKind.CONTINUOUS, low=0, high=100)
    create_rubric(
        project,
        name="Four scales",
        preset="custom",
        criteria=[
            CriterionSpec(key=key, name=key.title(), statement="", scale=scale, level=Level.ORDINAL)
            for key, scale in {**points, "hundred": hundred}.items()
        ],
    )
    open_batch(project, n_hits=1, n_items=N_ITEMS)
    return project


def test_values_given_by_mouse(
    signed_in: SignedIn, with_four_scales: Project, annotator: Membership, researcher: Membership, live_site: Site
) -> None:
    page = signed_in(annotator.user, viewport=WIDE, reduced_motion="reduce")  # it scrolls at once
    start(page, with_four_scales)
    wait_for_keys(page)
    values: Values = {}
    for place in each_place():
        item = item_at(page, place)
        points = {key: press_point(item, key, value) for key, value in list_points(place).items()}
        # The page moves on, and scrolls, once a double click is no longer possible.
        expect(item.locator("[data-key=hundred]")).to_contain_class("is-current")
        values[read_text(item)] = {**points, "hundred": slide(page, item, SLIDES[place])}
    remarks = remark(page, Locator.click)
    submit(page)
    assert exported(researcher, live_site) == (values, remarks)


def test_values_given_by_keyboard_alone(
    signed_in: SignedIn, with_four_scales: Project, annotator: Membership, researcher: Membership, live_site: Site
) -> None:
    page = signed_in(annotator.user, viewport=WIDE)
    start(page, with_four_scales)
    wait_for_keys(page)
    values: Values = {}
    for place in each_place():
        item = item_at(page, place)
        expect(item).to_contain_class("is-current")
        for key, value in list_points(place).items():
            page.keyboard.press(str(value % 10))
            if key == "ten" and value == 1:  # waits for a 0 that would make it a 10
                expect(item.locator("[data-key=hundred]")).to_contain_class("is-current")
        page.keyboard.type(TYPED[place])
        page.keyboard.press("Enter")
        values[read_text(item)] = {**list_points(place), "hundred": float(TYPED[place])}
    remarks = remark_by_keys(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    assert exported(researcher, live_site) == (values, remarks)


def test_a_slider_moved_by_keys(
    signed_in: SignedIn, with_four_scales: Project, annotator: Membership, researcher: Membership, live_site: Site
) -> None:
    """The slider itself, without its number: both ends, and steps from the middle and from an end."""
    page = signed_in(annotator.user, viewport=WIDE)
    start(page, with_four_scales)
    wait_for_keys(page)
    values: Values = {}
    for place in each_place():
        item = item_at(page, place)
        keys, expected = STEPS[place]
        item.get_by_role("slider").focus()
        for key in keys.split():
            page.keyboard.press(key)
        expect(item.get_by_role("slider")).to_have_attribute("aria-valuetext", expected)
        for key in list_points(place):
            press_point(item, key, 1)
        values[read_text(item)] = {**dict.fromkeys(ORDINAL, 1.0), "hundred": float(expected)}
    remarks = remark(page, Locator.click)
    submit(page)
    assert exported(researcher, live_site) == (values, remarks)


def test_values_given_on_a_phone(
    signed_in: SignedIn, with_four_scales: Project, annotator: Membership, researcher: Membership, live_site: Site
) -> None:
    page = signed_in(annotator.user, viewport=PHONE, has_touch=True, is_mobile=True)
    start(page, with_four_scales)
    wait_for_keys(page)
    values: Values = {}
    for place in each_place():
        item = item_at(page, place)
        given = {}
        for key, value in list_points(place).items():
            find_point(item, key, value).tap()
            given[key] = chosen(item, key)
            assert given[key] == value
        item.locator("[data-number]").tap()
        item.locator("[data-number]").fill(TYPED[place])
        values[read_text(item)] = {**given, "hundred": float(TYPED[place])}
    remarks = remark(page, Locator.tap)
    submit(page)
    assert exported(researcher, live_site) == (values, remarks)


# --- what is given

SLIDES = (0.0, 1.0, 0.5, 0.25, 0.01, 0.99, 0.33, 0.77, 0.1, 0.9)
"""Where along the slider the mouse comes down."""
TYPED = ("0", "100", "55.5", "0.01", "99.999", "33.333", "7", "50", "12.25", "1")
STEPS = (
    ("Home", "0"),
    ("End", "100"),
    ("ArrowRight", "51"),
    ("ArrowLeft", "49"),
    ("PageUp", "60"),
    ("Home ArrowRight", "1"),
    ("End ArrowLeft", "99"),
    ("Home ArrowLeft", "0"),
    ("End ArrowRight", "100"),
    ("ArrowRight ArrowLeft", "50"),
)


def each_place() -> range:
    return range(N_ITEMS - 1)


def list_points(place: int) -> dict[str, int]:
    """Ten items show every point of every scale at least once."""
    return {key: place % high + 1 for key, high in ORDINAL.items()}


def item_at(page: Page, place: int) -> Locator:
    return page.locator(f"#item{place}")


def read_text(item: Locator) -> str:
    return item.locator(".candidate").inner_text()


def find_point(item: Locator, key: str, value: int) -> Locator:
    return item.locator(f"[data-key={key}] .point").filter(has=item.page.get_by_text(str(value), exact=True))


def press_point(item: Locator, key: str, value: int) -> float:
    find_point(item, key, value).click()
    assert chosen(item, key) == value
    return value


def chosen(item: Locator, key: str) -> float:
    checked = item.locator(f"[data-key={key}] input:checked")
    expect(checked).to_have_count(1)
    return float(checked.input_value())


def slide(page: Page, item: Locator, share: float) -> float:
    """Press the slider at a share of its length; what the page then shows as the number."""
    slider = item.get_by_role("slider")
    slider.hover()  # waits until the page has stopped scrolling
    box = slider.bounding_box()
    assert box is not None
    page.mouse.down()
    page.mouse.move(box["x"] + 1 + share * (box["width"] - 2), box["y"] + box["height"] / 2, steps=2)
    page.mouse.up()
    shown = float(item.locator("[data-number]").input_value())
    assert shown == 100 * share if share in (0, 1) else abs(shown - 100 * share) < 8
    return shown


# --- remarks


def remark(page: Page, press: Callable[[Locator], Any]) -> Remarks:
    for place, comment in COMMENTS.items():
        press(item_at(page, place).locator("summary", has_text="Comment"))
        page.locator(f"[name=comment{place}]").fill(comment)
    for place, reason in REASONS.items():
        press(item_at(page, place).locator("summary", has_text="Can't be judged"))
        page.locator(f"[name=cannot{place}]").fill(reason)
    for place in FLAGS:
        press(item_at(page, place).get_by_text("Flag a problem"))
        expect(page.locator(f"[name=flag{place}]")).to_be_checked()
    return read_remarks(page)


def remark_by_keys(page: Page) -> Remarks:
    """From the last item upwards, which is where the keys have led."""
    for place in reversed(range(N_ITEMS)):
        for _ in range(MOST_KEYS):
            if page.locator(f"#item{place}.is-current").count():
                break
            page.keyboard.press("k")
        expect(page.locator(f"#item{place}")).to_contain_class("is-current")
        if place in FLAGS:
            page.keyboard.press("f")
            page.keyboard.press("Escape")
        for letter, texts in (("c", COMMENTS), ("x", REASONS)):
            if place in texts:
                page.keyboard.press(letter)
                page.keyboard.insert_text(texts[place])
                page.keyboard.press("Escape")
    return read_remarks(page)


def read_remarks(page: Page) -> Remarks:
    texts = {place: read_text(item_at(page, place)) for place in range(N_ITEMS)}
    return Remarks(
        comments={texts[place]: comment for place, comment in COMMENTS.items()},
        reasons={texts[place]: reason for place, reason in REASONS.items()},
        flags={texts[place] for place in FLAGS},
    )


# --- sending, and reading the file


def submit(page: Page) -> None:
    expect(page.locator("[data-count]")).to_have_text(str(N_ITEMS))
    page.get_by_role("button", name="Submit ratings").click()
    page.wait_for_url("**/desk/")


def exported(researcher: Membership, site: Site) -> tuple[Values, Remarks]:
    """The long file as a program reads it; it has one row for each judgment."""
    path = f"/p/{researcher.project.slug}/export/long.csv?texts=on&comments=on"
    rows = list(csv.DictReader(io.StringIO(Visitor.of(researcher, site.url).get(path).text, newline="")))
    assert len(rows) == N_ITEMS * len(KEYS) == Judgment.objects.count()
    values: Values = {}
    comments, reasons, flags = {}, {}, set()
    for row in rows:
        text = row["candidate"]
        if row["value"]:
            values.setdefault(text, {})[row["criterion"]] = float(row["value"])
        assert (row["is_cannot_judge"] == "yes") == (row["value"] == "")
        if row["comment"]:
            comments[text] = unguard_text(row["comment"])
        if row["cannot_judge_reason"]:
            reasons[text] = unguard_text(row["cannot_judge_reason"])
        if row["is_flagged"] == "yes":
            flags.add(text)
    return values, Remarks(comments, reasons, flags)
