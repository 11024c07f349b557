"""Links: what is pasted on the platform, and the ids in the address with which somebody arrives."""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qs, urlencode, urlsplit

from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate.models import Panel
from annotate.panels.platforms import PRESETS
from projects.errors import Refused
from projects.models import Project

SIGNATURE = "signature"
"""The parameter with which a link that a platform of one's own makes proves who sends the participant."""
SIGNED_PLATFORM = Panel.Platform.GENERIC
"""The only platforms whose links can be signed are those of one's own; all others make their links themselves."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~@:+=-]{0,127}")
# Prolific's ids are those of its database; a shape that others have too would let an unfilled or cut one through.
_SHAPES = {Panel.Platform.PROLIFIC: re.compile(r"[0-9a-f]{24}")}
_PLACEHOLDERS = ("PARTICIPANT_ID", "SESSION_ID", "STUDY_ID")
_SAMPLES = {
    Panel.Platform.PROLIFIC: ("5f3c1b2a9d8e7f6a5b4c3d2e", "60aa1b2c3d4e5f6a7b8c9d0e", "61bb2c3d4e5f6a7b8c9d0e1f")
}


class BadLink(Refused):
    """The address doesn't say who arrives, or says it wrongly."""


class ForgedLink(BadLink):
    """The address says what the platform cannot have said; such addresses are counted as guesses."""


@dataclass(frozen=True)
class Ids:
    """Who arrives, by the platform's ids; `is_signed` if the link proves it."""

    participant: str
    session: str = ""
    study: str = ""
    is_signed: bool = False


def make_path(panel: Panel) -> str:
    return reverse("annotate:panel-arrival", args=[panel.token])


def make_link(panel: Panel, url: str) -> str:
    """Return the link to paste on the platform; `url` is the panel's address without parameters."""
    preset = PRESETS[Panel.Platform(panel.platform)]
    if preset.adds_parameters:
        return url
    names = (panel.participant_parameter, panel.session_parameter, panel.study_parameter)
    values = [value or default for value, default in zip(preset.values, _PLACEHOLDERS, strict=True)]
    # The platform looks for its placeholders as they are, so that they are not quoted.
    return f"{url}?{'&'.join(f'{name}={value}' for name, value in zip(names, values, strict=True) if name)}"


def make_sample(panel: Panel, url: str) -> str:
    """Return a link as a participant may open it, with made-up ids."""
    samples = _SAMPLES.get(Panel.Platform(panel.platform), ("participant-1", "session-1-of-participant-1", "study-1"))
    names = (panel.participant_parameter, panel.session_parameter, panel.study_parameter)
    values = (samples[0], samples[1], panel.study_id or samples[2])
    return f"{url}?{urlencode([(name, value) for name, value in zip(names, values, strict=True) if name])}"


def read_ids(panel: Panel, query: Mapping[str, Sequence[str]]) -> Ids:
    """Return the ids in a query. Raises BadLink for one missing, repeated or odd, another study, a wrong signature."""
    participant = _read(panel, query, panel.participant_parameter)
    session = _read(panel, query, panel.session_parameter) if panel.session_parameter else ""
    study = _read(panel, query, panel.study_parameter) if panel.study_parameter else ""
    if panel.study_id and study != panel.study_id:
        raise BadLink(_("This link belongs to another study."))
    signatures = query.get(SIGNATURE, [])
    if signatures and not (
        len(signatures) == 1 and hmac.compare_digest(signatures[0].encode(), sign(panel, participant, session).encode())
    ):
        raise ForgedLink(_("The signature of the link is wrong."))
    return Ids(participant, session, study, is_signed=bool(signatures))


def sign(panel: Panel, participant: str, session: str) -> str:
    """Return the signature of a link: HMAC-SHA256, in hexadecimal, of both ids with a line break between them."""
    return hmac.new(make_key(panel).encode(), f"{participant}\n{session}".encode(), sha256).hexdigest()


def make_key(panel: Panel) -> str:
    """Return the key that signs a panel's links, derived so that neither the database nor a backup contains it."""
    return salted_hmac("annotate.panels.links", panel.token, algorithm="sha256").hexdigest()


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


def _read(panel: Panel, query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name, [])
    if len(values) > 1:
        raise BadLink(_("The link has the parameter {name} twice.").format(name=name))
    if not values or not values[0]:
        raise BadLink(_("The link has no {name}.").format(name=name))
    shape = _SHAPES.get(Panel.Platform(panel.platform), _ID)
    # A placeholder that the platform has not filled would make one participant of everybody.
    if shape.fullmatch(values[0]) is None or values[0] in _PLACEHOLDERS:
        raise BadLink(_("The {name} in the link is not an ID.").format(name=name))
    return values[0]
