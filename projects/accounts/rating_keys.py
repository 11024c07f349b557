"""The keys of the rating page: which actions have one, and those that a user has chosen."""

import unicodedata
from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from projects.models import User

ACTIONS: Mapping[str, tuple[str, str | Promise]] = {
    "next": ("j", _("next")),
    "previous": ("k", _("previous")),
    "undo": ("z", _("undo")),
    "comment": ("c", _("comment")),
    "flag": ("f", _("flag a problem")),
    "cannot": ("x", _("can't be judged")),
    "showRubric": ("r", _("instructions")),
    "find": ("/", _("find in the passage")),
    "question": ("q", _("show the question and references")),
    "toSpan": ("m", _("go to the marked words")),
    "showKeys": ("?", _("show the keys")),
}
"""Each action whose key can be changed, as the page's script names it, with its default key and its label."""

TYPED_IN_NUMBERS = frozenset("-.,+")
OFF = "off"
"""Stored beside the keys that a user has chosen, where keys of one letter, digit or symbol do nothing for this user."""


def list_keys(user: User) -> dict[str, str]:
    """Return the key of each action for this user."""
    return {action: choose_key(user, action) for action in ACTIONS}


def list_working_keys(user: User) -> dict[str, str]:
    """Return the key of each action for this user, or none if the user has turned them off."""
    return {} if has_keys_off(user) else list_keys(user)


def has_keys_off(user: User) -> bool:
    return user.rating_keys.get(OFF) is True


def choose_key(user: User, action: str) -> str:
    chosen = user.rating_keys.get(action)
    return chosen if isinstance(chosen, str) and chosen else ACTIONS[action][0]


def is_possible(key: str) -> bool:
    """Return whether a key can be given to an action: one letter or symbol that rates nothing and types no number."""
    return len(key) == 1 and unicodedata.category(key)[0] in "LPS" and key not in TYPED_IN_NUMBERS


def save_keys(*, user: User, keys: Mapping[str, str], is_off: bool) -> None:
    """Store the keys that differ from the defaults, and whether they are turned off; no keys restore the defaults."""
    changed: dict[str, str | bool] = {action: key for action, key in keys.items() if key != ACTIONS[action][0]}
    if is_off:
        changed[OFF] = True
    User.objects.filter(pk=user.pk).update(rating_keys=changed)
