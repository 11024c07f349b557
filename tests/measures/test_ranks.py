import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from measures.ranks import rank_with_ties


@given(st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e9, 1e9)), max_size=30))
def test_ranks_are_those_of_scipy(values: list[float]) -> None:
    array = np.array(values, dtype=np.float64)
    assert rank_with_ties(array).tolist() == rankdata(array).tolist()
