"""The parts of the rating page, and what its script needs: its messages and its keys."""

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import SafeString

from annotate.rating import ui_strings
from annotate.rating.form_parts import QuestionGroup
from annotate.rating.shown import fold_blank_lines
from projects.accounts.passwords import signs_in_by_panel
from projects.accounts.rating_keys import ACTIONS, has_keys_off, list_working_keys
from projects.language.amounts import format_near_moment
from projects.language.characters import is_blank
from projects.language.languages import current_language
from projects.models import Passage, User
from projects.web.cached_templates import include_cached

register = template.Library()


register.filter("is_blank", is_blank)
register.filter("has_keys_off", has_keys_off)
register.filter("signs_in_by_panel", signs_in_by_panel)


@register.simple_tag(takes_context=True)
def rating_due(context: Mapping[str, Any]) -> SafeString:
    """Return when the time for a HIT, an edit or a test is over, and what then."""
    at: datetime = context["assignment"].due_at
    return include_cached(
        "annotate/rating/_due.html",
        iso=at.isoformat(),
        time=f"{at:%H:%M}",
        moment=format_near_moment(at),
        due_after=context.get("due_after", ""),
        can_extend=context.get("can_extend", False),
        is_expired=context.get("is_expired", False),
        extend_url=context["urls"].get("extend", ""),
        csrf_token=str(context["csrf_token"]),
    )


@register.simple_tag(takes_context=True)
def rating_tools(context: Mapping[str, Any]) -> SafeString:
    """Return the buttons beside the one that submits, each with its key."""
    working = list_working_keys(context["user"])
    own_keys = {action: working[action] for action in ("showRubric", "undo", "showKeys") if action in working}
    url = context["urls"].get("instructions", "")
    return include_cached("annotate/rating/_rate_tools.html", instructions_url=url, own_keys=own_keys)


@register.simple_tag
def rating_passage(passage: Passage) -> SafeString:
    """Return the pane with a passage and its documents, each run of blank lines as one."""
    pane = {
        "title": passage.title,
        "text": fold_blank_lines(passage.text),
        "documents": [
            {"title": each.get("title", ""), "text": fold_blank_lines(each.get("text", ""))}
            for each in passage.documents or []
        ],
    }
    return include_cached("annotate/rating/_passage.html", passage=pane)


@register.simple_tag(takes_context=True)
def rating_question(context: Mapping[str, Any], group: QuestionGroup, number: int) -> SafeString:
    """Return a question of the form with its items."""
    form = {name: context[name] for name in ("criteria", "is_grid", "rates_questions")}
    items = [include_cached("annotate/rating/_item.html", item=item, **form) for item in group["items"]]
    return include_cached(
        "annotate/rating/_question.html",
        group={"question": group["question"], "references": group["references"]},
        number=str(number),
        n_groups=len(context["groups"]),
        rates_questions=context["rates_questions"],
        items=SafeString("".join(items)),
    )


@register.filter
def own_rating_keys(user: User) -> str:
    """Return the user's own keys for the page's script, as JSON by action."""
    return json.dumps({action: key for action, key in user.rating_keys.items() if action in ACTIONS})


@register.simple_tag
def rating_words(rates_questions: bool = False) -> SafeString:
    return _rating_words(current_language(), rates_questions=rates_questions)


@lru_cache(maxsize=16)
def _rating_words(language: str, *, rates_questions: bool) -> SafeString:
    words = ui_strings.rating_strings()
    return json_script({**words, **ui_strings.question_strings()} if rates_questions else words, "rating-words")


@register.simple_tag
def rating_dialogs(user: User, keys: Mapping[str, object]) -> SafeString:
    """Return the dialogs of the instructions and of the keys; `keys` are the digits that rate."""
    return _render_dialogs(current_language(), tuple(list_working_keys(user).items()), json.dumps(keys))


# Rendered once for each language, choice of keys and kind of scale: they are a third of the page's sentences.
@lru_cache(maxsize=256)
def _render_dialogs(language: str, own_keys: tuple[tuple[str, str], ...], keys: str) -> SafeString:
    context = {"own_keys": dict(own_keys), "keys": json.loads(keys)}
    return render_to_string("annotate/rating/_rate_dialogs.html", context)
