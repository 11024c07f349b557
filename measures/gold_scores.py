"""Gold scores: what the judgments of a candidate come to."""

import pandas as pd

from measures.columns import UNIT, VALUE, require_columns

N, MEAN, MEDIAN, SD = "n", "mean", "median", "sd"


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
