"""What an act says when it refuses: one sentence for people."""


class Refused(Exception):
    """The act was understood and is not allowed now; nothing was changed."""

    def __init__(self, message: str, *, details: list[str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or []
