"""Scripts that the server has no font for: files that it draws show boxes for them, unlike the page.

On a page, the browser draws the texts of a chart with its own fonts; PNG and PDF files are drawn here.
"""

import logging
import unicodedata
from collections.abc import Iterable
from xml.sax.saxutils import escape

from django.core.cache import cache

from projects.charts.drawing_process import Undrawable, drawing_process

logger = logging.getLogger(__name__)

_KNOWN = {"LATIN", "GREEK", "CYRILLIC"}
"""Scripts of the fonts that the drawing library brings along."""
_LANGUAGES = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}
_IN_NO_FONT = "\u0378"
"""A code point without a character, so that it is drawn as any character without a font is."""
_KEEP_SECONDS = 3600
"""What the fonts lack changes only where one is installed."""


def find_undrawable(texts: Iterable[str]) -> list[str]:
    """Return the scripts of these texts that files would show as boxes, such as Chinese."""
    examples: dict[str, str] = {}
    for character in dict.fromkeys("".join(texts)):
        if unicodedata.category(character).startswith("L"):
            examples.setdefault(unicodedata.name(character, "LATIN").split()[0], character)
    found = [script for script, example in examples.items() if script not in _KNOWN and not _can_draw(script, example)]
    return sorted({_LANGUAGES.get(script, script.capitalize()) for script in found})


def _can_draw(script: str, example: str) -> bool:
    """Return whether an example of a script is drawn in another way than a character that no font has."""
    key = f"chart-font:{script}"
    known: bool | None = cache.get(key)
    if known is None:
        try:
            known = _draw_text(example) != _draw_text(_IN_NO_FONT)
        except Undrawable:
            logger.exception("Whether there is a font for %s could not be found out.", script)
            known = True
        cache.set(key, known, _KEEP_SECONDS)
    return known


def _draw_text(text: str) -> bytes:
    words = f'<text x="4" y="20" font-family="sans-serif" font-size="16">{escape(text)}</text>'
    return drawing_process.draw(f'<svg xmlns="http://www.w3.org/2000/svg" width="32" height="28">{words}</svg>', "png")
