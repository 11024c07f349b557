"""Participant groups on Prolific: those who qualified, to invite them again, and those who were removed."""

from http import HTTPStatus

from django.db import transaction

from annotate.models import PanelParticipant, ProlificStudy, Qualification
from annotate.prolific import accounts
from annotate.prolific.calling import Client, PlatformError, require_text
from projects import log
from projects.access import lock_actor
from projects.errors import Refused
from projects.models import Act, Membership

PORTION = 500
"""Participants named in one call."""
Standing = Membership.Standing


def make_groups(*, study: ProlificStudy, actor: Membership) -> None:
    """Create both groups, if they are not there yet, and add whoever belongs to them."""
    account = accounts.find_account(actor.project)
    if account is None or not account.workspace_id:
        raise Refused("Prolific names no workspace for this account. Connect it again.")
    client = accounts.open_client(actor.project)
    for field, label in (("qualified_group", "qualified"), ("removed_group", "removed")):
        if not getattr(study, field):
            name = f"{study.title[:60]}: {label} ({actor.project.slug}, panel {study.panel.number})"
            body = {"name": name, "workspace_id": account.workspace_id}
            pk = require_text(client.post("/api/v1/participant-groups/", body), "id")
            ProlificStudy.objects.filter(pk=study.pk, **{field: ""}).update(**{field: pk})
    study.refresh_from_db()
    with transaction.atomic():
        lock_actor(actor)
        log.record(actor.project, actor, Act.MAKE_PARTICIPANT_GROUPS, study.panel)
    fill_groups(study, client)


def fill_groups(study: ProlificStudy, client: Client) -> None:
    """Add who has qualified or was removed since; adding somebody again changes nothing.

    Raises Refused for a group that is gone from the platform, and forgets it, so that it can be created again.
    """
    people = PanelParticipant.objects.filter(panel=study.panel_id)
    qualified = Qualification.objects.filter(annotator__participants__panel=study.panel_id, is_qualified=True)
    active = people.filter(membership__in=qualified.values("annotator")).exclude(membership__standing=Standing.REMOVED)
    removed = people.filter(membership__standing=Standing.REMOVED)
    gone = []
    has_one = bool(study.qualified_group or study.removed_group)
    for field, chosen, whose in (("qualified_group", active, "qualified"), ("removed_group", removed, "were removed")):
        group = getattr(study, field)
        if has_one and not group:  # both are created together, so this one was found gone before
            gone.append(_say_gone(whose))
        ids = list(chosen.order_by("pk").values_list("external_id", flat=True)) if group else []
        try:
            for start in range(0, len(ids), PORTION):
                body = {"participant_ids": ids[start : start + PORTION]}
                client.post(f"/api/v1/participant-groups/{group}/participants/", body, repeats=True)
        except PlatformError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            ProlificStudy.objects.filter(pk=study.pk, **{field: group}).update(**{field: ""})
            gone.append(_say_gone(whose))
    if gone:
        raise Refused(f"{' '.join(gone)} Create it again with the button for participant groups.")


def _say_gone(whose: str) -> str:
    return f"The participant group of those who {whose} is gone from Prolific."
