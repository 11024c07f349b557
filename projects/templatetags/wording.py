"""Acts of the audit log as sentences, and names from code as pages show them."""

from django import template

from projects.language import names
from projects.log.messages import Named, describe_act

register = template.Library()


@register.filter
def done_to(act: str, name: str) -> str:
    """Return what was done and to whom or what, for a page about that object: “warned a-x”."""
    return f"{describe_act(act, Named('', name))} {name}"


register.filter("spell_out", names.spell_out)
