"""The stated outcome of a number that cannot be had."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Undefined:
    """A number that is not defined for this input, and why.

    Pages print the reason; exports print an empty cell and the reason. It is never zero and never NaN.

    Attributes
    ----------
    reason : str
        A clause without a full stop, such as "all ratings are equal".
    """

    reason: str
