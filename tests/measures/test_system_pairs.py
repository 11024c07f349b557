"""Each pair of systems on the questions that both answered: effect sizes, tests, and what is undefined."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measures.corrections import holm
from measures.jackknife import JackknifeInterval, jackknife
from measures.outcome import Undefined
from measures.sign_flips import sign_flip_p
from measures.system_pairs import SystemPair, compare_pairs

SQUALITY = os.environ.get("SQUALITY_DIR", "")


def make_items(seed: int = 5, n_groups: int = 8, systems: str = "abc") -> pd.DataFrame:
    """Answers of each system to some of three questions a passage; the later systems are better."""
    rng = np.random.default_rng(seed)
    rows = [
        (system, f"{group}-{question}", group, round(2 + at / 2 + rng.normal(), 1))
        for group in range(n_groups)
        for question in range(3)
        for at, system in enumerate(systems)
        if rng.random() < 0.9
    ]
    return pd.DataFrame(rows, columns=["source", "question", "group", "value"])


def compare(items: pd.DataFrame, sources: str = "abc", **over: Any) -> list[SystemPair]:
    return compare_pairs(items, sources=list(sources), rng=np.random.default_rng(1), **over)


def test_figures_are_over_shared_questions() -> None:
    # A passage that one system alone has answered is in no pair.
    alone = pd.DataFrame([("c", "8-0", 8, 4.0)], columns=["source", "question", "group", "value"])
    items = pd.concat([make_items(), alone])
    found = compare(items)
    wide = items.pivot_table(index=["group", "question"], columns="source", values="value")
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for one in found:
        shared = (wide[one.first] - wide[one.second]).dropna().round(9)
        groups, d = shared.index.get_level_values("group").to_numpy(), shared.to_numpy()
        assert (one.n_questions, one.n_groups, one.is_paired) == (len(d), len(set(groups)), True)
        assert (one.n_first, one.n_second) == tuple((items["source"] == name).sum() for name in (one.first, one.second))
        assert one.difference == pytest.approx(d.mean())
        assert one.superiority == pytest.approx(np.mean(d > 0) + np.mean(d == 0) / 2)
        assert one.d_z == pytest.approx(d.mean() / d.std(ddof=1))
        expected = jackknife(lambda rows, d=d: float(d[rows].mean()), groups, scale="plain")  # type: ignore[misc]
        assert isinstance(one.interval, JackknifeInterval)
        assert isinstance(expected, JackknifeInterval)
        assert (one.interval.low, one.interval.high) == pytest.approx((expected.low, expected.high))
        sums = shared.groupby("group").sum().to_numpy()
        assert one.p == sign_flip_p(sums[:, None], rng=np.random.default_rng(1))[0]
        theirs = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=2**16)
        assert one.p == pytest.approx(theirs.pvalue)
        [ranked] = compare(items, one.first + one.second, test="signed_rank")
        assert ranked.p == stats.wilcoxon(sums, zero_method="pratt").pvalue
        assert ranked.difference == one.difference
    assert [one.p_holm for one in found] == holm([float(one.p) for one in found])  # type: ignore[arg-type]


def test_order_and_names_do_not_matter_and_several_answers_count_by_their_mean() -> None:
    items = make_items()
    whole = compare(items, "ab")[0]
    shuffled = compare(items.sample(frac=1, random_state=3), "ab")[0]
    assert shuffled.p == whole.p
    assert shuffled.d_z == pytest.approx(whole.d_z)
    turned = compare(items, "ba")[0]
    assert (turned.p, turned.difference) == (whole.p, pytest.approx(-whole.difference))  # type: ignore[operator]
    # Two answers of a system to each question, around the one that it had.
    twice = pd.concat([items.assign(value=items["value"] + shift) for shift in (-0.5, 0.5)])
    again = compare(twice, "ab")[0]
    assert (again.n_questions, again.n_first) == (whole.n_questions, 2 * whole.n_first)
    assert again.p == whole.p
    assert again.difference == pytest.approx(whole.difference)


def test_systems_without_a_shared_question_are_compared_by_passage_means() -> None:
    rng = np.random.default_rng(2)
    rows = [(s, f"{s}{g}{q}", f"{s}{g}", rng.normal(at)) for at, s in enumerate("ab") for g in range(6) for q in (0, 1)]
    items = pd.DataFrame(rows, columns=["source", "question", "group", "value"])
    [found] = compare(items, "ab")
    means = items.groupby(["source", "group"])["value"].mean()
    assert found.p == stats.mannwhitneyu(means["a"].round(9), means["b"].round(9)).pvalue == found.p_holm
    assert (found.is_paired, found.n_questions, found.n_groups) == (False, 0, 12)
    assert found.difference == pytest.approx(means["a"].mean() - means["b"].mean())
    assert found.superiority == pytest.approx(np.mean(means["a"].to_numpy()[:, None] > means["b"].to_numpy()))
    assert found.interval == found.d_z == Undefined(reason="no shared question")
    [shared] = compare(items.assign(group=items["group"].str[1:]), "ab")
    assert (shared.is_paired, shared.n_groups) == (False, 6), "a passage with answers of both is one passage"
    [few] = compare(items[items["group"].isin(["a1", "b1", "b2"])], "ab")
    assert (few.p, few.p_holm) == (Undefined(reason="fewer than two passages of a system"), None)
    [nobody] = compare(items[items["source"] == "a"], "ab")
    assert nobody.p == nobody.difference == nobody.d_z == Undefined(reason="a system has no values")


def test_it_is_undefined_with_a_reason() -> None:
    items = make_items()
    one_passage = items[items["group"] == 1]
    assert compare(one_passage, "ab")[0].p == Undefined(reason="fewer than two shared passages")
    assert isinstance(compare(one_passage, "ab")[0].difference, float)
    equal = items.assign(value=3.0)
    for test in ("sign_flip", "signed_rank"):
        found = compare(equal, "ab", test=test)[0]
        assert found.p == Undefined(reason="no difference on any shared question")
        assert (found.difference, found.superiority) == (0, 0.5)
        assert found.d_z == Undefined(reason="all differences are equal")
    two = compare(items[items["group"] < 2], "ab")[0]
    assert two.interval == Undefined(reason="fewer than three shared passages")
    assert compare(items.iloc[:0], "ab")[0].p == Undefined(reason="a system has no values")


@pytest.mark.skipif(not SQUALITY, reason="SQUALITY_DIR does not name the folder of the SQuALITY ratings")
def test_squality() -> None:
    ratings = pd.read_csv(Path(SQUALITY) / "ratings.csv")
    items = ratings.groupby("item_id").agg(value=("correctness_1to5", "mean")).reset_index()
    items[["group", "question", "source"]] = items["item_id"].str.extract(r"^(\d+)-(q\d+)-(.+)$")
    items["question"] = items["group"] + items["question"]
    [found] = compare_pairs(items, sources=["bart-dpr", "bart"], rng=np.random.default_rng(1000))
    assert found.difference == pytest.approx(0.48)
    assert found.superiority == pytest.approx(0.70)
    assert (found.n_questions, found.n_groups, round(float(found.d_z), 3)) == (100, 20, 0.488)  # type: ignore[arg-type]
    # All 2^20 patterns give 6.10e-4. The random ones have a standard error of 2.5e-4.
    assert found.p == pytest.approx(6.1e-4, abs=6e-4)
    wide = items.pivot_table(index=["group", "question"], columns="source", values="value")
    sums = (wide["bart-dpr"] - wide["bart"]).groupby("group").sum().to_numpy()
    lower, upper = (((np.arange(1024)[:, None] >> np.arange(10)) & 1) * 2.0 - 1 for _ in range(2))
    flipped = np.abs((lower @ sums[:10])[:, None] + upper @ sums[10:])
    assert np.mean(flipped >= abs(sums.sum()) - 1e-9) == pytest.approx(6.10e-4, abs=5e-7)
