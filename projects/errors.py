"""Refusals: the errors by which acts tell people why something was not done."""

from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:  # it loads all of Django's forms and models, which the processes that read files do without
    from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """A request that was understood but is not allowed now; nothing was changed.

    `message` is one sentence for the reader, `details` are further lines such as the rows concerned. `field` names the
    single field that is wrong; it is empty if the current state forbids the act.
    """

    def __init__(self, message: "StrOrPromise", *, details: list[str] | None = None, field: str = "") -> None:
        self.message = str(message)
        super().__init__(self.message)
        self.details = details or []
        self.field = field


class TooManyRequests(Refused):
    """A token, or an address that guesses tokens, has made too many requests."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__(
            f"Limit of {settings.API_REQUESTS_PER_MINUTE:,} requests per minute and token exceeded. "
            "Wait a moment and retry."
        )
        self.wait_seconds = wait_seconds
