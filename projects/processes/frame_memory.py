"""Memory for the frames of Python's functions, taken in one piece.

CPython keeps the frames of a thread in pieces of 16 KB. A call that does not fit into the last piece maps another one,
and its return unmaps it: a loop that happens to run at such an edge pays for both, and for fresh pages, at each call.
The frames of a request take two or three such pieces. Of two pages with tables of figures, a third and a tenth of
the time went there; of the tests, whose frames lie on those of pytest, more than a fourth.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SLOTS = 1 << 16
"""Of eight bytes each. A piece is the least power of two that its first frame fits into: half of 1 MB is left."""


def takes_one_piece(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function, and whatever it calls, keep their frames in one piece of memory.

    The function is called by one that says that it needs a stack of half a megabyte for itself. Nothing of it is ever
    touched, so that it takes addresses and no memory; the frames that follow lie in the other half.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=SLOTS)  # type: ignore[attr-defined]
    return call
