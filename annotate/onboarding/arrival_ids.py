"""The ids in the address with which a participant of a panel arrives."""

import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate.models import Panel
from projects.errors import Refused

SIGNATURE = "signature"
"""The parameter with which a link that a platform of one's own makes proves who sends the participant."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~@:+=-]{0,127}")
# Prolific's ids are those of its database; a shape that others have too would let an unfilled or cut one through.
_SHAPES = {Panel.Platform.PROLIFIC: re.compile(r"[0-9a-f]{24}")}
PLACEHOLDERS = ("PARTICIPANT_ID", "SESSION_ID", "STUDY_ID")
_NO_VALUES = ("undefined", "null", "none", "nan")
"""What scripts write into an address where they have no value, in lower case."""


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
    # The salt names the module where this was at first: with another, links that platforms have would stop working.
    return salted_hmac("annotate.panels.links", panel.token, algorithm="sha256").hexdigest()


def _read(panel: Panel, query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name, [])
    if len(values) > 1:
        raise BadLink(_("The link has the parameter {name} twice.").format(name=name))
    if not values or not values[0]:
        raise BadLink(_("The link has no {name}.").format(name=name))
    shape = _SHAPES.get(Panel.Platform(panel.platform), _ID)
    # A placeholder that the platform has not filled would make one participant of everybody.
    is_unfilled = values[0] in PLACEHOLDERS or values[0].lower() in _NO_VALUES
    if shape.fullmatch(values[0]) is None or is_unfilled:
        raise BadLink(_("The {name} in the link is not an ID.").format(name=name))
    return values[0]
