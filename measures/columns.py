"""The columns of the long frame, one row per judgment: their names and dtypes in one place.

`unit` is what was judged (a candidate), `group` its passage, `annotator` who judged it (missing where annotators are
unknown), `criterion` the key of the criterion, and `value` the score (missing for "cannot be judged"). The other
columns say where a judgment belongs: `dataset`, `split`, `source` and `question_type` of the
candidate, the `batch` and `stage` that collected it, and the `day` (UTC, ISO 8601) on which it was given.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

UNIT = "unit"
GROUP = "group"
ANNOTATOR = "annotator"
CRITERION = "criterion"
VALUE = "value"
DATASET = "dataset"
SPLIT = "split"
SOURCE = "source"
QUESTION_TYPE = "question_type"
BATCH = "batch"
STAGE = "stage"
DAY = "day"

DTYPES: dict[str, str] = {
    **dict.fromkeys((UNIT, GROUP, ANNOTATOR, CRITERION), "str"),
    VALUE: "float64",
    **dict.fromkeys((DATASET, SPLIT, SOURCE, QUESTION_TYPE), "str"),
    BATCH: "Int32",
    **dict.fromkeys((STAGE, DAY), "str"),
}
"""The dtypes of `empty_frame`. In other frames texts may be categories and ids integers; `value` is always float64."""


def empty_frame(*columns: str) -> "pd.DataFrame":
    """Return a long frame without rows.

    Parameters
    ----------
    *columns : str
        Names in `DTYPES`; all of them by default.

    Returns
    -------
    pandas.DataFrame
        No rows; the columns in the order given, with their dtypes.

    Examples
    --------
    >>> empty_frame(UNIT, VALUE).dtypes.astype(str).to_dict()
    {'unit': 'str', 'value': 'float64'}
    """
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=DTYPES[name]) for name in columns or DTYPES})


def require_columns(frame: "pd.DataFrame", *columns: str) -> None:
    """Check that a frame has the columns that the caller reads, and numbers in `value`.

    Parameters
    ----------
    frame : pandas.DataFrame
        A long frame.
    *columns : str
        The columns that the caller reads.

    Raises
    ------
    ValueError
        A column is missing, or `value` is among them and not numeric (booleans do not count as numbers).

    Examples
    --------
    >>> import pandas as pd
    >>> require_columns(pd.DataFrame({"unit": ["a"]}), UNIT, VALUE)
    Traceback (most recent call last):
    ValueError: The frame has no column "value"; it has: unit.
    """
    import pandas as pd

    for name in columns:
        if name not in frame.columns:
            raise ValueError(f'The frame has no column "{name}"; it has: {", ".join(map(str, frame.columns))}.')
    if VALUE in columns:
        dtype = frame[VALUE].dtype
        if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
            raise ValueError(f'The column "value" holds {dtype}, not numbers.')
