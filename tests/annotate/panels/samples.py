"""A panel, people who open its link, and their work."""

from typing import Any
from uuid import UUID

from django.test import Client

from annotate.integrity import verifying
from annotate.models import Panel, PanelParticipant, PanelSession
from annotate.panels import managing, panel_links
from annotate.work import serving, submitting
from projects.models import Membership, Project
from tests.annotate.open_batches import answered, assert_equation

CODES = {
    f"code_{outcome}": f"CODE-{outcome}" for outcome in ("completed", "no_consent", "failed_check", "nothing_left")
}
RETURN_URL = "https://panel.example/done?cc={code}&who={participant}"


def make_panel(manager: Membership, **over: Any) -> Panel:
    values = {
        "name": "Study",
        "platform": Panel.Platform.GENERIC,
        "participant_parameter": "participant",
        "session_parameter": "session",
        "hits_per_session": 1,
        "return_url": RETURN_URL,
        **CODES,
    }
    return managing.create_panel(actor=manager, values={**values, **over})


def session_id(name: str) -> str:
    """A session's id that is too long to be guessed."""
    return f"session-of-{name}-000000000000"


def open_link(panel: Panel, name: str, client: Client | None = None, **over: str) -> tuple[Client, Any]:
    """Open the link as a participant's browser does; the client is signed in afterwards if it was let in."""
    client = client or Client()
    query = {"participant": name, "session": session_id(name), **over}
    return client, client.get(panel_links.make_path(panel), {key: value for key, value in query.items() if value})


def member_of(panel: Panel, name: str) -> Membership:
    return PanelParticipant.objects.select_related("membership__user").get(panel=panel, external_id=name).membership


def session_of(panel: Panel, name: str) -> PanelSession:
    found = PanelSession.objects.select_related("participant__membership").filter(participant__external_id=name)
    return found.filter(panel=panel).latest("pk")


def rate(member: Membership, n_items: int = 3) -> UUID:
    found = serving.claim(member)
    assert isinstance(found, UUID), found
    submitting.submit(annotator=member, assignment_uuid=found, sent=answered(n_items))
    return found


def panel_samples(manager: Membership, *, n_before: int = 0) -> dict[str, Any]:
    """The values of the paths of panels: one with a session, after as many others."""
    panel = [make_panel(manager) for _ in range(n_before + 1)][-1]
    client, _ = open_link(panel, "pia")
    client.logout()
    names = ("show", "edit", "end", "test", "session-act")
    return {
        **{f"annotate:panel-{name} number": panel.number for name in names},
        "session_id": session_of(panel, "pia").pk,
        "annotate:panel-arrival token": panel.token,
    }


def show_session(client: Client, project: Project) -> str:
    return client.get(f"/p/{project.slug}/session/", follow=True).text


def check_sums() -> None:
    assert_equation()
    assert verifying.verify() == []
