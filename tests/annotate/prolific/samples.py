"""A connected project, a panel with a study on the fake platform, and people who come from there."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from annotate.models import Panel, PanelSession, ProlificAccount, ProlificBonus, ProlificStudy, ProlificSubmission
from annotate.panels import panel_links
from annotate.prolific import accounts, drafting
from demo.fake_prolific.api import TOKEN
from projects.models import Membership
from tests.annotate.panels.samples import make_panel, rate
from tests.fakes.prolific import Fake

CODES = {
    "code_completed": "DONE",
    "code_no_consent": "NOCONSENT",
    "code_failed_check": "FAILED",
    "code_nothing_left": "FULL",
}
RETURN_URL = "https://app.prolific.com/submissions/complete?cc={code}"


def make_prolific_panel(manager: Membership, **over: Any) -> Panel:
    values = {
        "platform": Panel.Platform.PROLIFIC,
        "participant_parameter": "PROLIFIC_PID",
        "session_parameter": "SESSION_ID",
        "study_parameter": "STUDY_ID",
        "return_url": RETURN_URL,
        **CODES,
        **over,
    }
    return make_panel(manager, **values)


def study_form(**over: Any) -> dict[str, Any]:
    return {
        "title": "Rate answers",
        "description": "Read a text and rate answers to questions.",
        "reward": "2.50",
        "estimated_minutes": 10,
        "places": 2,
        "most_places": 5,
        "filters": "[]",
        **over,
    }


def study_values(**over: Any) -> dict[str, Any]:
    """What the form makes of it."""
    values = study_form(**over)
    cents = round(float(values.pop("reward")) * 100)
    return {"reward_cents": cents, **values, "filters": []}


@dataclass
class Scene:
    """A panel whose study is published on the fake platform."""

    fake: Fake
    panel: Panel
    manager: Membership

    @property
    def study(self) -> ProlificStudy:
        return ProlificStudy.objects.select_related("panel__project").get(panel=self.panel)

    @property
    def there(self) -> dict[str, Any]:
        """The study as the platform has it."""
        return self.fake.platform.studies[self.study.external_id]

    def come(self) -> "Person":
        """Somebody takes a place on the platform and opens the link."""
        participant = self.fake.platform.draw_participant()
        person = Person(self, participant, self.fake.platform.reserve(self.study.external_id, participant))
        person.arrive()
        return person


@dataclass
class Person:
    scene: Scene
    participant: str
    submission: str

    def arrive(self) -> None:
        self.client = Client()
        url = self.scene.fake.platform.start(self.submission)
        self.client.get("/" + url.split("/", 3)[3])

    @property
    def session(self) -> PanelSession:
        return PanelSession.objects.select_related("participant__membership").get(external_id=self.submission)

    @property
    def member(self) -> Membership:
        return self.session.participant.membership

    @property
    def row(self) -> ProlificSubmission:
        return ProlificSubmission.objects.get(external_id=self.submission)

    def work(self, n_items: int = 3) -> None:
        """Rate one HIT, and look at the page that has the code if that was the last one."""
        rate(self.member, n_items)
        self.client.get(f"/p/{self.scene.panel.project.slug}/session/", follow=True)

    def complete(self, code: str | None = "DONE") -> None:
        self.scene.fake.platform.complete(self.submission, code)

    def finish(self) -> None:
        self.work()
        self.complete()


def publish(fake: Fake, manager: Membership, panel: Panel, **over: Any) -> Scene:
    """A study of this panel, drafted and published by acts."""
    values = study_values(**over)
    url = panel_links.make_link(panel, f"http://testserver{panel_links.make_path(panel)}")
    study = drafting.save_draft(panel=panel, actor=manager, values=values, url=url)
    drafting.publish(study=ProlificStudy.objects.select_related("panel").get(pk=study.pk), actor=manager)
    return Scene(fake, panel, manager)


def prolific_samples(manager: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """The values of the paths of Prolific, in a project that is connected; nothing is asked of a platform."""
    account = ProlificAccount.objects.create(
        project=manager.project,
        token=accounts._encrypt(TOKEN),
        secret=accounts._encrypt("secret"),
        currency="GBP",
        connected_by=manager,
    )
    panel = [make_prolific_panel(manager) for _ in range(n_before + 1)][-1]
    study = ProlificStudy.objects.create(
        panel=panel,
        title="Rate answers",
        description="Read a text and rate answers.",
        reward_cents=250,
        estimated_minutes=10,
        places=2,
        most_places=4,
        cost_cents=700,
        most_cost_cents=1400,
        currency="GBP",
        external_id="5f" * 12,
        status="ACTIVE",
        total_places=2,
        published_by=manager,
        published_at=account.connected_at,
    )
    row = ProlificSubmission.objects.create(
        study=study, external_id="6a" * 12, status="AWAITING REVIEW", told_at=account.connected_at
    )
    bonus = [
        ProlificBonus.objects.create(
            study=study, number=number + 1, cents=150, currency="GBP", why="Thanks", made_by=manager
        )
        for number in range(n_before + 1)
    ][-1]
    names = "study study-edit study-places study-act submission-act submission-reject bonus-new bonus-show bonus-act"
    return {
        **{f"annotate:prolific-{name} number": panel.number for name in names.split()},
        "submission_id": row.pk,
        "bonus_number": bonus.number,
        "annotate:prolific-hook token": account.address,
    }
