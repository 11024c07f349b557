"""The terms of work in a project, for the page of its invitation."""

from django import template

from annotate.desk.invited_terms import InvitedTerms, find_invited_terms
from projects.models import Project

register = template.Library()


@register.simple_tag
def invited_terms(project: Project) -> InvitedTerms:
    return find_invited_terms(project)
