"""Gold scores: one score for the judgments of a candidate, by one of a few rules.

A rule is a function from a long frame and the annotators' norms to a score per unit; `RULES` names them all, and a
further one, such as a model of the annotators' skill, is one more entry.
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
    """What a rule needs, and what its scores are.

    Attributes
    ----------
    aggregate : callable
        From a long frame and the norms of `measures.standardising.annotator_norms` to a score per unit.
    needs_annotators : bool
        Whether it has to know who judged.
    is_on_scale : bool
        Whether its scores lie on the criterion's own scale, so that a score settled on by a person can stand for one.
    """

    aggregate: Aggregate
    needs_annotators: bool = False
    is_on_scale: bool = True


def gold_scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Aggregate the judgments of each unit.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame of one criterion with `unit` and `value`, valid judgments only, reversed scores turned. Rows
        without a value ("cannot be judged") are left out; a unit with no other row has no gold and does not appear.

    Returns
    -------
    pandas.DataFrame
        Indexed by `unit`, sorted: `n` (int64), `mean` (unrounded), `median`, and `sd` with n - 1 in the denominator,
        missing where n is 1, for the spread of one judgment is undefined.

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
        As in `gold_scores`, with `annotator` where the rule needs to know who judged.
    norms : pandas.DataFrame, optional
        What `annotator_norms` gives, for the rule z.

    Returns
    -------
    pandas.Series of float64 or Undefined
        By `unit`, sorted, without the units that have no score: under z those are the units of which no judgment has
        a z. Undefined where the rule needs annotators that are not known.

    Raises
    ------
    ValueError
        A column is missing, there is no such rule, or it needs norms that were not given.

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


def settle(golds: pd.Series, adjudicated: pd.Series, *, rule: GoldRule | str) -> pd.Series:
    """Let the scores that a person settled on stand for the annotators'.

    Parameters
    ----------
    golds : pandas.Series of float64
        Gold scores by unit.
    adjudicated : pandas.Series of float64
        Settled scores by unit, on the criterion's scale, reversed ones turned. Units without a gold score are left
        out: where nobody judged there was nothing to settle.
    rule : GoldRule or str
        The rule of `golds`. Where its scores are not on the criterion's scale the settled ones do not enter.

    Returns
    -------
    pandas.Series of float64
        By unit; the input is not changed.

    Examples
    --------
    >>> golds = pd.Series({"a": 3.5, "b": 2.0})
    >>> settle(golds, pd.Series({"a": 5.0, "c": 1.0}), rule="mean").to_dict()
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
"""Every rule there is."""
