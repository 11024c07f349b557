"""Seeds that only this site can compute: what is drawn from them can be repeated, and nobody outside can predict it."""

from collections.abc import Callable
from contextvars import ContextVar

from django.utils.crypto import salted_hmac

SALT = "annotate.places.seeds"
"""Constant, so that what was drawn can be drawn again, whatever this module is called."""


def _keyed(text: str) -> str:
    return salted_hmac(SALT, text, algorithm="sha256").hexdigest()


HIDE: ContextVar[Callable[[str], str]] = ContextVar("HIDE", default=_keyed)
"""What turns public text into a seed; a simulation replaces it, so that its figures are the same at every site."""


def secret_seed(*parts: object) -> str:
    """Return a seed made from these parts, which annotators may know, with the site's SECRET_KEY.

    An assignment's uuid is in its page's address, and ids and counts can be guessed. With a seed of these alone,
    anybody could draw again what was drawn, and find the controls. Another SECRET_KEY changes later draws only, because
    layouts are stored.
    """
    return HIDE.get()("-".join(map(str, parts)))
