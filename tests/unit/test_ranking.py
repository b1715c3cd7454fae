"""Ranks and Spearman's correlation against SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata, spearmanr

from gfscore.errors import SamplesError
from gfscore.ranking import ranks, spearman

few_values = st.sampled_from([-1.0, 0.0, 0.25, 2.0, 7.0])  # so that ties are common
pairs = st.integers(2, 30).flatmap(
    lambda n: st.tuples(arrays(np.float64, n, elements=few_values), arrays(np.float64, n, elements=few_values))
)


@given(pairs)
def test_agree_with_scipy(data):
    x, y = data
    np.testing.assert_array_equal(ranks(x), rankdata(x))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert spearman(x, y) is None
    else:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)


def test_shapes_that_differ_are_refused():
    with pytest.raises(SamplesError, match=r"rank correlation of shapes \(2,\) and \(3,\)"):
        spearman([1, 2], [1, 2, 3])
