import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measures.standardising import annotator_norms, standardise


def test_z_is_that_of_scipy_for_each_annotator() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"annotator": rng.choice(list("xyz"), 60), "value": rng.integers(1, 6, 60).astype(float)})
    z = standardise(frame, annotator_norms(frame))
    for _, own in frame.groupby("annotator"):
        assert z[own.index].to_numpy() == pytest.approx(stats.zscore(own["value"].to_numpy(), ddof=1))


def test_controls_enter_the_norms_and_nothing_else() -> None:
    work = pd.DataFrame({"annotator": ["x", "x"], "value": [2.0, 4.0]})
    with_control = pd.concat([work, pd.DataFrame({"annotator": ["x"], "value": [0.0]})])
    z = standardise(work, annotator_norms(with_control))
    assert list(z) == pytest.approx([0.0, 1.0])
    assert annotator_norms(with_control).loc["x", "n"] == 3


def test_who_does_not_vary_or_is_unknown_has_no_z() -> None:
    frame = pd.DataFrame({"annotator": ["x", "x", "y", None], "value": [3.0, 3.0, 1.0, 2.0]})
    norms = annotator_norms(frame)
    assert list(norms.index) == ["x", "y"]
    assert standardise(frame, norms).isna().all()


def test_names_may_be_categories_and_the_frame_stays_as_it_is() -> None:
    frame = pd.DataFrame({"annotator": pd.Categorical(["x", "x", "y", "y"]), "value": [1.0, 2.0, 3.0, 5.0]})
    before = frame.copy()
    assert standardise(frame, annotator_norms(frame)).notna().all()
    pd.testing.assert_frame_equal(frame, before)
