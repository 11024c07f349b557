"""What the rating page's script needs: its messages, its keys, and its modules, fetched before it imports them."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from annotate.rating import shown, ui_strings
from projects.accounts.rating_keys import ACTIONS, choose_key, list_keys
from projects.language.languages import current_language
from projects.models import User

register = template.Library()


register.filter("is_blank", shown.is_blank)
register.filter("fold_blank_lines", shown.fold_blank_lines)


@register.filter
def rating_key(user: User, action: str) -> str:
    """Return the key of an action, as the user has chosen it or by default."""
    return choose_key(user, action)


@register.filter
def own_rating_keys(user: User) -> str:
    """Return the user's own keys for the page's script, as JSON by action."""
    return json.dumps({action: key for action, key in user.rating_keys.items() if action in ACTIONS})


@register.simple_tag
def rating_words(rates_questions: bool = False) -> SafeString:
    return _rating_words(current_language(), rates_questions=rates_questions)


@lru_cache(maxsize=16)
def _rating_words(language: str, *, rates_questions: bool) -> SafeString:
    words = ui_strings.rating_strings()
    return json_script({**words, **ui_strings.question_strings()} if rates_questions else words, "rating-words")


@register.simple_tag
def rating_dialogs(user: User, keys: Mapping[str, object]) -> SafeString:
    """Return the dialogs of the instructions and of the keys; `keys` are the digits that rate."""
    return _render_dialogs(current_language(), tuple(list_keys(user).items()), json.dumps(keys))


# Rendered once for each language, choice of keys and kind of scale: they are a third of the page's sentences.
@lru_cache(maxsize=256)
def _render_dialogs(language: str, own_keys: tuple[tuple[str, str], ...], keys: str) -> SafeString:
    context = {"own_keys": dict(own_keys), "keys": json.loads(keys)}
    return render_to_string("annotate/rating/_rate_dialogs.html", context)


RATING = (
    "words",
    "keep",
    "rate/sheet",
    "rate/walk",
    "rate/keys",
    "rate/drafts",
    "rate/saved",
    "rate/clock",
    "rate/question",
    "rate/reading",
    "rate/submit",
)
"""The modules that rate.js imports at its start."""
READING = ("rate/passage", "theme", "rate/find", "rate/look", "rate/text")
"""The modules that it imports once people can rate."""


@register.simple_tag
@lru_cache(maxsize=1)
def rating_modules() -> SafeString:
    """Return the tags of the page's script, with all of its modules listed.

    Without the list, a browser finds each module only when it has read the one that imports it, one round trip after
    another. It fetches a few files at a time: those that rating waits for come first, then the script, then the rest.
    """
    script = format_html('<script type="module" src="{}"></script>\n', static("js/rate.js"))
    return _preloaded(RATING) + script + _preloaded(READING)


def _preloaded(names: Sequence[str]) -> SafeString:
    return format_html_join(
        "", '<link rel="modulepreload" href="{}">\n', ((static(f"js/{name}.js"),) for name in names)
    )
