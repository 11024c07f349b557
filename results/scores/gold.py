"""Gold scores of a scope by every rule: their distribution by dataset, split and source, and how the rules differ."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import CriterionInUse, Scope
from annotate.frames.judgments_frame import fetch_judgments
from annotate.models import Adjudication
from measures.columns import ANNOTATOR, DATASET, SOURCE, SPLIT, UNIT, VALUE
from measures.correlation import kendall, spearman
from measures.gold_rules import GoldRule
from measures.gold_scores import MEAN, SD, N, apply_adjudications, gold_by, gold_scores
from measures.outcome import Undefined
from measures.rounding import ON_SCALE
from measures.rubric import ScaleKind
from projects.models import Criterion, Project
from projects.rubric.rubrics import describe_on_page
from results.scope.excluded import count_inclusion
from results.scope.scopes import choose_scope, explain_several_scales, has_simulated, read_scopes

BREAKDOWNS = ("dataset", "split", "source", "dataset and source")
MOST_PARTS = 60
"""The most parts of a breakdown that are listed, those with most candidates."""
MOST_POINTS = 11
"""A scale with more points than this is cut into ten equal bins."""


@dataclass(frozen=True)
class Part:
    """The gold scores of one dataset, split or source: how many fall into each bin."""

    name: str
    n: int
    mean: float
    sd: float | None
    counts: list[int]


@dataclass(frozen=True)
class Distribution:
    """The gold scores by one rule, or why there are none."""

    rule: GoldRule
    undefined: str = ""
    bins: tuple[str, ...] = ()
    whole: Part | None = None
    parts: dict[str, list[Part]] | None = None
    n_parts: dict[str, int] | None = None


@dataclass(frozen=True)
class Categories:
    """How often each category was chosen, in all and in the parts of each breakdown."""

    names: tuple[str, ...]
    whole: list[int]
    parts: dict[str, list[tuple[str, list[int]]]]


@dataclass(frozen=True)
class RankCorrelation:
    """Rank correlations of two rules over the candidates that have a score by both."""

    first: GoldRule
    second: GoldRule
    n: int
    spearman: float | Undefined
    kendall: float | Undefined


def gold_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of gold scores shows of a scope as a whole; a criterion on several scales is refused."""
    scopes = read_scopes(project, settings)
    scope = choose_scope(scopes, settings["criterion"])
    if not scope.criterion.has_one_scale:
        return {"refusal": explain_several_scales(scope.criterion)}
    frame = fetch_judgments(scope)
    criteria = [each.criterion for each in scopes]
    norms = fetch_baselines(scope, criteria, with_controls=settings["controls"])
    adjudicated = fetch_adjudicated(scope)
    scores = gold_scores(frame)
    # By every rule at once, so that changing the rule on the page needs no new figures.
    golds = {rule: gold_by(rule, frame, norms=norms) for rule in GoldRule}
    facets = _read_facets(frame)
    return {
        "n_candidates": len(scores),
        "n_judgments": int(scores[N].sum()),
        "n_single": int((scores[N] == 1).sum()),
        "mean_sd": float(scores[SD].mean()) if scores[SD].notna().any() else None,
        "n_settled": int(adjudicated.index.isin(scores.index).sum()),
        # Imported scores may be nameless, and a position in a list of scores is no person.
        "n_annotators": None if frame[ANNOTATOR].isna().any() else int(frame[ANNOTATOR].nunique()),
        "has_simulated": has_simulated(project, frame),
        # Kept with the figures, as the list of candidates computes its z scores from them.
        "norms": [[str(name), *row] for name, row in zip(norms.index, norms.to_numpy().tolist(), strict=True)],
        "rules": [
            _compute_distribution(rule, gold, settings, adjudicated, scope.criterion, facets)
            for rule, gold in golds.items()
        ],
        "correlations": [_correlate(*pair, golds) for pair in combinations(GoldRule, 2)],
        "categories": None if scope.criterion.has_order else count_categories(frame, scope.criterion, facets),
        "entering": count_inclusion(scope).as_dict(),
    }


def count_categories(frame: pd.DataFrame, criterion: CriterionInUse, facets: Mapping[str, pd.Series]) -> Categories:
    """Return how many ratings are of each category; of a long scale only those that were chosen are listed."""
    low, high = criterion.low, criterion.high
    points = range(low, high + 1) if high - low < MOST_POINTS else sorted({int(value) for value in frame[VALUE]})
    newest = Criterion.objects.filter(pk__in=criterion.ids).order_by("-rubric__version").first()
    labels = {point["value"]: point["label"] for point in describe_on_page(newest).marks} if newest else {}
    parts = {}
    for name, facet in facets.items():
        groups = frame.groupby(facet.reindex(frame[UNIT]).to_numpy())[VALUE]
        found = [(str(part), _count_points(values, points)) for part, values in groups]
        parts[name] = sorted(sorted(found, key=lambda part: -sum(part[1]))[:MOST_PARTS])
    names = tuple(f"{point} {labels[point]}" if labels.get(point) else str(point) for point in points)
    return Categories(names, _count_points(frame[VALUE], points), parts)


def _count_points(values: pd.Series, points: Iterable[int]) -> list[int]:
    return [int((values == point).sum()) for point in points]


def fetch_adjudicated(scope: Scope) -> pd.Series:
    """Return the newest adjudicated score of each candidate, reversed criteria turned."""
    rows = Adjudication.objects.filter(criterion__in=scope.criterion.ids).order_by("pk")
    # Rows come oldest first, so a later score of a candidate replaces an earlier one.
    found = {
        row.candidate_id: row.criterion.low + row.criterion.high - row.value if row.criterion.is_turned else row.value
        for row in rows.select_related("criterion")
    }
    return pd.Series(found, dtype="float64", index=pd.Index(list(found), dtype="int64"))


def read_baselines(figures: Mapping[str, Any]) -> pd.DataFrame:
    """Return the norms stored with figures, as `measures.standardising` takes them."""
    names = [name for name, *_row in figures["norms"]]
    return pd.DataFrame([row for _name, *row in figures["norms"]], index=names, columns=[N, MEAN, SD], dtype="float64")


def _read_facets(frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Return for each breakdown the part that each candidate belongs to."""
    candidates = frame.drop_duplicates(UNIT).set_index(UNIT)
    facets = {name: candidates[name].astype("str") for name in (DATASET, SPLIT, SOURCE)}
    return facets | {"dataset and source": facets[DATASET] + " · " + facets[SOURCE]}


def _compute_distribution(
    rule: GoldRule,
    gold: pd.Series | Undefined,
    settings: Mapping[str, Any],
    adjudicated: pd.Series,
    criterion: CriterionInUse,
    facets: Mapping[str, pd.Series],
) -> Distribution:
    if isinstance(gold, Undefined):
        return Distribution(rule, undefined=gold.reason)
    if gold.empty:
        return Distribution(rule, undefined="no judgments")
    if settings["settled"]:
        gold = apply_adjudications(gold, adjudicated, rule=rule)
    edges, labels = _make_bins(rule, criterion)
    parts = {}
    for name, facet in facets.items():
        found = [_count_part(str(part), own, edges) for part, own in gold.groupby(facet.reindex(gold.index))]
        # The largest parts are kept, and then listed by name.
        parts[name] = sorted(found, key=lambda part: (-part.n, part.name))
    return Distribution(
        rule,
        bins=labels,
        whole=_count_part("", gold, edges),
        parts={name: sorted(found[:MOST_PARTS], key=lambda part: part.name) for name, found in parts.items()},
        n_parts={name: len(found) for name, found in parts.items()},
    )


def _count_part(name: str, gold: pd.Series, edges: np.ndarray[Any, Any]) -> Part:
    values = gold.to_numpy(np.float64)
    # The highest possible score equals the last edge and belongs into the last bin.
    bins = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    counts = np.bincount(bins, minlength=len(edges) - 1).tolist()
    return Part(name, len(values), float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None, counts)


def _make_bins(rule: GoldRule, criterion: CriterionInUse) -> tuple[np.ndarray[Any, Any], tuple[str, ...]]:
    """Return the edges of the bins, each with its lower end, and their labels."""
    low, high = criterion.low, criterion.high
    if rule is GoldRule.Z:
        # Half a standard deviation each; z scores have no ends, so the outer bins are open.
        inner = np.arange(-2, 2.5, 0.5)
        names = [f"{a:g} to {b:g}" for a, b in pairwise(inner)]
        labels = ["below -2", *names, "2 or more"]
        return np.concatenate([[-np.inf], inner, [np.inf]]), tuple(each.replace("-", "−") for each in labels)
    if criterion.kind == ScaleKind.ORDINAL and high - low < MOST_POINTS:
        # A mean of whole points lies between them, so each bin is centred on its point.
        return np.arange(low, high + 2) - 0.5, tuple(str(point) for point in range(low, high + 1))
    edges = np.linspace(low, high, 11)
    return edges, tuple(f"{a:g}–{b:g}" for a, b in pairwise(edges))


def _correlate(first: GoldRule, second: GoldRule, golds: Mapping[GoldRule, pd.Series | Undefined]) -> RankCorrelation:
    one, other = golds[first], golds[second]
    for gold in (one, other):
        if isinstance(gold, Undefined):
            return RankCorrelation(first, second, 0, gold, gold)
    assert isinstance(one, pd.Series)
    assert isinstance(other, pd.Series)
    # Under z, a candidate whose annotators never vary has no score.
    common = one.index.intersection(other.index)
    values = one[common].to_numpy(np.float64), other[common].to_numpy(np.float64)
    found = (spearman(*values, within=ON_SCALE), kendall(*values, within=ON_SCALE))
    return RankCorrelation(first, second, len(common), *found)
