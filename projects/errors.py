"""What an act says when it refuses: one sentence for people."""

from django.conf import settings
from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """The act was understood and is not allowed now; nothing was changed.

    `field` names what was sent wrongly, where it is one thing alone; it is empty where the state of things forbids.
    """

    def __init__(self, message: StrOrPromise, *, details: list[str] | None = None, field: str = "") -> None:
        self.message = str(message)
        super().__init__(self.message)
        self.details = details or []
        self.field = field


class TooManyRequests(Refused):
    """The token has asked too often in this minute."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__(
            f"Limit of {settings.API_REQUESTS_PER_MINUTE:,} requests per minute and token exceeded. "
            "Wait a moment and retry."
        )
        self.wait_seconds = wait_seconds
