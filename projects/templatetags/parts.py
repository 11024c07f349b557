"""Parts of pages that stand in many templates: one number with its label, and what a page says where nothing is yet."""

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

register = template.Library()


@register.inclusion_tag("_stat.html")
def stat(label: str, value: object, note: object = "") -> dict[str, object]:
    """Draw one number inside `.stats`; the note says how it was computed, or why it is undefined."""
    return {"label": label, "value": value, "note": note}


@register.inclusion_tag("projects/jobs/_progress_line.html")
def progress_line(progress: object, label: str, unit: str = "", *, is_slim: bool = False) -> dict[str, object]:
    """Draw how far the assignments are, as a share, in numbers and as a bar; a slim one stands in a table."""
    return {"progress": progress, "label": label, "unit": unit, "is_slim": is_slim}


@register.simple_block_tag(end_name="endempty_state")
def empty_state(content: SafeString, title: str, url: str = "", action: str = "") -> SafeString:
    """Draw a list that has nothing to show: its title, the block's text, and a link to what can be done next."""
    text = content if content.strip() else ""
    return render_to_string("_empty.html", {"title": title, "text": text, "url": url, "action": action})
