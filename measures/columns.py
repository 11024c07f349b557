"""The columns of the long frame, one row per judgment: their names in one place.

`unit` is what was judged (a candidate), `group` its passage, `annotator` who judged it (missing where annotators are
unknown), and `value` the score (missing for "cannot be judged"). The other columns say where a judgment belongs:
`dataset`, `split`, `source` and `question_type` of the candidate, the `batch` and `stage` that collected it, and the
`day` (UTC, ISO 8601) on which it was given. `value` is float64; texts may be categories, and ids integers.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

UNIT = "unit"
GROUP = "group"
ANNOTATOR = "annotator"
VALUE = "value"
DATASET = "dataset"
SPLIT = "split"
SOURCE = "source"
QUESTION_TYPE = "question_type"
BATCH = "batch"
STAGE = "stage"
DAY = "day"


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
