"""Parts of pages that are rendered once for each kind of values, and then only filled."""

from typing import Any

import pytest
from django.template import Context, Template
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from projects.models import Project
from projects.web import cached_templates
from projects.web.cached_templates import include_cached

TEMPLATE = """{% load rating %}
{% for each in list %}
  {% if each.text|is_blank %}-{% else %}<b title="{{ each.text }}">{{ each.text }}{% endif %}
{% empty %}
  none
{% endfor %}
{% if word %}({{ word }}){% endif %}{{ n }}{{ list|length }}{{ absent }}"""


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list of what the template is rendered with; nothing has been kept before."""
    calls: list[object] = []

    def render(name: str, values: dict[str, Any]) -> SafeString:
        calls.append(values)
        return SafeString(Template(TEMPLATE).render(Context(values)))

    monkeypatch.setattr(cached_templates, "render_to_string", render)
    cached_templates._render.cache_clear()
    return calls


def check(**values: object) -> None:
    """The kept template says what a fresh one does."""
    assert include_cached("a.html", **values) == Template(TEMPLATE).render(Context(values))


NASTY = ("<script>", "&amp;", "'\"", "{{ word }}", "\x000\x00", "1", "שלום", "a" * 5_000)
BLANK = ("", " ", "\u200b", "\u3164", "\n")


def test_texts_of_one_kind_are_put_into_one_rendering(rendered: list[object]) -> None:
    for word in NASTY:
        for text in NASTY:
            check(list=[{"text": text}, {"text": word}], word=word, n=3)
    assert len(rendered) == 1
    check(list=[{"text": SafeString("<i>")}, {"text": gettext_lazy("Desk")}], word="x", n=3)
    assert len(rendered) == 1


def test_what_conditions_ask_for_makes_another_kind(rendered: list[object]) -> None:
    for blank in BLANK:
        check(list=[{"text": blank}], word="x", n=1)
        check(list=[{"text": "x"}], word=blank, n=1)
    for n in (0, 1, True, None, 2, False):
        check(list=[], word="x", n=n)
    check(list=({"text": "x"},), word="x", n=1)
    check(list=[{"text": "x"}] * 2, word="x", n=1)
    assert len(rendered) == 2 * len(BLANK) + 6 + 2


def test_a_row_is_refused_since_it_equals_itself_after_a_change(rendered: list[object]) -> None:
    with pytest.raises(TypeError, match="Give its texts"):
        include_cached("a.html", word=Project(pk=1, name="Lamps"))
    assert not rendered
