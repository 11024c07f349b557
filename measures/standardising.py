"""Standardised scores (z scores): each annotator's scores relative to their own mean and standard deviation."""

import numpy as np
import pandas as pd

from measures.columns import ANNOTATOR, VALUE, require_columns

N, MEAN, SD = "n", "mean", "sd"


def annotator_norms(frame: pd.DataFrame) -> pd.DataFrame:
    """Compute each annotator's mean and standard deviation.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame with `annotator` and `value`: all scores that should enter, of all criteria together, with or
        without control items. Rows without a value or an annotator are left out.

    Returns
    -------
    pandas.DataFrame
        Indexed by `annotator`, sorted: `n` (int64), `mean`, and `sd` with n - 1 in the denominator, NaN where n is 1.

    Raises
    ------
    ValueError
        A column is missing, or `value` does not hold numbers.

    References
    ----------
    Y. Graham et al. (2017), Can machine translation systems be evaluated by the crowd alone, Natural Language
    Engineering; Ji et al. (2022), QAScore.

    Examples
    --------
    >>> frame = pd.DataFrame({"annotator": ["x", "x", "y"], "value": [1.0, 3.0, 2.0]})
    >>> annotator_norms(frame).loc["x"].to_dict() == {"n": 2.0, "mean": 2.0, "sd": 2**0.5}
    True
    """
    require_columns(frame, ANNOTATOR, VALUE)
    frame = frame[frame[VALUE].notna() & frame[ANNOTATOR].notna()]
    names = frame[ANNOTATOR].astype("str")
    values = frame[VALUE].astype("float64").groupby(names, sort=True)
    return pd.DataFrame({N: values.count(), MEAN: values.mean(), SD: values.std(ddof=1)})


def standardise(frame: pd.DataFrame, norms: pd.DataFrame) -> pd.Series:
    """Compute z scores: the distance from the annotator's mean, in units of their standard deviation.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame with `annotator` and `value`.
    norms : pandas.DataFrame
        The result of `annotator_norms`.

    Returns
    -------
    pandas.Series of float64
        With the index of the frame. NaN where the score is missing, where the annotator is unknown or has no norm, and
        where the annotator's scores do not vary.

    Raises
    ------
    ValueError
        A column is missing.

    Examples
    --------
    >>> frame = pd.DataFrame({"annotator": ["x", "x", "y"], "value": [1.0, 3.0, 2.0]})
    >>> [round(float(z), 4) for z in standardise(frame, annotator_norms(frame))]
    [-0.7071, 0.7071, nan]
    """
    require_columns(frame, ANNOTATOR, VALUE)
    codes, names = pd.factorize(frame[ANNOTATOR])
    known = norms[[MEAN, SD]].reindex(pd.Index(names).astype("str")).to_numpy(dtype="float64")
    mean, spread = np.vstack([known, [[np.nan, np.nan]]]).T  # the last row is for code -1, an unknown annotator
    spread = np.where(spread > 1e-9, spread, np.nan)
    z: pd.Series = (frame[VALUE].astype("float64") - mean[codes]) / spread[codes]
    return z
