"""How figures of quality are shown: their names, their numbers as people read them, how lists sort by them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import F, FloatField, Func, Value
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from annotate.models import Finding
from annotate.quality import monitoring
from annotate.quality.figure_names import FINDINGS, TESTS, VERDICTS

_NUMBER = "(jsonb_path_query_first(%(expressions)s::jsonpath) #>> '{}')::float8"


@dataclass(frozen=True)
class FigureKind:
    """One figure: where it stands in what is stored, and how its number is written."""

    key: str
    label: Promise
    short: StrOrPromise
    path: tuple[str, ...]
    form: str
    says: Promise

    @property
    def order(self) -> Func:
        """The number as the database reads it, NULL where it is undefined."""
        place = f'$.{".".join(self.path)} ? (@.type() == "number")'
        return Func(F("figures"), Value(place), template=_NUMBER, output_field=FloatField())

    def value_in(self, figures: Mapping[str, Any]) -> float | None:
        value: Any = figures
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def reason_in(self, figures: Mapping[str, Any]) -> str:
        """Why there is no number."""
        value: Any = figures
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
            if isinstance(value, Mapping) and "undefined" in value:
                return gettext(str(value["undefined"]))
        if self.key == "degraded" and isinstance(figures.get("degraded"), Mapping):
            return gettext("too few pairs")
        return gettext("not computed yet")

    def n_in(self, figures: Mapping[str, Any]) -> int | None:
        around = figures.get(self.path[0])
        return int(around["n"]) if isinstance(around, Mapping) and "n" in around else None

    def write(self, value: float | None) -> str:
        return "–" if value is None else _FORMS[self.form](value)


@dataclass(frozen=True)
class Shown:
    """A figure of one annotator, written out."""

    kind: FigureKind
    text: str
    reason: str
    n: int | None
    details: str
    typical: str


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def _decimals(value: float, n: int, *, sign: str = "") -> str:
    """A number with so many decimals; what rounds to 0 has no sign."""
    text = f"{value:{sign}.{n}f}"
    return f"{0:.{n}f}" if not float(text) else text.replace("-", "−")


_FORMS: dict[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "share": _percent,
    "number": lambda value: _decimals(value, 2),
    "signed": lambda value: _decimals(value, 2, sign="+"),
    "fine": lambda value: _decimals(value, 3, sign="+"),
    "p": lambda value: "<0.001" if value < 0.001 else f"{value:.3f}",
    "seconds": lambda value: f"{value:.1f} s",
    "brief": lambda value: f"{value:.2f} s",
}

KINDS = (
    FigureKind(
        *("items", _("Items rated"), _("Items"), ("n_judged",), "count"),
        _("Ordinary items with a score that counts."),
    ),
    FigureKind(
        *("known", _("Known answers right"), _("Known"), ("known_answers", "share"), "share"),
        _("Items whose right answer is known, answered within the accepted range."),
    ),
    FigureKind(
        *("degraded", _("Degraded scored lower, p"), _("Degraded p"), ("degraded", "p"), "p"),
        _("The chance of such a clear difference if spoilt answers were scored no lower than their sources."),
    ),
    FigureKind(
        *("repeats", _("Repeats, mean difference"), _("Repeats"), ("repeats", "mean_difference"), "number"),
        _("How far the second score of the same item lies from the first, in points."),
    ),
    FigureKind(
        *("equal", _("Repeats equal"), _("Equal"), ("repeats", "exact_share"), "share"),
        _("Share of repeats with the same score as the first time."),
    ),
    FigureKind(
        *("near", _("Repeats within a point"), "±1", ("repeats", "within_one_share"), "share"),
        _("Share of repeats at most one point from the first time; on a slider a tenth of it."),
    ),
    FigureKind(
        *("agreement", _("Correlation with the others"), _("Correlation"), ("others", "r"), "number"),
        _("Pearson’s, with the mean of everybody else who rated the item."),
    ),
    FigureKind(
        *("difference", _("Mean difference to the others"), _("Difference"), ("others", "mean_difference"), "number"),
        _("Mean distance from the others’ mean, in points."),
    ),
    FigureKind(
        *("bias", _("Bias"), _("Bias"), ("others", "bias"), "signed"),
        _("Above 0: rates higher than the others on the same items. Leaning one way is not careless."),
    ),
    FigureKind(
        *("alpha", _("Alpha without them, less alpha"), _("Alpha"), ("alpha", "difference"), "fine"),
        _("Above 0: the project’s agreement would be better without this annotator."),
    ),
    FigureKind(
        *("entropy", _("Use of the scale"), _("Scale use"), ("scale", "entropy"), "share"),
        _("100 % where all points are used alike, 0 % where one alone is used."),
    ),
    FigureKind(
        *("run", _("Longest run of equal scores"), _("Run"), ("scale", "longest_run"), "count"),
        _("In the order in which the items were judged."),
    ),
    FigureKind(
        *("seconds", _("Time on an item"), _("Time"), ("pace", "seconds_per_item"), "seconds"),
        _("Median of the active time."),
    ),
    FigureKind(
        *("reading", _("Time for a word to read"), _("A word"), ("pace", "seconds_per_word"), "brief"),
        _("Median of the active time over the words of answer, references, question and a share of the passage."),
    ),
    FigureKind(
        *("fast", _("Faster than can be read"), _("Too fast"), ("pace", "fast_share"), "share"),
        _("Share of items answered in less time than it takes to read the answer alone."),
    ),
    FigureKind(
        *("overlap", _("Follows the references"), _("References"), ("overlap", "rho"), "number"),
        _("Spearman’s, of the scores with the words shared with a reference."),
    ),
    FigureKind(
        *("length", _("Follows the length"), _("Length"), ("length", "rho"), "number"),
        _("Spearman’s, of the scores with the length of the answer against its references."),
    ),
    FigureKind(
        *("returned", _("HITs given back"), _("Returned"), ("returned", "share"), "share"),
        _("Of those that were taken."),
    ),
    FigureKind(
        *("poor", _("Reviewed poor"), _("Poor"), ("poor", "share"), "share"),
        _("Of the items that a reviewer judged in spot checks."),
    ),
    FigureKind(
        *("reviewers", _("Difference to the reviewers"), _("To reviewers"), ("reviewers", "mean_difference"), "number"),
        _("Mean distance from the reviewers’ own blind scores, in points."),
    ),
)
BY_KEY = {kind.key: kind for kind in KINDS}


@dataclass(frozen=True)
class FindingShown:
    """A finding as a list shows it."""

    finding: Finding
    title: StrOrPromise
    says: str
    is_serious: bool
    note: str


def show_findings(findings: Iterable[Finding]) -> list[FindingShown]:
    return [
        FindingShown(
            finding,
            FINDINGS.get(finding.kind, finding.kind),
            str(finding.evidence.get("says", "")),
            bool(finding.evidence.get("is_serious")),
            gettext(finding.note) if finding.note == monitoring.PASSED else finding.note,
        )
        for finding in findings
    ]


def show_figures(figures: Mapping[str, Any], everybody: Iterable[Mapping[str, Any]] = ()) -> list[Shown]:
    """Every figure of one annotator beside the median of everybody's."""
    stored = list(everybody)
    shown = []
    for kind in KINDS:
        value = kind.value_in(figures)
        typical = [number for each in stored if (number := kind.value_in(each)) is not None]
        shown.append(
            Shown(
                kind=kind,
                text=kind.write(value),
                reason="" if value is not None else kind.reason_in(figures),
                n=kind.n_in(figures),
                details=_details(kind.key, figures),
                typical=kind.write(median(typical)) if len(typical) > 1 else "–",
            )
        )
    return shown


def _details(key: str, figures: Mapping[str, Any]) -> str:
    """What belongs beside the number: its interval, or what it is made of."""
    around = figures.get(BY_KEY[key].path[0])
    if not isinstance(around, Mapping) or "undefined" in around:
        return ""
    if key in ("known", "returned", "poor"):
        said = gettext("{n_yes} of {n}; 95 % from {low} to {high}")
        ends = {end: _percent(around[end]) for end in ("low", "high")}
        return said.format(n_yes=around["n_yes"], n=around["n"], **ends)
    if key == "degraded":
        return _degraded_details(around)
    if key == "repeats":
        return _correlation(around["r"]) if isinstance(around["r"], float) else ""
    if key == "bias" and around.get("bias_low") is not None:
        low, high = (_decimals(around[end], 2, sign="+") for end in ("bias_low", "bias_high"))
        return gettext("95 % from {low} to {high}").format(low=low, high=high)
    if key == "reviewers":
        bias = gettext("bias {bias}").format(bias=_decimals(around["bias"], 2, sign="+"))
        return f"{_correlation(around['r'])}, {bias}" if isinstance(around["r"], float) else bias
    if key == "alpha":
        values = {"without": f"{around['without_them']:.3f}", "all": f"{around['with_them']:.3f}"}
        return gettext("{without} without, {all} with").format(**values)
    if key == "entropy":
        return gettext("the most used point has {percent}").format(percent=_percent(around["most_used_share"]))
    if key == "fast":
        return gettext("{n} of {all} items").format(n=around["n_fast"], all=around["n"])
    return ""


def _degraded_details(around: Mapping[str, Any]) -> str:
    said = gettext("{verdict}, {test} over {n_used} of {n} pairs, {n_lower} lower; mean {mean} against {source}")
    return said.format(
        verdict=VERDICTS.get(str(around["verdict"]), around["verdict"]),
        test=TESTS.get(str(around["test"]), around["test"]),
        n_used=around["n_used"],
        n=around["n"],
        n_lower=around["n_lower"],
        mean=f"{around['mean_degraded']:.2f}",
        source=f"{around['mean_source']:.2f}",
    )


def _correlation(r: float) -> str:
    return gettext("correlation {r}").format(r=_decimals(r, 2))
