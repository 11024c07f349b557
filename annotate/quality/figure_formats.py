"""Indicators as pages show them: names, formatted numbers, explanations, and the SQL by which lists sort and filter."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import F, FloatField, Func, Value

from annotate.models import Finding
from annotate.quality.degraded_tests import NAMES
from measures.quality.degraded import DegradedTest

VERDICTS: dict[str, str] = {
    "passed": "passed",
    "failed": "failed",
    "too few": "too few",
}
# Findings that indicate poor work come first, then hints: the filter of the list of alerts keeps this order.
FINDINGS: dict[str, str] = {
    "known_answers_low": "Wrong on known answers",
    "degraded_not_lower": "Degraded answers not scored lower",
    "disagrees_with_others": "Disagrees with others",
    "ignores_references": "Scores ignore the references",
    "weak_together": "Several weak indicators",
    "follows_length": "Scores follow answer length",
    "straight_line": "Nearly always the same score",
    "reviewed_poor": "Rejected in review",
    "repeats_inconsistent": "Inconsistent on repeats",
    "biased": "Rates higher or lower than others",
    "too_fast": "Very fast",
    "returns_many": "Returns many HITs",
}

# `jsonb_path_query_first` rather than `#>>`: an undefined figure is stored as an object with its reason, and the filter
# by type in `FigureKind.order` turns it into NULL, where a cast of its text to a number would raise an error.
_NUMBER = "(jsonb_path_query_first(%(expressions)s::jsonpath) #>> '{}')::float8"


@dataclass(frozen=True)
class FigureKind:
    """One indicator: its names, its path in the stored figures, the format of its number, and its explanation."""

    key: str
    label: str
    short: str
    path: tuple[str, ...]
    form: str
    explanation: str

    @property
    def order(self) -> Func:
        """Return the SQL expression of the number, NULL if it is undefined."""
        place = f'$.{".".join(self.path)} ? (@.type() == "number")'
        return Func(F("figures"), Value(place), template=_NUMBER, output_field=FloatField())

    def value_in(self, figures: Mapping[str, Any]) -> float | None:
        value: Any = figures
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def reason_in(self, figures: Mapping[str, Any]) -> str:
        """Return the reason why the number is undefined."""
        value: Any = figures
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
            if isinstance(value, Mapping) and "undefined" in value:
                return str(value["undefined"])
        # The test of degraded answers is stored with its counts even where these are too few for a p-value.
        if self.key == "degraded" and isinstance(figures.get("degraded"), Mapping):
            return "too few pairs"
        return "not computed yet"

    def n_in(self, figures: Mapping[str, Any]) -> int | None:
        """Return the number of items or pairs behind the number, if it is stored."""
        around = figures.get(self.path[0])
        return int(around["n"]) if isinstance(around, Mapping) and "n" in around else None

    def format(self, value: float | None) -> str:
        return "–" if value is None else _FORMS[self.form](value)


@dataclass(frozen=True)
class FormattedFigure:
    """An indicator of one annotator, formatted."""

    kind: FigureKind
    text: str
    reason: str
    n: int | None
    details: str
    typical: str


def _format_percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def _format_decimals(value: float, n: int, *, sign: str = "") -> str:
    """Return a number with this many decimals; what rounds to 0 has no sign."""
    text = f"{value:{sign}.{n}f}"
    return f"{0:.{n}f}" if not float(text) else text.replace("-", "−")


# "fine" has three decimals for alpha: without one annotator of many it changes by a few thousandths.
_FORMS: dict[str, Callable[[float], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "share": _format_percent,
    "number": lambda value: _format_decimals(value, 2),
    "signed": lambda value: _format_decimals(value, 2, sign="+"),
    "fine": lambda value: _format_decimals(value, 3, sign="+"),
    "p": lambda value: "<0.001" if value < 0.001 else f"{value:.3f}",
    "seconds": lambda value: f"{value:.1f} s",
    "brief": lambda value: f"{value:.2f} s",
}

# In the order of the table of annotators: what controls tell first, then comparison with others, then habits.
KINDS = (
    FigureKind(
        *("items", "Items rated", "Items", ("n_judged",), "count"),
        "Ordinary items with a counted score.",
    ),
    FigureKind(
        *("known", "Known answers correct", "Known answers", ("known_answers", "share"), "share"),
        "Share of items with a known correct rating that were rated within the accepted range.",
    ),
    FigureKind(
        *("degraded", "Degraded test (p)", "Degraded test (p)", ("degraded", "p"), "p"),
        "Probability of a difference this large if degraded answers were scored no lower than their originals.",
    ),
    FigureKind(
        *("repeats", "Mean difference of repeats", "Δ of repeats", ("repeats", "mean_difference"), "number"),
        "Mean distance between first and second score of the same item, in points.",
    ),
    FigureKind(
        *("equal", "Identical repeats", "Identical repeats", ("repeats", "exact_share"), "share"),
        "Share of repeats with the same score both times.",
    ),
    FigureKind(
        *("near", "Repeats within one point", "Repeats ±1", ("repeats", "within_one_share"), "share"),
        "Share of repeats at most one point from the first score (on a slider, a tenth of its range).",
    ),
    FigureKind(
        *("agreement", "Correlation with others", "Corr. with others", ("others", "r"), "number"),
        "Pearson’s r with the mean score of everyone else who rated the item.",
    ),
    FigureKind(
        *("difference", "Mean difference from others", "Δ to others", ("others", "mean_difference"), "number"),
        "Mean distance from others’ mean score, in points.",
    ),
    FigureKind(
        *("bias", "Bias", "Bias", ("others", "bias"), "signed"),
        "Mean signed difference from others on the same items, in points; above 0 means higher scores. Bias alone "
        "isn’t carelessness.",
    ),
    FigureKind(
        *("alpha", "Change in alpha without them", "Δ alpha", ("alpha", "difference"), "fine"),
        "Krippendorff’s alpha without this annotator, minus alpha with them. Above 0: agreement would be better "
        "without them.",
    ),
    FigureKind(
        *("entropy", "Use of the scale", "Scale use", ("scale", "entropy"), "share"),
        "Entropy of the scores: 100 % if all points are used equally, 0 % if only one is.",
    ),
    FigureKind(
        *("run", "Longest run of equal scores", "Longest run", ("scale", "longest_run"), "count"),
        "In the order the items were rated.",
    ),
    FigureKind(
        *("seconds", "Time per item", "Time per item", ("pace", "seconds_per_item"), "seconds"),
        "Median active time.",
    ),
    FigureKind(
        *("reading", "Time per word", "s/word", ("pace", "seconds_per_word"), "brief"),
        "Median active time divided by the words to read: answer, references, question and a share of the passage.",
    ),
    FigureKind(
        *("fast", "Faster than reading speed", "Too fast", ("pace", "fast_share"), "share"),
        "Share of items rated faster than the answer alone can be read.",
    ),
    FigureKind(
        *("overlap", "Correlation with references", "Corr. with references", ("overlap", "rho"), "number"),
        "Spearman’s rho between scores and word overlap with a reference.",
    ),
    FigureKind(
        *("length", "Correlation with length", "Corr. with length", ("length", "rho"), "number"),
        "Spearman’s rho between scores and answer length relative to the references.",
    ),
    FigureKind(
        *("returned", "HITs returned", "Returned", ("returned", "share"), "share"),
        "Share of the HITs taken.",
    ),
    FigureKind(
        *("poor", "Rejected in review", "Rejected in review", ("poor", "share"), "share"),
        "Share of the items that a reviewer rated in spot checks.",
    ),
    FigureKind(
        *("reviewers", "Mean difference from reviewers", "Δ to reviewers", ("reviewers", "mean_difference"), "number"),
        "Mean distance from reviewers’ blind scores, in points.",
    ),
)
BY_KEY = {kind.key: kind for kind in KINDS}


@dataclass(frozen=True)
class FormattedFinding:
    """An alert as a list shows it."""

    finding: Finding
    title: str
    text: str
    is_serious: bool
    note: str


def format_findings(findings: Iterable[Finding]) -> list[FormattedFinding]:
    return [
        FormattedFinding(
            finding,
            FINDINGS.get(finding.kind, finding.kind),
            str(finding.evidence.get("says", "")),
            bool(finding.evidence.get("is_serious")),
            finding.note,
        )
        for finding in findings
    ]


def format_figures(figures: Mapping[str, Any], everybody: Iterable[Mapping[str, Any]] = ()) -> list[FormattedFigure]:
    """Return every indicator of one annotator with the median of the others."""
    stored = list(everybody)
    formatted = []
    for kind in KINDS:
        value = kind.value_in(figures)
        typical = [number for each in stored if (number := kind.value_in(each)) is not None]
        formatted.append(
            FormattedFigure(
                kind=kind,
                text=kind.format(value),
                reason="" if value is not None else kind.reason_in(figures),
                n=kind.n_in(figures),
                details=_format_details(kind.key, figures),
                # A median of a single value says nothing about what is typical.
                typical=kind.format(median(typical)) if len(typical) > 1 else "–",
            )
        )
    return formatted


def _format_details(key: str, figures: Mapping[str, Any]) -> str:
    """Return the details below the number: its interval, or the numbers it is made of."""
    around = figures.get(BY_KEY[key].path[0])
    if not isinstance(around, Mapping) or "undefined" in around:
        return ""
    if key in ("known", "returned", "poor"):
        ends = {end: _format_percent(around[end]) for end in ("low", "high")}
        return "{n_yes} of {n}; 95 % from {low} to {high}".format(n_yes=around["n_yes"], n=around["n"], **ends)
    if key == "degraded":
        return _format_degraded_details(around)
    if key == "repeats":
        return _format_correlation(around["r"]) if isinstance(around["r"], float) else ""
    if key == "bias":
        return _format_bias_interval(around)
    if key == "reviewers":
        bias = "bias {bias}".format(bias=_format_decimals(around["bias"], 2, sign="+"))
        return f"{_format_correlation(around['r'])}, {bias}" if isinstance(around["r"], float) else bias
    if key == "alpha":
        values = {"without": f"{around['without_them']:.3f}", "all": f"{around['with_them']:.3f}"}
        return "{without} without, {all} with".format(**values)
    if key == "entropy":
        return "most used point: {percent}".format(percent=_format_percent(around["most_used_share"]))
    if key == "fast":
        return "{n} of {all} items".format(n=around["n_fast"], all=around["n"])
    return ""


def _format_degraded_details(around: Mapping[str, Any]) -> str:
    test = str(around["test"])
    # The unpaired tests compare with all ordinary answers, so for them "of so many pairs" would be wrong.
    is_paired = test in list(DegradedTest) and DegradedTest(test).is_paired
    basis = "{n_used} of {n} pairs" if is_paired else "{n_used} degraded answers and all ordinary ones"
    text = "{verdict}, {test} over " + basis + ", {n_lower} lower than their originals; mean {mean} against {source}"
    return text.format(
        verdict=VERDICTS.get(str(around["verdict"]), around["verdict"]),
        test=NAMES.get(test, test),
        n_used=around["n_used"],
        n=around["n"],
        n_lower=around["n_lower"],
        mean=f"{around['mean_degraded']:.2f}",
        source=f"{around['mean_source']:.2f}",
    )


def _format_bias_interval(around: Mapping[str, Any]) -> str:
    if around.get("bias_low") is None:
        why = around.get("why_no_interval")
        return f"no interval: {why}" if why else ""
    low, high = (_format_decimals(around[end], 2, sign="+") for end in ("bias_low", "bias_high"))
    over = f", over {around['n_groups']:,} passages" if around.get("n_groups") else ""
    return f"95 % from {low} to {high}{over}"


def _format_correlation(r: float) -> str:
    return f"correlation {_format_decimals(r, 2)}"
