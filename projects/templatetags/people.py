"""Names of people on pages."""

from django import template

from projects.access import may_see_names
from projects.models import Membership

register = template.Library()


@register.filter
def name_for(member: Membership, viewer: Membership) -> str:
    """Return the member's name as the viewer may read it: managers see the real one, everybody else the pseudonym."""
    if not may_see_names(viewer):
        return member.pseudonym
    user = member.user
    return (user.get_full_name() or user.get_username()) if user else member.imported_name or member.pseudonym


@register.filter
def you_if(member: Membership | None, viewer: Membership) -> str:
    """Return what follows a pseudonym that is the viewer's own, which nobody knows by heart."""
    return " (you)" if member is not None and member.pk == viewer.pk else ""
