"""What is unfinished in a project, for the page that deletes it."""

from django import template

from annotate.batches.unfinished_work import UnfinishedWork, find_unfinished_work
from projects.models import Project

register = template.Library()


@register.simple_tag
def unfinished_work(project: Project) -> UnfinishedWork:
    return find_unfinished_work(project)
