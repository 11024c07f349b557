from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.batches.cutting import cut_passage, sample_passages

SIZES = st.lists(st.integers(1, 14), min_size=1, max_size=12)


def cut_groups(sizes: list[int]) -> list[list[int]]:
    numbers = count()
    return [[next(numbers) for _ in range(size)] for size in sizes]


def sizes_after(sizes: list[int], hit_size: int = 10) -> list[int]:
    return [len(hit) for hit in cut_passage(cut_groups(sizes), hit_size)]


@given(sizes=SIZES, hit_size=st.integers(1, 12))
def test_every_candidate_is_in_one_hit_and_no_hit_is_too_large(sizes: list[int], hit_size: int) -> None:
    hits = cut_passage(cut_groups(sizes), hit_size)
    assert sorted(candidate for hit in hits for candidate in hit) == list(range(sum(sizes)))
    assert all(0 < len(hit) <= hit_size for hit in hits)
    assert len(hits) == -(-sum(sizes) // hit_size)
    assert all(hit == sorted(hit) for hit in hits)
    assert [hit[0] for hit in hits] == sorted(hit[0] for hit in hits)


@given(n=st.integers(1, 80), hit_size=st.integers(1, 12), is_one_question=st.booleans())
def test_hits_differ_by_one_at_most_where_no_question_need_be_kept_together(
    n: int, hit_size: int, is_one_question: bool
) -> None:
    sizes = sizes_after([n] if is_one_question else [1] * n, hit_size)
    assert max(sizes) - min(sizes) <= 1


@given(hits=st.lists(st.lists(st.integers(1, 6), min_size=2, max_size=4), min_size=1, max_size=3))
def test_questions_that_fit_whole_are_kept_whole(hits: list[list[int]]) -> None:
    hit_size = max(sum(hit) for hit in hits)
    for hit in hits:
        hit.append(hit_size - sum(hit))
    sizes = [size for hit in hits for size in hit if size]
    cut = cut_passage(cut_groups(sizes), hit_size)
    home = {candidate: number for number, hit in enumerate(cut) for candidate in hit}
    assert all(len({home[candidate] for candidate in group}) == 1 for group in cut_groups(sizes))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([11], [6, 5]),
        ([1] * 11, [6, 5]),
        ([4, 4, 3], [4, 7]),
        ([10], [10]),
        ([5, 5, 5, 5], [10, 10]),
        ([12, 3], [8, 7]),
        ([7, 7, 6], [10, 10]),
        ([21], [7, 7, 7]),
    ],
)
def test_known_cuts(sizes: list[int], expected: list[int]) -> None:
    assert sorted(sizes_after(sizes)) == sorted(expected)


def test_going_back_finds_the_one_arrangement_that_keeps_questions_whole() -> None:
    assert cut_passage([[1, 2, 3], [4, 5, 6], [7, 8], [9, 10], [11, 12]], 6) == [
        [1, 2, 3, 4, 5, 6],
        [7, 8, 9, 10, 11, 12],
    ]


def test_a_long_passage_is_cut_without_a_long_search() -> None:
    assert len(cut_passage(cut_groups([3, 4] * 1_000), 10)) == 700


def test_no_candidates_make_no_hit() -> None:
    assert cut_passage([], 10) == []


def brute_nearest(sizes: list[int], target: int) -> int:
    sums = {0}
    for size in sizes:
        sums |= {total + size for total in sums}
    return min(abs(total - target) for total in sums)


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), n=st.integers(1, 60), seed=st.integers(0, 9))
def test_a_sample_of_whole_passages_comes_as_near_as_any(sizes: list[int], n: int, seed: int) -> None:
    n = min(n, sum(sizes))
    chosen = sample_passages({"a": dict(enumerate(sizes))}, n, seed)
    assert abs(sum(sizes[passage] for passage in chosen) - n) == brute_nearest(sizes, n)


def test_a_sample_keeps_each_datasets_share_and_repeats_with_its_seed() -> None:
    sizes = {"a": {i: 1 + i % 4 for i in range(400)}, "b": {1_000 + i: 5 for i in range(100)}}
    chosen = sample_passages(sizes, 300, seed=4)
    n_a = sum(sizes["a"][passage] for passage in chosen if passage < 1_000)
    n_b = 5 * sum(passage >= 1_000 for passage in chosen)
    assert n_a + n_b == 300
    assert abs(n_a - 200) <= 3
    assert sample_passages(dict(reversed(sizes.items())), 300, seed=4) == chosen
    assert sample_passages(sizes, 300, seed=5) != chosen


def test_a_large_sample_is_met_as_well() -> None:
    sizes = {"a": {i: 7 + i % 5 for i in range(5_000)}}
    assert sum(sizes["a"][passage] for passage in sample_passages(sizes, 31_234, seed=1)) == 31_234


def test_what_one_dataset_misses_by_the_next_makes_up_for() -> None:
    sizes = {"a": dict.fromkeys(range(3), 10), "b": dict.fromkeys(range(10, 40), 1)}
    chosen = sample_passages(sizes, 28, seed=1)
    assert len([passage for passage in chosen if passage < 3]) == 1
    assert len([passage for passage in chosen if passage >= 10]) == 18


@st.composite
def passages_with_pairs(draw: st.DrawFn) -> tuple[list[list[int]], dict[int, int]]:
    """Questions of any size, in each of which any candidates may be minimal pairs."""
    groups = cut_groups(draw(SIZES))
    apart: dict[int, int] = {}
    for group in groups:
        members = draw(st.permutations(group))
        for one, other in zip(members[::2], members[1::2][: draw(st.integers(0, 7))], strict=False):
            apart |= {one: other, other: one}
    return groups, apart


@given(passage=passages_with_pairs(), hit_size=st.integers(1, 100))
def test_a_minimal_pair_is_never_in_one_hit_and_costs_none_more_than_it_must(
    passage: tuple[list[list[int]], dict[int, int]], hit_size: int
) -> None:
    groups, apart = passage
    hits = cut_passage(groups, hit_size, apart)
    n = sum(map(len, groups))
    assert sorted(candidate for hit in hits for candidate in hit) == list(range(n))
    assert all(0 < len(hit) <= hit_size for hit in hits)
    assert len(hits) == max(-(-n // hit_size), 2 if apart else 1)
    assert all(apart.get(candidate) not in hit for hit in hits for candidate in hit)
    assert all(hit == sorted(hit) for hit in hits)
    assert [hit[0] for hit in hits] == sorted(hit[0] for hit in hits)
    assert hits == cut_passage(groups, hit_size, apart)
    if not apart:
        assert hits == cut_passage(groups, hit_size)


@pytest.mark.parametrize(
    ("groups", "pairs", "expected"),
    [
        ([[1, 2]], [(1, 2)], [[1], [2]]),
        ([[1, 2, 3, 4, 5, 6]], [(1, 2)], [[1, 3, 5], [2, 4, 6]]),
        ([[1, 2, 3], [4, 5, 6]], [(2, 3), (5, 6)], [[1, 2, 5], [3, 4, 6]]),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], [(1, 2), (3, 4), (5, 6), (7, 8)], [[1, 4, 5, 8], [2, 3, 6, 7]]),
        ([[1, 2], [3, 4], [5, 6]], [(3, 4)], [[1, 2, 3], [4, 5, 6]]),
    ],
)
def test_known_cuts_around_pairs(
    groups: list[list[int]], pairs: list[tuple[int, int]], expected: list[list[int]]
) -> None:
    """Divided questions level the HITs out; other questions stay whole where they can."""
    apart = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    assert cut_passage(groups, 10, apart) == expected


def test_a_long_passage_of_pairs_is_cut_quickly() -> None:
    groups = cut_groups([2] * 2_000)
    apart = {one: other for group in groups for one, other in (group, group[::-1])}
    assert len(cut_passage(groups, 10, apart)) == 400
