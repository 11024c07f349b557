"""Real HITs of long answers (SQuALITY), rated where people rate: low screens, phones, forced colours, offline."""

import json
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from annotate.models import Assignment, Judgment
from projects.models import Membership, Project, User
from tests.annotate.open_batches import add_hit, open_batch
from tests.browser import axe
from tests.browser.conftest import LAPTOP, PHONE, ZOOMED, SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.browser.test_rating_long_answers import END_IS_SEEN, press, rated, read_on
from tests.factories import make_candidates, make_dataset, make_passage, make_question

CONDITIONS: dict[str, dict[str, Any]] = {
    "1366x768": {"viewport": LAPTOP},
    "phone": {"viewport": PHONE, "has_touch": True},
    "400-percent": {"viewport": ZOOMED},
    "forced-colours": {"viewport": LAPTOP, "forced_colors": "active"},
    "right-to-left": {"viewport": LAPTOP},
    "offline": {"viewport": PHONE, "has_touch": True},
}
DIGITS = "425"

CUT = """() => [...document.querySelectorAll('.candidate, .question-head, .question-head .text')]
  .filter((each) => each.scrollHeight > each.clientHeight + 1 || each.scrollWidth > each.clientWidth + 1)
  .map((each) => `cut: ${each.textContent.trim().slice(0, 60)}`)"""
BROAD = "document.documentElement.scrollWidth > innerWidth ? ['sticks out'] : []"
DIRECTIONS = """['html', '.question-head h2', '.candidate', '.passage-text']
  .map((each) => getComputedStyle(document.querySelector(each)).direction)"""


def test_real_hits_are_rated_wherever_people_rate(
    signed_in: SignedIn, annotator: Membership, squality_dir: Path, pictures: Path
) -> None:
    give_hits(annotator.project, squality_dir)
    wrong: list[str] = []
    address = ""
    for name, look in CONDITIONS.items():
        User.objects.update(language="ar" if name == "right-to-left" else "en")
        page = signed_in(annotator.user, reduced_motion="reduce", **look)
        if address:
            page.goto(address)
        else:
            start(page, annotator.project)
        wait_for_keys(page)
        assert page.evaluate(DIRECTIONS) == ["rtl" if name == "right-to-left" else "ltr", "ltr", "ltr", "ltr"]
        page.screenshot(path=pictures / f"{name}-1-opened.png")
        found = page.evaluate(CUT) + page.evaluate(BROAD) + rate(page, pictures / name, is_offline=name == "offline")
        if "forced_colors" in look:  # axe compares the colours of the page, not those that the system forces
            found = [each for each in found if "color-contrast" not in each]
        wrong += [f"{name}: {each}" for each in found]
        address = submit(page, pictures / name, is_offline=name == "offline")
    assert wrong == []
    assert Assignment.objects.submitted().count() == len(CONDITIONS)
    stored = Judgment.objects.order_by("value").values_list("value", flat=True)
    assert list(stored) == sorted([*map(int, DIGITS)] * len(CONDITIONS))


def give_hits(project: Project, folder: Path) -> None:
    """A HIT for each condition: the second question of a story, its references, and the three answers to it."""
    stories = {each["passage_id"]: each["passage"] for each in read_lines(folder / "passages.jsonl")}
    items = [each for each in read_lines(folder / "items.jsonl") if "-q2-" in each["item_id"]]
    batch, dataset = open_batch(project, n_hits=0, cents_per_hit=60), make_dataset(project)
    hits = groupby(items, key=lambda each: each["passage_id"])
    for position, (story, answers) in enumerate(islice(hits, len(CONDITIONS))):
        first, *others = answers
        passage = make_passage(dataset, text=stories[story])
        question = make_question(passage, text=first["question"], references=tuple(first["references"]))
        texts = [each["candidate"] for each in (first, *others)]
        add_hit(batch, [make_candidates(question, text=text)[0] for text in texts], position)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def rate(page: Page, picture: Path, *, is_offline: bool) -> list[str]:
    """Rate each answer once its end was read; the faults that axe finds before the last."""
    found: list[str] = []
    if not page.evaluate(END_IS_SEEN):
        press(page, DIGITS[0])
        page.screenshot(path=f"{picture}-2-not-read.png")
        assert rated(page) == "0", "an answer was rated whose end nobody had seen"
    for place, digit in enumerate(DIGITS):
        read_on(page)
        if place == len(DIGITS) - 1:
            found = axe.faults(page)
            page.screenshot(path=f"{picture}-3-read.png")
            page.context.set_offline(is_offline)
        press(page, digit)
    expect(page.locator("[data-count]")).to_have_text(str(len(DIGITS)))
    return found


def submit(page: Page, picture: Path, *, is_offline: bool) -> str:
    """Submit the HIT, once the network is back; the address of what comes after it."""
    address = page.url
    page.keyboard.press("Control+Enter")
    if is_offline:
        expect(page.locator("[data-saved]")).to_have_text("Will be submitted when you're back online.")
        page.screenshot(path=f"{picture}-4-submitting.png")
        assert page.url == address
        page.context.set_offline(False)
    page.wait_for_url(lambda url: url != address)
    return page.url
