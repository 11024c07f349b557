"""Captions of tables: sentences that each end once."""

import pytest

from projects.tables.notes import end_sentence


@pytest.mark.parametrize("title", ["Pairs in the order of people", "Pairs in the order of people, 0 to 1.", "Pairs. "])
def test_a_title_ends_with_one_full_stop(title: str) -> None:
    assert end_sentence(title).endswith(".")
    assert ".." not in end_sentence(title)
