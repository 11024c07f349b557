"""The words that `measures.quality` uses of figures, marked so that they can be said in another language.

It knows no languages: what it says is stored in English, and translated where it is shown.
"""

from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy
from django_stubs_ext import StrOrPromise

REASONS = (
    gettext_noop("all scores are equal"),
    gettext_noop("fewer than 10 rated items with a reference"),
    gettext_noop("fewer than three pairs"),
    gettext_noop("no HIT taken yet"),
    gettext_noop("no degraded item rated together with its source yet"),
    gettext_noop("no item reviewed yet"),
    gettext_noop("no known-answer item rated yet"),
    gettext_noop("no repeated item rated twice yet"),
    gettext_noop("no times were recorded"),
    gettext_noop("nobody else has rated the same items"),
    gettext_noop("not computed yet"),
    gettext_noop("nothing rated yet"),
    gettext_noop("what they are compared with does not vary"),
    gettext_noop("without this annotator there is no agreement to compute"),
)
"""Why a figure is undefined; reasons that `measures.agreement` gives are said as it gives them."""

VERDICTS: dict[str, StrOrPromise] = {
    "passed": pgettext_lazy("test of degraded answers", "passed"),
    "failed": pgettext_lazy("test of degraded answers", "failed"),
    "too few": pgettext_lazy("test of degraded answers", "too few"),
}
TESTS: dict[str, StrOrPromise] = {
    "signed_rank": gettext_lazy("signed rank"),
    "paired_t": gettext_lazy("paired t"),
    "mannwhitney": gettext_lazy("mannwhitney"),
    "ranksum": gettext_lazy("ranksum"),
}
FINDINGS: dict[str, StrOrPromise] = {
    "known_answers_low": gettext_lazy("Known answers wrong"),
    "degraded_not_lower": gettext_lazy("Degraded answers not scored lower"),
    "disagrees_with_others": gettext_lazy("Does not follow the others"),
    "ignores_references": gettext_lazy("Scores ignore the references"),
    "weak_together": gettext_lazy("Several weak signs together"),
    "follows_length": gettext_lazy("Scores follow the length"),
    "straight_line": gettext_lazy("One score for nearly everything"),
    "reviewed_poor": gettext_lazy("Reviews found poor work"),
    "repeats_inconsistent": gettext_lazy("Repeats come out differently"),
    "biased": gettext_lazy("Rates higher or lower than the others"),
    "too_fast": gettext_lazy("Very fast"),
    "returns_many": gettext_lazy("Gives back many HITs"),
}
"""The kinds of findings, those that speak against using the work first."""
