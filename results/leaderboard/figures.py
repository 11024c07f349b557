"""Figures of the leaderboard: every metric on the same candidates, tested pair by pair; parts that hold are kept."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from annotate.frames.stages import Stage
from measures.correlation import LEAST_PAIRS
from measures.gold_rules import GoldRule
from measures.metrics.metric import NO_REFERENCE
from measures.outcome import Undefined
from measures.patterns import Floats
from measures.studies.correlating import correlate_linearly
from measures.studies.grids import Grid
from measures.studies.minimal_pairs import WILSON, minimal_pair_accuracy
from measures.studies.permutation import permute
from measures.studies.ranking import find_ranks
from measures.studies.significance import correct_pairs
from measures.studies.soft_pairwise import SoftAccuracies, compare_system_pairs
from measures.studies.system_means import correlate_means
from projects.errors import Refused
from projects.models import MinimalPair, Project
from results.models import MetricRun
from results.reports.reports import METHODS, METHODS_OF
from results.scope.gold_settings import SEED, SIGNIFICANCE_LEVEL
from results.scope.passage_counts import count_effective, warn_of_few_passages
from results.scope.scopes import warn_of_no_order
from results.studies.frame import DATASET, PASSAGE, QUESTION, SOURCE, Frame, Rows, read_frame
from results.studies.joining import CANDIDATE, NOT_SCORED, MetricColumn, fetch_reasons
from results.studies.kinds.soft import arrange
from results.studies.metrics_chosen import current_runs
from results.studies.pair_frame import PairFrame, read_pairs
from results.studies.settings import Settings
from results.studies.stored import store, store_correlation
from results.studies.warnings import count_lacking, list_warnings, warn_of_unequal_shares

LEAST_SHARE = 0.9
"""The least share of the judged candidates that a metric must have scored to be ranked."""
# Enough for Holm's correction over 22 metrics, and the same for any number of them, so that tests can be kept.
N_PATTERNS = 10_000

Known = Mapping[str, Any]


def leaderboard_figures(project: Project, settings: Mapping[str, Any], known: Known | None = None) -> dict[str, Any]:
    """Return all metrics of a project with their ranks, or the reason why there is nothing to rank.

    `known` are the figures for these settings before, of which parts may still hold.
    """
    runs = current_runs(project)
    if not runs:
        return {"refusal": "No metric has scores yet. Compute or import some under Automatic metrics."}
    chosen = Settings(
        criterion=settings["criterion"],
        metrics=tuple(run.subject for run in runs),
        stage=Stage(settings["stage"]),
        batch=settings["batch"],
        is_blind_only=settings["blind"],
        gold=GoldRule(settings["gold"]),
        controls_in_z=settings["controls"],
        adjudication_wins=settings["adjudication_wins"],
        datasets=tuple(settings["datasets"]),
        splits=tuple(settings["splits"]),
        humans=settings.get("humans", ""),
        human_sources=tuple(settings.get("human_sources", ())),
    )
    try:
        frame = read_frame(project, chosen, keeps_unscored=True, current=runs)
        by_subject = {run.subject: run for run in runs}
        return _Leaderboard(frame, chosen, by_subject, known or {}).figures()
    except Refused as refusal:
        return {"refusal": refusal.message}


class _Leaderboard:
    """Computes the figures. A part is computed again only if the scores or the judgments behind it have changed."""

    def __init__(self, frame: Frame, settings: Settings, runs: Mapping[str, MetricRun], known: Known) -> None:
        self.frame, self.settings, self.runs, self.known = frame, settings, runs, known
        n = len(frame.table)
        self.shares = {metric.subject: 1 - metric.n_missing / n for metric in frame.metrics}
        self.ranked = [metric for metric in frame.metrics if self.shares[metric.subject] >= LEAST_SHARE]
        self.common = self._find_common()
        # Each may lack a few candidates, and all together every one.
        self.ranked = self.ranked if self.common.any() else []
        self.hashes = {metric.subject: _hash([frame.scores(metric)]) for metric in frame.metrics}
        self.basis = _hash([np.array([METHODS, METHODS_OF["leaderboard"]]), *self._list_columns()])
        self.n_computed = 0

    def _find_common(self) -> Rows:
        subjects = [metric.subject for metric in self.ranked]
        if not subjects:
            return np.zeros(len(self.frame.table), bool)
        return np.asarray(self.frame.table[subjects].notna().all(axis=1), np.bool_)

    def _list_columns(self) -> Iterable[Any]:
        rows = self.frame.table[self.common]
        yield from (rows[CANDIDATE].to_numpy(), self.frame.gold[self.common], rows[QUESTION].to_numpy())
        yield from (rows[PASSAGE].to_numpy(), rows[SOURCE].to_numpy(str))

    def figures(self) -> dict[str, Any]:
        pairs = self._test_pairs()
        _accuracy, n_pairs, why_no_pairs = self.minimal_pairs
        metrics = [self._describe(metric) for metric in self.frame.metrics]
        ordered = sorted(metrics, key=lambda each: -_height(each))
        self._rank(ordered, pairs)
        return {
            "metrics": ordered,
            "pairs": pairs,
            "basis": self.basis,
            "n_computed": self.n_computed,
            "criterion": self.frame.scope.criterion.name,
            "gold": self.settings.gold_in_words,
            "n_judged": len(self.frame.table),
            "n": int(self.common.sum()),
            "n_passages": int(self.frame.table[PASSAGE][self.common].nunique()),
            "n_effective": count_effective(self.frame.table[self.common][PASSAGE].factorize()[0]),
            "n_questions": int(self.frame.table[QUESTION][self.common].nunique()),
            "n_systems": int(self.frame.table[SOURCE][self.common].nunique()),
            "n_pairs": n_pairs,
            "why_no_pairs": why_no_pairs,
            "interval_of_soft": WILSON,
            "reliability": store(self.frame.ceiling(self.settings, rows=self.common)),
            "has_simulated": self.frame.has_simulated,
            "warnings": self._list_warnings() if self.ranked else self._explain_no_ranks(),
        }

    def _list_warnings(self) -> list[str]:
        passages, numbers = np.unique(self.frame.table[PASSAGE][self.common].to_numpy(), return_inverse=True)
        few = warn_of_few_passages(len(passages), count_effective(numbers), covering="The ranked metrics rest on")
        rows = self.frame.table[self.common]
        # With two systems there is no correlation over them.
        lacking = count_lacking(rows[QUESTION].to_numpy(), rows[SOURCE].to_numpy(str))
        unequal = warn_of_unequal_shares(lacking) if rows[SOURCE].nunique() >= LEAST_PAIRS else ""
        return [*filter(None, (few, unequal)), *list_warnings(self._select(self.ranked), self.settings)]

    def _explain_no_ranks(self) -> list[str]:
        n = len(self.frame.table)
        if not self.frame.metrics or not n:
            return []
        closest = max(self.frame.metrics, key=lambda metric: self.shares[metric.subject])
        if self.shares[closest.subject] >= LEAST_SHARE:
            why = (
                "No metric is ranked: no judged candidate has a score of every metric. Compute or upload scores of the "
                "same candidates for all of them."
            )
        else:
            why = self._explain_few_scores(closest, n)
        return [*filter(None, (warn_of_no_order(self.frame.scope.criterion),)), why]

    def _explain_few_scores(self, closest: MetricColumn, n: int) -> str:
        unscored = self.frame.table[CANDIDATE][self.frame.table[closest.subject].isna()]
        reasons = fetch_reasons(self.runs[closest.subject], unscored)
        listed = "; ".join(f"{reason}, {n_lacking:,}" for reason, n_lacking in reasons.items())
        remedy = _find_remedy(reasons, closest.origin)
        return (
            f"No metric is ranked: none has scores for at least {100 * LEAST_SHARE:.0f} % of the {n:,} judged "
            f"candidates. “{closest.label}” comes closest, with scores for {n - closest.n_missing:,}. The others have "
            f"none: {listed}.{remedy and f' {remedy}'}"
        )

    def _select(self, metrics: list[MetricColumn]) -> Frame:
        return replace(self.frame, metrics=tuple(metrics))

    def _describe(self, metric: MetricColumn) -> dict[str, Any]:
        run = self.runs[metric.subject]
        accuracy, _n_pairs, why_no_pairs = self.minimal_pairs
        about = {
            "subject": metric.subject,
            "label": metric.label,
            "run": run.pk,
            "origin": metric.origin,
            "signature": metric.signature,
            "scores": self.hashes[metric.subject],
            "n_scored": len(self.frame.table) - metric.n_missing,
            "pairs_accuracy": accuracy.get(metric.subject, {"reason": why_no_pairs}),
            "held_out": self._correlate_held_out(metric, run),
            "cost": _measure_cost(run),
        }
        if metric in self.ranked:
            return {**about, "n": int(self.common.sum()), **self.agreement[metric.subject]}
        reason = f"scored {about['n_scored']:,} of {len(self.frame.table):,} judged candidates"
        return {**about, "n": about["n_scored"], "reason": reason, "own": self._correlate_own(metric)}

    def _correlate_own(self, metric: MetricColumn) -> dict[str, Any]:
        """Return the correlation of a metric on the candidates that it has scored, not those of the others."""
        rows = self.frame.table[metric.subject].notna().to_numpy()
        return self._correlate_rows(metric, rows)

    def _correlate_rows(self, metric: MetricColumn, rows: Rows) -> dict[str, Any]:
        found = correlate_linearly(
            self.frame.gold[rows],
            {metric.subject: self.frame.scores(metric)[rows]},
            groups=self.frame.table[PASSAGE][rows].to_numpy(),
            by_group=True,
        )
        return store_correlation(found[metric.subject])

    def _keep(self, subject: str) -> Known | None:
        """Return the stored figures of a metric if they still hold, and tell what its soft accuracy rests on."""
        if self.known.get("basis") != self.basis:
            return None
        return next(
            (
                each for each in self.known.get("metrics", ())
                if each["subject"] == subject and each["scores"] == self.hashes[subject] and "segment" in each
                and {"n_questions", "reason"} & each.get("soft", {}).keys()
            ),
            None,
        )  # fmt: skip

    @cached_property
    def agreement(self) -> dict[str, dict[str, Any]]:
        """The agreement of each ranked metric with people, on the common candidates."""
        found: dict[str, dict[str, Any]] = {}
        missing = {}
        for metric in self.ranked:
            if kept := self._keep(metric.subject):
                found[metric.subject] = {name: kept[name] for name in ("segment", "system", "soft")}
            else:
                missing[metric.subject] = self.frame.scores(metric)[self.common]
        self.n_computed += len(missing)
        if not missing:
            return found
        rows = self.frame.table[self.common]
        gold, passages = self.frame.gold[self.common], rows[PASSAGE].to_numpy()
        segment = correlate_linearly(gold, missing, groups=passages, by_group=True)
        system = correlate_means(gold, missing, systems=rows[SOURCE].to_numpy(str), units=passages)
        soft = compare_system_pairs(self._make_grid(missing, merges=True), rng=np.random.default_rng(SEED))
        for subject in missing:
            found[subject] = {
                "segment": store_correlation(segment[subject]),
                "system": store_correlation(system[subject]),
                "soft": _store_soft(soft, subject),
            }
        return found

    def _make_grid(self, metrics: Mapping[str, Floats], *, merges: bool) -> Grid:
        return arrange(self.frame.table[self.common], self.frame.gold[self.common], metrics, merges=merges)

    def _test_pairs(self) -> list[dict[str, Any]]:
        """Return the permutation test of each pair of ranked metrics; those of unchanged scores are kept."""
        kept = {}
        if self.known.get("basis") == self.basis:
            unchanged = {each.subject for each in self.ranked if self._keep(each.subject)}
            for pair in self.known.get("pairs", ()):
                if {pair["first"], pair["second"]} <= unchanged:
                    kept[frozenset((pair["first"], pair["second"]))] = pair
        # By subject, so that the order of a pair does not depend on titles.
        subjects = sorted(metric.subject for metric in self.ranked)
        scores = {metric.subject: self.frame.scores(metric)[self.common] for metric in self.ranked}
        wanted = [pair for pair in combinations(subjects, 2) if frozenset(pair) not in kept]
        found: dict[frozenset[str], dict[str, Any]] = dict(kept)
        if wanted:
            # The table has correlations over single answers, and the test is of their differences.
            grid = self._make_grid({subject: scores[subject] for subject in subjects}, merges=False)
            tested = permute(grid, rng=np.random.default_rng(SEED), n_patterns=N_PATTERNS, only=wanted)
            for (first, second), each in tested.pairs.items():
                found[frozenset((first, second))] = {
                    "first": first,
                    "second": second,
                    **store(each),
                    "n_patterns": tested.n_patterns,
                    "is_exact": tested.is_exact,
                    "least_p": tested.least_p,
                }
        return _correct([found[key] for key in map(frozenset, combinations(subjects, 2)) if key in found])

    def _rank(self, metrics: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> None:
        """Write the first and the last rank into each metric that has a correlation."""
        names = [each["subject"] for each in metrics if _height(each) > -2]
        p_better = {
            (one, other): each[key]
            for each in pairs
            for one, other, key in (
                (each["first"], each["second"], "holm_first"),
                (each["second"], each["first"], "holm_second"),
            )
        }
        ranks = find_ranks(names, p_better, alpha=SIGNIFICANCE_LEVEL)
        for each in metrics:
            if each["subject"] in ranks:
                each["rank"], each["rank_last"] = ranks[each["subject"]]

    @cached_property
    def minimal_pairs(self) -> tuple[dict[str, Any], int, str]:
        """The accuracy of each metric on minimal pairs, their number, and why there are none."""
        # Most projects have none, which one query tells.
        has_any = MinimalPair.objects.filter(question__dataset__project=self.frame.project).exists()
        try:
            pairs = self._read_minimal_pairs() if has_any else None
        except Refused:
            pairs = None
        if pairs is None:
            return {}, 0, "no minimal pairs with human scores"
        accuracy: dict[str, Any] = {}
        for metric in pairs.metrics:
            one, other = pairs.both(metric)
            n_scored = int((~np.isnan(one) & ~np.isnan(other)).sum())
            if n_scored < LEAST_SHARE * len(pairs.table):
                reason = f"scored {n_scored:,} of {len(pairs.table):,} pairs"
                accuracy[metric.subject] = {"reason": reason}
                continue
            found = minimal_pair_accuracy(
                one, other, datasets=list(pairs.table[DATASET]), phenomena=[""] * len(pairs.table)
            )
            several = len(found.by_dataset) > 1
            accuracy[metric.subject] = _store_accuracy(found.mean if several else found.overall)
        return accuracy, len(pairs.table), ""

    def _read_minimal_pairs(self) -> PairFrame:
        runs = list(self.runs.values())
        return read_pairs(self.frame.project, self.settings, keeps_unscored=True, current=runs)

    def _correlate_held_out(self, metric: MetricColumn, run: MetricRun) -> dict[str, Any]:
        """Return the correlation of a trained metric on the dataset that it has not learned from."""
        name = (run.report.get("about") or {}).get("held_out", "")
        if not name:
            return {"reason": "not trained with a dataset held out"}
        rows = (self.frame.table[DATASET] == name).to_numpy() & self.frame.table[metric.subject].notna().to_numpy()
        if not rows.any():
            return {"dataset": name, "reason": f"no judged candidates of {name} with scores"}
        return {"dataset": name, "n": int(rows.sum()), **self._correlate_rows(metric, rows)}


def _find_remedy(reasons: Mapping[str, int], origin: str) -> str:
    """Return what to do for scores of the candidates that lack one, or nothing where no run would give them any."""
    if NO_REFERENCE in reasons:
        return "Import references for their questions under Data › Imports, then compute the metrics again."
    if origin == MetricRun.Origin.UPLOADED:
        return "Upload scores of all candidates under Results › Automatic metrics."
    return "Compute the metrics again under Results › Automatic metrics." if NOT_SCORED in reasons else ""


def _correct(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pairs with Holm's correction over all of them, in both directions."""
    p_values: dict[tuple[str, str], float | None] = {}
    for each in pairs:
        p_values[each["first"], each["second"]] = each.get("p_first")
        p_values[each["second"], each["first"]] = each.get("p_second")
    corrected = correct_pairs(p_values)
    return [
        {
            **each,
            "holm_first": corrected[each["first"], each["second"]],
            "holm_second": corrected[each["second"], each["first"]],
        }
        for each in pairs
    ]


def _store_soft(found: SoftAccuracies | Undefined, subject: str) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return store(found)
    each = found.metrics[subject]
    if isinstance(each, Undefined):
        return store(each)
    return {
        "value": each.soft, "low": each.low, "high": each.high, "undefined_interval": each.why_no_interval,
        "plain": each.plain, "n_questions": found.n_questions, "n_passages": found.n_units,
        "n_effective": found.n_effective,
    }  # fmt: skip


def _store_accuracy(found: Any) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return store(found)
    return {"value": found.accuracy, "low": found.interval.low, "high": found.interval.high}


def _measure_cost(run: MetricRun) -> dict[str, Any]:
    """Return the seconds that the run took for 1,000 answers, with whatever it had to load."""
    if run.origin != MetricRun.Origin.COMPUTED:
        return {"reason": "from a file"}
    # What earlier attempts had finished took none of the time since the last one began.
    n = run.n_scored + run.n_refused - run.report.get("n_resumed", 0)
    if run.started_at is None or run.finished_at is None or n <= 0:
        return {"reason": "time not measured"}
    return {"seconds": (run.finished_at - run.started_at).total_seconds() / n * 1_000, "n": n}


def _height(metric: Mapping[str, Any]) -> float:
    """Return the segment-level correlation, below every correlation where there is none."""
    value = metric.get("segment", {}).get("value")
    return float(value) if isinstance(value, int | float) else -2.0


def _hash(columns: Iterable[Any]) -> str:
    found = hashlib.sha256()
    for column in columns:
        values = np.asarray(column)
        found.update(str(values.dtype).encode())
        found.update("\0".join(values.tolist()).encode() if values.dtype.kind == "U" else values.tobytes())
    return found.hexdigest()[:32]
