"""Panels of every platform, and sessions in every state."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotate.desk import arriving
from annotate.models import (
    Outcome,
    Panel,
    PanelPayment,
    PanelSession,
    ProlificAccount,
    ProlificBonus,
    ProlificBonusLine,
    ProlificEvent,
    ProlificStudy,
    ProlificSubmission,
    Survey,
    SurveyResponse,
)
from annotate.onboarding import erasing
from annotate.onboarding.arrival_ids import Ids
from annotate.panels import managing, sessions
from annotate.panels.platforms import PRESETS
from annotate.payments import panel_pay
from annotate.surveys import editing
from tests.annotate.surveys.samples import make_question
from tests.old_data.filling.bay import Bay

State = PanelSession.State
Told = PanelPayment.Told


def recruit(bay: Bay) -> None:
    """A panel of each platform; those of Prolific came, and left in every way."""
    panels = {platform: _make_panel(bay, platform) for platform in Panel.Platform}
    managing.end_panel(panel=panels[Panel.Platform.SONA], actor=bay["manager"])
    panel = panels[Panel.Platform.PROLIFIC]
    ended = (State.SUBMITTED, State.APPROVED, State.RETURNED, State.TIMED_OUT, State.REJECTED)
    for n, state in enumerate(ended):
        sessions.record(_arrive(panel, n), state, at=timezone.now() - timedelta(minutes=n))
    for n, outcome in enumerate(Outcome, start=len(ended)):
        sessions.end(_arrive(panel, n), outcome)
    for n, access in enumerate(PanelSession.Access, start=20):
        session = _arrive(panel, n)
        PanelSession.objects.filter(pk=session.pk).update(access=access, refused_at=timezone.now())
    sessions.mark_working(_arrive(panel, 30).participant.membership)
    left = _arrive(panel, 31).participant.membership.user
    assert left is not None
    erasing.erase(user=left, removes_work=False)
    _pay(panel)
    _publish(bay, panel)
    _ask(bay)


def _ask(bay: Bay) -> None:
    """A survey with every kind of question before the work, which keeps nobody waiting any more, and one after it."""
    kinds: dict[str, dict[str, Any]] = {
        "choice": {"options": ["yes", "no"], "screens_out": ["no"]},
        "number": {"low": 0, "high": 120},
        "text": {"is_required": False},
        "language": {"is_published": True},
        "scale": {"low": 1, "high": 5, "low_label": "hard", "high_label": "easy"},
    }
    for moment in Survey.Moment:
        questions = [make_question(kind=kind, text=f"Of {kind}?", **about) for kind, about in kinds.items()]
        survey = editing.save_survey(
            actor=bay["manager"], moment=moment, introduction="About you.", questions=questions, based_on=0
        )
        SurveyResponse.objects.create(
            survey=survey, annotator=bay["anna"], moment=moment, answers={"1": "yes", "4": "en"}, may_publish=True
        )
        editing.end_survey(actor=bay["manager"], moment=moment)


def _pay(panel: Panel) -> None:
    """A bonus that was paid, one that was refused, and the fees of the study, beside the rewards of the sessions."""
    member = panel.participants.earliest("pk").membership
    for key, told in (("bonus:1", Told.PAID), ("bonus:2", Told.REFUSED)):
        kind = PanelPayment.Kind.BONUS
        panel_pay.owe(panel=panel, key=key, kind=kind, annotator=member, cents=50)
        panel_pay.record_panel_payment(panel=panel, key=key, kind=kind, told=told, cents=50, external_id=key)
    panel_pay.record_panel_payment(panel=panel, key="fee:1", kind=PanelPayment.Kind.FEE, told=Told.WAITING, cents=100)


def _publish(bay: Bay, panel: Panel) -> None:
    """What the acts on Prolific leave behind; no platform is asked."""
    manager, now = bay["manager"], timezone.now()
    account = ProlificAccount.objects.create(project=panel.project, currency="GBP", connected_by=manager)
    study = ProlificStudy.objects.create(
        panel=panel,
        external_id="5f" * 12,
        title="Rate answers",
        description="Read a text and rate answers.",
        reward_cents=250,
        estimated_minutes=10,
        places=4,
        most_places=20,
        cost_cents=1_333,
        most_cost_cents=6_667,
        currency="GBP",
        status="ACTIVE",
        total_places=8,
        published_by=manager,
        published_at=now,
        polled_at=now,
    )
    for session in panel.sessions.order_by("pk")[:3]:
        ProlificSubmission.objects.create(
            study=study, external_id=session.external_id, session=session, status="AWAITING REVIEW", told_at=now
        )
    ProlificEvent.objects.create(account=account, event_id="1", kind="submission.status.change", at=now)
    for number, state in enumerate(ProlificBonus.State, start=1):
        bonus = ProlificBonus.objects.create(
            study=study,
            number=number,
            state=state,
            external_id="6a" * 12,
            cents=150,
            currency="GBP",
            why="Careful comments.",
            made_by=manager,
            sent_at=now if state in ("sent", "paid") else None,
        )
        first = panel.participants.select_related("membership").earliest("pk")
        ProlificBonusLine.objects.create(bonus=bonus, annotator=first.membership, cents=150, key=f"prolific:{number}")


def _make_panel(bay: Bay, platform: Panel.Platform) -> Panel:
    preset = PRESETS[platform]
    values = {
        "name": f"On {platform.label}",
        "platform": platform,
        **dict(zip(managing.PARAMETERS, preset.parameters, strict=True)),
        "code_completed": "C0DE",
        "code_nothing_left": "N0NE",
        "return_url": preset.return_url,
        "paid_by": Panel.Payer.PROJECT if platform == Panel.Platform.GENERIC else Panel.Payer.PLATFORM,
        "reward_cents": 150 if platform == Panel.Platform.PROLIFIC else None,
        "hits_per_session": None if platform == Panel.Platform.SONA else 2,
        "minutes_per_session": 20 if platform == Panel.Platform.SONA else None,
    }
    return managing.create_panel(actor=bay["manager"], values=values)


def _arrive(panel: Panel, n: int) -> PanelSession:
    ids = Ids(participant=f"{n:024x}", session=f"{n + 1000:024x}", study="0" * 24)
    return arriving.arrive(panel=panel, ids=ids, user=None).session
