"""Lines of the log as sentences, and names of the code in the language of the page."""

from django import template

from projects.language import names
from projects.log.messages import Named, words_of

register = template.Library()


@register.filter
def done_to(act: str, name: str) -> str:
    """What was done, and to whom or what, on a page that is about it: “warned a-x”."""
    return f"{words_of(act, Named('', name))} {name}"


@register.filter
def said(name: str) -> str:
    """The name of a level, a reason or the like, in the language of the page."""
    return names.said(name)
