"""Lines of the log as sentences."""

from django import template

from projects.log_words import Named, words_of

register = template.Library()


@register.filter
def done_to(act: str, name: str) -> str:
    """What was done, and to whom or what, on a page that is about it: “warned a-x”."""
    return f"{words_of(act, Named('', name))} {name}"
