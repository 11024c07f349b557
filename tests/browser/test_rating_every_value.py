"""Every value of every kind of scale, by keys and by pointer: what was given is what both files say."""

import csv
import io
import json

import pytest
from playwright.sync_api import Locator, Page, expect

from measures.rubric import CriterionSpec, Level, Scale, ScaleKind
from projects.models import Membership
from projects.rubric.rubrics import create_rubric
from tests.annotate.open_batches import open_batch
from tests.browser.conftest import SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.conftest import Site
from tests.raw_http import Visitor

SCALES = {
    "five": (ScaleKind.ORDINAL, 1, 5),
    "seven": (ScaleKind.ORDINAL, 1, 7),
    "ten": (ScaleKind.ORDINAL, 1, 10),
    "eleven": (ScaleKind.ORDINAL, 0, 10),
    "negative": (ScaleKind.ORDINAL, -3, 3),
    "high": (ScaleKind.ORDINAL, 20, 24),
    "percent": (ScaleKind.ORDINAL, 0, 100),
    "signed": (ScaleKind.CONTINUOUS, -1, 1),
}
DECIMALS = (-1, -0.999, -0.5, -0.01, 0, 0.01, 0.1, 0.25, 0.3333333333333333, 0.5, 0.99, 1)


def list_values(name: str) -> list[float]:
    kind, low, high = SCALES[name]
    return list(DECIMALS) if kind is ScaleKind.CONTINUOUS else list(range(low, high + 1))


def list_keys(name: str, value: float) -> list[str]:
    """What one presses for a value; the last point of eleven has no digit, it is the nearest one to the right's end."""
    _, low, high = SCALES[name]
    if name in ("percent", "signed"):
        return [*str(value), "Enter"]
    if name == "eleven" and value == high:
        return ["ArrowLeft", "j"]
    nth = value - low + 1 if name in ("negative", "high") else value
    return [str(int(nth) % 10)]


@pytest.mark.parametrize("way", ["keys", "pointer"])
@pytest.mark.parametrize("name", SCALES)
def test_every_value_is_stored_as_it_was_given(
    signed_in: SignedIn, annotator: Membership, researcher: Membership, live_site: Site, name: str, way: str
) -> None:
    kind, low, high = SCALES[name]
    scale = Scale(kind=kind, low=low, high=high)
    spec = CriterionSpec(key=name, name=name, statement="", scale=scale, level=Level.INTERVAL)
    create_rubric(annotator.project, name=name, preset="custom", criteria=[spec])
    values = list_values(name)
    open_batch(annotator.project, n_hits=1, n_items=len(values))
    page = signed_in(annotator.user)
    page.emulate_media(reduced_motion="reduce")
    start(page, annotator.project)
    wait_for_keys(page)
    given = {}
    for place, value in enumerate(values):
        item = page.locator(f"#item{place}")
        given[item.locator(".candidate").inner_text()] = float(value)
        if way == "keys":
            for key in list_keys(name, value):
                page.keyboard.press(key)
        else:
            point(page, item, value)
    expect(page.locator("[data-count]")).to_have_text(str(len(values)))
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/desk/")
    visitor = Visitor.of(researcher, live_site.url)
    export = f"/p/{annotator.project.slug}/export"
    table = csv.DictReader(io.StringIO(visitor.get(f"{export}/long.csv?texts=on").text, newline=""))
    assert {row["candidate"]: float(row["value"]) for row in table} == given
    lines = visitor.get(f"{export}/long.jsonl?texts=on").text.splitlines()
    assert {row["candidate"]: row["value"] for row in map(json.loads, lines)} == given


def point(page: Page, item: Locator, value: float) -> None:
    """Press the point, or where there is a slider, put the value into its number."""
    buttons = item.locator(f"input[type=radio][value='{value}']")
    if buttons.count():
        buttons.click()
    else:
        item.locator("[data-number]").fill(str(value))
