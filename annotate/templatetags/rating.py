"""The words that the rating page's script says."""

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString

from annotate import words

register = template.Library()


@register.simple_tag
def rating_words() -> SafeString:
    return json_script(words.of_rating(), "rating-words")
