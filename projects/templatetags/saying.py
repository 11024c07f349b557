"""Lines of the log as sentences, and names of the code as pages show them."""

from django import template

from projects.language import names
from projects.log.messages import Named, describe_act

register = template.Library()


@register.filter
def done_to(act: str, name: str) -> str:
    """What was done, and to whom or what, on a page that is about it: “warned a-x”."""
    return f"{describe_act(act, Named('', name))} {name}"


register.filter("spell_out", names.spell_out)
