"""One visit shows a page as on a wide screen by day and as on a phone at night, so that none is fetched twice."""

from collections.abc import Iterator
from typing import Literal

from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import PHONE, WIDE

Look = tuple[dict[str, int], Literal["light", "dark"]]
DAY: Look = (WIDE, "light")
NIGHT: Look = (PHONE, "dark")


def visit(page: Page, path: str, *, is_phone_first: bool) -> Iterator[int]:
    """Fetch a page in one look, then turn to the other; yields the width of each, while the page is in it.

    What a page does only when it starts on a phone is seen where that is first.
    """
    looks = (NIGHT, DAY) if is_phone_first else (DAY, NIGHT)
    for size, scheme in looks:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # no colour on its way from one to the other
        page.set_viewport_size(ViewportSize(width=size["width"], height=size["height"]))
        if (size, scheme) == looks[0]:
            answer = page.goto(path)
            assert answer is not None
            assert answer.ok, path
        yield size["width"]
