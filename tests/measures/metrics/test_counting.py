"""N-grams counted over a column: what counting text by text says."""

from collections import Counter
from functools import reduce
from operator import add, or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measures.metrics import counting
from measures.metrics.counting import flatten, tokenise

TEXTS = st.lists(st.text(alphabet="abc", max_size=9), min_size=1, max_size=6)


def bag(text: str, n: int) -> Counter[str]:
    return Counter(text[k : k + n] for k in range(len(text) - n + 1))


@given(texts=TEXTS, data=st.data())
def test_hits_are_those_of_bags(texts: list[str], data: st.DataObject) -> None:
    references = [data.draw(TEXTS) for _ in texts]
    rows, flat = flatten(references)
    found = tokenise(list, texts, flat)
    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            # Numbers that would grow too large are made smaller on the way.
            patch.setattr(counting, "LARGEST", 1)
        all_bags = found.bags(4)
    numbers, flat_numbers = found.of(texts), found.of(flat)
    for n, bags in enumerate(all_bags, start=1):
        assert bags.totals[numbers].tolist() == [sum(bag(text, n).values()) for text in texts]
        for over, join in ((np.maximum, or_), (np.add, add)):
            wanted = [
                sum((bag(text, n) & reduce(join, (bag(each, n) for each in row))).values())
                for text, row in zip(texts, references, strict=True)
            ]
            assert bags.clipped(numbers, rows, flat_numbers, over=over).tolist() == wanted
        pairs = [sum((bag(texts[row], n) & bag(each, n)).values()) for row, each in zip(rows, flat, strict=True)]
        assert bags.shared(numbers[rows], flat_numbers).tolist() == pairs


def test_nothing_to_count() -> None:
    found = tokenise(str.split, ["", " "])
    assert [bags.totals.tolist() for bags in found.bags(3)] == [[0, 0]] * 3
    assert found.bags(2)[1].clipped(found.of([""]), np.array([0]), found.of([" "])).tolist() == [0]
    assert tokenise(str.split).bags(1)[0].totals.tolist() == []


def test_a_large_vocabulary_does_not_overflow() -> None:
    # 70,000 to the fourth is more than a number of 64 bits holds.
    text = " ".join(map(str, range(70_000)))
    found = tokenise(str.split, [text])
    bags = found.bags(4)[-1]
    assert bags.shared(found.of([text]), found.of([text])).tolist() == [69_997]
    assert bags.sizes.tolist() == [69_997]
    assert bags.grams.min() >= 0
