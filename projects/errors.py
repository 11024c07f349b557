"""What an act says when it refuses: one sentence for people."""

from django_stubs_ext import StrOrPromise


class Refused(Exception):
    """The act was understood and is not allowed now; nothing was changed.

    `field` names what was sent wrongly, where it is one thing alone; it is empty where the state of things forbids.
    """

    def __init__(self, message: StrOrPromise, *, details: list[str] | None = None, field: str = "") -> None:
        self.message = str(message)
        super().__init__(self.message)
        self.details = details or []
        self.field = field
