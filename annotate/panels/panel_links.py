"""Links: what is pasted on the platform, and where participants go back to."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

from django.urls import reverse

from annotate.models import Panel
from annotate.onboarding.arrival_ids import PLACEHOLDERS, BadLink, Ids, read_ids
from annotate.panels.platforms import PRESETS
from projects.models import Project

SIGNED_PLATFORM = Panel.Platform.GENERIC
"""The only platforms whose links can be signed are those of one's own; all others make their links themselves."""
_SAMPLES = {
    Panel.Platform.PROLIFIC: ("5f3c1b2a9d8e7f6a5b4c3d2e", "60aa1b2c3d4e5f6a7b8c9d0e", "61bb2c3d4e5f6a7b8c9d0e1f")
}


def make_path(panel: Panel) -> str:
    return reverse("annotate:panel-arrival", args=[panel.token])


def make_link(panel: Panel, url: str) -> str:
    """Return the link to paste on the platform; `url` is the panel's address without parameters."""
    preset = PRESETS[Panel.Platform(panel.platform)]
    if preset.adds_parameters:
        return url
    names = (panel.participant_parameter, panel.session_parameter, panel.study_parameter)
    values = [value or default for value, default in zip(preset.values, PLACEHOLDERS, strict=True)]
    # The platform looks for its placeholders as they are, so that they are not quoted.
    return f"{url}?{'&'.join(f'{name}={value}' for name, value in zip(names, values, strict=True) if name)}"


def make_sample(panel: Panel, url: str) -> str:
    """Return a link as a participant may open it, with made-up ids."""
    samples = _SAMPLES.get(Panel.Platform(panel.platform), ("participant-1", "session-1-of-participant-1", "study-1"))
    names = (panel.participant_parameter, panel.session_parameter, panel.study_parameter)
    values = (samples[0], samples[1], panel.study_id or samples[2])
    return f"{url}?{urlencode([(name, value) for name, value in zip(names, values, strict=True) if name])}"


def check_link(panel: Panel, address: str) -> Ids:
    """Return the ids of an address that somebody pasted to try it; nothing is stored. Raises BadLink."""
    try:
        parts = urlsplit(address.strip())
    except ValueError as error:
        raise BadLink("This isn’t a web address. Paste the whole link.") from error
    if not parts.path.endswith(make_path(panel)):
        raise BadLink("This is not the link of this panel. Copy the link above again.")
    return read_ids(panel, parse_qs(parts.query, keep_blank_values=True))


def make_return_url(panel: Panel, *, code: str, participant: str, session: str) -> str:
    """Return where a participant goes back to, or "" if the panel has no such address, or has no code to bring."""
    url = panel.return_url
    if not url or ("{code}" in url and not code):
        return ""
    values = {"{code}": code, "{participant}": participant, "{session}": session}
    return re.sub("|".join(map(re.escape, values)), lambda found: urlencode({"": values[found[0]]})[1:], url)


def find_panel(token: str) -> Panel | None:
    live = Project.objects.live()
    return Panel.objects.select_related("project").filter(token=token, project__in=live).first()
