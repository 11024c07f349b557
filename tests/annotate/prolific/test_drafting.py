"""A draft's cost is that of its own values, and only what somebody saw is published."""

import re
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.utils.html import escape

from annotate.models import ProlificStudy
from annotate.panels import panel_links
from annotate.prolific import drafting, tending
from annotate.prolific.calling import PlatformError
from projects.errors import Refused
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.prolific.samples import make_prolific_panel, publish, study_values
from tests.concurrency import all_at_once
from tests.fakes.prolific import Fake
from tests.people import SignIn

pytestmark = pytest.mark.django_db


def save(manager: Membership, panel_id: int, **over: object) -> ProlificStudy:
    panel = manager.project.panels.get(pk=panel_id)
    url = panel_links.make_link(panel, f"http://testserver{panel_links.make_path(panel)}")
    return drafting.save_draft(panel=panel, actor=manager, values=study_values(**over), url=url)


@pytest.mark.parametrize("path", [r"studies/[0-9a-f]{24}/$", "cost-calculator/$", "users/me/$"])
def test_a_draft_whose_cost_was_not_told_has_none(connected: Fake, manager: Membership, path: str) -> None:
    panel = make_prolific_panel(manager)
    open_batch(manager.project)
    study = save(manager, panel.pk)
    assert (study.cost_cents, study.leased_until) == (667, None)
    connected.fail("500", path, n=9)
    with pytest.raises(PlatformError):
        save(manager, panel.pk, reward="25.00", most_places=5_000)
    study = ProlificStudy.objects.select_related("panel").get()
    assert (study.reward_cents, study.cost_cents, study.most_cost_cents) == (2500, None, None)
    with pytest.raises(Refused, match="Save the draft first"):
        drafting.publish(study=study, actor=manager)
    connected.api.faults.clear()
    assert save(manager, panel.pk, reward="5.00").cost_cents == 1333


def test_a_draft_that_changes_after_its_page_was_read_is_not_published(connected: Fake, manager: Membership) -> None:
    panel = make_prolific_panel(manager)
    open_batch(manager.project)
    save(manager, panel.pk)
    shown = ProlificStudy.objects.select_related("panel").get()
    save(manager, panel.pk, reward="25.00")
    with pytest.raises(Refused, match="The draft has changed"):
        drafting.publish(study=shown, actor=manager)
    assert ProlificStudy.objects.get().published_at is None


def test_a_draft_is_sent_and_published_by_one_request_at_a_time(connected: Fake, manager: Membership) -> None:
    panel = make_prolific_panel(manager)
    open_batch(manager.project)
    save(manager, panel.pk)
    until = connected.now + tending.LEASE + timedelta(minutes=1)  # of a worker, whose clock is ahead
    ProlificStudy.objects.update(leased_until=until)
    study = ProlificStudy.objects.select_related("panel").get()
    for act in (partial(save, manager, panel.pk), partial(drafting.publish, study=study, actor=manager)):
        with pytest.raises(Refused, match="being sent to Prolific"):
            act()
    study.refresh_from_db()
    assert (study.leased_until, study.published_at, study.cost_cents) == (until, None, 667)
    # A time from before the clock was set back stops nobody.
    ProlificStudy.objects.update(leased_until=connected.now + timedelta(days=31))
    save(manager, panel.pk)
    # Who took it and never came back does not for long.
    ProlificStudy.objects.update(leased_until=connected.now - drafting.LEASE)
    drafting.publish(study=study, actor=manager)
    assert ProlificStudy.objects.get().leased_until is None


def save_beside(manager: Membership, panel_id: int, reward: str) -> str:
    try:
        save(manager, panel_id, reward=reward)
    except Refused as refusal:
        return refusal.message
    return ""


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_first_drafts_at_once_make_one_study(connected: Fake, manager: Membership) -> None:
    panel = make_prolific_panel(manager)
    connected.fail("slow", r"studies/$", n=4, seconds=1.0)
    said = all_at_once(partial(save_beside, manager, panel.pk), ["2.50", "5.00"])
    assert len(connected.platform.studies) == 1
    assert not all(said), "One of them is sent; the other one is refused unless it comes after that."
    there = next(iter(connected.platform.studies.values()))
    study = ProlificStudy.objects.get()
    assert there["reward"] == study.reward_cents
    assert study.cost_cents == round(2 * study.reward_cents * 4 / 3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("estimated_minutes", value) for value in (0, 601)),
        *(("places", value) for value in (0, 10_001)),
        *(("most_places", 10_001), ("reward_cents", 0), ("reward_cents", 100_001)),
    ],
)
def test_the_act_refuses_values_out_of_range(connected: Fake, manager: Membership, name: str, value: int) -> None:
    panel = make_prolific_panel(manager, minutes_allowed=1_000)
    with pytest.raises(Refused) as refusal:
        save(manager, panel.pk, **{"most_places": 10_000, name: value})
    assert refusal.value.field == name
    assert not ProlificStudy.objects.exists()


def test_places_are_raised_within_their_range_and_after_publication(connected: Fake, manager: Membership) -> None:
    panel = make_prolific_panel(manager)
    open_batch(manager.project)
    save(manager, panel.pk)
    draft = ProlificStudy.objects.select_related("panel").get()
    with pytest.raises(Refused, match="still a draft"):
        drafting.raise_limit(study=draft, actor=manager, most_places=9)
    scene = publish(connected, manager, panel)
    for value in (0, 10_001):
        with pytest.raises(Refused) as refusal:
            drafting.raise_limit(study=scene.study, actor=manager, most_places=value)
        assert refusal.value.field == "most_places"
    assert scene.study.most_places == 5


@pytest.mark.parametrize(("currency", "reward"), [("GBP", Decimal("1.5")), ("EUR", None)])
def test_a_first_draft_starts_from_the_reward_and_minutes_of_its_panel(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn, currency: str, reward: Decimal | None
) -> None:
    panel = make_prolific_panel(manager, reward_cents=150, minutes_expected=9, currency=currency)
    page = client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/prolific/edit/")
    form = page.context["form"]
    assert (form["reward"].value(), form["estimated_minutes"].value()) == (reward, 9)


def test_a_page_from_before_somebody_else_saved_overwrites_nothing(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    panel = make_prolific_panel(manager)
    client, address = client_of(manager), f"/p/{project.slug}/panels/{panel.number}/prolific/edit/"
    unseen = client.get(address).context["form"].seen
    save(manager, panel.pk)
    form = client.get(address).context["form"]
    sent = {field.html_name: field.value() for field in form} | {"title": "Mine", "seen": form.seen}
    assert "Title" in client.post(address, sent | {"seen": unseen}).context["form"].non_field_errors()[0]
    save(manager, panel.pk, reward="5.00")
    refused = client.post(address, sent)
    assert refused.status_code == 422
    assert "Reward for a session" in refused.context["form"].non_field_errors()[0]
    assert ProlificStudy.objects.get().reward_cents == 500
    sent |= {"reward": "5.00", "seen": refused.context["form"].seen}
    assert f'value="{escape(sent["seen"])}"' in refused.content.decode()
    assert client.post(address, sent).status_code == 302
    assert ProlificStudy.objects.values_list("title", "reward_cents").get() == ("Mine", 500)


def test_a_study_stored_without_minutes_and_places_is_shown(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    """Earlier versions let these through."""
    panel = make_prolific_panel(manager)
    save(manager, panel.pk)
    ProlificStudy.objects.update(estimated_minutes=0, places=0)
    page = client_of(manager).get(f"/p/{project.slug}/panels/{panel.number}/prolific/")
    assert page.status_code == 200
    assert "for 0 minutes" in re.sub(r"\s+", " ", page.text)
    assert "an hour" not in page.text


def test_a_publication_without_an_answer_that_was_not_done_can_be_tried_again(
    connected: Fake, project: Project, manager: Membership, client_of: SignIn
) -> None:
    open_batch(project)
    panel = make_prolific_panel(manager)
    save(manager, panel.pk)
    client = client_of(manager)
    base = f"/p/{project.slug}/panels/{panel.number}/prolific/"

    def publish_from_page() -> str:
        page = client.get(base).text
        seal = page.split('name="shown" value="')[1].split('"')[0]
        return client.post(f"{base}act/", {"act": "publish", "shown": seal}, follow=True).text

    connected.fail("dropped", "transition", method="POST")
    page = publish_from_page()
    assert "Prolific didn’t answer, and the study isn’t published yet. Try again." in page
    assert "Participants can come now" not in page
    assert "Edit draft" in page
    assert "<dt>Published</dt>" not in page
    # It can still be done later, so it is tended to.
    assert tending.tend_all() == 1
    assert "Participants can come now" in publish_from_page()
    assert ProlificStudy.objects.get().status == "ACTIVE"
    assert "Edit draft" not in client.get(base).text
