"""Gold scores: the judgments of a candidate aggregated into one score, by one of several rules.

A rule is a function from a long frame and the annotators' norms to a score per unit. `RULES` lists them all; a new
rule, such as a model of annotators' skill, is one more entry.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from measures.columns import ANNOTATOR, UNIT, VALUE, require_columns
from measures.gold_rules import GoldRule
from measures.outcome import Undefined
from measures.standardising import standardise

N, MEAN, MEDIAN, SD = "n", "mean", "median", "sd"


Aggregate = Callable[[pd.DataFrame, "pd.DataFrame | None"], pd.Series]


@dataclass(frozen=True)
class Rule:
    """An aggregation rule: its function, what it needs, and the scale of its scores.

    Attributes
    ----------
    aggregate : callable
        From a long frame and the norms of `measures.standardising.annotator_norms` to a score per unit.
    needs_annotators : bool
        Whether it depends on who judged.
    is_on_scale : bool
        Whether its scores are on the criterion's scale, so that an adjudicated score can replace one.
    """

    aggregate: Aggregate
    needs_annotators: bool = False
    is_on_scale: bool = True


def gold_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Aggregate the judgments of each unit.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit` and `value`: counted judgments only, reversed scores inverted. Rows
        without a value ("cannot be judged") are left out; a unit without other rows has no gold score and is absent.

    Returns
    -------
    pandas.DataFrame
        Indexed by `unit`, sorted: `n` (int64), `mean` (unrounded), `median`, and `sd` with n - 1 in the denominator,
        NaN where n is 1, because the spread of one judgment is undefined. On the criterion's scale.

    Raises
    ------
    ValueError
        A column is missing, or `value` does not hold numbers.

    References
    ----------
    A. Chen et al. (2020), MOCHA: A Dataset for Training and Evaluating Generative Reading Comprehension Metrics,
    EMNLP: the score of a candidate is the mean of its judgments.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["a", "a", "b"], "value": [4, 5, 2]})
    >>> gold_scores(frame).to_dict("index")["a"] == {"n": 2, "mean": 4.5, "median": 4.5, "sd": 0.5**0.5}
    True
    >>> float(gold_scores(frame).loc["b", "sd"])
    nan
    """
    require_columns(frame, UNIT, VALUE)
    values = frame[VALUE].astype("float64").groupby(frame[UNIT], sort=True, observed=True)
    scores = pd.DataFrame({N: values.count(), MEAN: values.mean(), MEDIAN: values.median(), SD: values.std(ddof=1)})
    return scores[scores[N] > 0]


def gold_by(rule: GoldRule | str, frame: pd.DataFrame, *, norms: pd.DataFrame | None = None) -> pd.Series | Undefined:
    """Aggregate the judgments of each unit by a rule.

    Parameters
    ----------
    rule : GoldRule or str
        ``mean``; ``median``; or ``z``, the mean of z scores (see `measures.standardising`).
    frame : pandas.DataFrame
        As in `gold_scores`, with `annotator` if the rule needs annotators.
    norms : pandas.DataFrame, optional
        The result of `annotator_norms`, for the rule z.

    Returns
    -------
    pandas.Series of float64 or Undefined
        By `unit`, sorted; on the criterion's scale, or in standard deviations for z. Units without a score are absent:
        under z, those without a judgment that has a z score. Undefined if the rule needs annotators and one is unknown.

    Raises
    ------
    ValueError
        A column is missing, the rule is unknown, or it needs norms and none were given.

    Examples
    --------
    >>> frame = pd.DataFrame({"unit": ["a", "a", "a"], "value": [1.0, 5.0, 4.0]})
    >>> gold_by("median", frame).to_dict()
    {'a': 4.0}
    >>> gold_by("z", frame.assign(annotator=None), norms=pd.DataFrame()).reason
    'some annotators are unknown'
    """
    chosen = RULES[GoldRule(rule)]
    require_columns(frame, UNIT, VALUE)
    frame = frame[frame[VALUE].notna()]
    if chosen.needs_annotators:
        require_columns(frame, ANNOTATOR)
        if norms is None:
            raise ValueError(f"The rule {rule} needs the annotators' norms.")
        if frame[ANNOTATOR].isna().any():
            return Undefined(reason="some annotators are unknown")
    return chosen.aggregate(frame, norms).dropna()


def apply_adjudications(golds: pd.Series, adjudicated: pd.Series, *, rule: GoldRule | str) -> pd.Series:
    """Replace aggregated scores by adjudicated ones.

    Parameters
    ----------
    golds : pandas.Series of float64
        Gold scores by unit.
    adjudicated : pandas.Series of float64
        Adjudicated scores by unit, on the criterion's scale, reversed ones inverted. Units without a gold score are
        ignored.
    rule : GoldRule or str
        The rule of `golds`. If its scores are not on the criterion's scale, nothing is replaced.

    Returns
    -------
    pandas.Series of float64
        A new series by unit; the input is not changed.

    Examples
    --------
    >>> golds = pd.Series({"a": 3.5, "b": 2.0})
    >>> apply_adjudications(golds, pd.Series({"a": 5.0, "c": 1.0}), rule="mean").to_dict()
    {'a': 5.0, 'b': 2.0}
    """
    if not RULES[GoldRule(rule)].is_on_scale:
        return golds.copy()
    return adjudicated.reindex(golds.index).fillna(golds).astype("float64")


def _mean(frame: pd.DataFrame, norms: pd.DataFrame | None) -> pd.Series:
    return frame[VALUE].astype("float64").groupby(frame[UNIT], sort=True, observed=True).mean()


def _median(frame: pd.DataFrame, norms: pd.DataFrame | None) -> pd.Series:
    return frame[VALUE].astype("float64").groupby(frame[UNIT], sort=True, observed=True).median()


def _mean_of_z(frame: pd.DataFrame, norms: pd.DataFrame | None) -> pd.Series:
    assert norms is not None
    return standardise(frame, norms).groupby(frame[UNIT], sort=True, observed=True).mean()


RULES: dict[GoldRule, Rule] = {
    GoldRule.MEAN: Rule(_mean),
    GoldRule.MEDIAN: Rule(_median),
    GoldRule.Z: Rule(_mean_of_z, needs_annotators=True, is_on_scale=False),
}
"""All rules, by name."""
