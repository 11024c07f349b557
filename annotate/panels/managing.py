"""Panels of a project: created from a platform's preset, changed, ended."""

import uuid
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from annotate.models import Panel, PanelParticipant
from annotate.payments.ledger import pays_anything
from projects import log
from projects.access import lock_actor
from projects.database.numbering import next_number
from projects.errors import Refused
from projects.models import Act, Membership
from projects.web.keyed_forms import make_secret

PARAMETERS = ("participant_parameter", "session_parameter", "study_parameter")
TOKEN_LENGTH = 32
"""Characters of a panel's link, of 6 bits each."""
PLACEHOLDERS = ("{code}", "{participant}", "{session}")


@transaction.atomic
def create_panel(*, actor: Membership, values: dict[str, Any], key: uuid.UUID | None = None) -> Panel:
    """Create a panel and return it; the same key again is the same panel.

    Raises Refused, naming the field, for values that do not go together, and for other values with the same key.
    """
    lock_actor(actor)
    panel = Panel(
        project=actor.project, created_by=actor, token=make_secret("panel", actor, key)[:TOKEN_LENGTH], **values
    )
    if (created := Panel.objects.filter(token=panel.token).first()) is not None:
        if any(getattr(created, name) != value for name, value in values.items()):
            raise Refused(f"Panel {created.number} was created by this form. Edit it, or open this page again.")
        return created
    _check(panel)
    panel.number = next_number(actor.project, Panel)
    panel.save()
    log.record(actor.project, actor, Act.ADD_PANEL, panel, after=_describe(panel))
    return panel


@transaction.atomic
def change_panel(*, panel: Panel, actor: Membership, values: dict[str, Any]) -> Panel:
    """Change a panel. Codes that were shown stay as they were. Raises Refused; locks the panel.

    Who pays is fixed once somebody has arrived: what the ledger owes them depends on it.
    """
    lock_actor(actor)
    panel = Panel.objects.select_for_update(no_key=True, of=("self",)).select_related("project").get(pk=panel.pk)
    before, paid_by = _describe(panel), panel.paid_by
    for name, value in values.items():
        setattr(panel, name, value)
    _check(panel)
    if panel.paid_by != paid_by and PanelParticipant.objects.filter(panel=panel).exists():
        raise Refused("People have arrived, so who pays them can’t change. Create another panel.", field="paid_by")
    panel.save()
    after = _describe(panel)
    if after != before:
        log.record(actor.project, actor, Act.CHANGE_PANEL, panel, before=before, after=after)
    return panel


@transaction.atomic
def end_panel(*, panel: Panel, actor: Membership) -> None:
    """Let nobody new in; whoever has arrived can finish, and sees their code again. Repeating it changes nothing."""
    lock_actor(actor)
    if Panel.objects.filter(pk=panel.pk, ended_at=None).update(ended_at=timezone.now()):
        log.record(actor.project, actor, Act.END_PANEL, panel)


def _check(panel: Panel) -> None:
    names = [name for field in PARAMETERS if (name := getattr(panel, field))]
    if len(set(names)) < len(names):
        raise Refused("Each parameter needs a name of its own.", field="session_parameter")
    if bool(panel.hits_per_session) == bool(panel.minutes_per_session):
        raise Refused("Enter either HITs or minutes per session, and leave the other empty.", field="hits_per_session")
    if panel.minutes_per_session and panel.minutes_per_session > panel.minutes_allowed:
        raise Refused("The time allowed is shorter than the session.", field="minutes_allowed")
    if not panel.code_completed and not panel.has_own_codes:
        raise Refused("Enter the code for completed sessions, or give each session its own.", field="code_completed")
    if panel.study_id and not panel.study_parameter:
        raise Refused("Name the parameter that has the study’s ID, or leave the ID empty.", field="study_parameter")
    if panel.paid_by != Panel.Payer.PLATFORM and (panel.reward_cents or panel.screened_out_cents):
        raise Refused("This project pays, so the platform has no reward. Leave it empty.", field="reward_cents")
    if panel.return_url:
        _check_return_url(panel.return_url)


def _check_return_url(url: str) -> None:
    bare = url
    for placeholder in PLACEHOLDERS:
        bare = bare.replace(placeholder, "x")
    try:
        parts = urlsplit(bare)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme != "https" or parts.username is not None or not bare.isprintable() or " " in bare:
        raise Refused("The return address must begin with https:// and have no spaces.", field="return_url")
    if urlsplit(url).netloc != parts.netloc:
        raise Refused("The host of the return address can’t have placeholders.", field="return_url")
    if "{" in bare or "}" in bare:
        raise Refused(
            f"The return address may contain only the placeholders {', '.join(PLACEHOLDERS)}.", field="return_url"
        )


def _describe(panel: Panel) -> dict[str, Any]:
    # Codes are no personal data, but whoever reads the log of a running study could use one.
    fields = ["name", "platform", *PARAMETERS, "hits_per_session", "minutes_per_session", "minutes_allowed"]
    if pays_anything(panel.project):
        fields.append("paid_by")
    described = {**{name: getattr(panel, name) for name in fields}, "counts_unfinished": panel.counts_unfinished}
    if panel.reward_cents or panel.screened_out_cents:
        described |= {name: getattr(panel, name) for name in ("reward_cents", "screened_out_cents", "currency")}
        described["fee_share"] = panel.fee_share
    return described
