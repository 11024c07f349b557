"""ACCEPTANCE E5 in a real browser: nothing that it got or keeps over a whole session tells a control."""

import re

import pytest
from playwright.sync_api import Page, Request, Response

from annotate.batches.control_plan import ControlPlan
from annotate.models import Assignment, Batch
from projects.models import Membership, Project
from tests.annotate.controls.controlled_batches import fetch_items, make_controlled, make_places, work
from tests.annotate.controls.markers import MARK, SEED, WORDS, leaks, plant
from tests.browser.conftest import SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.factories import make_batch, make_membership

CODE = re.compile(rf"{MARK}|{SEED}|known.?answer|degraded|made.?from|recipe|is_control|reserved.?for", re.IGNORECASE)
"""What no script and no style sheet may speak of; they are free to use words like “expected”."""
TEXTUAL = re.compile(r"text/|json|javascript|xml|svg")
KEPT = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"


def make_controls(project: Project, presentation: Batch.Presentation) -> Batch:
    """Work with every kind of control."""
    make_places(project, n_passages=2, n_questions=1, n_candidates=3, name="known")
    make_batch(project, datasets=("known",), judgments=2)
    for _ in range(2):
        work(make_membership(project))
    make_places(project, n_passages=5, n_questions=1, n_candidates=4, name="new")
    repeats = {"repeats": 2, "repeats_every": 2} if presentation == "page" else {"repeats_per_hit": 1}
    numbers = {"known_per_hit": 1, "known_hit_every": 2, "degraded_per_hit": 1, "distance": 1, "item_distance": 2}
    plan = ControlPlan(**numbers, **repeats, seed=SEED)
    return make_controlled(project, plan, datasets=("new",), judgments=3, hit_size=7, presentation=presentation)


def rate_all(page: Page, project: Project) -> list[str]:
    """Rate and send whatever is shown, until nothing is left; what the browser kept while each page was rated."""
    kept = []
    start(page, project)
    while "/work/" in page.url:
        wait_for_keys(page)
        for button in page.locator("input[type=radio][value='4']").all():
            button.check(force=True)
        kept.append(page.evaluate(KEPT))
        with page.expect_navigation():
            page.locator("form#rating .rate-end [data-submit]").click()
    return kept


def leaks_in(response: Response, code_read: set[str]) -> list[str]:
    """What the address, the headers and, where it is text, the body tell.

    Code is read once: its address changes with its content, and every page of the session has it again.
    """
    found = [*leaks(response.url, "address"), *leaks(dict(response.all_headers()), response.url)]
    kind = response.headers.get("content-type", "")
    if TEXTUAL.search(kind) and response.status == 200 and response.url not in code_read:
        is_code = "javascript" in kind or "css" in kind
        if is_code:
            code_read.add(response.url)
        found += leaks(response.text(), response.url, CODE if is_code else WORDS)
    return found


@pytest.mark.parametrize("presentation", list(Batch.Presentation))
def test_nothing_that_the_browser_gets_or_keeps_tells_a_control(
    signed_in: SignedIn, project: Project, annotator: Membership, presentation: Batch.Presentation
) -> None:
    project.revision_minutes = 30
    project.save()
    make_controls(project, presentation)
    plant(annotator)
    page = signed_in(annotator.user)
    found: list[str] = []
    kinds: set[str] = set()
    code_read: set[str] = set()

    def look(request: Request) -> None:
        response = request.response()
        if response is not None:
            kinds.add(response.headers.get("content-type", "").split(";")[0])
            found.extend(leaks_in(response, code_read))

    page.on("requestfinished", look)
    kept = rate_all(page, project)
    own = [f"history/{uuid}/" for uuid in Assignment.objects.filter(annotator=annotator).values_list("uuid", flat=True)]
    revisions = [f"{url}revision/" for url in own[:2]]
    for url in ("desk/", "history/", "instructions/", *own, *revisions):
        page.goto(f"/p/{project.slug}/{url}")
        kept.append(page.evaluate(KEPT))
    found += leaks([dict(cookie) for cookie in page.context.cookies()], "cookies")
    found += [leak for each in kept for leak in leaks(each, "kept")]
    assert {"text/html", "application/json", "text/css", "text/javascript"} <= kinds
    assert any("concord:work:" in each for each in kept)
    done = Assignment.objects.filter(annotator=annotator).select_related("hit")
    shown = {item.control for assignment in done for item in fetch_items(assignment)}
    assert shown >= {"none", "known_answer", "degraded", "repeat"}
    assert found == []
