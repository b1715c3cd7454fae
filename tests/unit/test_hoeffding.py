"""Hoeffding's radius and its inverse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import SCORE_MAX
from gfscore.bounds import (
    hoeffding_intervals,
    hoeffding_radius,
    hoeffding_sample_size,
    rdi_radius,
    rdi_sample_size,
)
from gfscore.errors import OptionError

deltas = st.floats(1e-6, 0.5)


@given(st.integers(1, 10**7), deltas, st.integers(1, 10**4))
def test_radius_solves_the_papers_equation(n, delta, n_classes):
    radius = float(hoeffding_radius(n, delta, n_classes=n_classes))
    # Proposition 1 of the paper: the tail at the radius, summed over the classes, is delta.
    tail = 2 * math.exp(-2 * n * radius**2 / (math.pi / 2))
    assert n_classes * tail == pytest.approx(delta, rel=1e-9)


@given(st.floats(1e-3, 2), deltas, st.integers(1, 1000))
def test_sample_size_is_the_smallest_that_reaches_the_radius(radius, delta, n_classes):
    n = hoeffding_sample_size(radius, delta, n_classes=n_classes)
    assert hoeffding_radius(n, delta, n_classes=n_classes) <= radius
    assert n == 1 or hoeffding_radius(n - 1, delta, n_classes=n_classes) > radius


@given(st.integers(1, 10**5), deltas, st.integers(1, 1000))
def test_sample_size_inverts_the_radius(n, delta, n_classes):
    radius = float(hoeffding_radius(n, delta, n_classes=n_classes))
    assert hoeffding_sample_size(radius, delta, n_classes=n_classes) == n


@given(st.floats(1e-2, 2), deltas, st.integers(2, 1000))
def test_rdi_takes_twice_the_radius(radius, delta, n_classes):
    n = rdi_sample_size(radius, delta, n_classes=n_classes)
    assert rdi_radius(n, delta, n_classes=n_classes) <= radius
    assert rdi_radius(n, delta, n_classes=n_classes) == 2 * float(hoeffding_radius(n, delta, n_classes=n_classes))


def test_intervals_are_cut_to_the_range_of_the_score():
    lower, upper = hoeffding_intervals(np.array([0.01, 0.6, 1.25]), [10, 1000, 10], 0.05)
    radius = hoeffding_radius([10, 1000, 10], 0.05, n_classes=3)
    np.testing.assert_allclose(lower, [0.0, 0.6 - radius[1], 1.25 - radius[2]])
    np.testing.assert_allclose(upper, [0.01 + radius[0], 0.6 + radius[1], SCORE_MAX])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hoeffding_radius(0, 0.05), "a sample size of 0 bounds nothing"),
        (lambda: hoeffding_radius(10, 0.0), "delta 0.0 is not between 0 and 1"),
        (lambda: hoeffding_radius(10, 1.0), "delta 1.0 is not between 0 and 1"),
        (lambda: hoeffding_radius(10, math.nan), "delta nan is not between 0 and 1"),
        (lambda: hoeffding_radius(10, 0.05, n_classes=0), "0 classes cannot be bounded"),
        (lambda: hoeffding_sample_size(0.0, 0.05), "radius 0.0 is not a positive number"),
        (lambda: hoeffding_sample_size(math.inf, 0.05), "radius inf is not a positive number"),
    ],
)
def test_nonsense_is_refused(call, message):
    with pytest.raises(OptionError, match=message):
        call()
