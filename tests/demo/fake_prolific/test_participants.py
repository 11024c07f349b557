"""Simulated participants take part as people do: by the pages alone, from the link to what the platform has."""

import os
import random
from io import StringIO
from typing import Any, Self
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client

from annotate.integrity import verifying
from annotate.models import Assignment, Hit, PanelSession
from annotate.moderation import members
from annotate.moderation.members import Exclusion, ExclusionScope
from annotate.prolific import reconciling, submissions, tending
from demo.fake_prolific.browser import Page, fill, read_page
from demo.fake_prolific.participants import Manner, Participant, recruit
from projects.models import Membership, Project
from tests.annotate.open_batches import open_batch
from tests.annotate.prolific.samples import Scene, make_prolific_panel, publish
from tests.annotate.qualification.factories import make_test
from tests.factories import make_consent
from tests.fakes.prolific import Fake

SCALE = 5 if int(os.environ.get("SCALE", "1")) > 1 else 1


class TestBrowser:
    """A browser of this process."""

    __test__ = False

    def __init__(self) -> None:
        self.client = Client()

    def open(self, url: str, data: list[tuple[str, str]] | None = None) -> Page:
        path = "/" + url.split("/", 3)[3]
        if data is None:
            answer = self.client.get(path, follow=True)
        else:
            kind = "application/x-www-form-urlencoded"
            answer = self.client.post(path, urlencode(data), content_type=kind, follow=True)
        where = answer.redirect_chain[-1][0] if answer.redirect_chain else path
        return read_page(f"http://testserver{where}", answer.text)


class FixedRating(random.Random):
    """Chooses this rating wherever it can be chosen."""

    def __new__(cls, rating: str) -> Self:
        return super().__new__(cls)

    def __init__(self, rating: str) -> None:
        super().__init__(3)
        self.rating = rating

    def choice(self, seq: Any) -> Any:
        return self.rating if self.rating in seq else seq[0]


@pytest.mark.django_db
def test_each_manner_ends_as_it_says(connected: Fake, project: Project, manager: Membership) -> None:
    """Consent, instructions and two HITs of three answers, and what is left of each on both sides."""
    consent = make_consent(project)
    open_batch(project, n_hits=3, judgments=6, consent=consent)
    panel = make_prolific_panel(manager, hits_per_session=2)
    scene: Scene = publish(connected, manager, panel, places=9, most_places=9)
    ended = {}
    for manner in Manner:
        person = recruit(connected.platform, TestBrowser, chance=random.Random(3), say=lambda _: None)
        assert isinstance(person, Participant)
        person.manner = manner
        ended[manner] = person.live()
    assert ended == {
        Manner.DILIGENT: "AWAITING REVIEW",
        Manner.NO_CODE: "AWAITING REVIEW",
        Manner.RETURNING: "RETURNED",
        Manner.REGRETTING: "RETURNED",
        Manner.TIMING_OUT: "AWAITING REVIEW",
        Manner.DECLINING: "RETURNED",
    }
    assert Assignment.objects.filter(state="submitted").count() == 2 * 4 + 1
    connected.pass_time(seconds=5)
    assert tending.tend(scene.study.pk, is_prompt=True)
    states = sorted(PanelSession.objects.values_list("state", flat=True))
    assert states == ["returned", "returned", "returned", "submitted", "submitted", "submitted"]
    whats = sorted(each.what for each in reconciling.compare(scene.study))
    assert whats == [
        "Finished here, entered no code on Prolific. The data are complete.",
        "Finished here, returned on Prolific.",
    ]


@pytest.mark.django_db
def test_they_go_on_after_a_qualification_test(connected: Fake, project: Project, manager: Membership) -> None:
    """After consent, instructions and a passed test comes the work; after the last attempt, its code."""
    consent = make_consent(project)
    make_test(project, n_items=1, max_attempts=2)
    open_batch(project, n_hits=2, judgments=2, consent=consent, requires_qualification=True)
    publish(connected, manager, make_prolific_panel(manager), places=2, most_places=2)
    entered = []
    for rating in ("4", "1"):
        chance = FixedRating(rating)
        person = recruit(connected.platform, TestBrowser, chance=chance, say=lambda _: None)
        assert isinstance(person, Participant)
        person.manner = Manner.DILIGENT
        assert person.live() == "AWAITING REVIEW"
        entered.append(connected.platform.submissions[person.submission]["entered_code"])
    assert entered == ["DONE", "FAILED"]


def test_forms_are_filled_as_a_browser_without_scripts_does() -> None:
    page = read_page(
        "http://site/p/x/",
        """<form method="post" action="/p/x/work/" id="rating"><input type="hidden" name="a" value="1">
        <input type="radio" name="r" value="1"><input type="radio" name="r" value="5">
        <input type="range" name="s" min="2" max="7"><input type="checkbox" name="flag" value="on">
        <select name="l"><option value="">–</option><option value="en">English</option></select>
        <textarea name="w" required></textarea><textarea name="c"></textarea>
        <input name="off" disabled><button name="act" value="go">Go</button></form>
        <button form="rating" name="late" value="x">X</button><textarea id="code">C0DE</textarea>""",
    )
    form = page.forms[0]
    assert (form.action, page.code) == ("http://site/p/x/work/", "C0DE")
    sent = fill(form, lambda values: values[-1], press="go")
    answered = [("a", "1"), ("w", "Nothing to add."), ("c", ""), ("act", "go")]
    assert sent == [*answered, ("r", "5"), ("s", "2"), ("l", "en")]


def test_the_command_serves_and_says_how_to_use_it() -> None:
    out = StringIO()
    call_command("fake_prolific", port=0, seconds=0.01, stdout=out)
    assert "PROLIFIC_API_URL=http://127.0.0.1:" in out.getvalue()
    assert "rehearsal" in out.getvalue()


@pytest.mark.django_db
def test_a_whole_study_ends_at_the_planned_overlap(connected: Fake, project: Project, manager: Membership) -> None:
    """People of every manner until no place is left, a removal with re-collection, approvals: no rule is broken.

    What differs at the end are those who entered no code, or returned what they had finished. `make soak` has more.
    """
    open_batch(project, n_hits=3, judgments=2 * SCALE)
    panel = make_prolific_panel(manager)
    scene = publish(connected, manager, panel, places=1, most_places=60 * SCALE)
    chance, removed = random.Random(11), False
    for _ in range(40 * SCALE):
        connected.pass_time(seconds=30)
        tending.tend(scene.study.pk, is_prompt=True)
        person = recruit(connected.platform, TestBrowser, chance=chance, say=lambda _: None)
        if person is not None:
            person.live()
        elif not removed:
            removed = True
            bad = PanelSession.objects.filter(state="submitted").earliest("pk").participant.membership
            members.remove(
                target=bad, actor=manager, why="Two accounts.", exclusion=Exclusion(scope=ExclusionScope.ALL)
            )
        else:
            break
    assert removed
    study = scene.study
    assert set(Hit.objects.values_list("places_open", flat=True)) == {0}
    counted = Assignment.objects.filter(state="submitted", mark__in=("counted", "late"))
    assert counted.count() == 3 * 2 * SCALE
    assert study.status in {"PAUSED", "AWAITING REVIEW"}
    submissions.want_approval(study=study, actor=manager, chosen=study.submissions.all())
    submissions.approve_wanted(study, connected.client())
    connected.platform.settle()
    connected.pass_time(seconds=30)
    tending.tend(study.pk, is_prompt=True)
    assert not study.submissions.filter(status="AWAITING REVIEW").exists()
    assert {each.what for each in reconciling.compare(study)} <= {"Finished here, returned on Prolific."}
    assert verifying.verify() == []
