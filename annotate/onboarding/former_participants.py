"""Former participants: a panel takes nobody twice, also after they deleted their account, and keeps no id for that."""

from django.conf import settings
from django.utils.crypto import salted_hmac

from annotate.models import FormerParticipant, Panel, PanelParticipant
from projects.models import Membership

SALT = "annotate.onboarding.former_participants"
"""Constant, so that people are recognised by the hashes that are stored, whatever this module is called."""


def remember(member: Membership) -> None:
    """Keep the hash of a participant's id; doing it again changes nothing."""
    for participant in PanelParticipant.objects.filter(membership=member).select_related("panel"):
        newest = _hash_id(participant.panel, participant.external_id)[0]
        FormerParticipant.objects.get_or_create(panel=participant.panel, id_hash=newest)


def took_part(panel: Panel, external_id: str) -> bool:
    """Return whether somebody who deleted their account took part in a panel that shares its ids with this one."""
    alike = list(Panel.objects.sharing_ids_with(panel))
    hashes = [text for each in alike for text in _hash_id(each, external_id)]
    return FormerParticipant.objects.filter(panel__in=alike, id_hash__in=hashes).exists()


def _hash_id(panel: Panel, external_id: str) -> list[str]:
    """Return the hash under the secret key, then under each that was used before."""
    # Ids of a platform can be listed, so that a hash without a key would tell whose it is.
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    text = f"{panel.pk}\n{external_id}"
    return [salted_hmac(SALT, text, secret=each, algorithm="sha256").hexdigest() for each in secrets]
