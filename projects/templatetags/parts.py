"""Parts of pages that many templates use: a number with its label, a “?” with an explanation, progress, empty lists."""

from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from projects.web.glossary import GLOSSARY, Entry
from projects.web.links import opens_here_only
from projects.web.previews import SEAL, Preview

register = template.Library()
register.filter("opens_here_only", opens_here_only)


@register.inclusion_tag("_stat.html", takes_context=True)
def stat(context: dict[str, Any], label: str, value: object, note: object = "", hint: str = "") -> dict[str, object]:
    """Draw one number inside `.stats`; the note says how it was computed, or why it is undefined."""
    return {"label": label, "value": value, "note": note, "hint": hint, "request": context.get("request")}


@register.simple_tag(takes_context=True)
def hint(context: dict[str, Any], key: str, sentence: str = "") -> SafeString:
    """Draw a “?” that explains a heading: an entry of the glossary, or a term with the sentence that is given.

    Raises KeyError for an unknown key, so that a misspelt one is found by the first test of the page.
    """
    entry = Entry(key, sentence) if sentence else GLOSSARY[key]
    return render_to_string("projects/charts/_hint.html", {"entry": entry, "id": _make_id(context.get("request"))})


def _make_id(request: Any) -> str:
    """Return an id that no other hint of the page has.

    A part that htmx fetches later counts from one again, so its ids have a prefix of their own.
    """
    if request is None:
        return "hint"
    request.n_hints = getattr(request, "n_hints", 0) + 1
    return f"hint-{'part-' if 'HX-Request' in request.headers else ''}{request.n_hints}"


@register.inclusion_tag("projects/jobs/_progress_line.html")
def progress_line(progress: object, label: str, unit: str = "", *, is_slim: bool = False) -> dict[str, object]:
    """Draw the progress of assignments as a share, in numbers and as a bar; `is_slim` fits it into a table."""
    return {"progress": progress, "label": label, "unit": unit, "is_slim": is_slim}


@register.simple_block_tag(end_name="endempty_state")
def empty_state(content: SafeString, title: str, url: str = "", action: str = "") -> SafeString:
    """Draw a list that has nothing to show: its title, the block's text, and a link to what can be done next."""
    text = content if content.strip() else ""
    return render_to_string("_empty.html", {"title": title, "text": text, "url": url, "action": action})


@register.simple_block_tag(end_name="endtable_wrap")
def table_wrap(content: SafeString, label: str, classes: str = "") -> SafeString:
    """Draw the frame in which a table scrolls sideways; the keyboard can reach it, so it needs a label."""
    return format_html(
        '<div class="{}" tabindex="0" role="region" aria-label="{}">{}</div>',
        " ".join(filter(None, ["table-wrap", classes])),
        label,
        content,
    )


@register.simple_block_tag(takes_context=True, end_name="endconfirm_preview")
def confirm_preview(
    context: dict[str, Any],
    content: SafeString,
    preview: Preview,
    form: str,
    *,
    action: str = "",
    look: str = "button--primary button--large",
    question: str = "",
    text: str = "",
    is_off: bool = False,
) -> SafeString:
    """Draw the button that confirms a preview; the block is its label, `form` the id of the form with the fields.

    The form previews by GET. The button sends the same fields by POST, together with the seal of what the page shows.
    With a `question`, it asks once more.
    """
    return render_to_string(
        "projects/_preview_confirm.html",
        {
            "label": content.strip(),
            "form_id": form,
            "address": f"{action}?{SEAL}={preview.seal}",
            "csrf_token": context["csrf_token"],
            "look": look,
            "question": question,
            "text": text,
            "is_off": is_off,
        },
    )


@register.simple_tag
def preview_seal(preview: Preview) -> SafeString:
    """Return the hidden field with which a form that has no fields to preview sends back what its page showed."""
    return format_html('<input type="hidden" name="{}" value="{}">', SEAL, preview.seal)
