"""The newcomer's hour: from the invitation link over consent, instructions and practice to a HIT, and out again."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from annotate.integrity import verifying
from annotate.models import Assignment, Judgment
from projects.models import ConsentAcceptance, InstructionsReading, Membership, Project
from projects.people import invitations
from tests.annotate.qualification.factories import make_test
from tests.browser.conftest import PHONE, WIDE, SignedIn
from tests.browser.watching import Watch
from tests.factories import make_batch, make_consent, make_corpus

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("browser")]
PASSWORD = "a long way over the bridge"


@pytest.mark.parametrize(
    "options",
    [{"viewport": WIDE}, {"viewport": PHONE, "has_touch": True}, {"viewport": WIDE, "java_script_enabled": False}],
    ids=["wide", "phone", "without JavaScript"],
)
def test_from_the_link_to_the_first_hit_and_out_again(
    signed_in: SignedIn, project: Project, manager: Membership, watch: Watch, options: dict[str, Any]
) -> None:
    make_consent(project, "# Taking part\n\nYou may stop *at any time*.")
    make_test(project, n_practice=2, n_passages=1, is_open=False)
    make_corpus(project, n_passages=2, n_candidates=2)
    make_batch(project)
    _, token = invitations.create_invitation(actor=manager, role=Membership.Role.ANNOTATOR)

    page = watch.over(signed_in(None, **options))
    page.goto(f"/join/{token}/")
    page.get_by_label("Username").fill("nadia")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up and join").click()

    expect(page.get_by_role("heading", name="Before you start")).to_be_visible()
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("heading", name="Read this before you start")).to_be_visible()
    page.get_by_role("button", name="I've read this").click()
    expect(page.get_by_role("heading", name="Your desk")).to_be_visible()

    page.get_by_role("button", name="Practise with 2 answers").click()
    page.wait_for_url(re.compile("/qualification/attempts/"))
    page.locator('input[name="a0-correctness"][value="2"]').check(force=True)
    page.get_by_role("button", name="Check my rating").last.click()
    expect(page.get_by_role("heading", name="Your rating differs from the expected one")).to_be_visible()
    page.get_by_role("link", name="Next answer").click()
    page.locator('input[name="a0-correctness"][value="4"]').check(force=True)
    page.get_by_role("button", name="See the results").last.click()
    expect(page.get_by_role("heading", name="Practice")).to_be_visible()
    page.get_by_role("link", name="Back to your desk").click()
    page.get_by_role("button", name="Start rating").click()
    page.wait_for_url(re.compile("/work/"))
    for place in range(2):
        page.locator(f'input[name="a{place}-correctness"][value="3"]').check(force=True)
    first = page.url
    page.locator("[data-submit]").last.click()
    page.wait_for_url(lambda url: url != first)
    assert Assignment.objects.filter(state="submitted").exists()

    page.goto("/p/bridges/desk/")
    page.get_by_role("link", name="Your consent").click()
    page.get_by_role("link", name="Leave this study…").click()
    page.get_by_label("Stop, and remove my ratings").check()
    page.get_by_label("Yes, I withdraw my consent").check()
    page.get_by_role("button", name="Leave this study").click()
    expect(page.locator(".desk-why")).to_contain_text("You've left this study")

    assert set(Judgment.objects.values_list("not_counted_reason", flat=True)) == {"consent withdrawn"}
    assert ConsentAcceptance.objects.get().is_taken_out
    assert InstructionsReading.objects.filter(membership__user__username="nadia").count() == 1
    assert verifying.verify() == []
