"""Evidence that grows one score at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore.bounds import Evidence, log_average
from gfscore.bounds.betting import STAKES
from gfscore.errors import OptionError, SamplesError

scores_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def plain_capital(scores, threshold):
    """The definition, one score and one stake at a time."""
    return np.mean([np.prod([1 + f * (x / threshold - 1) for x in scores]) for f in STAKES])


@given(scores_lists, st.floats(0.05, 0.95))
def test_capital_agrees_with_its_definition(scores, threshold):
    evidence = Evidence.start(1, threshold, maximum=1.0).add(scores, np.zeros(len(scores), dtype=int))
    assert np.exp(evidence.above[0]) == pytest.approx(plain_capital(scores, threshold), rel=1e-9)
    mirrored = [1 - x for x in scores]
    assert np.exp(evidence.below[0]) == pytest.approx(plain_capital(mirrored, 1 - threshold), rel=1e-9)


@given(scores_lists, st.integers(0, 30), st.booleans())
def test_pieces_give_what_the_whole_gives(scores, cut, finite):
    sizes = np.array([40, 40]) if finite else None
    codes = np.arange(len(scores)) % 2
    whole = Evidence.start(2, 0.4, maximum=1.0, sizes=sizes).add(scores, codes)
    pieces = Evidence.start(2, 0.4, maximum=1.0, sizes=sizes).add(scores[:cut], codes[:cut])
    pieces = pieces.add(scores[cut:], codes[cut:])
    np.testing.assert_allclose(pieces.gains, whole.gains, atol=1e-9)
    assert pieces.counts.tolist() == whole.counts.tolist()


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("side", ["above", "below"])
def test_no_stake_wins_on_average_at_the_threshold(threshold, side):
    """The exact expectation over every sequence of five 0/1 scores: at most 1 under the hypothesis."""
    outcomes = np.array(np.meshgrid(*[[0.0, 1.0]] * 5)).reshape(5, -1).T
    mean = threshold
    chances = np.prod(np.where(outcomes == 1, mean, 1 - mean), axis=1)
    capital = [
        np.exp(getattr(Evidence.start(1, threshold, maximum=1.0).add(row, np.zeros(5, dtype=int)), side)[0])
        for row in outcomes
    ]
    assert np.dot(chances, capital) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("side", ["above", "below"])
def test_without_replacement_no_stake_wins_on_average(side):
    """The exact expectation over every order of a small set whose mean is the threshold."""
    from itertools import permutations

    values = [0.1, 0.2, 0.6, 0.7]
    capital = []
    for order in permutations(values):
        evidence = Evidence.start(1, np.mean(values), maximum=1.0, sizes=[4]).add(order[:3], [0, 0, 0])
        capital.append(np.exp(log_average(evidence.gains[0 if side == "above" else 1]))[0])
    assert np.mean(capital) == pytest.approx(1.0, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.floats(0.05, 0.95))
def test_a_set_that_was_seen_whole_is_known(values, threshold):
    evidence = Evidence.start(1, threshold, maximum=1.0, sizes=[len(values)]).add(values, [0] * len(values))
    is_above = evidence.totals[0] >= len(values) * threshold
    assert np.isinf(evidence.above[0]) == is_above
    assert np.isinf(evidence.below[0]) == (not is_above)


def test_the_average_is_of_the_capitals_not_of_their_logarithms():
    assert float(log_average(np.array([0.0, np.log(99.0)]))) == pytest.approx(np.log(50.0))


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.0, 1.5])
def test_a_threshold_that_every_model_is_on_one_side_of(threshold):
    with pytest.raises(OptionError, match="Every model is on the same side of it"):
        Evidence.start(2, threshold, maximum=1.0)


def test_a_score_out_of_range():
    with pytest.raises(SamplesError, match=r"outside \[0, 1\]"):
        Evidence.start(2, 0.5, maximum=1.0).add([1.1], [0])
