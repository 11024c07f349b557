"""Scores of systems in a scope, over every criterion, and how two batches score the same systems."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from annotate.frames.annotator_baselines import fetch_baselines
from annotate.frames.criteria_in_use import CriterionInUse, Scope
from annotate.frames.shared_ratings import RATED, fetch_shared_judgments, is_shared
from annotate.frames.stages import Stage
from measures.bootstrap import JACKKNIFE
from measures.columns import ANNOTATOR, GROUP, SOURCE, UNIT, VALUE
from measures.outcome import Undefined
from measures.standardising import standardise
from measures.system_comparisons import Replication, replicate
from measures.system_pairs import PairTest, SystemPair
from measures.system_scores import SystemScore, Z, sum_units, system_scores
from projects.models import Project
from results.scope.excluded import Inclusion, count_inclusion
from results.scope.gold_settings import CONFIDENCE, ITEMS, PASSAGES
from results.scope.human_sources import APART
from results.scope.passage_counts import count_effective
from results.scope.scopes import has_simulated, read_scopes
from results.systems.shared_answers import list_only_shared
from results.systems.system_pairs import (
    GRAHAM2016,
    RATINGS_INDEPENDENT,
    Measure,
    compare_by_answers,
    compare_by_ratings,
    fetch_questions,
    list_notes,
)

ALL = ""
"""The key of all criteria together."""

Frames = dict[str, pd.DataFrame]
Scales = Mapping[str, tuple[float, float]]


def system_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the systems' scores on every criterion and on all together, with intervals, and each pair compared."""
    requested = read_scopes(project, settings)
    scopes = [scope for scope in requested if scope.criterion.has_one_scale and scope.criterion.has_order]
    sums, z, shared = _fetch_sums(scopes, settings, [scope.criterion for scope in requested])
    has_any_simulated = has_simulated(project, *z.values())
    # Whether candidates share passages is that of all candidates, so the unit of the intervals is one.
    unit = PASSAGES if any(each[GROUP].nunique() < len(each) for each in sums.values()) else ITEMS
    is_one_scale, humans = _is_one_scale(scopes, sums), settings.get("human_sources", [])
    people = {key: each[each[SOURCE].isin(humans)] for key, each in sums.items()}
    # Annotators' means are over all that they rated; only what is compared is without human sources.
    sums, z = (_leave_out(each, humans) for each in (sums, z))
    scales = {scope.criterion.key: (float(scope.criterion.low), float(scope.criterion.high)) for scope in scopes}
    scores = system_scores(sums, confidence=CONFIDENCE, is_one_scale=is_one_scale, scales=scales)
    return {
        "criteria": [_describe_criterion(scope.criterion, sums[scope.criterion.key]) for scope in scopes],
        "left_out": [scope.criterion.key for scope in requested if not scope.criterion.has_one_scale],
        "unordered": [scope.criterion.key for scope in requested if not scope.criterion.has_order],
        "names": _name_excluded(requested),
        "has_simulated": has_any_simulated,
        "is_one_scale": is_one_scale,
        "method": JACKKNIFE,
        # Reports of earlier versions have symmetric intervals of means too.
        "bounds_means": True,
        "unit": unit,
        **_count_passages(sums),
        **_describe_shared(project, sums, shared),
        "scores": {key: [asdict(score) for score in found] for key, found in scores.items()},
        "people": _score_people(people, scales, is_one_scale=is_one_scale) if settings.get("humans") == APART else {},
        "entering": _sum_inclusion(scopes).as_dict(),
        **_compare(sums, z, scores, settings, is_one_scale=is_one_scale),
    }


def replication_figures(project: Project, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the systems' scores in two batches, as z scores and raw means, on each common criterion and on all."""
    # A batch is asked for by number, so its stage plays no part. It has one version of the rubric, and so one scale.
    asked = [
        read_scopes(project, {**settings, "batch": settings[name], "stage": Stage.ALL}) for name in ("first", "second")
    ]
    requested = [[scope for scope in scopes if scope.criterion.has_order] for scopes in asked]
    runs = _score_runs(requested, settings)
    found: dict[str, Any] = {}
    for key in runs[0]:
        if key not in runs[1]:
            continue
        found[key] = {}
        for measure in ("z", "raw"):
            first, second = (_read_means(run[key], measure) for run in runs)
            found[key][measure] = {
                "systems": _pair_up(first, second),
                "replication": asdict(_explain_no_means(runs, key, measure) or replicate(first, second)),
            }
    every = [scope for scopes in asked for scope in scopes]
    unordered = {scope.criterion.key for scope in every if not scope.criterion.has_order}
    entering = [_sum_inclusion(scopes).as_dict() for scopes in requested]
    return {"by": found, "unordered": sorted(unordered), "names": _name_excluded(every), "entering": entering}


def _name_excluded(scopes: Sequence[Scope]) -> dict[str, str]:
    """Return the names of the criteria that have no means, by key."""
    criteria = (scope.criterion for scope in scopes)
    return {each.key: each.name for each in criteria if not (each.has_one_scale and each.has_order)}


def _explain_no_means(runs: Sequence[Mapping[str, list[SystemScore]]], key: str, measure: str) -> Replication | None:
    """Return why there is nothing to correlate where no system of a run has a mean; None where one has."""
    for run in runs:
        means = [getattr(score, measure).mean for score in run[key]]
        if means and all(isinstance(mean, Undefined) for mean in means):
            return Replication(n=0, pearson=means[0], spearman=means[0], kendall=means[0])
    return None


def _count_passages(sums: Frames) -> dict[str, Any]:
    """Return the passages of the candidates, and the effective number of them."""
    passages = pd.concat([each[GROUP] for each in sums.values()]) if sums else pd.Series(dtype="int64")
    # A candidate has ratings on several criteria, and is one.
    codes, found = pd.factorize(passages[~passages.index.duplicated()])
    return {"n_passages": len(found), "n_effective": count_effective(codes)}


def _leave_out(frames: Frames, sources: Sequence[str]) -> Frames:
    return {key: each[~each[SOURCE].isin(sources)] for key, each in frames.items()} if sources else frames


def _score_people(sums: Frames, scales: Scales, *, is_one_scale: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the scores of human sources, which are compared with nothing."""
    scores = system_scores(sums, confidence=CONFIDENCE, is_one_scale=is_one_scale, scales=scales)
    return {key: [asdict(score) for score in found] for key, found in scores.items()}


def _score_runs(requested: list[list[Scope]], settings: Mapping[str, Any]) -> list[dict[str, list[SystemScore]]]:
    """Return the scores in each batch on the criteria that both have ratings on, and on all of these."""
    found = []
    for scopes in requested:
        sums, _z, _shared = _fetch_sums(scopes, settings, [scope.criterion for scope in scopes])
        found.append(_leave_out(sums, settings.get("human_sources", [])))
    first, second = ({key for key, each in sums.items() if len(each)} for sums in found)
    # Means over other criteria in each batch would be of different things.
    common = [{key: sums[key] for key in sums if key in first & second} for sums in found]
    return [
        system_scores(sums, is_one_scale=_is_one_scale(scopes, sums))
        for scopes, sums in zip(requested, common, strict=True)
    ]


def _fetch_sums(
    scopes: list[Scope], settings: Mapping[str, Any], criteria: Sequence[CriterionInUse]
) -> tuple[Frames, Frames, "pd.Series[str]"]:
    """Return the sums of each unit and the z scores of the ratings by criterion: no more is kept in memory.

    With them come the sources of the candidates that have the ratings of an identical one, by candidate.

    Norms are over all `criteria` whose points have an order, also over those that have no scores here because they were
    asked on several scales.
    """
    sums, z, shared = {}, {}, []
    norms: dict[tuple[str, ...], pd.DataFrame] = {}
    for scope in scopes:
        scales = scope.criterion.scales
        # Criteria on one scale share their norms: an annotator's mean and deviation are over all of these.
        if scales not in norms:
            norms[scales] = fetch_baselines(scope, criteria, with_controls=settings["controls"])
        # One criterion at a time: the frames of all of them would not fit at a million judgments each.
        frame = fetch_shared_judgments(scope)[[UNIT, GROUP, ANNOTATOR, SOURCE, VALUE, RATED]]
        shared.append(frame[is_shared(frame)].drop_duplicates(UNIT).set_index(UNIT)[SOURCE].astype(object))
        frame = frame.assign(**{Z: standardise(frame, norms[scales])})
        sums[scope.criterion.key] = sum_units(frame)
        z[scope.criterion.key] = frame[[UNIT, ANNOTATOR, SOURCE, Z]].copy()
    found = pd.concat(shared) if shared else pd.Series(dtype=object)
    return sums, z, found[~found.index.duplicated()]


def _describe_shared(project: Project, sums: Frames, shared: "pd.Series[str]") -> dict[str, Any]:
    """Return how many candidates of each system have the ratings of an identical one, and which have no others."""
    if shared.empty:
        return {"shared": {}, "only_shared": []}
    # Human sources may have been left out.
    scored = shared[[any(unit in each.index for each in sums.values()) for unit in shared.index]]
    counts = scored.value_counts().sort_index()
    return {
        "shared": {str(source): int(n) for source, n in counts.items()},
        "only_shared": list_only_shared(project, sums),
    }


def _is_one_scale(scopes: list[Scope], sums: Frames) -> bool:
    """Return whether the criteria that are rated on have one scale; those without ratings are in no mean."""
    return len({scope.criterion.scales for scope in scopes if len(sums.get(scope.criterion.key, ()))}) == 1


def _read_means(scores: list[SystemScore], measure: str) -> dict[str, float]:
    means = {score.source: getattr(score, measure).mean for score in scores}
    return {source: mean for source, mean in means.items() if isinstance(mean, float)}


def _pair_up(first: Mapping[str, float], second: Mapping[str, float]) -> list[dict[str, Any]]:
    common = sorted(set(first) & set(second), key=lambda source: (-first[source], source))
    return [{"source": source, "first": first[source], "second": second[source]} for source in common]


def _compare(
    sums: Frames, z: Frames, scores: Mapping[str, list[SystemScore]], settings: Mapping[str, Any], *, is_one_scale: bool
) -> dict[str, Any]:
    """Return each pair of systems compared on each criterion and on all, by the chosen test, and notes on them."""
    test, measure = settings.get("test", PairTest.SIGN_FLIP.value), Measure(settings.get("values", Measure.Z))
    if test == GRAHAM2016:
        parts = {**{key: [frame] for key, frame in z.items()}, ALL: list(z.values())}
        return {
            "test": test,
            "values": Measure.Z,
            "pairs": {key: compare_by_ratings(frames, scores[key]) for key, frames in parts.items()},
            "notes": {key: [RATINGS_INDEPENDENT] for key in parts},
        }
    parts = {**{key: [each] for key, each in sums.items()}, ALL: list(sums.values())}
    if measure is Measure.RAW and not is_one_scale:
        # Ratings on several scales have no mean.
        parts[ALL] = []
    questions = fetch_questions(sums) if sums else pd.Series(dtype=np.int64)
    found: dict[str, list[SystemPair]] = {
        key: compare_by_answers(each, scores[key], questions, test=PairTest(test), measure=measure)
        for key, each in parts.items()
    }
    notes = {key: list_notes(pairs) for key, pairs in found.items()}
    if measure is Measure.RAW and not is_one_scale:
        notes[ALL] = ["The criteria have different scales: choose one criterion, or compare z scores."]
    return {
        "test": test,
        "values": measure,
        "pairs": {key: [asdict(pair) for pair in pairs] for key, pairs in found.items()},
        "notes": notes,
    }


def _describe_criterion(criterion: CriterionInUse, sums: pd.DataFrame) -> dict[str, Any]:
    about = {"key": criterion.key, "name": criterion.name, "low": criterion.low, "high": criterion.high}
    return {**about, **_count_passages({criterion.key: sums})}


def _sum_inclusion(scopes: list[Scope]) -> Inclusion:
    """Return the judgments on all criteria together."""
    parts = [count_inclusion(scope) for scope in scopes]
    counts: dict[str, int] = {}
    for part in parts:
        for reason, n in part.left_out:
            counts[reason] = counts.get(reason, 0) + n
    return Inclusion(sum(part.n_included for part in parts), tuple(sorted(counts.items())))
