"""Errors and warnings: what the site refused, in its own words, and sets that it has retired."""

from collections.abc import Mapping, Sequence


class ConcordError(Exception):
    """A request that the site did not accept.

    The text is the site's sentence. `status` is the HTTP status, `errors` the invalid fields as (field, sentence).
    """

    def __init__(self, message: str, *, status: int = 0, errors: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.errors = list(errors)


class ConnectionFailed(ConcordError):
    """The site could not be reached, or the connection broke off; `__cause__` is the error of requests.

    A request that changes something may have been done all the same.
    """


class RetiredSet(UserWarning):
    """A judgment set is read that was retired, such as after an annotator has withdrawn consent."""


class MisleadingFigures(UserWarning):
    """Figures are read that may mislead, in the site's words: of few passages, or means of categories."""


class JobFailed(ConcordError):
    """A job of the site that ended without a result; `job` is its last state."""

    def __init__(self, message: str, *, job: Mapping[str, object]) -> None:
        super().__init__(message)
        self.job = dict(job)
