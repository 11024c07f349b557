"""`Undefined`: the result of a computation that has no value for its input, with the reason."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Undefined:
    """A figure that is undefined for this input, and why.

    Pages print the reason; exports print an empty cell and the reason. It is never zero and never NaN.

    Attributes
    ----------
    reason : str
        A clause without a full stop, such as "all ratings are equal".
    """

    reason: str
