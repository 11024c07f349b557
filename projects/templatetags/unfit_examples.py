"""Worked examples that a rubric has outgrown, for the page of the rubric, which comes before the texts."""

from django import template

from projects.models import Project
from projects.texts.versions import count_unfit_examples

register = template.Library()


@register.simple_tag
def unfit_examples(project: Project) -> int:
    return count_unfit_examples(project)
