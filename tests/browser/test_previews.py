"""A form that was edited after its preview: its button waits, and without a script the server refuses it."""

import pytest
from playwright.sync_api import Page, expect

from annotate.batches.creating import create_batch
from annotate.batches.terms import Terms
from annotate.models import Batch
from annotate.planning.overlap import Rule
from annotate.planning.plans import create_plan
from projects.models import Membership, Passage, Project
from results.models import JudgmentSet
from tests.browser.conftest import SignedIn
from tests.factories import make_corpus
from tests.results.judged_batches import canonical

NOTE = "The form has changed. Refresh the preview to continue."


@pytest.fixture
def filled(project: Project) -> Project:
    """Every page with a preview has something to show: data, a judged batch, a draft and a plan."""
    canonical(project)
    make_corpus(project, name="towns", n_passages=2, n_candidates=3)
    create_batch(project=project, actor=None, terms=Terms(judgments=2))
    create_plan(project=project, actor=None, name="All", rules=(Rule("*", "*", 9),))
    return project


def test_a_button_waits_for_the_preview_of_what_is_typed(
    filled: Project, manager: Membership, annotator: Membership, signed_in: SignedIn
) -> None:
    page = signed_in(manager.user)
    forms = [
        ("batches/new/?" + BATCH, "cents_per_hit", "95", "Create batch"),
        ("batches/2/judgments/?judgments=3", "judgments", "1", "Add"),
        ("sets/new/", "authors", "Ada Lovelace", "Freeze set"),
        ("data/split/?shares=train%3D50%2Ctest%3D50&seed=1", "seed", "2", "Apply split"),
        (f"people/{annotator.pseudonym}/remove/?scope=none", "since", "2026-01-01", f"Remove {annotator.pseudonym}"),
        ("plans/1/", "hit_size", "2", "Start plan"),
        ("batches/2/controls/", "known_per_hit", "2", "Generate"),
    ]
    for address, name, value, button in forms:
        if "controls" in address:
            Batch.objects.filter(number=2).update(control_plan={"known_per_hit": 1})
        page.goto(f"/p/bridges/{address}")
        act, note = page.get_by_role("button", name=button), page.locator("[data-preview-note]")
        expect(act, address).to_be_enabled()
        page.evaluate("document.querySelectorAll('details.disclosure').forEach((each) => each.open = true)")
        field = page.locator(f"[name={name}]")
        before = field.input_value()
        field.fill(value)
        expect(act, address).to_be_disabled()
        expect(note).to_contain_text("has changed")
        # As it was, the preview holds again.
        field.fill(before)
        expect(act, address).to_be_enabled()
        expect(note).to_be_empty()
    freeze_with_a_question(page)
    assert Passage.objects.exclude(split="").count() == 2


def freeze_with_a_question(page: Page) -> None:
    page.goto("/p/bridges/sets/new/")
    page.get_by_label("Median of the judgments").check()
    page.get_by_label("Name").fill("Spring")
    # Enter previews again, and never freezes.
    with page.expect_navigation():
        page.get_by_label("Name").press("Enter")
    expect(page.get_by_label("Median of the judgments")).to_be_checked()
    expect(page.get_by_label("Name")).to_have_value("Spring")
    page.get_by_role("button", name="Freeze set").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("never changes again")
    dialog.get_by_role("button", name="Cancel").click()
    assert not JudgmentSet.objects.exists()
    page.get_by_role("button", name="Freeze set").click()
    dialog.get_by_role("button", name="Freeze set").click()
    expect(page.get_by_role("heading", name="Spring")).to_be_visible()
    assert JudgmentSet.objects.get().settings["gold"] == "median"


BATCH = (
    "judgments=2&hit_size=10&time_limit_minutes=60&seed=0&order=breadth&priority=0&kind=full&cents_per_hit=40"
    "&cents_per_item=0&fee_percent=0&presentation=page&reading=end"
)


def test_without_a_script_the_server_sees_what_was_edited(
    filled: Project, manager: Membership, signed_in: SignedIn
) -> None:
    page = signed_in(manager.user, java_script_enabled=False)
    page.goto(f"/p/bridges/batches/new/?{BATCH}")
    page.get_by_label("Cents per HIT").fill("95")
    page.get_by_role("button", name="Create batch").click()
    expect(page.get_by_text("The form was changed after its preview, so nothing was done.")).to_be_visible()
    assert Batch.objects.count() == 2
    page.get_by_role("button", name="Create batch").click()
    expect(page.get_by_text("Open it when everything is ready.")).to_be_visible()
    assert Batch.objects.latest("pk").cents_per_hit == 95
    # Without a change, what the page shows at first is frozen as it is.
    page.goto("/p/bridges/sets/new/")
    page.get_by_label("Name").fill("As shown")
    page.get_by_role("button", name="Freeze set").click()
    expect(page.get_by_role("heading", name="As shown")).to_be_visible()
