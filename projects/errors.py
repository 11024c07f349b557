"""What an act says when it refuses: one sentence for people."""

from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """The act was understood and is not allowed now; nothing was changed."""

    def __init__(self, message: StrOrPromise, *, details: list[str] | None = None) -> None:
        self.message = str(message)
        super().__init__(self.message)
        self.details = details or []
