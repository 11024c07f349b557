"""Deep calls at the edge of a piece of memory for frames: what they map anew is counted in page faults."""

import resource
from collections.abc import Callable
from threading import Thread

import pytest

from projects.processes.frame_memory import takes_one_piece

N_CALLS = 500
DEPTHS = range(20, 400)
"""At eighty bytes a frame and 16 KB a piece, these pass an edge or more."""


def find_largest(a: int) -> int:
    """Return it; the frame is larger than that of `go_down`, so that no depth steps over an edge."""
    return max(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a)


def go_down(depth: int) -> int:
    """Return how many pages the deepest of these frames had to be given anew while it called a function."""
    if depth:
        return go_down(depth - 1)
    before = count_faults()
    for number in range(N_CALLS):
        find_largest(number)
    return count_faults() - before


def count_faults() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def find_most() -> int:
    return max(go_down(depth) for depth in DEPTHS)


def in_a_thread(function: Callable[[], int]) -> int:
    """Run it where no frame of pytest lies below."""
    found: list[int] = []
    thread = Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_calls_within_one_piece_map_nothing() -> None:
    assert in_a_thread(takes_one_piece(find_most)) < N_CALLS / 10


def test_without_it_calls_at_an_edge_map_a_page_each() -> None:
    if (most := in_a_thread(find_most)) < N_CALLS / 2:
        pytest.skip(f"This Python keeps the piece ({most} pages), and no longer needs `takes_one_piece`.")


def test_the_function_keeps_its_name_arguments_and_errors() -> None:
    @takes_one_piece
    def divide(a: int, *, by: int) -> float:
        """Divide."""
        return a / by

    assert divide(3, by=2) == 1.5
    assert divide.__name__ == "divide"
    assert divide.__doc__ == "Divide."
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)
