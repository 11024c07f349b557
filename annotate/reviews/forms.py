"""Forms of spot checks and adjudication."""

from collections.abc import Mapping

from django import forms

from annotate.reviews.spot_checks import Verdict


class AdjudicationForm(forms.Form):
    value = forms.FloatField(required=False)
    note = forms.CharField(required=False, max_length=1000)


MAX_NOTE = 2_000


def read_verdicts(post: Mapping[str, str], n_items: int) -> dict[int, Verdict]:
    """Return the posted verdicts by position; items without one are omitted."""
    verdicts = {}
    for place in range(n_items):
        said = post.get(f"v{place}")
        if said in ("fine", "poor"):
            note = post.get(f"note{place}", "").replace("\x00", "").strip()[:MAX_NOTE]
            verdicts[place] = Verdict(is_poor=said == "poor", note=note)
    return verdicts
