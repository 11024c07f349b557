"""The tag `{% include_cached %}`, which includes a template that is kept rendered."""

from django import template

from projects.web.cached_templates import include_cached

register = template.Library()
register.simple_tag(include_cached)
