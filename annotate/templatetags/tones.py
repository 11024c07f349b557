"""The colour of a state: the ending of the classes `status--` and `badge--` in concord.css."""

from django import template

register = template.Library()

TONES: dict[str, tuple[dict[str, str], str]] = {
    "assignment": ({"submitted": "done", "approved": "good", "rejected": "failed"}, "open"),
    "own": ({"open": "open", "expired": "warn", "submitted": "done", "approved": "done", "rejected": "bad"}, "none"),
    "mark": ({"excluded": "bad", "surplus": "warn"}, "line"),
    "member": ({"active": "good", "suspended": "warn"}, "none"),
    "finding": ({"open": "warn"}, "done"),
    "review": ({"done": "done", "rated": "running"}, "queued"),
    "test": ({"open": "open", "draft": "draft"}, "paused"),
}
"""For each kind of thing, the tone of its states, and the tone of every other state."""


@register.filter
def tone(state: str, kind: str) -> str:
    """Return the tone of a state of this kind of thing."""
    tones, otherwise = TONES[kind]
    return tones.get(state, otherwise)
