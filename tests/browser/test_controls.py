"""A manager reviews the controls of a batch by keys; a text that was edited and not saved is not accepted."""

from playwright.sync_api import expect

from annotate.batches.control_plan import ControlPlan
from annotate.controls.making import make_pool
from annotate.models import Item
from projects.models import Membership, Project, User
from tests.annotate.controls.controlled_batches import make_places
from tests.browser.conftest import SignedIn
from tests.browser.test_rating_keys import COMPOSE
from tests.browser.watching import Watch
from tests.factories import make_batch


def test_controls_are_reviewed_by_keys(
    signed_in: SignedIn, watch: Watch, project: Project, manager: Membership
) -> None:
    make_places(project, n_passages=2)
    batch = make_batch(project, is_open=False, controls=ControlPlan(known_per_hit=1))
    make_pool(batch=batch, actor=manager)
    pool = Item.objects.filter(pool_of=batch)
    n = pool.count()
    assert n >= 4
    page = watch.over(signed_in(manager.user))
    page.goto(f"/p/{project.slug}/batches/{batch.number}/controls/")
    cards = page.locator(".control")
    keys = page.get_by_text("Keys: j and k move")
    expect(keys).to_be_visible()

    page.keyboard.press("j")
    expect(cards.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(cards.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(cards.nth(1).get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("r")
    expect(page.get_by_text("1 retired.")).to_be_visible()
    expect(keys).to_be_visible()
    assert pool.filter(retired_at__isnull=False).count() == 1

    # Nothing is selected, so the current one alone is accepted.
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(page.get_by_text("1 accepted.")).to_be_visible()
    expect(keys).to_be_visible()
    assert pool.filter(accepted_at__isnull=False).count() == 1

    editable = cards.filter(has=page.locator("textarea")).first
    while not editable.evaluate("card => card === document.activeElement"):
        page.keyboard.press("j")
    page.keyboard.press("e")
    page.keyboard.type("ax")
    page.evaluate(COMPOSE, "Escape")
    expect(editable.locator("textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(editable).to_be_focused()
    page.keyboard.press("a")
    expect(page.get_by_text("Save the changed text first")).to_be_visible()
    page.get_by_role("button", name="Accept the").click()
    expect(page.get_by_text("Save the changed text first")).to_be_visible()
    assert pool.filter(accepted_at__isnull=False).count() == 1
    editable.get_by_role("button", name="Save text").click()
    expect(page.get_by_text("Text saved.")).to_be_visible()
    page.get_by_role("button", name="Accept the").click()
    expect(page.get_by_text("Annotators get them once the batch is open.")).to_be_visible()
    assert pool.filter(accepted_at__isnull=False).count() == n - 1


def test_single_key_shortcuts_that_are_turned_off_do_nothing_here_either(
    signed_in: SignedIn, project: Project, manager: Membership
) -> None:
    make_places(project, n_passages=2)
    batch = make_batch(project, is_open=False, controls=ControlPlan(known_per_hit=1))
    make_pool(batch=batch, actor=manager)
    User.objects.update(rating_keys={"off": True})
    page = signed_in(manager.user)
    page.goto(f"/p/{project.slug}/batches/{batch.number}/controls/")
    page.get_by_role("checkbox", name="Select control 1").focus()
    for key in "jxa":
        page.keyboard.press(key)
    expect(page.get_by_role("checkbox", name="Select control 1")).to_be_focused()
    expect(page.get_by_role("checkbox", name="Select control 1")).not_to_be_checked()
    expect(page.get_by_text("Keys: j and k move")).to_be_hidden()
