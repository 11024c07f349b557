"""Questions of the web server: whether a body that is larger than a form may be sent, asked with the headers alone."""

QUESTION = "concord.question"
"""In the environ of a request that the server holds back: its `BodyQuestion`."""


class BodyQuestion:
    """Whether the body may be sent, and how much of it."""

    def __init__(self) -> None:
        self.most_bytes: int | None = None  # None: no


class BodyWelcome(Exception):
    """Raised where the view of such a request would begin to read the body: everything before has let it pass."""
