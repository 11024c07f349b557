"""Forms of spot checks and adjudication."""

from collections.abc import Mapping

from django import forms

from annotate.reviews.spot_checks import ItemVerdict
from projects.language.characters import remove_forbidden


class AdjudicationForm(forms.Form):
    value = forms.FloatField(required=False)
    note = forms.CharField(required=False, max_length=1000)


MAX_NOTE = 2_000
"""Characters of a note on one item, or on an alert: a few paragraphs."""


def read_verdicts(post: Mapping[str, str], n_items: int) -> dict[int, ItemVerdict]:
    """Return the posted verdicts by position; items without one are omitted."""
    verdicts = {}
    for place in range(n_items):
        verdict = post.get(f"v{place}")
        if verdict in ("fine", "poor"):
            # A longer note is cut rather than refused, so that no verdict is lost over it.
            note = remove_forbidden(post.get(f"note{place}", "")).strip()[:MAX_NOTE]
            verdicts[place] = ItemVerdict(is_poor=verdict == "poor", note=note)
    return verdicts
