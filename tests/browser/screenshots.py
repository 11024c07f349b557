"""Makes the pictures of the docs again, from a demo project with a fixed seed: `make screenshots`.

With a folder in SCREENSHOTS, pictures of every page of the demo go there as well: on a wide screen, a laptop's low one,
a phone and a screen at 400 %, light, dark and in forced colours.
"""

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db.models import Avg
from django.urls import reverse
from playwright.sync_api import Page, ViewportSize

from annotate.models import Judgment, Review
from annotate.onboarding import instructions
from annotate.quality import monitoring
from annotate.rating.sent import SentAnswers
from annotate.reviews import spot_checks
from annotate.work import serving
from config import env
from projects.models import Membership, Project, User
from projects.people import invitations
from results.metrics import computing
from tests.browser.conftest import LAPTOP, PHONE, WIDE, ZOOMED, SignedIn
from tests.browser.rating import start, wait_for_keys
from tests.every_page import Address, addresses, make_samples
from tests.results.sets.frozen_sets import freeze
from tests.results.studies.factories import study

SEED = 7
MOST_BYTES = 250_000
TALLEST = 12_000
"""Of a whole page so many pixels are drawn: asked for all 25,000 of a long guide, Chromium never answers."""
DOCS = env.BASE_DIR / "docs" / "img"
SIZES = {"wide": WIDE, "laptop": LAPTOP, "phone": PHONE, "zoomed": ZOOMED}
LOOKS = [
    *[("wide", scheme) for scheme in ("light", "dark", "forced")],
    *[("phone", scheme) for scheme in ("light", "dark")],
    *[("laptop", "light"), ("zoomed", "light")],
]

BATCH = 2
METRICS = ("token_f1", "bleu_1", "rouge_l", "adapted_rouge_l", "chrf", "meteor_2005")

IN_THE_DOCS = {
    "overview": "results:project-overview",
    "data": "annotate:data-overview",
    "import": "annotate:import-show",
    "batch": "annotate:batch-show",
    "agreement": "results:agreement",
    "agreement-annotators": "results:agreement-annotators",
    "scores": "results:scores",
    "systems": "results:systems",
    "metrics": "results:metric-list",
    "study": "results:study-show",
    "judgment-set": "results:set-show",
    "export": "results:export-list",
    "people": "projects:people-list",
    "quality": "annotate:quality-list",
    "annotator": "annotate:annotator-show",
    "qualification": "annotate:qualification-test",
    "plan": "annotate:plan-new",
}
BELOW = {"systems": ".section > h2"}
"""What a picture begins with instead of the page's heading."""
PLAN = (
    "batches/new/?kind=full&seed=0&judgments=2&hit_size=10&cents_per_hit=40&cents_per_item=0&fee_percent=20"
    "&time_limit_minutes=60&order=breadth&priority=0"
)
MORE = {"batch-plan": PLAN, "batch-wanted": f"batches/{BATCH}/judgments/?judgments=5"}
"""Pages of the project that look otherwise by what is asked of them."""


@pytest.fixture
def demo(live_site: object) -> Project:
    call_command("demo", seed=SEED)
    project = Project.objects.get()
    watch(project)
    return project


def watch(project: Project) -> None:
    """What the worker does within a minute, and one review by the owner that is rated and not yet judged."""
    owner = project.memberships.get(user__username="demo-owner")
    spot_checks.set_rules(project=project, actor=owner, share=0.05, least=1, thresholds={})
    monitoring.refresh_figures(project=project)
    spot_checks.draw_spot_checks(project=project)
    review = Review.objects.latest("pk")
    values: dict[int, dict[str, float | str]] = {
        place: {"correctness": 1 + place % 5} for place in range(len(review.assignment.layout))
    }
    spot_checks.store_review_ratings(review=review, reviewer=owner, sent=SentAnswers(values=values))


def test_pictures_of_the_docs(signed_in: SignedIn, demo: Project) -> None:
    page = signed_in(user("demo-manager"), **look("wide", "light"))
    found = demo.memberships.get(pseudonym="simulated-7")
    owner = demo.memberships.get(user__username="demo-owner")
    runs = [computing.run_now(project=demo, name=name, settings={}) for name in METRICS]
    further: dict[str, list[Any]] = {
        "annotate:import-show": [1],
        "annotate:batch-show": [BATCH],
        "annotate:annotator-show": [found.pseudonym],
        "results:study-show": [study(demo, owner, runs).number],
        "results:set-show": [freeze(demo, owner, "Fifteen short texts").number],
    }
    for name, route in IN_THE_DOCS.items():
        query = "?preset=mocha" if name == "plan" else ""
        address = reverse(route, args=[demo.slug, *further.get(route, [])])
        take(page, address + query, DOCS / f"{name}.png", below=BELOW.get(name, ""))
    have_read(demo)
    rate(signed_in(user("demo-annotator-1"), **look("wide", "light")), demo, "rating-page")
    rate(signed_in(user("demo-annotator-1"), **look("wide", "dark")), demo, "rating-page-dark")
    rate(signed_in(user("demo-annotator-2"), **look("phone", "light")), demo, "rating-page-phone")
    heavy = [path.name for path in DOCS.glob("*.png") if path.stat().st_size > MOST_BYTES]
    assert heavy == []


@pytest.mark.skipif("SCREENSHOTS" not in os.environ, reason="SCREENSHOTS names no folder.")
@pytest.mark.parametrize(("size", "scheme"), LOOKS)
def test_pictures_of_every_page(signed_in: SignedIn, demo: Project, size: str, scheme: str) -> None:
    folder = Path(os.environ["SCREENSHOTS"])
    people = {"owner": user("demo-owner"), "annotator": user("demo-annotator-1")}
    browsers = {who: signed_in(people.get(who), **look(size, scheme)) for who in ("nobody", *people)}
    owner, annotator = (demo.memberships.get(user=each) for each in people.values())
    have_read(demo)
    assert isinstance(serving.claim(annotator), UUID)
    _, token = invitations.create_invitation(actor=owner, role=Membership.Role.RESEARCHER)
    todo = list(addresses(make_samples(annotator, batch=BATCH, token=token), **people))
    todo += [Address(name, "owner", f"{demo.get_absolute_url()}{path}") for name, path in MORE.items()]
    for name, who, path in todo:
        file = f"{name.replace(':', '-')}-{who}-{size}-{scheme}.png"
        take(browsers[who], path, folder / file, full_page=size in ("wide", "phone"))


def have_read(project: Project) -> None:
    """The annotators have confirmed the instructions, so that rating starts with the page of the picture."""
    text = project.instructions.latest("version")
    for annotator in project.memberships.filter(user__username__startswith="demo-annotator"):
        instructions.confirm(annotator=annotator, instructions=text)


def rate(page: Page, project: Project, name: str) -> None:
    """The rating page with two answers given; a second visit goes on with the first one's HIT."""
    page.goto(f"{project.get_absolute_url()}desk/")
    if page.get_by_role("link", name="Continue rating").count():
        page.get_by_role("link", name="Continue rating").click()
    else:
        start(page, project)
        wait_for_keys(page)
        for _ in range(2):
            page.keyboard.press(fair_value(page.locator(".item.is-current .candidate").inner_text()))
        page.get_by_text("Saved", exact=True).wait_for()
    wait_for_keys(page)
    page.wait_for_timeout(500)  # the page glides to the current item
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.screenshot(path=DOCS / f"{name}.png")


def fair_value(candidate: str) -> str:
    """What the others gave, so that the picture shows no nonsense."""
    given = Judgment.objects.filter(candidate__text=candidate).aggregate(mean=Avg("value"))["mean"]
    return str(round(given or 3))


def take(page: Page, path: str, to: Path, *, full_page: bool = False, below: str = "") -> None:
    answer = page.goto(path, wait_until="networkidle")
    assert answer is not None
    assert answer.ok, path
    to.parent.mkdir(parents=True, exist_ok=True)
    if below:
        page.locator(below).first.evaluate("each => each.scrollIntoView({behavior: 'instant'})")
    before = page.viewport_size
    assert before is not None
    if is_too_tall := full_page and page.evaluate("document.documentElement.scrollHeight") > TALLEST:
        page.set_viewport_size(ViewportSize(width=before["width"], height=TALLEST))
    page.screenshot(path=to, full_page=full_page and not is_too_tall)
    if is_too_tall:
        page.set_viewport_size(before)


def look(size: str, scheme: str) -> dict[str, Any]:
    if scheme == "forced":
        return {"viewport": SIZES[size], "forced_colors": "active"}
    return {"viewport": SIZES[size], "color_scheme": scheme}


def user(username: str) -> User:
    return User.objects.get(username=username)
