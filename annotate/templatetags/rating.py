"""What the rating page's script needs: its words, and its modules before it asks for them."""

from functools import lru_cache

from django import template
from django.templatetags.static import static
from django.utils.html import format_html_join, json_script
from django.utils.safestring import SafeString

from annotate import words

register = template.Library()


@register.simple_tag
def rating_words() -> SafeString:
    return json_script(words.of_rating(), "rating-words")


MODULES = (
    "words", "keep", "rate/sheet", "rate/walk", "rate/keys", "rate/drafts", "rate/saved", "rate/clock", "rate/boxes",
    "rate/passage", "theme", "rate/find", "rate/look", "rate/text",
)  # fmt: skip
"""What rate.js imports, first what rating waits for: fetched together, not one round trip after another."""


@register.simple_tag
@lru_cache(maxsize=1)
def rating_modules() -> SafeString:
    return format_html_join(
        "", '<link rel="modulepreload" href="{}">\n', ((static(f"js/{name}.js"),) for name in MODULES)
    )
